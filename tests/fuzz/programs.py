# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Random programs: params, an optimizer, and what users do with them.

A program is lines of Python. What they call that is not Optax is in
`users_code`, so that one text runs on each copy of Optax.

What has a row in docs/differences.md has tests of its own. It is not
drawn, so that each program must give the same on 0.2.8 and on the fork.
"""

from collections.abc import Callable, Sequence
import functools
import inspect
import re
from typing import Any, NamedTuple

import jax
from fuzz import users_code
from optax_fork import pristine
from support import factories
from support import settings


class _Text(str):
  """Python that stands in a tree."""

  __repr__ = str.__str__


class Program(NamedTuple):
  """The lines of a program; each may have several."""

  lines: tuple[str, ...]

  def __str__(self):
    imports = ('from fuzz.users_code import *', 'import optax\n')
    return '\n'.join([*imports, *self.lines])


def _program(params, optimizer, trees, uses) -> Program:
  """Returns a program; `<0>` in an optimizer is the first of the trees."""
  params = repr(params)
  if optimizer.startswith('optax.lookahead('):
    params = f'optax.LookaheadParams.init_synced({params})'
  fast = '.fast' if 'LookaheadParams' in params else ''
  tree = lambda match: repr(trees[int(match[1])])
  return Program((
      f'params = {params}',
      f'grads = grads_of(params{fast})',
      f"tx = {re.sub('<([0-9]+)>', tree, optimizer)}",
      'state = tx.init(params)',
      *(_with_extra(use, optimizer) for use in uses),
  ))


class Choices:
  """What something is drawn by, so that it can be drawn again, and shorter."""

  def __init__(self, given: Sequence[int] = (), source=None):
    """Makes choices: those given, then of a `random.Random` or the first."""
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


def shortest(draw: Callable[[Choices], Any], made: list[int], fails):
  """Returns the shortest that fails as well, of those tried."""
  best = draw(Choices(made))
  for size in (16, 8, 4, 2, 1, 1):
    for i in reversed(range(0, len(made), size)):
      for less in ([], [0] * size):
        choices = Choices(made[:i] + less + made[i + size :])
        drawn = draw(choices)
        if len(str(drawn)) < len(str(best)) and fails(drawn):
          best, made = drawn, choices.made
  return best


# Few shapes, so that JAX compiles each operation but once.
_SINGLE = (
    'jnp.array([1.0, -2.0])', 'jnp.ones((2, 2))',
    'np.array([0.5, 3.0], np.float32)',
)  # fmt: skip
_LOW = (
    'jnp.array([1.0, -2.0], jnp.bfloat16)', 'jnp.ones((2, 2), jnp.bfloat16)'
)  # fmt: skip
_FLOATS = (
    *_SINGLE, *_LOW, 'jnp.array([1.0, -2.0], jnp.float16)',
    'jnp.linspace(-1.0, 1.0, 20)', 'jnp.float32(3.0)', 'jnp.asarray(3.0)',
    '0.5', 'jnp.array([1.0, 2.0j])',
)  # fmt: skip
# Leaves of a tree, each as often as it stands here.
_LEAVES = (
    _SINGLE, _LOW, _SINGLE + _LOW, _SINGLE + _FLOATS, _SINGLE + (None, '0.5'),
)  # fmt: skip
# What makes a raw model of a tree of floats.
_OTHERS = (
    '3', 'jnp.arange(2)', 'np.int32(4)', 'True', 'jax.random.key(0)', 'jnp.tanh'
)  # fmt: skip


def _tree(choices, leaves, depth=0):
  """Draws a tree; most often the same, since each compiles other programs."""
  as_leaf = lambda x: x if x is None else _Text(x)
  leaf = lambda: as_leaf(choices.of(*leaves))
  inner = lambda: _tree(choices, leaves, depth + 1) if depth < 2 else leaf()
  layer = lambda: {'w': as_leaf(leaves[1]), 'b': leaf()}
  nodes = (
      leaf,
      lambda: {'w': inner()},
      lambda: {'b': inner(), 'w': inner()},
      lambda: [inner()],
      lambda: (inner(), inner()),
      lambda: users_code.Pair(inner(), inner()),
  )
  often = [layer] * 4 if depth == 0 else [leaf] * 6
  return choices.of(layer, *often, *nodes)()


def _collapsed(tree):
  """Returns a prefix of a tree, with one leaf for those that are equal."""
  leaves = jax.tree.leaves(tree)
  if len({*leaves}) < 2:
    return leaves[0] if leaves else tree
  nodes, treedef = jax.tree.flatten(tree, is_leaf=lambda x: x is not tree)
  return treedef.unflatten(map(_collapsed, nodes))


# Values of arguments, by name. Any other that is needed is a number.
_VALUES = {
    'k': '2', 'max_consecutive_errors': '1', 'max_backtracking_steps': '3',
    'max_linesearch_steps': '3', 'memory_size': '2', 'seed': '0',
    'sync_period': '2', 'min_dim_size_to_factor': '2', 'momentum': '0.9',
    'weight_decay': '.1|0|0.', 'b1': '0.5|0', 'b2': '0.5|0', 'eps': '1e-3|0.0',
    'learning_rate': '0.1|0.1|1|0.5|decayed', 'step_size_fn': 'decayed',
    'mu_dtype': "jnp.bfloat16|'float32'", 'state_dtype': 'jnp.bfloat16',
    'accumulator_dtype': "jnp.bfloat16|'float32'", 'nesterov': 'True',
    'clipping_threshold': 'None', 'multiply_by_parameter_scale': 'False',
    'mask_compatible_extra_args': 'True', 'reset_state': 'False|True',
    'initial_accumulator_value': '0.0', 'bias_correction': 'True',
    'debias': 'False', 'centered': 'True', 'store_grad': 'True',
    'f': 'lambda u, p: jax.tree.map(jnp.sign, u)', 'measure_name': "'measure'",
    'measure': 'lambda u: optax.tree.norm(u)',
    'measures': "{'norm': optax.tree.norm}",
    'should_transform_fn': 'lambda step, **_: step > 0',
}  # fmt: skip
_RATES = (
    '0.1', '0.1', '1', '0.5', 'decayed', 'np.float32(0.1)', 'np.float64(0.1)',
    'jnp.asarray(0.1)', 'jnp.asarray(0.1, jnp.bfloat16)', 'lambda count: 0.1',
    'optax.linear_schedule(0.1, 0.01, 3)', 'np.asarray(0.1)', 'True',
)  # fmt: skip
_INNER = (
    'adv_optimizer', 'base_optimizer', 'fast_optimizer', 'inner', 'optimizer',
    'tx', 'transforms',
)  # fmt: skip
# They print, they are slow, or they want a loss or a key of another kind.
_LEFT_OUT = (
    'chain', 'named_chain', 'multi_transform', 'monitor', 'galore',
    'scale_by_galore', 'snapshot',
)  # fmt: skip
_COMMON = (
    'adam', 'add_decayed_weights', 'clip', 'scale', 'scale_by_rms', 'sgd',
    'trace',
)  # fmt: skip
_EAGERLY = (
    'flatten', 'masked', 'partition', 'selective_transform',
    'with_extra_args_support', 'contrib.schedule_free',
)  # fmt: skip
_SLOW = ('linesearch', 'lbfgs', 'mechanize', 'muon', 'hutchinson', 'sophia')
_MASKED = (
    'optax.masked({}, {})',
    "optax.partition({{'x': {}, 'y': optax.sgd(0.5)}}, {})",
    'optax.selective_transform({}, freeze_mask={})',
    'optax.selective_transform({}, train_mask={})',
    'optax.chain({}, optax.freeze({}))',
    'optax.chain({}, optax.add_decayed_weights(0.1, {}))',
)
# Functions `init` and `update`; the first four keep the structure.
_OWN = (
    'lambda params: Seen(0, params), remember',
    'lambda params: Seen(jnp.zeros([]), None), remember',
    'lambda params: (), norm_of_params', 'lambda params: (), by_extra',
    'lambda params: (), nest', 'lambda params: (), drop',
    'lambda params: (), diverge',
)  # fmt: skip


MASKS = 'choices of optax.masks'


class _Factory(NamedTuple):
  """A factory of optimizers, and what it can be given."""

  name: str
  required: list[str]
  optional: list[str]
  parameters: list[str]

  @property
  def short_name(self):
    return self.name.removeprefix('optax.')

  @property
  def is_wrapper(self):
    return not {*_INNER}.isdisjoint(self.required)

  @property
  def is_slow(self):
    return any(name in self.name for name in _SLOW)

  @property
  def has_numbers(self):
    keys = {*self.required, *self.optional}
    # Noise is drawn of the dtype of the updates; COCOB subtracts params.
    is_other = 'seed' in keys or 'cocob' in self.name
    numbers = {'learning_rate', 'weight_decay', 'b1', 'decay', 'step_size'}
    return bool(keys & numbers) and not (
        self.is_wrapper or self.is_slow or is_other
    )

  @property
  def static(self):
    """What 0.2.8 needs in `static_args`; that the fork does not is a row."""
    name = factories.name_of(self.name)
    return [
        key
        for key in self.parameters
        if key.endswith(('mask', 'measure', 'clip_value_fn', 'decay_rate_fn'))
        or 'dtype' in key
        or name in settings.PYTHON_NUMBERS.get(key, ())
    ]


@functools.cache
def _factories() -> list[_Factory]:
  found = []
  for label, factory in factories.public(pristine.load()).items():
    if factories.name_of(label) in _LEFT_OUT:
      continue
    keys, none = inspect.signature(factory).parameters, inspect.Parameter.empty
    required = [
        k for k, p in keys.items() if p.default is none or k == 'freeze_mask'
    ]
    known = {*_VALUES, 'mask'}.difference(required)
    optional = [k for k in keys if k in known]
    found.append(_Factory(label, required, optional, [*keys]))
  return found


class _Optimizers:
  """Draws optimizers for params.

  Masks and labels go into `trees`; what chooses the same, into `choices`.
  """

  def __init__(self, choices, params, option=''):
    self._of, self._params, self._option = choices.of, params, option
    self.trees, self.choices = [], []
    # Updates keep their structure, and a vector has no paths.
    out = 'measure' * bool(option) + '|flatten' * (option == MASKS)
    known = [f for f in _factories() if not out or not re.search(out, f.name)]
    self._wrappers = [f for f in known if f.is_wrapper]
    self._others = [f for f in known if not f.is_wrapper]

  def any(self, depth=0) -> str:
    kinds = [self._plain] * 3 + [self._injected] * 3 + [self._own]
    if depth < 2:
      kinds += [self._wrapper] * 4 + [self._combined, self._multi_steps]
      kinds += [self._overridden] * (not self._option)
    return self._of(*kinds)(depth)

  def _choice(self, depth=0):
    """Draws a mask of `optax.masks`, and the tree that it gives."""
    of_leaves = lambda chooses: jax.tree_util.tree_map_with_path(
        chooses, self._params
    )
    masks = {
        'by_leaf(is_matrix)': of_leaves(lambda _, leaf: '2, 2' in leaf),
        'by_leaf(is_low)': of_leaves(lambda _, leaf: 'float16' in leaf),
    }
    at_b = of_leaves(lambda path, _: jax.tree_util.DictKey('b') in path)
    if any(jax.tree.leaves(at_b)):
      masks["by_path('(.*/)?b(/.*)?')"] = at_b
    kind = self._of('', '', '~', '&', '|')
    text, tree = self._of(*masks.items())
    text = f'optax.masks.{text}'
    if depth == 2 or kind == '':
      return text, tree
    if kind == '~':
      return f'~{text}', jax.tree.map(lambda x: not x, tree)
    if self._of(False, True):
      other, too = self._choice(depth + 1)
    else:
      too = jax.tree.map(lambda _: self._of(True, False), self._params)
      other = _collapsed(too)
    combine = lambda x, y: x and y if kind == '&' else x or y
    return f'({text} {kind} {other})', jax.tree.map(combine, tree, too)

  def tree(self, yes, no):
    """Draws a mask or labels."""
    if self._option == MASKS and self._of(True, True, True, False):
      text, tree = self._choice()
      if not any(jax.tree.leaves(tree)):  # That is an error or a warning.
        text, tree = f'~({text})', jax.tree.map(lambda _: True, tree)
      if yes == 'x':
        text = f"optax.masks.labels({{{text}: 'x'}}, default='y')"
      self.choices.append(_Text(text))
      tree = jax.tree.map(lambda x: yes if x else no, tree)
    else:
      tree = jax.tree.map(lambda _: self._of(yes, no), self._params)
      tree = self._of(tree, _collapsed(tree))
      self.choices.append(tree)
    self.trees.append(tree)
    return f'<{len(self.trees) - 1}>'

  def _argument(self, key, depth):
    if key == 'transforms':
      return f"{{'x': {self.any(depth + 1)}, 'y': {self.any(depth + 1)}}}"
    if key in _INNER:
      return self.any(depth + 1)
    if key == 'param_labels' or key.endswith('mask'):
      is_mask = key != 'param_labels'
      is_tree = key == 'freeze_mask' or self._option == MASKS  # A row.
      if not is_tree and self._of(False, False, True):
        return 'matrices' if is_mask else 'groups'
      return self.tree(*((True, False) if is_mask else 'xy'))
    return self._of(*_VALUES.get(key, '0.1').split('|'))

  def _call(self, factory, depth):
    keys = list(factory.required)
    if factory.optional and self._of(False, True):
      keys += dict.fromkeys(self._of(*factory.optional) for _ in range(2))
    arguments = (f'{key}={self._argument(key, depth)}' for key in keys)
    return f'{factory.name}({", ".join(arguments)})'

  def _plain(self, depth):
    known = self._others
    kind = self._of(*range(20))
    if kind < 10:
      known = [f for f in known if f.short_name in _COMMON]
    elif kind < 19:
      known = [f for f in known if not f.is_slow]
    return self._call(self._of(*known), depth)

  def _injected(self, depth):
    del depth
    factory = self._of(*(f for f in self._others if f.has_numbers))
    arguments = []
    for key in dict.fromkeys(factory.required + factory.optional):
      if key in ('learning_rate', 'step_size'):
        arguments.append(f'{key}={self._of(*_RATES)}')
      elif key in factory.required or self._of(*range(5)) == 4:
        arguments.append(f'{key}={self._argument(key, 2)}')
    static = factory.static + self._of([], [], [], ['learning_rate'])
    text, arguments = factory.name, ', '.join(arguments)
    if self._of(*range(6)) == 5:
      text = f'of_class(optax.GradientTransformation, {text})'
    if self._of(False, True):
      static = f'{static}, hyperparam_dtype=jnp.float32'
    return f'optax.inject_hyperparams({text}, {static})({arguments})'

  def _own(self, depth):
    del depth
    functions = self._of(*_OWN[: 4 if self._option else None])
    extra = 'ExtraArgs' * functions.endswith('by_extra')
    return f'optax.GradientTransformation{extra}({functions})'

  def _overridden(self, depth):
    base = f"optax.GradientTransformation{self._of('', 'ExtraArgs')}"
    way = self._of('None', 'property', 'functools.cached_property')
    return f'overridden({base}, {way}, {self.any(depth + 1)})'

  def _wrapper(self, depth):
    known = self._wrappers
    if depth:  # Its params are pairs.
      known = [f for f in known if f.short_name != 'lookahead']
    if self._of(*range(8)) < 7:  # Others compile a program for each.
      known = [f for f in known if f.short_name in _EAGERLY]
    return self._call(self._of(*known), depth)

  def with_mask(self, depth=0):
    """Draws an optimizer of a part of the params."""
    text = self._of(*_MASKED)
    inner = self._of(self.any, self.with_mask if depth < 2 else self.any)
    values = 'xy' if 'partition' in text else (True, False)
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


_UPDATE = 'updates, state = tx.update(grads, state, params)'
_STEP = f'{_UPDATE}\nparams = optax.apply_updates(params, updates)'
_TRAIN = (
    f'def step(params, state):\n  {_UPDATE}\n'
    '  return optax.apply_updates(params, updates), state\n'
)
_JITTED = _UPDATE.replace('tx.update', 'jax.jit(tx.update)')
_WITHOUT = 'grads = without(grads, 0)'
_CASTS = tuple(
    f'grads = cast(grads, jnp.{dtype})'
    for dtype in ('float16', 'bfloat16', 'float32')
)
_MAP = 'out = optax.tree_map_params('
_KEYWORDS = (
    'updates, state = tx.update(grads, state, params=params)',
    'updates, state = tx.update(updates=grads, state=state, params=params)',
    'updates, state = tx.update(grads, state, params, p=2.0)',
    'updates, state = tx.update(grads, state, params, p=2.0, self=1.0)',
    'out = optax.value_and_grad_from_state(loss)(\n'
    '    params, state=state, p=2.0, self=1.0\n)',
)
_EAGER = (
    _STEP,
    _STEP,
    _STEP,
    _WITHOUT,
    *_CASTS,
    'grads = without(grads, 1)',
    'grads = times(grads, jnp.nan)',
    'grads = times(grads, 1e30)',
    'updates, state = tx.update(grads, state)',
    *_KEYWORDS,
    'state = jax.device_get(state)',
    'state = copied(state)',
    'state = pickled(state)',
    'state = jax.tree.map(lambda x: x, state)',
    'state = restored(state)',
    'out = tx.init(jax.eval_shape(lambda p: p, params))',
    'out = jax.eval_shape(tx.init, params)',
    'out = jax.eval_shape(tx.update, grads, state, params)',
    f'{_MAP}tx, lambda p: (p,), state)',
    f'{_MAP}tx, lambda p: 1, state, transform_non_params=lambda x: 2)',
    f'{_MAP}\n    tx.init, lambda p, q: q, state, params,\n'
    '    transform_non_params=lambda x: (x, 0)\n)',
    f'{_MAP}\n    tx, lambda p: (p,), state,\n'
    '    is_leaf=lambda x: isinstance(x, optax.MaskedNode),\n)',
    "out = optax.tree.get(state, 'count')",
    "out = optax.tree.get_all_with_path(state, 'mu')",
    "is_outer = outer(optax.tree.get_all_with_path(state, 'count'))\n"
    'state = optax.tree.set(state, is_outer, count=jnp.asarray(5))',
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
    '    lambda c, _: (step(*c), None), (params, state), length=2\n)',
    f'{_TRAIN}out = jax.grad(lambda p: loss(step(p, tx.init(p))[0]))(params)',
    'two = jax.tree.map(lambda p: jnp.stack([p, p]), params)\n'
    'out = jax.vmap(tx.init)(two)',
)
_SCAN = (
    'def body(carry, number):\n'
    '  params, state = carry\n'
    "  state.hyperparams['learning_rate'] = {}\n"
    f'  {_UPDATE}\n'
    '  return (optax.apply_updates(params, updates), state), None\n'
    'rates = jnp.array([0.1, 0.02])\n'
    '(params, state), _ = jax.lax.scan(body, (params, state), rates)'
)
_OF_NUMBERS = (
    f'{_TRAIN}out = jax.grad(\n'
    '    lambda h: loss(step(params, state._replace(hyperparams=h))[0])\n'
    ')(state.hyperparams)',
    _SCAN.format('number'),
    _SCAN.format('0.02'),
)
_NEW_NUMBERS = (
    '0', '0.5', '1', 'True', 'np.float64(0.02)', 'np.float32(0.02)',
    'jnp.asarray(0)', 'jnp.asarray(0.02)', 'jnp.asarray(0.02, jnp.bfloat16)',
)  # fmt: skip
_KEYS = ('learning_rate', 'learning_rate', 'weight_decay', 'b2', 'b1')
# What `update` needs beside, by a word of the optimizer.
_EXTRA = {
    'lbfgs|linesearch': 'value=loss(params), grad=grads, value_fn=loss',
    'momo|polyak|plateau': 'value=loss(params)',
    'sophia|hutchinson': 'obj_fn=loss',
}
# What is not drawn, by a row's test, with uses between two of an optimizer.
_HAS_ROW = '|'.join((
    # test_first_state_that_keeps_the_params
    '(apply_if_finite|conditionally|tx.init.p).*'
    '(cocob|dog|dowg|lbfgs|madgrad|mechanize|prodigy|sam)',
    # test_gradient_under_flatten, test_dtypes_under_flatten
    r'flatten\(.*value_fn=|flatten\(.* of .*float16',
    # 0.2.8 fails, and the fork may come further: a vector of no param, a mask
    # of updates that are None, a number that is set and was not injected,
    # some abstract params.
    r'(partition|masked|selective_transform)\(.*flatten\(',
    r'without\(.*(flatten|matrices|groups)',
    r"\['weight_decay'\].*(dog|dowg|schedule_free_sgd)\b",
    r"'learning_rate'\] =.*(learning_rate=np\.float32|'learning_rate'\][,)])",
    r'init\(jax\.eval_shape.*(schedule_free|\bdog\b|measure)',
    # test_state_without_schedule_free
    r'eval_params(?!.*tx = optax\.contrib\.schedule_free)',
))  # fmt: skip


def _use(choices, optimizer):
  kind = choices.of(*range(20))
  if re.search('by_extra|lbfgs|linesearch', optimizer) and 4 <= kind < 9:
    return choices.of(*_KEYWORDS)
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
      use = re.sub(rf'{update}\b(?!=)', f'{update}, {extra}', use)
  return use


def program(choices: Choices) -> Program:
  """Draws a program."""
  params = _tree(choices, choices.of(*_LEAVES)) or {}
  optimizers = _Optimizers(choices, params)
  optimizer = optimizers.any()
  uses = [_use(choices, optimizer) for _ in range(choices.of(1, 2, 3, 4))]
  drawn = _program(params, optimizer, optimizers.trees, uses)
  text = f'{optimizer} {drawn.lines[4:]} tx = {optimizer} of {params}'
  # Without choices, it is the simplest one, so this ends.
  return program(choices) if re.search(_HAS_ROW, text) else drawn


class Alike(NamedTuple):
  """A program, and one with an option that changes nothing."""

  without: Program
  option: str
  added: Program

  def __str__(self):
    return f'{self.without}\n\n# and\n\n{self.added}'


_INJECT = 'optax.inject_hyperparams({}, {}, hyperparam_dtype=jnp.float32)({})'
# An option that changes nothing: the optimizer with it, of one without it and a
# mask or labels; and the way to the state of what it was.
OPTIONS = {
    MASKS: '',
    'raw': '',
    'optax.masked({}, {})': '.inner_state',
    "optax.partition({{'x': {}}}, {})": ".inner_states['x'].inner_state",
    'optax.chain({})': '[0]',
    "optax.named_chain(('x', {}))": "['x']",
    _INJECT: '.inner_state',
}
# Aliases that only multiply by the learning rate.
_EXACT = ('adam', 'sgd', 'rmsprop', 'lion')


def with_option(choices: Choices) -> Alike:
  """Draws a program, and the same with an option that changes nothing."""
  option = choices.of(*[MASKS] * 4, *OPTIONS)
  is_raw, other = option == 'raw', choices.of(*_OTHERS)
  leaves = choices.of(*_LEAVES)
  if is_raw:  # It has params, and a Python float is none.
    leaves = [x for x in leaves if x not in (None, '0.5')]
  if option == _INJECT:  # Python floats keep arrays of NumPy.
    leaves = _SINGLE[:2]
  params = _tree(choices, leaves) or {}
  optimizers = _Optimizers(choices, params, option)
  more = params
  if option == MASKS:
    optimizer = added = optimizers.with_mask()
  elif option == _INJECT:
    factory = choices.of(*(f for f in _factories() if f.short_name in _EXACT))
    static = [k for k in factory.parameters if k != 'learning_rate']
    arguments = f"learning_rate={choices.of('0.1', '0.5')}"
    optimizer = f'{factory.name}({arguments})'
    added = option.format(factory.name, static, arguments)
  else:
    # A wrapper keeps from `MultiSteps` what it is given beside.
    optimizer = f'optax.with_extra_args_support({optimizers.any(1)})'
    added = optimizer
    if is_raw:
      params, more = ({'raw': x, 'p': params} for x in (None, _Text(other)))
      optimizers.trees = [{'raw': None, 'p': x} for x in optimizers.trees]
    else:
      value = 'x' if 'partition' in option else True
      added = option.format(optimizer, optimizers.tree(value, value))
  trees = optimizers.trees
  chosen = optimizers.choices if option == MASKS else trees
  steps = [_STEP, _STEP]
  steps += [_WITHOUT] * (not is_raw)  # Then `update` sees None in the params.
  steps += [_JITTED] * (not is_raw or other != 'jnp.tanh')
  steps += _CASTS * (option != _INJECT)
  uses = [choices.of(*steps) for _ in range(choices.of(1, 2, 3))] + [_STEP]
  return Alike(
      _program(params, optimizer, trees, uses), option,
      _program(more, added, chosen, uses),
  )  # fmt: skip
