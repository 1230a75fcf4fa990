# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""All that takes params, of any copy of Optax, and runs of it on a model."""

import functools
import inspect
import re
from typing import Any, Callable

import equinox as eqx
import jax
from support import models
from support import settings


def matrices(params):
  return jax.tree.map(lambda x: x.ndim > 1, params)


def _labels(params):
  return jax.tree.map(lambda x: 'x' if x.ndim > 1 else 'y', params)


def _make(optax, name: str, factory: Callable[..., Any]):
  """Calls a factory, with something to mask and to decay where it can."""
  adam = optax.adam(0.1)
  if name == 'chain':
    return factory(adam, optax.sgd(0.1))
  if name == 'named_chain':
    return factory(('x', adam), ('y', optax.sgd(0.1)))
  required = settings.required(optax) | {
      'inner': adam,
      'key': 0,
      'optimizer': adam,
      'param_labels': _labels,
  }
  kwargs = {}
  for key, parameter in inspect.signature(factory).parameters.items():
    if key in ('mask', 'freeze_mask'):
      kwargs[key] = matrices
    elif parameter.default is inspect.Parameter.empty:
      kwargs[key] = required.get(key, 0.1)
    elif key == 'weight_decay':
      kwargs[key] = 0.01
  if name == 'sam':
    kwargs['reset_state'] = False
  if name == 'scale_by_muon':
    kwargs['weight_dimension_numbers'] = lambda params: jax.tree.map(
        lambda _: optax.contrib.MuonDimensionNumbers(), params
    )
  return factory(**kwargs)


def makers(optax) -> dict[str, Callable[[], Any]]:
  """Returns functions that make all that takes params, by label."""
  found = {
      label: functools.partial(
          _make, optax, label.rpartition('.')[2], factory
      )
      for label, factory in settings.factories(optax).items()
  }
  adam, sgd = optax.adam(0.1), optax.sgd(0.1)
  return found | {
      'MultiSteps': lambda: optax.MultiSteps(adam, 2),
      'MultiSteps_skip': lambda: optax.MultiSteps(
          adam, 2, should_skip_update_fn=optax.skip_not_finite
      ),
      'MultiSteps_lbfgs': lambda: optax.MultiSteps(optax.lbfgs(), 2),
      'sam_opaque': lambda: optax.contrib.sam(adam, sgd, opaque_mode=True),
      'lookahead_reset': lambda: optax.lookahead(adam, 2, 0.5, True),
      'inject_adamw': lambda: optax.inject_hyperparams(
          optax.adamw, static_args='mask'
      )(0.1, weight_decay=0.1, mask=matrices),
      'backtracking_linesearch': lambda: optax.chain(
          optax.scale(-1.0),
          optax.scale_by_backtracking_linesearch(5, store_grad=True),
      ),
      'zoom_linesearch': lambda: optax.chain(
          optax.scale(-1.0), optax.scale_by_zoom_linesearch(5)
      ),
      'flatten_lbfgs': lambda: optax.flatten(optax.lbfgs()),
      'masked_lbfgs': lambda: optax.masked(optax.lbfgs(), matrices),
  }


def program_text(program: Any) -> str:
  """Returns a jaxpr as text, without the addresses of functions."""
  return re.sub('0x[0-9a-f]+', '', str(program))


def _extra_args(name, params, grads, loss):
  """Returns what else update takes; `loss` is called with what it is given."""
  if name == 'sam_opaque':
    return {'grad_fn': lambda p, _: eqx.filter_grad(loss)(p)}
  return settings.extra_args(name, params, lambda: grads, loss)


class Run:
  """Trains a model by an optimizer; params are what is carried on.

  Attributes:
    params: the params at the start, filtered by hand.
    static: all that the model has beside them.
  """

  def __init__(
      self, optax, label: str, model_name: str, given: tuple[str, str]
  ):
    """Makes what the label says.

    Args:
      optax: a copy of Optax.
      label: a key of `makers`.
      model_name: a key of `models.MODELS`.
      given: what `init` and what `update` are given, 'params' or 'model'.
    """
    self._optax = optax
    self._name = label.rpartition('.')[2]
    self._given = given
    # This one takes matrices alone.
    needs_matrices = self._name == 'scale_by_muon'
    make = models.matrices if needs_matrices else models.MODELS[model_name]
    self.params, self.static = models.params_of(make())
    self._is_pair = 'lookahead' in self._name
    if self._is_pair:
      self.params = optax.LookaheadParams.init_synced(self.params)
    self._optimizer = makers(optax)[label]()
    if isinstance(self._optimizer, optax.GradientTransformation):
      self._optimizer = optax.with_extra_args_support(self._optimizer)

  def join(self, params):
    """Returns the model with these params."""
    if isinstance(params, self._optax.LookaheadParams):
      return self._optax.LookaheadParams(*map(self.join, params))
    return eqx.combine(params, self.static)

  def _give(self, to, params):
    return self.join(params) if self._given[to] == 'model' else params

  def init(self):
    """Returns the first state."""
    return self._optimizer.init(self._give(0, self.params))

  def step(self, params, state):
    """Returns new params, the new state and the updates."""
    first = params.fast if self._is_pair else params
    loss = lambda p: models.loss(self.join(p))
    grads = jax.grad(loss)(first)
    extra_args = _extra_args(
        self._name,
        self._give(1, first),
        grads,
        models.loss if self._given[1] == 'model' else loss,
    )
    if self._name in settings.PER_EXAMPLE:
      grads = settings.per_example(grads)
    updates, state = self._optimizer.update(
        grads, state, self._give(1, params), **extra_args
    )
    if jax.tree.structure(updates) == jax.tree.structure(params):
      small = jax.tree.map(lambda u: 0.1 * u, updates)
      params = self._apply(params, small)
    return params, state, updates

  def _apply(self, params, updates):
    if self._given[1] == 'params':
      return self._optax.apply_updates(params, updates)
    new = self._optax.apply_updates(self.join(params), updates)
    models_ = new if self._is_pair else [new]
    for model in models_:
      # What is no param must be the very same objects.
      others = models.params_of(model)[1]
      for leaf, old in zip(
          jax.tree.leaves(others), jax.tree.leaves(self.static), strict=True
      ):
        assert leaf is old, (leaf, old)
    new_params = [models.params_of(model)[0] for model in models_]
    return type(new)(*new_params) if self._is_pair else new_params[0]

  def scan(self, params, state):
    """Returns params and state after three steps, and all updates."""
    def step(carry, _):
      *carry, updates = self.step(*carry)
      return tuple(carry), updates

    return jax.lax.scan(step, (params, state), length=3)
