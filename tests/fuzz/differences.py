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
"""What two runs of a program give, and which differences have a row.

The rows are those of "Where the fork differs from 0.2.8 on purpose" in
patches/README.md.
"""

from collections.abc import Callable
import functools
import inspect
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from fuzz import programs
from optax_fork import pristine
from support import settings
from support import states


_VARIABLES = ('params', 'grads', 'updates', 'state', 'out')


def _leaf(leaf: Any) -> tuple[Any, ...]:
  """Returns all that there is to compare of a leaf."""
  if isinstance(leaf, jax.ShapeDtypeStruct):
    return 'like', leaf.shape, str(leaf.dtype), leaf.weak_type
  if isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
    kind = 'array' if isinstance(leaf, jax.Array) else type(leaf).__name__
    dtype, weak_type = str(leaf.dtype), getattr(leaf, 'weak_type', False)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
      leaf = jax.random.key_data(leaf)
    return kind, leaf.shape, dtype, weak_type, np.asarray(leaf).tobytes()
  if callable(leaf):
    return 'function', getattr(leaf, '__name__', '')
  return type(leaf).__name__, repr(leaf)


Results = dict[str, Any]


def results(program: programs.Program, library) -> Results:
  """Returns leaves and structure of every variable after every line.

  Args:
    program: a program.
    library: a copy of Optax.
  """
  found = {}

  def describe(number, names):
    if isinstance(names['out'], Exception):
      found['raised'] = number, type(names['out']).__name__
      return
    for name in _VARIABLES:
      if names.get(name) is not None:
        found.update(_described(f'{number}.{name}', names[name]))

  programs.run(program, library, describe)
  return found


def _described(name: str, tree: Any) -> Results:
  leaves = jax.tree_util.tree_leaves_with_path(tree)
  found = {name + jax.tree_util.keystr(path): _leaf(x) for path, x in leaves}
  return {f'{name} is': states.structure(tree)} | found


def differing(old: Results, new: Results) -> list[str]:
  """Returns what differs, as far as both came."""
  stop = min(r.get('raised', (999,))[0] for r in (old, new))
  missing = object()
  return [
      key
      for key in dict.fromkeys([*old, *new])
      if (key == 'raised' or int(key.partition('.')[0]) < stop)
      and old.get(key, missing) != new.get(key, missing)
  ]


class Comparison(NamedTuple):
  """What a program gives.

  Attributes:
    program: the program.
    old: on 0.2.8, or as the rows say that it is there.
    new: on the fork, less what the rows say that is new.
  """

  program: programs.Program
  old: Results
  new: Results

  @property
  def differing(self) -> list[str]:
    return differing(self.old, self.new)

  @property
  def works_here_alone(self) -> bool:
    """Whether all is equal until 0.2.8 fails, and only that."""
    new = self.new.get('raised', (999,))
    is_later = new[0] > self.old.get('raised', (999,))[0]
    return is_later and self.differing == ['raised']


def compared(program: programs.Program) -> tuple[Comparison, list[str]]:
  """Runs a program on both.

  Args:
    program: a program.

  Returns:
    What differs without a row, and the rows that explained the rest.
  """
  both = (results(program, pristine_optax()), results(program, optax))
  case, rows = Comparison(program, *both), []
  for row, (has, rule) in RULES.items():
    if not case.differing or case.works_here_alone:
      break
    if has(program):
      before = case.differing
      case = Comparison(program, *rule(program, case.old, case.new))
      rows += [row] * (case.differing != before)
  return case, rows


@functools.cache
def pristine_optax():
  return pristine.load()


def _uses(*words: str) -> Callable[[programs.Program], bool]:
  """Returns whether a program has all of these regular expressions."""
  return lambda program: all(
      re.search(word, '\n'.join(program.lines), re.S) for word in words
  )


# A rule is given a program that its row is about. It returns what the row says
# of the results of both, so that what differs then has no row.


def _without(pattern: str):
  """Leaves out what the fork has, or has not, at these paths."""

  def rule(program, old, new):
    del program
    is_kept = lambda key: not re.search(pattern, key)
    return ({k: x for k, x in r.items() if is_kept(k)} for r in (old, new))

  return rule


def _same_type(pattern: str):
  """Compares types and shapes alone at these paths."""

  def rule(program, old, new):
    del program
    bits = lambda k, x: x[:-1] if re.search(pattern, k) else x
    return ({k: bits(k, x) for k, x in r.items()} for r in (old, new))

  return rule


def _array(leaf) -> np.ndarray | None:
  """Returns the inexact numbers of a leaf; None where it has others."""
  if isinstance(leaf[-1], bytes):
    if not jnp.issubdtype(np.dtype(leaf[2]), jnp.inexact):
      return None
    return np.frombuffer(leaf[-1], leaf[2]).astype(complex)
  return np.asarray([float(leaf[-1])]) if leaf[0] == 'float' else None


def _is_near(found, wanted, part: float) -> bool:
  """Whether numbers differ by no more than a part of the largest."""
  found, wanted = _array(found), _array(wanted)
  if found is None or wanted is None or found.shape != wanted.shape:
    return False
  largest = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
  return np.allclose(found, wanted, part, part * largest, equal_nan=True)


def _near(part: float, exact: Callable[..., Results] | None = None):
  """Compares types, and numbers with those of 0.2.8 to a part of the largest.

  Args:
    part: that may be lost.
    exact: of program and old results, what gives numbers to compare with, if
      not the old results.
  """

  def rule(program, old, new):
    wanted = exact(program) if exact else old
    old, new = dict(old), dict(new)
    for key in old.keys() & new.keys() & wanted.keys():
      if old[key] == new[key] or not isinstance(new[key], tuple):
        continue
      if _is_near(new[key], wanted[key], part):
        old[key], new[key] = old[key][:-1], new[key][:-1]
    return old, new

  return rule


def _without_weak_types(pattern: str):

  def rule(program, old, new):
    del program
    weak = lambda k, x: (*x[:3], '', x[4]) if re.search(pattern, k) else x
    return ({k: weak(k, x) for k, x in r.items()} for r in (old, new))

  return rule


def _error(old_names: str, new_name: str):
  """Takes an error of the one class for one of the other."""

  def rule(program, old, new):
    del program
    (line, was), (new_line, found) = (
        r.get('raised', (None, '')) for r in (old, new)
    )
    if line == new_line and re.fullmatch(old_names, was) and found == new_name:
      new = new | {'raised': old['raised']}
    return old, new

  return rule


def _on_pristine(change: Callable[[programs.Program], programs.Program]):
  """Compares with what another program gives on 0.2.8."""

  def rule(program, old, new):
    del old
    return results(change(program), pristine_optax()), new

  return rule


def _has_others(program: programs.Program) -> bool:
  """Whether the params are a raw model."""
  floats = {x for texts in programs.FLOATS.values() for x in texts} - {'0.5'}
  others = set(programs.OTHERS)
  return bool(program.leaves & others and program.leaves & floats)


def _filtered(program: programs.Program) -> programs.Program:
  """Returns a program with None for what is no param, and of its masks."""
  is_other = lambda x: x in (*programs.OTHERS, '0.5')
  cut = lambda tree: jax.tree.map(
      lambda p, x: 'None' if is_other(p) else x, program.params, tree
  )
  trees = tuple(cut(tree) for tree in program.trees)
  return program._replace(params=cut(program.params), trees=trees)


def _raw(program, old, new):
  """Compares with the filtered params: what is no param goes through."""
  del old
  old = results(_filtered(program), pristine_optax())
  paths = [
      jax.tree_util.keystr(path)
      for path, x in jax.tree_util.tree_leaves_with_path(program.params)
      if x in (*programs.OTHERS, '0.5')
  ]
  # A structure has None there in the one, and a leaf in the other.
  is_other = lambda key: (
      re.search(r'\.(params|grads|updates|out)\b', key)
      and (key.endswith((*paths, ' is')))
  )
  old, new = (
      {k: x for k, x in r.items() if not is_other(k)} for r in (old, new)
  )
  # A Python float has a gradient, and no state.
  if '0.5' in program.leaves:
    return _error('', 'ValueError')(program, old, new)
  return old, new


_LOW = re.compile(r', jnp\.b?float16\)')


def _has_low(program: programs.Program) -> bool:
  """Whether numbers are injected where params have not one full precision."""
  kinds = {
      kind for kind, texts in programs.FLOATS.items()
      if program.leaves & {*texts}
  }  # fmt: skip
  kinds = {'float32' if kind == 'many' else kind for kind in kinds}
  is_low = bool(kinds & {'bfloat16', 'float16'} or len(kinds) > 1)
  return is_low and 'inject_hyperparams' in program.optimizer


def _in_float32(program: programs.Program) -> Results:
  params = jax.tree.map(lambda x: _LOW.sub(')', x), program.params)
  return results(program._replace(params=params), pristine_optax())


def _with_static_args(program: programs.Program) -> programs.Program:
  """Returns a program that names what only Python reads, as 0.2.8 needs."""

  def named(match):
    factory = eval(match[1], {'optax': pristine_optax()})  # pylint: disable=eval-used
    name = match[1].rpartition('.')[2]
    found = [
        key
        for key in inspect.signature(factory).parameters
        if key.endswith('mask')
        or 'dtype' in key
        or name in settings.PYTHON_NUMBERS.get(key, ())
    ]
    return f'inject_hyperparams({match[1]}, {found})'

  pattern = r'inject_hyperparams\(([\w.]+)\)'
  return program._replace(
      optimizer=re.sub(pattern, named, program.optimizer)
  )


_STATIC = (
    r'inject_hyperparams\([\w.]*('
    + '|'.join(sorted({n for ns in settings.PYTHON_NUMBERS.values() for n in ns}))
    + r')\)|inject_hyperparams.*_dtype=jnp'
)

# By the test that shows a row: what programs it is about, and its rule.
RULES = {
    'test_dtypes_and_numbers_that_python_reads': (
        _uses(_STATIC), _on_pristine(_with_static_args)
    ),
    'test_function_in_a_mask_argument': (
        _uses(r'inject_hyperparams.*mask=matrices'),
        _on_pristine(_with_static_args),
    ),
    'test_injected_numbers_and_params_of_low_precision': (
        _has_low, _near(2**-4, _in_float32)
    ),
    'test_integer_bool_or_key_beside_params': (
        lambda program: _has_others(program)
        and not _uses(r'tx\.update')(program),
        _raw,
    ),
    'test_update_of_an_integer': (
        lambda program: _has_others(program) and _uses(r'tx\.update')(program),
        _raw,
    ),
    'test_state_without_schedule_free': (
        _uses('schedule_free_eval_params'),
        _error('AttributeError', 'ValueError'),
    ),
    'test_update_with_other_holes_than_the_state': (
        _uses(r'without\(grads'),
        _error('(Type|Attribute|Value)Error', 'ValueError'),
    ),
    'test_freeze_mask_that_is_no_tree_of_bools': (
        _uses('freeze_mask=matrices'),
        lambda program, old, new: (old, new),
    ),
    'test_state_of_lbfgs': (_uses('lbfgs'), _without(r'\.inverse_factor$')),
    'test_types_of_a_fresh_line_search': (
        _uses('lbfgs|linesearch'), _without_weak_types(r'\.info\.')
    ),
    'test_rounding_of_lbfgs': (
        _uses('lbfgs', 'linspace'), _near(1e-4)
    ),
    'test_function_under_a_zoom_line_search': (
        _uses('lbfgs|zoom'), _near(1e-5)
    ),
}  # fmt: skip
