# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What two runs of a program give, and which differences have a row.

The rows are those of "Where the fork differs from 0.2.8 on purpose" in
patches/README.md.
"""

from collections.abc import Callable, Iterable
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
    leaf = np.array(leaf)
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
      leaf[np.isnan(leaf)] = np.nan  # XLA leaves the sign open.
    return kind, leaf.shape, dtype, weak_type, leaf.tobytes()
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
  injected = []  # JAX sorts the names; who logs them does not.
  note = lambda x: injected.extend(getattr(x, 'hyperparams', ()))
  jax.tree.leaves(tree, is_leaf=note)
  is_what = {f'{name} is': states.structure(tree), f'{name} has': str(injected)}
  return is_what | found


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
    program: the program, or what a row says that has to be compared with.
    old: on 0.2.8.
    new: on the fork.
  """

  program: programs.Program
  old: Results
  new: Results

  @property
  def differing(self) -> list[str]:
    return differing(self.old, self.new)

  def told(self) -> str:
    """Returns what differs, in words."""
    of = lambda results, key: results.get(key, 'nothing')
    return '\n# '.join(
        f'{key}: {of(self.old, key)} became {of(self.new, key)}'
        for key in self.differing[:4]
    )

  def of(self, change: Callable[[str, Any], Any]) -> 'Comparison':
    """Returns it with each result changed; None leaves one out."""
    both = (
        {k: y for k, x in r.items() if (y := change(k, x)) is not None}
        for r in (self.old, self.new)
    )
    return Comparison(self.program, *both)

  @property
  def works_here_alone(self) -> bool:
    """Whether all is equal until 0.2.8 fails, and only that."""
    new = self.new.get('raised', (999,))
    is_later = new[0] > self.old.get('raised', (999,))[0]
    return is_later and self.differing == ['raised']


class Failure(NamedTuple):
  """What is wrong with a program.

  Attributes:
    kind: what is alike for programs that have the same cause.
    text: what differs.
  """

  kind: str
  text: str


def _failure(case: Comparison) -> Failure:
  names = [r.get('raised', ('', ''))[1] for r in case[1:]]
  # What differs first, without the path in the params.
  kind = re.sub(r"^\d+|[\[:].*", '', case.differing[0])
  return Failure(f'{kind} {names}', case.told())


def with_pristine(
    program: programs.Program, known: Iterable[str]
) -> Failure | list[str]:
  """Runs a program on both.

  Args:
    program: a program.
    known: the rows that may explain a difference.

  Returns:
    What differs without a row, or else the rows that explained it.
  """
  both = (results(program, pristine_optax()), results(program, optax))
  case, rows = Comparison(program, *both), []
  for row in known:
    has, rule = RULES[row]
    if not case.differing or case.works_here_alone:
      break
    if has(case.program):
      before = case.differing
      case = rule(case)
      rows += [row] * (case.differing != before)
  if case.works_here_alone:
    return [*rows, 'works on the fork alone']
  if _uses(r'= without\(')(program) and case.differing == ['raised']:
    # What has no gradient fails in either, at another place of the optimizer.
    kinds = 'AssertionError|IndexError|TypeError|ValueError'
    case = _error(kinds, f'{kinds}|Diverged')(case)
    rows += ['another exception'] * (not case.differing)
  return _failure(case) if case.differing else rows or ['equal']


@functools.cache
def pristine_optax():
  return pristine.load()


def _uses(*words: str) -> Callable[[programs.Program], bool]:
  """Returns whether a program has all of these regular expressions."""
  return lambda program: all(
      re.search(word, '\n'.join(program.lines), re.S) for word in words
  )


# A rule is given the comparison of a program that its row is about. It returns
# one without what the row says; what differs then has no row.


def _without(pattern: str):
  """Leaves out what is at these paths."""
  return lambda case: case.of(
      lambda key, x: None if re.search(pattern, key) else x
  )


def _without_weak_types(pattern: str):
  return lambda case: case.of(
      lambda key, x: (*x[:3], *x[4:])
      if re.search(pattern, key) and x[0] in ('array', 'like')
      else x
  )


def _array(leaf) -> np.ndarray | None:
  """Returns the inexact numbers of a leaf; None where it has others."""
  if isinstance(leaf[-1], bytes):
    if not jnp.issubdtype(np.dtype(leaf[2]), jnp.inexact):
      return None
    return np.frombuffer(leaf[-1], leaf[2]).astype(complex)
  return np.asarray([float(leaf[-1])]) if leaf[0] == 'float' else None


def _is_near(found, wanted, part: float, least: float = 0.0) -> bool:
  """Whether numbers differ by no more than a part of the largest."""
  found, wanted = _array(found), _array(wanted)
  if found is None or wanted is None or found.shape != wanted.shape:
    return False
  largest = np.max(np.abs(wanted), initial=least, where=np.isfinite(wanted))
  return np.allclose(found, wanted, part, part * largest, equal_nan=True)


# Optimizers some of whose updates are differences, which may be near 0.
_NEAR_ZERO = r'madgrad|mechanize|ademamix|schedule_free|\bsam\('


def _near(part: float):
  """Compares types, and numbers to a part of the largest."""

  def rule(case):
    old, new = dict(case.old), dict(case.new)
    for key in old.keys() & new.keys():
      is_leaf = key != 'raised' and not key.endswith((' is', ' has'))
      if old[key] == new[key] or not is_leaf:
        continue
      # Params are sums, which may be near 0.
      line = case.program.lines[int(key.partition('.')[0])]
      is_sum = re.search(r'^\d+\.params|\.z\b', key) or (
          '.updates' in key and _uses(_NEAR_ZERO)(case.program)
      )
      # So are the gradients of the loss.
      has_sums = '_update(params' in line or 'lambda p: loss(' in line
      if _is_near(new[key], old[key], part, float(bool(is_sum) or has_sums)):
        old[key], new[key] = old[key][:-1], new[key][:-1]
    return Comparison(case.program, old, new)

  return rule


def _error(old_names: str, new_names: str):
  """Takes an error of the one class for one of the other."""

  def rule(case):
    (line, was), (new_line, found) = (
        r.get('raised', (None, '')) for r in case[1:]
    )
    is_it = re.fullmatch(old_names, was) and re.fullmatch(new_names, found)
    if is_it and line in (new_line, None):
      return case._replace(old=case.old | {'raised': case.new['raised']})
    return case

  return rule


def _on_pristine(change: Callable[[programs.Program], programs.Program]):
  """Compares with what another program gives on 0.2.8."""

  def rule(case):
    program = change(case.program)
    return Comparison(program, results(program, pristine_optax()), case.new)

  return rule


def _has_others(program: programs.Program) -> bool:
  """Whether the params are a raw model."""
  return bool(program.leaves & {*programs.OTHERS})


def _has_integers(program: programs.Program) -> bool:
  return bool(program.leaves & {'3', 'jnp.arange(2)', 'np.int32(4)'})


def _fails_without_params(case):
  """Takes what 0.2.8 does of an update for an integer for an error."""
  raised = case.new.get('raised', (0, ''))
  if case.old.get('raised', raised)[0] < raised[0]:
    return case  # The fork got further.
  line = case.program.lines[raised[0]]
  errors = ('AttributeError', 'IndexError', 'TypeError', 'ValueError')
  has_no_params = line.endswith('(grads, state)')
  if _has_integers(case.program) and has_no_params and raised[1] in errors:
    return case._replace(old=case.old | {'raised': raised})
  return case


def _filtered(program: programs.Program, others) -> programs.Program:
  """Returns a program with None for what is not a param, and of its masks."""
  cut = lambda tree: jax.tree.map(
      lambda p, x: 'None' if p in others else x, program.params, tree
  )
  trees = tuple(cut(tree) for tree in program.trees)
  return program._replace(params=cut(program.params), trees=trees)


def _raw(case):
  """Compares with the filtered params: what is not a param goes through."""
  found = _without_others(case, (*programs.OTHERS, '0.5'))
  if found.differing and '0.5' in case.program.leaves:
    # A step makes an array of a Python float, so then it is a param.
    kept = _without_others(case, tuple(programs.OTHERS))
    return found if kept.differing else kept
  return found


def _without_others(case, others):
  """Compares with the params with None for others."""
  paths = [
      jax.tree_util.keystr(path)
      for path, x in jax.tree_util.tree_leaves_with_path(case.program.params)
      if x in others
  ]
  # A Python float has a gradient, and no state of the optimizer's. What users
  # write keeps the gradient, and a norm of the gradients has it.
  has_float = '0.5' in others and '0.5' in case.program.leaves
  # A structure has None there in the one, and a leaf in the other.
  is_other = lambda key: (
      key.endswith(' is')
      or has_float and re.search(r'\.out$|\.(state|out)\b.*\.last\b', key)
      or re.search(r'\.(params|grads|updates|out)\b', key)
      and key.endswith(tuple(paths))
  )
  as_before = {
      key: x for key, x in case.old.items()
      if not is_other(key) and key != 'raised' and case.new.get(key) == x
  }  # fmt: skip
  never = (999, '')
  was, found = (x.get('raised', never) for x in case[1:])
  filtered = functools.partial(_filtered, others=others)
  case = _on_pristine(filtered)(case).of(
      lambda key, x: None if is_other(key) else x
  )
  # The filtered params may fail before: a group of them may be empty.
  if was == found != never and case.old.get('raised', never) >= was:
    case = case._replace(old=case.old | {'raised': was})
  case = case._replace(old=case.old | as_before)
  errors = 'AttributeError|TypeError|ValueError'
  if not has_float:
    return case
  if case.old.get('raised', never)[0] > found[0]:  # A float has no state.
    case = case.of(lambda key, x: None if key == 'raised' and x != found else x)
  return _error(f'|Diverged|{errors}', errors)(case)


def _with_static_args(program: programs.Program) -> programs.Program:
  """Returns a program that names what only Python reads, as 0.2.8 needs."""

  def named(match):
    factory = eval(match[1], {'optax': pristine_optax()})  # pylint: disable=eval-used
    name = match[1].rpartition('.')[2]
    found = [
        key
        for key in inspect.signature(factory).parameters
        if key.endswith(('mask', 'measure', 'clip_value_fn', 'decay_rate_fn'))
        or 'dtype' in key
        or name in settings.PYTHON_NUMBERS.get(key, ())
        or repr(key) in (match[2] or '')
    ]
    return f'inject_hyperparams({match[1]}, {found}'

  pattern = r'inject_hyperparams\(([\w.]+)(, \[[^]]*\])?'
  return program._replace(
      optimizer=re.sub(pattern, named, program.optimizer)
  )


def _is_flattened(optimizer: str, argument: str) -> bool:
  """Whether an argument stands inside of a call of `flatten`."""
  before = optimizer.partition(argument)[0]
  while before != (rest := re.sub(r'\([^()]*\)', '', before)):
    before = rest  # Calls that are closed.
  return 'flatten(' in before


def _with_freeze_mask(program: programs.Program) -> programs.Program:
  """Returns a program with the mask that its function computes."""
  # In a vector there is no matrix.
  if _is_flattened(program.optimizer, 'freeze_mask=matrices'):
    optimizer = re.sub('(freeze_mask=)matrices', r'\1False', program.optimizer)
    return program._replace(optimizer=optimizer)
  mask = jax.tree.map(lambda x: str('(2, 2)' in x), program.params)
  optimizer = program.optimizer.replace(
      'freeze_mask=matrices', f'freeze_mask=<{len(program.trees)}>'
  )
  return program._replace(optimizer=optimizer, trees=(*program.trees, mask))


_READ = '|'.join(sorted(set().union(*settings.PYTHON_NUMBERS.values())))
_STATIC = (
    rf'inject_hyperparams\([\w.]*({_READ})\)|inject_hyperparams.*_dtype=jnp'
)


_KEEPS_PARAMS = 'cocob|dog|dowg|lbfgs|madgrad|mechanize|prodigy|sam'

# By the test that shows a row: what programs it is about, and its rule.
RULES = {
    'test_freeze_mask_that_is_no_tree_of_bools': (
        _uses('freeze_mask=matrices'),
        _on_pristine(_with_freeze_mask),
    ),
    'test_dtypes_and_numbers_that_python_reads': (
        _uses(_STATIC), _on_pristine(_with_static_args)
    ),
    'test_function_in_a_mask_argument': (
        _uses(r'inject_hyperparams(.*mask=matrices|\([\w.]*(adopt|adafactor))'),
        _on_pristine(_with_static_args),
    ),
    'test_update_of_an_integer_without_params': (
        _has_others, _fails_without_params
    ),
    'test_integer_bool_or_key_beside_params': (
        lambda program: _has_others(program)
        and not _uses(r'tx\.update')(program),
        _raw,
    ),
    'test_update_of_an_integer': (
        lambda program: _has_others(program) and _uses(r'tx\.update')(program),
        lambda case: _fails_without_params(
            _raw(case)._replace(program=case.program)
        ),
    ),
    'test_state_without_schedule_free': (
        # There may be a state, with z in another layout than the params.
        _uses('schedule_free_eval_params'),
        _error('AttributeError|ValueError', 'TypeError|ValueError'),
    ),
    'test_types_of_a_fresh_line_search': (
        _uses('lbfgs|linesearch'), _without_weak_types(r'\.info\.')
    ),
    'test_gradient_under_flatten': (
        # What fails in either form fails in another place.
        _uses(r'flatten\(', 'value_fn'), _error('TypeError', 'AttributeError')
    ),
    'test_first_state_that_keeps_the_params': (
        _uses(_KEEPS_PARAMS, r'apply_if_finite|conditionally|tx\.init\(p\)'),
        _near(1e-5),
    ),
}  # fmt: skip
# Those of patches that are to be sent; all others are of the fork alone.
SENT = (
    'test_freeze_mask_that_is_no_tree_of_bools',
    'test_function_in_a_mask_argument',
    'test_state_without_schedule_free',
    'test_types_of_a_fresh_line_search',
    'test_first_state_that_keeps_the_params',
)


def with_option(added: programs.Added) -> Failure | list[str]:
  """Returns how an option changes something on the fork, in words."""
  plain, found = (results(x, optax) for x in (added.without, added.added))
  if 'raised' in plain:
    return ['fails without']  # As far as it comes, the other test compares it.
  if added.option != 'raw' and 'raised' in found:
    # Masks want the structure of the updates, for example.
    program = _with_static_args(added.added)
    if results(program, pristine_optax()).get('raised') == found['raised']:
      return ['fails on 0.2.8, too']
  way = re.escape(added.state)
  found = {
      re.sub(rf'^(\d+\.state){way}', r'\1', key): x for key, x in found.items()
  }
  # What the option has in its state, or in a raw model.
  found = {
      key: x for key, x in found.items() if key in plain or key == 'raised'
  }
  is_leaf = lambda key: not key.endswith((' is', ' has'))
  plain = {k: x for k, x in plain.items() if is_leaf(k)}
  found = {k: x for k, x in found.items() if is_leaf(k)}
  case = Comparison(added.added, plain, found)
  if 'inject' in added.option:
    # A schedule has its own state, and numbers have weak types.
    case = _without(r'\.count$')(_without_weak_types('')(case))
    # The centered moment of a first step is 0 but for rounding.
    case = _near(1e9 if _uses('centered=True')(case.program) else 2**-6)(case)
  if added.option == 'raw':
    case = _fails_without_params(case)
    is_without_params = _uses(r'flatten\(', r'\(grads, state\)')
    if _has_integers(case.program) and is_without_params(case.program):
      case = _without(r'\.state\b')(case)  # The vector has integers, then.
  if not case.differing:
    return [added.option]
  if added.option != 'raw':
    # The schedule of schedule_free counts from 1, an injected one from 0.
    new = results(added.added, optax)
    program = _with_static_args(added.added)
    as_before = Comparison(program, results(program, pristine_optax()), new)
    as_before = _without_weak_types('')(as_before)  # Of what is injected.
    if not as_before.differing or as_before.works_here_alone:
      return ['as on 0.2.8']
  return _failure(case)
