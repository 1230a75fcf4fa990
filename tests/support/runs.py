# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Trainings by all that takes params, of any copy of Optax.

A `SettingRun` trains arrays in a dict by a setting, with random gradients; a
`ModelRun` trains a model by its loss.
"""

from collections.abc import Callable
import functools
import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from support import factories
from support import models
from support.models import weight_mask
from support import jaxprs
from support import settings
from support import states


class _Run:
  """An optimizer, and the params that it starts from."""

  def __init__(self, optax, name: str, optimizer, params):
    self._optax, self._name, self.params = optax, name, params
    if 'lookahead' in name:
      self.params = optax.LookaheadParams.init_synced(params)
    if isinstance(optimizer, optax.GradientTransformation):
      optimizer = optax.with_extra_args_support(optimizer)
    self._optimizer = optimizer


class _Layer(eqx.Module):
  """It cannot be called, so pristine takes a mask of this class as a mask."""

  w: Any
  v: Any
  activation: None = None  # As a filter leaves it.


def nested(tree):
  """Returns a tree of params, or a mask or labels of them, in a module."""
  if not isinstance(tree, dict) or not set(tree) <= {'w', 'v', 'b'}:
    return tree
  return {'layers': [_Layer(tree['w'], tree['v'])], 'rest': (tree.get('b'),)}


LAYOUTS = {'dict': lambda tree: tree, 'nested': nested}


def _norm(params):
  return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))


class SettingRun(_Run):
  """Trains arrays, of full rank as the gradients are, by a setting."""

  def __init__(
      self,
      optax,
      setting: settings.Setting,
      injected: str | None = None,
      *,
      dtype: Any = jnp.float32,
      layout: str = 'dict',
      hyperparam_dtype: Any = None,
  ):
    """Makes the optimizer and the params.

    Args:
      optax: a copy of Optax.
      setting: one of its settings.
      injected: 'named' for `inject_hyperparams` with the right `static_args`,
        'inferred' without those that the fork finds; None for the optimizer
        itself.
      dtype: of params and gradients, or a dict of those of `w`, `v` and `b`.
      layout: a key of `LAYOUTS`.
      hyperparam_dtype: that of `inject_hyperparams`.
    """
    self._layout, self._dtype = LAYOUTS[layout], dtype
    factory = setting.factory
    if injected:
      named = setting.static_args
      if injected != 'named':
        named &= settings.UNTRACEABLE
      factory = optax.inject_hyperparams(factory, named, hyperparam_dtype)
    kwargs = {k: self._layout(v) for k, v in setting.kwargs.items()}
    name = factories.name_of(setting.label)
    self._random = np.random.RandomState(0)
    # This one takes matrices alone.
    self._shapes = {'w': (4, 6), 'v': (6, 6)}
    if name != 'scale_by_muon':
      self._shapes['b'] = (6,)
    optimizer = factory(*setting.args, **kwargs)
    super().__init__(optax, name, optimizer, self._draw())

  def _draw(self):
    dtypes = self._dtype
    if not isinstance(dtypes, dict):
      dtypes = dict.fromkeys(self._shapes, dtypes)
    draw = lambda shape, dtype: jnp.asarray(self._random.randn(*shape), dtype)
    return self._layout(
        {k: draw(shape, dtypes[k]) for k, shape in self._shapes.items()}
    )

  def init(self, params):
    """Returns the first state."""
    return self._optimizer.init(params)

  def step(self, params, state, grads):
    """Returns updates, the new state and new params."""
    grad = lambda: jax.grad(_norm)(params)  # Most take none.
    extra_args = factories.extra_args(self._name, params, grad, _norm)
    if 'value_fn' in extra_args:  # Down, or there is no search.
      sign = -1 if self._name.endswith('linesearch') else 1
      grads = jax.tree.map(lambda g: sign * g, extra_args['grad'])
    grads = factories.as_taken(self._name, grads)
    updates, state = self._optimizer.update(grads, state, params, **extra_args)
    small = jax.tree.map(lambda u: 0.1 * u, updates)
    return updates, state, self._optax.apply_updates(params, small)

  def programs(self, with_steps: bool = True) -> dict[str, Any]:
    """Returns what `init` and `step` compute, and the structure of states.

    There is one more for a second step if the first changes what a state is
    like, and none for steps if it is to be without them.
    """
    like = lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype)
    types = lambda x: (x.shape, x.dtype, x.weak_type)
    kind = lambda tree: jax.tree.flatten(jax.tree.map(types, tree))
    params, grads = jax.tree.map(like, (self.params, self._draw()))
    program, state = jaxprs.trace(self.init, params)
    traced = {'init': (program, state)}
    if self._name.endswith('linesearch'):
      # In pristine, the first state has weak types, and steps give others.
      state = jax.tree.map(like, state)
    for name in ('step', 'second step') if with_steps else ():
      old = state
      program, (_, state, _) = jaxprs.trace(self.step, params, old, grads)
      traced[name] = program, state
      if kind(old) == kind(state):  # A program for the one takes the other.
        break
    found = {}
    for name, (program, state) in traced.items():
      found |= {f'{name}, {path}': what for path, what in program.items()}
      found[f'{name}, structure'] = states.structure(state)
    return found

  def train(self, steps: int, jit: Callable[..., Any] = jax.jit):
    """Returns all updates and the last state, by path.

    With them come the first state and the structure of both.

    Args:
      steps: their number.
      jit: what makes a program of a function, the identity for eager steps.
    """
    step, params, updates = jit(self.step), self.params, []
    state = first = jit(self.init)(params)
    for _ in range(steps):
      update, state, params = step(params, state, self._draw())
      updates.append(update)
    found = states.arrays({'u': updates, 'first': first, 's': state})
    structure = [states.structure(first), states.structure(state)]
    return found | {'structure': np.asarray(structure)}


def _labels(params):
  return jax.tree.map(lambda x: 'x' if x.ndim > 1 else 'y', params)


def _make(optax, name: str, factory: Callable[..., Any]):
  """Calls a factory, with something to mask and to decay where it can."""
  adam = optax.adam(0.1)
  given = {'inner': adam, 'optimizer': adam, 'param_labels': _labels}
  args, kwargs = factories.arguments(optax, name, factory, given)
  parameters = inspect.signature(factory).parameters
  kwargs |= {
      key: weight_mask for key in ('mask', 'freeze_mask') if key in parameters
  }
  if 'weight_decay' in parameters:
    kwargs.setdefault('weight_decay', 0.01)
  if name == 'sam':
    kwargs['reset_state'] = False
  return factory(*args, **kwargs)


@functools.cache
def optimizers(optax) -> dict[str, Callable[[], Any]]:
  """Returns what makes each optimizer and wrapper for models, by label."""
  found = {
      label: functools.partial(_make, optax, factories.name_of(label), factory)
      for label, factory in factories.public(optax).items()
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
      )(0.1, weight_decay=0.1, mask=weight_mask),
      'backtracking_linesearch': lambda: optax.chain(
          optax.scale(-1.0),
          optax.scale_by_backtracking_linesearch(5, store_grad=True),
      ),
      'zoom_linesearch': lambda: optax.chain(
          optax.scale(-1.0), optax.scale_by_zoom_linesearch(5)
      ),
      'flatten_lbfgs': lambda: optax.flatten(optax.lbfgs()),
      'masked_lbfgs': lambda: optax.masked(optax.lbfgs(), weight_mask),
      'partition_lbfgs': lambda: optax.partition(
          {'x': optax.lbfgs(0.1, linesearch=None), 'y': adam}, _labels
      ),
  }


def _is_integer(leaf) -> bool:
  is_number = eqx.is_array_like(leaf)
  return is_number and jnp.issubdtype(jnp.result_type(leaf), jnp.integer)


class ModelRun(_Run):
  """Trains a model by an optimizer; params are what is carried on.

  Attributes:
    params: the params at the start, filtered by hand.
    static: all that the model has beside them.
    of_integers: what gradients have for its integers.
    others: what the last step gave for what is static, and what became of it.
  """

  def __init__(
      self,
      optax,
      label: str,
      model: Any,
      given: tuple[str, str],
      *,
      loss: Callable[[Any], jax.Array] = models.loss,
      is_param: Callable[[Any], bool] = eqx.is_inexact_array,
      integers: Any = None,
  ):
    """Makes what the label says.

    Args:
      optax: a copy of Optax.
      label: a key of `optimizers`.
      model: a key of `models.MODELS`, or a model.
      given: what `init` and what `update` are given, 'params' or 'model'.
      loss: of the model.
      is_param: which of its leaves are trained.
      integers: the dtype of what gradients have for integers, or None.
    """
    name = factories.name_of(label) or label
    self._given, self._loss, self._is_param = given, loss, is_param
    if isinstance(model, str):
      if name == 'scale_by_muon':
        model = 'matrices'
      model = models.MODELS[model]()
    params, self.static = eqx.partition(model, is_param)
    has_update = lambda x: integers is not None and _is_integer(x)
    self.of_integers = jax.tree.map(
        lambda x: np.zeros(np.shape(x), integers) if has_update(x) else None,
        self.static,
    )
    self.others = None
    super().__init__(optax, name, optimizers(optax)[label](), params)

  def _give(self, to, params):
    """Returns params as `init` or `update` gets them."""
    if isinstance(params, self._optax.LookaheadParams):
      return self._optax.LookaheadParams(*(self._give(to, p) for p in params))
    is_whole = self._given[to] == 'model'
    return eqx.combine(params, self.static) if is_whole else params

  def init(self):
    """Returns the first state."""
    return self._optimizer.init(self._give(0, self.params))

  def step(self, params, state):
    """Returns new params, the new state and the updates."""
    of_params = lambda p: self._loss(eqx.combine(p, self.static))
    loss = self._loss if self._given[1] == 'model' else of_params
    is_pair = isinstance(params, self._optax.LookaheadParams)
    first = params.fast if is_pair else params
    of_first = jax.grad(of_params)(first)
    with_integers = lambda grads: eqx.combine(grads, self.of_integers)
    extra_args = factories.extra_args(
        self._name, self._give(1, first), lambda: with_integers(of_first), loss
    )
    if self._name == 'sam_opaque':
      of_model = lambda m: jax.grad(of_params)(eqx.filter(m, self._is_param))
      extra_args = {'grad_fn': lambda m, _: with_integers(of_model(m))}
    model = self._give(1, params)
    updates, state = self._optimizer.update(
        with_integers(factories.as_taken(self._name, of_first)), state, model,
        **extra_args,
    )  # fmt: skip
    updates, others = models.params_of(updates)
    if jax.tree.structure(updates) == jax.tree.structure(params):
      small = jax.tree.map(lambda u: 0.1 * u, updates)
      model = self._optax.apply_updates(model, small)
      params, static = eqx.partition(model, self._is_param)
      self.others = others, static
    return params, state, updates
