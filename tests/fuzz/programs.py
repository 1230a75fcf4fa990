# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Random programs: params, an optimizer, and what users do with them.

A program is lines of Python. What it calls that is not Optax is in `_HELPERS`,
so that one text runs on each copy of Optax, and prints whole.
"""

from collections.abc import Callable, Sequence
import functools
import inspect
import re
from typing import Any, NamedTuple
import warnings

import jax
from optax_fork.release import pristine
from support import factories
from support import settings

_IMPORTS = """
import copy
import functools
import pickle
from typing import NamedTuple
from flax import serialization
import jax
import jax.numpy as jnp
import numpy as np
"""

# What programs use beside Optax. Each is printed where its name is used.
_HELPERS = {
    'Pair': """
class Pair(NamedTuple):
  left: object
  right: object
""",
    'Diverged': """
class Diverged(ValueError):
  pass
""",
    'grads_of': """
def grads_of(params):
  def slope(p):
    dtype = getattr(p, 'dtype', type(p))
    if jnp.issubdtype(dtype, jnp.inexact):
      return p / 2 - 1
    return 0 * p if jnp.issubdtype(dtype, jnp.integer) else None
  return jax.tree.map(slope, params)
""",
    'loss': """
def loss(x, p=1.0, self=0.0):
  leaves = (leaf for leaf in jax.tree.leaves(x) if not callable(leaf))
  return self + sum(
      p * jnp.sum(jnp.real(leaf * leaf) / 4 - jnp.real(leaf)).astype('float32')
      for leaf in map(jnp.asarray, leaves)
      if jnp.issubdtype(leaf.dtype, jnp.inexact)
  )
""",
    'decayed': """
def decayed(count):
  return 0.5 * 0.9**count
""",
    'matrices': """
def matrices(params):
  return jax.tree.map(lambda p: jnp.ndim(p) > 1, params)
""",
    'groups': """
def groups(params):
  return jax.tree.map(lambda p: 'xy'[jnp.ndim(p) > 1], params)
""",
    'is_matrix': """
def is_matrix(leaf):
  return jnp.ndim(leaf) > 1
""",
    'is_low': """
def is_low(leaf):
  return jnp.result_type(leaf) in (jnp.bfloat16, jnp.float16)
""",
    'is_float': """
def is_float(leaf):
  return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)
""",
    'times': """
def times(tree, number):
  return jax.tree.map(lambda x: x * number if is_float(x) else x, tree)
""",
    'cast': """
def cast(tree, dtype):
  return jax.tree.map(
      lambda x: jnp.asarray(x, dtype) if is_float(x) else x, tree
  )
""",
    'without': """
def without(tree, number, value=None):
  leaves, treedef = jax.tree.flatten(tree)
  floats = [i for i, leaf in enumerate(leaves) if is_float(leaf)]
  leaves[floats[number % len(floats)]] = value
  return treedef.unflatten(leaves)
""",
    'Seen': """
class Seen(NamedTuple):
  steps: object
  last: object
""",
    'remember': """
def remember(updates, state, params=None):
  return jax.tree.map(lambda u: 2 * u, updates), Seen(state.steps + 1, updates)
""",
    'nest': """
def nest(updates, state, params=None):
  return {'nested': updates}, state
""",
    'drop': """
def drop(updates, state, params=None):
  return jax.tree.leaves(updates)[:1], state
""",
    'diverge': """
def diverge(updates, state, params=None):
  raise Diverged('by the user')
""",
    'by_extra': """
def by_extra(updates, state, params=None, **extra_args):
  number = extra_args.get('p', 1) + extra_args.get('self', 0)
  return times(updates, number), state
""",
    'large': """
def large(updates, step, params):
  norms = [jnp.linalg.norm(jnp.asarray(p)) for p in jax.tree.leaves(params)]
  return sum(norms) > 3, {'norms': norms}
""",
    'overridden': """
def overridden(base, way, tx):
  def init(self, params):
    return Seen(0, self[0](params))
  def update(self, updates, state, params=None, **extra_args):
    updates, inner = self[1](updates, state.last, params, **extra_args)
    return times(updates, 2), Seen(state.steps + 1, inner)
  bind = lambda f: way(lambda self: functools.partial(f, self)) if way else f
  return type('Own', (base,), {'init': bind(init), 'update': bind(update)})(
      tx.init, tx.update
  )
""",
    'of_class': """
def of_class(base, factory):
  own = lambda *args, **kwargs: overridden(base, None, factory(*args, **kwargs))
  return functools.wraps(factory)(own)
""",
    'norm_of_params': """
def norm_of_params(updates, state, params):
  arrays = (p for p in jax.tree.leaves(params) if hasattr(p, 'dtype'))
  norm = sum(jnp.sum(jnp.abs(p)) for p in arrays)
  return jax.tree.map(lambda u: u * norm, updates), state
""",
}


class Program(NamedTuple):
  """A program.

  Attributes:
    params: a tree of the texts of its leaves.
    optimizer: the text of an optimizer, with numbers of `trees` as `<0>`.
    trees: masks and labels, as trees of texts like the params.
    uses: lines that use `params`, `grads`, `tx` and `state`.
  """

  params: Any
  optimizer: str
  trees: tuple[Any, ...]
  uses: tuple[str, ...]

  @property
  def leaves(self) -> set[str]:
    return set(jax.tree.leaves(self.params))

  @property
  def lines(self) -> tuple[str, ...]:
    params = _show(self.params)
    if self.optimizer.startswith('optax.lookahead('):
      params = f'optax.LookaheadParams.init_synced({params})'
    fast = '.fast' if 'LookaheadParams' in params else ''
    tree = lambda match: _show(self.trees[int(match[1])])
    return (
        f'params = {params}',
        f'grads = grads_of(params{fast})',
        f"tx = {re.sub('<([0-9]+)>', tree, self.optimizer)}",
        'state = tx.init(params)',
        *self.uses,
    )

  def __str__(self):
    text = '\n'.join(self.lines)
    used = []
    # Helpers may use those before them.
    for name, helper in reversed(_HELPERS.items()):
      if re.search(rf'\b{name}\b', text + ''.join(used)):
        used.insert(0, helper)
    text = ''.join([*used, '\n', text, '\n'])
    imports = [
        line
        for line in f'{_IMPORTS}import optax'.splitlines()
        if re.search(rf'\b{line.split()[-1]}\b' if line else '^.', text)
    ]
    return '\n'.join([*imports, text])


@functools.cache
def _namespace() -> dict[str, Any]:
  found = {}
  exec(_IMPORTS + ''.join(_HELPERS.values()), found)  # pylint: disable=exec-used
  return found


def run(program: Program, optax, describe):
  """Runs a program on a copy of Optax.

  Args:
    program: a program.
    optax: the copy.
    describe: a function of a line's number and the variables after it.
  """
  names = _namespace() | {'optax': optax}
  with warnings.catch_warnings(), pristine.by_name(optax):
    warnings.simplefilter('ignore')
    for number, line in enumerate(program.lines):
      names['out'] = None
      try:
        exec(line, names)  # pylint: disable=exec-used
      except Exception as error:  # pylint: disable=broad-exception-caught
        names['out'] = error
        describe(number, names)
        return
      describe(number, names)


def _show(tree: Any) -> str:
  """Returns the Python of a tree of texts."""
  if isinstance(tree, str):
    return tree
  if isinstance(tree, dict):
    return '{' + ', '.join(f'{k!r}: {_show(x)}' for k, x in tree.items()) + '}'
  inner = ', '.join(map(_show, tree))
  if isinstance(tree, _namespace()['Pair']):
    return f'Pair({inner})'
  if isinstance(tree, tuple):
    return f'({inner},)'
  return f'[{inner}]'


class Choices:
  """What something is drawn by, so that it can be drawn again, and shorter.

  Attributes:
    made: the number of each choice.
  """

  def __init__(self, given: Sequence[int] = (), source=None):
    """Makes choices.

    Args:
      given: the first choices.
      source: a `random.Random` for all others; None for the first option.
    """
    self.made, self._given, self._source = [], list(given), source

  def of(self, *options):
    """Chooses one; the simplest comes first."""
    number = 0
    if len(self.made) < len(self._given):
      number = min(self._given[len(self.made)], len(options) - 1)
    elif self._source:
      number = self._source.randrange(len(options))
    self.made.append(number)
    return options[number]


def shortest(
    draw: Callable[[Choices], Any],
    choices: list[int],
    fails: Callable[[Any], bool],
    attempts: int = 400,
) -> Any:
  """Returns the shortest that fails as well, of those tried.

  Args:
    draw: a function of choices.
    choices: the numbers of those by which something fails.
    fails: whether what is drawn does so.
    attempts: the most that are tried.
  """
  best, tried = draw(Choices(choices)), set()

  def shorter():
    for size in (16, 8, 4, 2, 1):
      for i in range(0, len(choices), size):
        yield choices[:i] + choices[i + size :]
    for i, number in enumerate(choices):
      yield from (choices[:i] + [n] + choices[i + 1 :] for n in range(number))

  while len(tried) < attempts:
    for candidate in shorter():
      found = Choices(candidate)
      drawn = draw(found)
      text = str(drawn)
      if text in tried or (len(text), found.made) >= (len(str(best)), choices):
        continue
      tried.add(text)
      if fails(drawn):
        best, choices = drawn, found.made
        break
      if len(tried) == attempts:
        return best
    else:
      return best
  return best


# Few shapes, so that JAX compiles each operation but once.
FLOATS = {
    'float32': (
        'jnp.array([1.0, -2.0])',
        'jnp.ones((2, 2))',
        'np.array([0.5, 3.0], np.float32)',
    ),
    'bfloat16': (
        'jnp.array([1.0, -2.0], jnp.bfloat16)',
        'jnp.ones((2, 2), jnp.bfloat16)',
    ),
    'float16': ('jnp.array([1.0, -2.0], jnp.float16)',),
    'other': (
        'jnp.linspace(-1.0, 1.0, 20)', 'jnp.float32(3.0)', 'jnp.asarray(3.0)',
    ),
    'Python': ('0.5',),
    'complex': ('jnp.array([1.0, 2.0j])',),
}
# What makes a raw model of a tree of floats.
_OTHERS = (
    '3', 'jnp.arange(2)', 'np.int32(4)', 'True', 'jax.random.key(0)', 'jnp.tanh'
)  # fmt: skip
# Leaves of a tree, each as often as it stands here.
_SINGLE, _LOW = FLOATS['float32'], FLOATS['bfloat16']
_LEAVES = (
    _SINGLE,
    _LOW,
    _SINGLE + _LOW,
    _SINGLE + sum(FLOATS.values(), ()),
    _SINGLE + ('None', '0.5'),
)


def _tree(choices, leaves, depth=0):
  """Draws a tree; most often the same, since each compiles other programs."""
  leaf = lambda: choices.of(*leaves)
  inner = lambda: _tree(choices, leaves, depth + 1) if depth < 2 else leaf()
  layer = lambda: {'w': leaves[1], 'b': leaf()}
  nodes = (
      leaf,
      lambda: {'w': inner()},
      lambda: {'b': inner(), 'w': inner()},
      lambda: [inner()],
      lambda: (inner(), inner()),
      lambda: _namespace()['Pair'](inner(), inner()),
  )
  often = [layer] * 4 if depth == 0 else [leaf] * 6
  return choices.of(layer, *often, *nodes)()


# Values of arguments, by name. Any other that is needed is a number.
_NUMBERS = {
    'k': ('2',),
    'max_consecutive_errors': ('1',),
    'max_backtracking_steps': ('3',),
    'max_linesearch_steps': ('3',),
    'memory_size': ('2',),
    'seed': ('0',),
    'sync_period': ('2',),
    'f': ('lambda u, p: jax.tree.map(jnp.sign, u)',),
    'measure': ('lambda updates: optax.tree.norm(updates)',),
    'measure_name': ("'measure'",),
    'measures': ("{'norm': optax.tree.norm}",),
    'should_transform_fn': ('lambda step, **_: step > 0',),
    'step_size_fn': ('decayed',),
    'weight_decay': ('0.1', '0', '0.0'),
    'momentum': ('0.9',),
    'b1': ('0.5', '0'),
    'b2': ('0.5', '0'),
    'eps': ('1e-3', '0.0'),
    'nesterov': ('True',),
    'mu_dtype': ('jnp.bfloat16', "'float32'"),
    'accumulator_dtype': ('jnp.bfloat16', "'float32'"),
    'state_dtype': ('jnp.bfloat16',),
    'min_dim_size_to_factor': ('2',),
    'clipping_threshold': ('None',),
    'multiply_by_parameter_scale': ('False',),
    'mask_compatible_extra_args': ('True',),
    'reset_state': ('False', 'True'),
    'initial_accumulator_value': ('0.0',),
    'bias_correction': ('True',),
    'debias': ('False',),
    'centered': ('True',),
    'store_grad': ('True',),
}
_INNER = (
    'adv_optimizer', 'base_optimizer', 'fast_optimizer', 'inner', 'optimizer',
    'tx',
)  # fmt: skip
_RATES = (
    '0.1', '0.1', '1', '0.5', 'decayed', 'np.float32(0.1)', 'np.float64(0.1)',
    'jnp.asarray(0.1)', 'jnp.asarray(0.1, jnp.bfloat16)', 'lambda count: 0.1',
    'optax.linear_schedule(0.1, 0.01, 3)', 'np.asarray(0.1)', 'True',
)  # fmt: skip
# They print, they are slow, or they want a loss or a key of another kind.
_LEFT_OUT = {
    'chain', 'named_chain', 'multi_transform', 'monitor', 'galore',
    'scale_by_galore', 'snapshot',
}  # fmt: skip
_COMMON = (
    'adam', 'add_decayed_weights', 'clip', 'scale', 'scale_by_rms', 'sgd',
    'trace',
)  # fmt: skip
_EAGERLY = (
    'flatten', 'masked', 'partition', 'selective_transform',
    'with_extra_args_support', 'contrib.schedule_free',
)  # fmt: skip
_MASKED = (
    'optax.masked({}, {})',
    "optax.partition({{'x': {}, 'y': optax.sgd(0.5)}}, {})",
    'optax.selective_transform({}, freeze_mask={})',
    'optax.selective_transform({}, train_mask={})',
    'optax.chain({}, optax.freeze({}))',
    'optax.chain({}, optax.add_decayed_weights(0.1, {}))',
)
# Aliases that only multiply by the learning rate.
_EXACT = ('optax.adam', 'optax.sgd', 'optax.rmsprop', 'optax.lion')
_SLOW = ('linesearch', 'lbfgs', 'mechanize', 'muon', 'hutchinson', 'sophia')


class _Factory(NamedTuple):
  name: str
  required: tuple[str, ...]
  optional: tuple[str, ...]
  parameters: tuple[str, ...]

  @property
  def static(self) -> list[str]:
    """What 0.2.8 needs in `static_args`; that the fork does not is a row."""
    name = factories.name_of(self.name)
    return [
        key
        for key in self.parameters
        if key.endswith(('mask', 'measure', 'clip_value_fn', 'decay_rate_fn'))
        or 'dtype' in key
        or name in settings.PYTHON_NUMBERS.get(key, ())
    ]

  @property
  def is_wrapper(self):
    return bool({*_INNER, 'transforms'} & {*self.required})

  @property
  def is_slow(self):
    return any(name in self.name for name in _SLOW)


@functools.cache
def _factories() -> list[_Factory]:
  """Returns all factories, by what they can be given."""
  found = []
  for label, factory in factories.public(pristine.load()).items():
    if factories.name_of(label) in _LEFT_OUT:
      continue
    parameters = inspect.signature(factory).parameters
    known = {*_NUMBERS, 'learning_rate', 'mask'}
    required = [
        key
        for key, parameter in parameters.items()
        if parameter.default is inspect.Parameter.empty or key == 'freeze_mask'
    ]
    optional = [k for k in parameters if k in known and k not in required]
    found.append(_Factory(label, *map(tuple, (required, optional, parameters))))
  return found


_B = jax.tree_util.DictKey('b')


def _collapsed(tree):
  """Returns a prefix of a tree, with one leaf for those that are equal."""
  one_level = lambda x: x is not tree
  nodes, treedef = jax.tree.flatten(tree, is_leaf=one_level)
  if isinstance(tree, str):
    return tree
  nodes = [_collapsed(node) for node in nodes]
  is_same = isinstance(nodes[0], str) and nodes == nodes[:1] * len(nodes)
  return nodes[0] if is_same else treedef.unflatten(nodes)


class _Optimizers:
  """Draws optimizers for params.

  Attributes:
    trees: masks and labels.
    choices: the texts of `optax.masks` that choose the same, if asked for.
  """

  def __init__(self, choices, params, by_choice=False, keeps_structure=False):
    self._of, self._params, self._by_choice = choices.of, params, by_choice
    self._keeps_structure = keeps_structure
    self.trees, self.choices = [], []
    self.is_single = {*jax.tree.leaves(params)} <= {*_SINGLE}

  def any(self, depth=0) -> str:
    kinds = [self.plain] * 3 + [self._injected] * 3 + [self._own]
    if depth < 2:
      kinds += [self.wrapper] * 4 + [self._overridden]
      kinds += [self._combined, self._multi_steps]
    return self._of(*kinds)(depth)

  def _choice(self, depth=0):
    """Draws a mask of `optax.masks`, and the tree that it gives."""
    of_leaves = lambda chooses: jax.tree_util.tree_map_with_path(
        lambda path, leaf: leaf != 'None' and chooses(path, leaf), self._params
    )
    trees = {
        'by_leaf(is_matrix)': of_leaves(lambda _, leaf: '2, 2' in leaf),
        'by_leaf(is_low)': of_leaves(lambda _, leaf: 'float16' in leaf),
        "by_path('(.*/)?b(/.*)?')": of_leaves(lambda path, _: _B in path),
    }
    if not any(jax.tree.leaves(trees["by_path('(.*/)?b(/.*)?')"])):
      del trees["by_path('(.*/)?b(/.*)?')"]
    kind = self._of('', '', '~', '&', '|')
    text, tree = self._of(*trees.items())
    text = f'optax.masks.{text}'
    if depth == 2 or kind == '':
      return text, tree
    if kind == '~':
      text, tree = self._choice(depth + 1)
      return f'~({text})', jax.tree.map(lambda x: not x, tree)
    if self._of(False, True):
      other, too = self._choice(depth + 1)
    else:
      too = jax.tree.map(lambda _: self._of(True, False), self._params)
      other = _show(_collapsed(jax.tree.map(str, too)))
    combine = {'&': lambda *x: all(x), '|': lambda *x: any(x)}[kind]
    return f'({text} {kind} {other})', jax.tree.map(combine, tree, too)

  def tree(self, yes, no):
    """Draws a mask or labels."""
    if self._by_choice and self._of(True, True, True, False):
      text, tree = self._choice()
      if not any(jax.tree.leaves(tree)):  # That is an error or a warning.
        text, tree = f'~({text})', jax.tree.map(lambda x: True, tree)
      if yes == "'x'":
        text = f'optax.masks.labels({{{text}: {yes}}}, default={no})'
      self.choices.append(text)
      tree = jax.tree.map(
          lambda x, leaf: 'None' if leaf == 'None' else (no, yes)[x],
          tree, self._params,
      )  # fmt: skip
    else:
      tree = jax.tree.map(lambda _: self._of(yes, no), self._params)
      tree = self._of(tree, _collapsed(tree))
      self.choices.append(tree)
    self.trees.append(tree)
    return f'<{len(self.trees) - 1}>'

  def _tree_or(self, function, yes, no):
    is_tree = self._by_choice or self._of(True, True, False)
    return self.tree(yes, no) if is_tree else function

  def _argument(self, key, depth):
    if key in _INNER:
      return self.any(depth + 1)
    if key == 'transforms':
      return f"{{'x': {self.any(depth + 1)}, 'y': {self.any(depth + 1)}}}"
    if key == 'param_labels':
      return self._tree_or('groups', "'x'", "'y'")
    if key == 'freeze_mask':  # A function has a row.
      return self.tree('True', 'False')
    if key.endswith('mask'):
      return self._tree_or('matrices', 'True', 'False')
    if key == 'learning_rate':
      return self._of(*_RATES[:5])
    return self._of(*_NUMBERS.get(key, ('0.1',)))

  def _call(self, factory, depth):
    keys = list(factory.required)
    if factory.optional and self._of(False, True):
      keys += dict.fromkeys(self._of(*factory.optional) for _ in range(2))
    arguments = (f'{key}={self._argument(key, depth)}' for key in keys)
    return f'{factory.name}({", ".join(arguments)})'

  def plain(self, depth):
    """Draws an optimizer that has no other in it."""
    known = [f for f in _factories() if not f.is_wrapper]
    kind = self._of(*range(20))
    if kind < 10:
      known = [f for f in known if f.name.removeprefix('optax.') in _COMMON]
    elif kind < 19:
      known = [f for f in known if not f.is_slow]
    return self._call(self._of(*known), depth)

  def _injected(self, depth):
    del depth
    # Noise is drawn of the dtype of the updates; COCOB subtracts params.
    factory = self._of(*(
        f for f in _factories()
        if not f.is_wrapper and not f.is_slow
        and 'seed' not in f.required + f.optional and 'cocob' not in f.name
        and {*f.required, *f.optional}
        & {'learning_rate', 'weight_decay', 'b1', 'decay', 'step_size'}
    ))  # fmt: skip
    arguments = []
    for key in dict.fromkeys(factory.required + factory.optional):
      if key in ('learning_rate', 'step_size'):
        arguments.append(f'{key}={self._of(*_RATES)}')
      elif key in factory.required or self._of(*range(5)) == 4:
        arguments.append(f'{key}={self._argument(key, 2)}')
    static = factory.static + self._of([], [], [], ['learning_rate'])
    text = factory.name
    if self._of(*range(6)) == 5:
      text = f'of_class(optax.GradientTransformation, {text})'
    # Numbers of another dtype than the params have a row.
    dtype = ', hyperparam_dtype=jnp.float32' * (
        self.is_single and self._of(False, True)
    )
    arguments = ', '.join(arguments)
    return f'optax.inject_hyperparams({text}, {static}{dtype})({arguments})'

  def _own(self, depth):
    del depth
    pairs = (
        ('lambda params: Seen(0, params)', 'remember'),
        ('lambda params: Seen(jnp.zeros([]), None)', 'remember'),
        ('lambda params: ()', 'norm_of_params'),
        ('lambda params: ()', 'by_extra'),
        ('lambda params: ()', 'nest'),
        ('lambda params: ()', 'drop'),
        ('lambda params: ()', 'diverge'),
    )
    init, update = self._of(*pairs[: 4 if self._keeps_structure else None])
    extra = 'ExtraArgs' * (update == 'by_extra')
    return f'optax.GradientTransformation{extra}({init}, {update})'

  def _overridden(self, depth):
    base = self._of('', 'ExtraArgs')
    way = self._of('None', 'property', 'functools.cached_property')
    base = f'optax.GradientTransformation{base}'
    return f'overridden({base}, {way}, {self.any(depth + 1)})'

  def wrapper(self, depth):
    """Draws an optimizer of another."""
    known = [f for f in _factories() if f.is_wrapper]
    if depth:  # Its params are pairs.
      known = [f for f in known if f.name != 'optax.lookahead']
    if self._by_choice:  # A vector has no paths.
      known = [f for f in known if f.name != 'optax.flatten']
    if self._of(*range(8)) < 7:  # Others compile a program for each.
      known = [f for f in known if f.name.removeprefix('optax.') in _EAGERLY]
    return self._call(self._of(*known), depth)

  def with_mask(self, depth=0):
    """Draws an optimizer of a part of the params."""
    text = self._of(*_MASKED)
    values = ("'x'", "'y'") if 'partition' in text else ('True', 'False')
    inner = self._of(self.any, self.with_mask if depth < 2 else self.any)
    return text.format(inner(depth + 1), self.tree(*values))

  def _combined(self, depth):
    inner = [self.any(depth + 1) for _ in range(self._of(1, 2))]
    if self._of(False, True):
      return f'optax.chain({", ".join(inner)})'
    named = (f"('{'xy'[i]}', {text})" for i, text in enumerate(inner))
    return f'optax.named_chain({", ".join(named)})'

  def _multi_steps(self, depth):
    every = self._of('1', '2', '2', 'lambda step: 1 + step')
    skip = self._of('', '', ', should_skip_update_fn=large')
    text = f'optax.MultiSteps({self.any(depth + 1)}, {every}{skip})'
    return text if depth == 0 else f'{text}.gradient_transformation()'


_STEP = (
    'updates, state = tx.update(grads, state, params)\n'
    'params = optax.apply_updates(params, updates)'
)
_TRAIN = (
    'def step(params, state):\n'
    '  updates, state = tx.update(grads, state, params)\n'
    '  return optax.apply_updates(params, updates), state\n'
)
_NEW_NUMBERS = (
    '0', '0.5', '1', 'True', 'np.float64(0.02)', 'np.float32(0.02)',
    'jnp.asarray(0)', 'jnp.asarray(0.02)', 'jnp.asarray(0.02, jnp.bfloat16)',
)  # fmt: skip
_KEYS = ('learning_rate', 'learning_rate', 'weight_decay', 'b2', 'b1')
_WITHOUT_PARAMS = 'updates, state = tx.update(grads, state)'
_JITTED = 'updates, state = jax.jit(tx.update)(grads, state, params)'
_OTHER_DTYPES = (
    'grads = cast(grads, jnp.float16)',
    'grads = cast(grads, jnp.bfloat16)',
    'grads = cast(grads, jnp.float32)',
)
_EAGER = (
    _STEP,
    _STEP,
    _STEP,
    _WITHOUT_PARAMS,
    *_OTHER_DTYPES,
    'grads = without(grads, 0)',
    'grads = without(grads, 1)',
    'grads = times(grads, jnp.nan)',
    'grads = times(grads, 1e30)',
    'state = jax.device_get(state)',
    'state = copy.deepcopy(state)',
    'state = pickle.loads(pickle.dumps(state))',
    'state = jax.tree.map(lambda x: x, state)',
    'state = serialization.from_bytes(state, serialization.to_bytes(state))',
    'updates, state = tx.update(grads, state, params=params)',
    'updates, state = tx.update(updates=grads, state=state, params=params)',
    'updates, state = tx.update(grads, state, params, p=2.0)',
    'updates, state = tx.update(grads, state, params, p=2.0, self=1.0)',
    'out = optax.value_and_grad_from_state(loss)(\n'
    '    params, state=state, p=2.0, self=1.0\n'
    ')',
    'out = tx.init(jax.eval_shape(lambda p: p, params))',
    'out = jax.eval_shape(tx.init, params)',
    'out = jax.eval_shape(tx.update, grads, state, params)',
    'out = optax.tree_map_params(tx, lambda p: (p,), state)',
    'out = optax.tree_map_params(\n'
    '    tx, lambda p: 1, state, transform_non_params=lambda x: 2\n'
    ')',
    'out = optax.tree_map_params(\n'
    '    tx.init, lambda p, q: q, state, params,\n'
    '    transform_non_params=lambda x: (x, 0)\n'
    ')',
    'out = optax.tree_map_params(\n'
    '    tx, lambda p: (p,), state,\n'
    '    is_leaf=lambda x: isinstance(x, optax.MaskedNode),\n'
    ')',
    "out = optax.tree.get(state, 'count')",
    "out = optax.tree.get_all_with_path(state, 'mu')",
    "state = optax.tree.set(state, count=jnp.asarray(5))",
    "out = optax.tree.get(state, 'learning_rate')",
    'out = optax.tree.norm(grads)',
    'out = optax.incremental_update(params, params, 0.1)',
    'out = optax.periodic_update(params, params, 2, 1)',
    'out = optax.contrib.schedule_free_eval_params(state, params)',
)
_COMPILED = (
    _JITTED,
    'state = jax.jit(tx.init)(params)',
    f'{_TRAIN}(params, state), _ = jax.lax.scan(\n'
    '    lambda c, _: (step(*c), None), (params, state), length=2\n'
    ')',
    f'{_TRAIN}out = jax.grad(\n'
    '    lambda p: loss(step(p, tx.init(p))[0])\n'
    ')(params)',
    'out = jax.vmap(tx.init)(\n'
    '    jax.tree.map(lambda p: jnp.stack([p, p]), params)\n'
    ')',
)
_OF_NUMBERS = (
    f'{_TRAIN}out = jax.grad(\n'
    '    lambda h: loss(step(params, state._replace(hyperparams=h))[0])\n'
    ')(state.hyperparams)',
    'def body(carry, number):\n'
    '  params, state = carry\n'
    "  state.hyperparams['learning_rate'] = number\n"
    '  updates, state = tx.update(grads, state, params)\n'
    '  return (optax.apply_updates(params, updates), state), None\n'
    '(params, state), _ = jax.lax.scan(\n'
    '    body, (params, state), jnp.array([0.1, 0.02])\n'
    ')',
    'def body(carry, _):\n'
    '  params, state = carry\n'
    "  state.hyperparams['learning_rate'] = 0.02\n"
    '  updates, state = tx.update(grads, state, params)\n'
    '  return (optax.apply_updates(params, updates), state), None\n'
    '(params, state), _ = jax.lax.scan(body, (params, state), length=2)',
)
# What `update` needs beside, by a word of the optimizer.
_EXTRA = {
    'lbfgs|linesearch': 'value=loss(params), grad=grads, value_fn=loss',
    'momo|polyak|plateau': 'value=loss(params)',
    'sophia|hutchinson': 'obj_fn=loss',
}
# What has a row in the table of differences, so that it is not drawn.
_HAS_ROW = '|'.join((
    # test_first_state_that_keeps_the_params
    '(apply_if_finite|conditionally|tx.init.p).*'
    '(cocob|dog|dowg|lbfgs|madgrad|mechanize|prodigy|sam)',
    # test_gradient_under_flatten
    r'flatten\(.*(value|obj)_fn=',
    # test_state_without_schedule_free
    r'eval_params(?!.*tx = optax\.contrib\.schedule_free)',
    # 0.2.8 fails with another exception.
    r'init\(jax\.eval_shape.*(schedule_free|\bdog\b)',
    # test_hyperparam_dtype: gradients of another dtype are another precision.
    r'cast\(.*hyperparam_dtype',
))  # fmt: skip


def _use(choices, optimizer):
  kind = choices.of(*range(20))
  is_injected = optimizer.startswith('optax.inject')
  if is_injected and 4 <= kind < 9:
    key, value = choices.of(*_KEYS), choices.of(*_NEW_NUMBERS)
    return f"state.hyperparams['{key}'] = {value}"
  if is_injected and kind == 9:
    return choices.of(*_OF_NUMBERS)
  if kind == 19:
    return choices.of(*_COMPILED)
  return choices.of(*_EAGER) if kind > 3 else _STEP


def _with_extra(use, optimizer):
  for words, extra in _EXTRA.items():
    if re.search(words, optimizer) and not optimizer.startswith('optax.sc'):
      update = 'grads, state, params'
      use = use.replace(update, f'{update}, {extra}')
  return use


def program(choices: Choices) -> Program:
  """Draws a program."""
  params = _tree(choices, choices.of(*_LEAVES))
  optimizers = _Optimizers(choices, params)
  optimizer = optimizers.any()
  uses = [
      _with_extra(_use(choices, optimizer), optimizer)
      for _ in range(choices.of(1, 2, 3, 4))
  ]
  drawn = Program(params, optimizer, tuple(optimizers.trees), tuple(uses))
  text = f'{optimizer} {uses} tx = {optimizer}'
  # Without choices, it is the simplest one, so this ends.
  return program(choices) if re.search(_HAS_ROW, text) else drawn


class Alike(NamedTuple):
  """A program, and one with an option that changes nothing.

  Attributes:
    without: the program.
    option: the option's text.
    added: the program with it.
    state: the path of the first one's state in that of the other.
  """

  without: Program
  option: str
  added: Program
  state: str

  def __str__(self):
    return f'{self.without}\n# and\n\n{self.added}'


MASKS = 'choices of optax.masks'
# An option that changes nothing: the optimizer with it, of one without it and a
# mask or labels; and the way to the state of what it was.
_OPTIONS = {
    MASKS: '',
    'raw': '',
    'optax.masked({}, {})': '.inner_state',
    "optax.partition({{'x': {}}}, {})": ".inner_states['x'].inner_state",
    'optax.chain({})': '[0]',
    "optax.named_chain(('x', {}))": "['x']",
    'optax.inject_hyperparams({}, {}, hyperparam_dtype=jnp.float32)({})': (
        '.inner_state'
    ),
}


def with_option(choices: Choices) -> Alike:
  """Draws a program, and the same with an option that changes nothing."""
  option = choices.of(*[MASKS] * 4, *_OPTIONS)
  is_raw, other = option == 'raw', choices.of(*_OTHERS)
  leaves = choices.of(*_LEAVES)  # A Python float is not a param in a raw model.
  params = _tree(choices, [x for x in leaves if not is_raw or x != '0.5'])
  optimizers = _Optimizers(choices, params, option == MASKS, True)
  more = params
  if option == MASKS:
    optimizer = added = optimizers.with_mask()
  elif 'inject' in option:
    factory = choices.of(*(f for f in _factories() if f.name in _EXACT))
    static = [k for k in factory.parameters if k != 'learning_rate']
    arguments = f"learning_rate={choices.of('0.1', '0.5')}"
    optimizer = f'{factory.name}({arguments})'
    added = option.format(factory.name, static, arguments)
  else:
    optimizer = added = optimizers.any(1)
    if is_raw:
      params, more = ({'raw': x, 'p': params} for x in ('None', other))
      optimizers.trees = [{'raw': 'None', 'p': x} for x in optimizers.trees]
    else:
      value = "'x'" if 'partition' in option else 'True'
      added = option.format(optimizer, optimizers.tree(value, value))
  steps = [_STEP, _STEP, 'grads = without(grads, 0)']
  steps += [_JITTED] * (not is_raw or other != 'jnp.tanh')
  steps += _OTHER_DTYPES * ('inject' not in option)
  uses = [choices.of(*steps) for _ in range(choices.of(1, 2, 3))]
  uses = tuple(_with_extra(use, optimizer) for use in [*uses, _STEP])
  trees = tuple(optimizers.trees)
  chosen = tuple(optimizers.choices) if option == MASKS else trees
  return Alike(
      Program(params, optimizer, trees, uses), option,
      Program(more, added, chosen, uses), _OPTIONS[option],
  )  # fmt: skip
