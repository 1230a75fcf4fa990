# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Whether two runs of programs give the same."""

import re
from typing import Any, NamedTuple
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
from fuzz import programs
from fuzz import users_code
from optax_fork import pristine
from support import states

_VARIABLES = ('params', 'grads', 'updates', 'state', 'out')
_NEVER = (999, '')
ENDED = 'ran to its end'
Results = dict[str, Any]


def _leaf(path: str, leaf: Any) -> tuple[Any, ...]:
  """Returns all that there is to compare of a leaf."""
  # test_types_of_a_fresh_line_search
  is_weak = getattr(leaf, 'weak_type', False) and '.info.' not in path
  if isinstance(leaf, jax.ShapeDtypeStruct):
    return 'like', leaf.shape, str(leaf.dtype), is_weak
  if isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
    kind = 'array' if isinstance(leaf, jax.Array) else type(leaf).__name__
    dtype = str(leaf.dtype)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
      leaf = jax.random.key_data(leaf)
    leaf = np.array(leaf)
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
      leaf[np.isnan(leaf)] = np.nan  # XLA leaves the sign open.
    return kind, leaf.shape, dtype, is_weak, leaf.tobytes()
  if callable(leaf):
    return 'function', getattr(leaf, '__name__', '')
  return type(leaf).__name__, repr(leaf)


def _described(name: str, tree: Any) -> Results:
  leaves = jax.tree_util.tree_leaves_with_path(tree)
  paths = ((name + jax.tree_util.keystr(path), leaf) for path, leaf in leaves)
  found = {path: _leaf(path, leaf) for path, leaf in paths}
  injected = []  # JAX sorts the names; who logs them does not.
  note = lambda x: injected.extend(getattr(x, 'hyperparams', ()))
  jax.tree.leaves(tree, is_leaf=note)
  is_what = {f'{name} is': states.structure(tree), f'{name} has': str(injected)}
  return is_what | found


def results(program: programs.Program, library) -> Results:
  """Returns leaves and structure of every variable after every line."""
  found, names = {}, vars(users_code) | {'optax': library}
  with warnings.catch_warnings(), pristine.by_name(library):
    warnings.simplefilter('ignore')
    for number, line in enumerate(program.lines):
      names['out'] = None
      try:
        exec(line, names)  # pylint: disable=exec-used
      except Exception as error:  # pylint: disable=broad-exception-caught
        return found | {'raised': (number, type(error).__name__)}
      for name in _VARIABLES:
        if names.get(name) is not None:
          found |= _described(f'{number}.{name}', names[name])
  return found


class Failure(NamedTuple):
  """What is wrong with a program."""

  kind: str  # What is alike for programs that have the same cause.
  text: str


def _outcome(old: Results, new: Results) -> Failure | list[str]:
  """Says what differs, as far as both came, or what is equal, in words."""
  was, found = (r.get('raised', _NEVER) for r in (old, new))
  differs = [
      key
      for key in dict.fromkeys([*old, *new])
      if old.get(key, '') != new.get(key, '')
      and (key == 'raised' or int(key.partition('.')[0]) < min(was, found)[0])
  ]
  if not differs or differs == ['raised'] and found[0] > was[0]:
    ended = [ENDED] * (was == _NEVER)
    return [*ended, 'works on the fork alone' if differs else 'equal']
  # What differs first, without the path in the params.
  kind = re.sub(r'^\d+|[\[:].*', '', differs[0])
  told = (
      f'{key}: {old.get(key, "nothing")} became {new.get(key, "nothing")}'
      for key in differs[:4]
  )
  return Failure(f'{kind} {was[1], found[1]}', '\n# '.join(told))


def with_pristine(program: programs.Program) -> Failure | list[str]:
  """Compares what a program gives on 0.2.8 and on the fork."""
  old, new = (results(program, x) for x in (pristine.load(), optax))
  return _outcome(old, new)


def with_option(alike: programs.Alike) -> Failure | list[str]:
  """Compares two programs on the fork that must give the same."""
  plain, found = (results(x, optax) for x in (alike.without, alike.added))
  way = re.compile(rf'^(\d+\.state){re.escape(programs.OPTIONS[alike.option])}')
  found = {way.sub(r'\1', key): x for key, x in found.items()}
  if alike.option != programs.MASKS:
    # What the option has in its state, or in a raw model.
    is_leaf = lambda key: not key.endswith((' is', ' has'))
    plain = {key: x for key, x in plain.items() if is_leaf(key)}
    found = {k: x for k, x in found.items() if k in plain or k == 'raised'}
  raised = plain.get('raised')
  if raised and found.get('raised', _NEVER)[0] >= raised[0]:
    # What fails without may fail later with it, or not at all.
    found |= {'raised': raised}
  outcome = _outcome(plain, found)
  return outcome if isinstance(outcome, Failure) else [alike.option, *outcome]
