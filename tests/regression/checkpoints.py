# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Training that is kept in checkpoints, by the Optax that is on the path.

`python -m regression.checkpoints`, run with pristine Optax, keeps what it
trains and goes on with what the fork has kept.
"""

import functools
import pathlib
import pickle
import sys
from typing import Any

import equinox as eqx
import flax.serialization
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from support import models

_KEY = jax.random.key(0)
_LABELS = functools.partial(jax.tree.map, lambda x: 'vw'[x.ndim > 1])

OPTIMIZERS = {
    'adamw': optax.adamw(0.1, weight_decay=0.1, mask=models.weight_mask),
    'partition': optax.partition(
        {'w': optax.adam(0.1), 'v': optax.sgd(0.01, momentum=0.9)}, _LABELS
    ),
    'inject': optax.inject_hyperparams(optax.adamw, static_args='mask')(
        optax.linear_schedule(0.1, 0.01, 5), mask=models.weight_mask
    ),
    'multi_steps': optax.MultiSteps(optax.adam(0.1), 2),
    'schedule_free': optax.contrib.schedule_free_adamw(0.1),
    'lbfgs': optax.lbfgs(0.1, linesearch=None),
    'lbfgs_with_zoom': optax.lbfgs(),
    # Pristine Optax takes the mask and the dtype for schedules.
    'inject_mask': optax.inject_hyperparams(optax.adamw)(
        optax.linear_schedule(0.1, 0.01, 5),
        weight_decay=0.1,
        mask=models.weight_mask,
    ),
    'inject_dtype': optax.inject_hyperparams(optax.adafactor)(0.1),
}
_FORMS = ('orbax', 'pickle', 'equinox', 'flax')
# A form keeps leaves in their order, or by their names, whatever they are of.
_IN_ALL_FORMS = ('adamw', 'lbfgs')
CASES = [
    (name, form)
    for name in OPTIMIZERS
    for form in _FORMS
    if not name.startswith('inject_')
    and (form in ('orbax', 'pickle') or name in _IN_ALL_FORMS)
]
INJECT_CASES = [
    *(('inject_mask', form) for form in _FORMS), ('inject_dtype', 'orbax')
]


def start(name: str, form: str) -> tuple[Any, Any]:
  """Returns params and their fresh state."""
  model = eqx.nn.MLP(3, 2, 4, 1, key=_KEY)
  params = eqx.filter(model, eqx.is_inexact_array)
  if form == 'flax':  # It does not know Equinox modules.
    params = {str(i): x for i, x in enumerate(jax.tree.leaves(params))}
  return params, OPTIMIZERS[name].init(params)


def _loss(params):
  return sum(jnp.sum((x**2 - 1) ** 2 + x / 3) for x in jax.tree.leaves(params))


@functools.partial(jax.jit, static_argnames='name')
def _step(name, params, state):
  value, grad = jax.value_and_grad(_loss)(params)
  line_search = {}
  if name == 'lbfgs_with_zoom':
    line_search = {'value': value, 'grad': grad, 'value_fn': _loss}
  updates, state = OPTIMIZERS[name].update(grad, state, params, **line_search)
  return optax.apply_updates(params, updates), state


def train(name: str, params: Any, state: Any) -> tuple[Any, Any]:
  """Returns params and state after three steps."""
  # Pristine Optax cannot trace the dtype that it takes for a schedule.
  with jax.disable_jit(name == 'inject_dtype'):
    for _ in range(3):
      params, state = _step(name, params, state)
  return params, state


def save(form: str, path: pathlib.Path, tree: Any) -> None:
  match form:
    case 'orbax':
      with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree)
    case 'pickle':
      path.write_bytes(pickle.dumps(tree))
    case 'equinox':
      eqx.tree_serialise_leaves(path, tree)
    case 'flax':
      path.write_bytes(flax.serialization.to_bytes(tree))


def restore(form: str, path: pathlib.Path, target: Any) -> Any:
  """Returns what was saved, when its fields are those of the target."""
  match form:
    case 'orbax':
      with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(path, target)
    case 'pickle':
      return pickle.loads(path.read_bytes())
    case 'equinox':
      return eqx.tree_deserialise_leaves(path, target)
    case 'flax':
      return flax.serialization.from_bytes(target, path.read_bytes())


def read(path: pathlib.Path) -> Any:
  """Returns a checkpoint of Orbax without a target: dicts and lists."""
  with ocp.PyTreeCheckpointer() as checkpointer:
    return checkpointer.restore(path)


def take(target, saved):
  """Returns target with the leaves of the same names and shapes in saved."""
  name = lambda key: jax.tree_util.keystr((key,), simple=True)
  find = lambda path, x: (*map(name, path), jnp.shape(x))
  leaves = {find(*leaf): leaf[1] for leaf in jax.tree.leaves_with_path(saved)}
  get = lambda path, x: jnp.asarray(leaves[find(path, x)], jnp.result_type(x))
  return jax.tree.map_with_path(get, target)


def _main(directory):
  found = {'optax': optax.__file__}
  for name, form in CASES:
    target = start(name, form)
    saved = train(name, *target)
    save(form, directory / f'pristine-{name}-{form}', saved)
    restored = restore(form, directory / f'fork-{name}-{form}', target)
    found[name, form] = jax.device_get([
        jax.tree.leaves(tree)
        for tree in (
            saved,
            train(name, *saved),
            restored,
            train(name, *restored),
        )
    ])
  for name, form in INJECT_CASES:
    saved = train(name, *start(name, form))
    save(form, directory / f'pristine-{name}-{form}', saved)
    found[name, form] = jax.device_get(saved)
  (directory / 'found').write_bytes(pickle.dumps(found))


if __name__ == '__main__':
  _main(pathlib.Path(sys.argv[1]))
