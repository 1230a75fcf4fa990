# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks and labels that choose params of a tree, or of a leaf."""

import dataclasses
import functools
import pickle
import re
from typing import Any, NamedTuple
import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Layer:
  weight: Any
  bias: Any

  def __call__(self, x):
    return x @ self.weight + self.bias


class _Net(NamedTuple):
  layers: list[_Layer]
  norm: dict[str, Any]


def _params():
  return _Net(
      [_Layer(jnp.ones((2, 2)), jnp.ones(2)) for _ in range(2)],
      {'scale': jnp.ones(2)},
  )


def _net(weights, biases, scale):
  return _Net([_Layer(*x) for x in zip(weights, biases)], {'scale': scale})


class PathMaskTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('leaf', ['layers/0/bias'], ([0, 0], [1, 0], 0)),
      ('suffix', ['.*/bias'], ([0, 0], [1, 1], 0)),
      ('two', ['.*/bias', 'norm/scale'], ([0, 0], [1, 1], 1)),
      ('overlap', ['.*/0/.*', '.*/bias'], ([1, 0], [1, 1], 0)),
      ('all', ['.*'], ([1, 1], [1, 1], 1)),
      ('flag', ['(?i).*/BIAS'], ([0, 0], [1, 1], 0)),
  )
  def test_full_matches(self, patterns, expected):
    mask = optax.masks.by_path(*patterns)(_params())
    self.assertEqual(mask, jax.tree.map(bool, _net(*expected)))

  def test_pattern_that_matches_nothing(self):
    # A part of the path is not enough.
    for pattern in ('bias', 'layers/0/bia', '.*/baes', 'layers/2/bias'):
      with self.assertRaisesRegex(
          ValueError,
          re.escape(f'{pattern!r} fully matches no path of the params')
          + ".* nearest first: 'layers/./bias'",
      ):
        optax.masks.by_path('.*/weight', pattern)(_params())

  def test_many_paths_are_not_all_listed(self):
    params = {f'w{i}': 0.0 for i in range(50)}
    with self.assertRaisesRegex(ValueError, "'w33', .* and 40 more"):
      optax.masks.by_path('w333')(params)
    with self.assertRaisesRegex(ValueError, 'first: none'):
      optax.masks.by_path('w')({'b': None})

  def test_params_with_holes(self):
    none = _net([None, 1.0], [1.0, None], 1.0)
    mask = optax.masks.by_path('.*/1/bias')(none)
    self.assertEqual(mask, _net([None, False], [False, None], False))
    with self.assertRaisesRegex(ValueError, "'.*/1/bia' fully matches no") as e:
      optax.masks.by_path('.*/1/bia')(none)
    self.assertNotIn("'layers/1/bias'", str(e.exception))

    # What is hidden may match.
    masked = _net([1.0, 1.0], [1.0, 1.0], 1.0)._replace(norm=optax.MaskedNode())
    mask = optax.masks.by_path('norm/.*')(masked)
    self.assertEqual(mask.norm, optax.MaskedNode())
    self.assertFalse(any(jax.tree.leaves(mask)))

  def test_key_with_a_line_break(self):
    self.assertEqual(optax.masks.by_path('.*')({'a\nb': 1.0}), {'a\nb': True})

  @parameterized.named_parameters(
      ('regular_expression', ['['], ValueError, r"'\[' is not a regular"),
      ('glob', ['*/w'], ValueError, r'not a regular .* a \* alone does not'),
      ('bytes', [b'x'], TypeError, "b'x' of type bytes"),
      ('compiled', [re.compile('x')], TypeError, 'as strings'),
      ('none', [], ValueError, 'at least one'),
  )
  def test_bad_patterns(self, patterns, error, message):
    with self.assertRaisesRegex(error, message):
      optax.masks.by_path(*patterns)


class WhereMaskTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('leaf', lambda p: p.layers[0].bias, ([0, 0], [1, 0], 0)),
      ('subtree', lambda p: p.layers[1], ([0, 1], [0, 1], 0)),
      ('list', lambda p: p.layers, ([1, 1], [1, 1], 0)),
      (
          'sequence',
          lambda p: (p.layers[0].weight, p.norm),
          ([1, 0], [0, 0], 1),
      ),
      ('loop', lambda p: [x.bias for x in p.layers], ([0, 0], [1, 1], 0)),
      ('all', lambda p: p, ([1, 1], [1, 1], 1)),
      ('twice', lambda p: (p.layers[1], p.layers[1].bias), ([0, 1], [0, 1], 0)),
  )
  def test_nodes(self, where, expected):
    mask = optax.masks.at(where)(_params())
    self.assertEqual(mask, jax.tree.map(bool, _net(*expected)))

  def test_leaves_are_told_apart_by_position(self):
    shared = jnp.ones(2)
    params = {'a': shared, 'b': [shared, None], 'c': shared}
    mask = optax.masks.at(lambda p: p['b'])(params)
    self.assertEqual(mask, {'a': False, 'b': [True, None], 'c': False})

  def test_none(self):
    params = {'head': None, 'body': 1.0}
    for where, is_body in (
        (lambda p: p['head'], False),
        (lambda p: (p['head'], p['body']), True),
        (lambda p: p['head'] or p['body'], True),
        (lambda p: p['body'] if p['head'] is None else p['head'], True),
    ):
      mask = optax.masks.at(where)(params)
      self.assertEqual(mask, {'head': None, 'body': is_body})
    with self.assertRaisesRegex(ValueError, 'accessor fails'):
      optax.masks.at(lambda p: p['head']['weight'])(params)
    for tree in (params, {'body': 1.0}):
      with self.assertRaisesRegex(ValueError, 'must return nodes .* None'):
        optax.masks.at(lambda p: p.get('tail'))(tree)

  def test_each_none_is_at_its_own_position(self):
    """It may stand for a param."""
    params = {'a': None, 'b': None, 'c': 1.0}
    labels = optax.masks.labels(
        {optax.masks.at(lambda p: p['a']): 'x', 'b': 'y'}, default='z'
    )
    self.assertEqual(labels(params), {'a': None, 'b': None, 'c': 'z'})

  def test_none_beside_a_choice_that_depends_on_one(self):
    params = {'bias': None, 'norm': None, 'body': 1.0, 'head': 2.0}
    bias = optax.masks.at(lambda p: p['bias'])
    expected = params | {'body': True, 'head': False}
    for where, is_same in (
        (lambda p: p['norm'] or p['body'], True),
        (lambda p: jax.tree.leaves(p)[0], True),
        (lambda p: p['body' if p['norm'] is None else 'head'], False),
        (lambda p: p['body' if p['norm'] is None else 'norm'], False),
        (lambda p: p['body'] if p['norm'] is None else p['norm'].w, False),
    ):
      other = optax.masks.at(where)
      self.assertEqual((bias | other)(params), expected)
      both = optax.masks.at(lambda p, fn=where: (p['bias'], fn(p)))
      if is_same:
        self.assertEqual(both(params), expected)
        continue
      with self.assertRaisesRegex(ValueError, r'another mask, `at\(a\) \| at'):
        both(params)

  def test_accessors_count_what_is_trained(self):
    """The whole model has other leaves than the part that `init` got."""
    whole = {'f': jnp.tanh, 'n': 3, 'w': [jnp.ones(2)] * 3}
    params = {'f': None, 'n': None, 'w': whole['w']}
    part = params | {'w': [None, *whole['w'][1:]]}
    for where, expected in (
        (lambda p: jax.tree.leaves(p)[1], ([0, 1, 0], [0, 1])),
        (lambda p: jax.tree.leaves(p)[-2:], ([0, 1, 1], [1, 1])),
        (lambda p: p['w'][1], ([0, 1, 0], [1, 0])),
    ):
      tx = optax.masked(optax.trace(1.0), optax.masks.at(where))
      for grads, n in ((params, 0), (part, 1)):
        for given in (grads, whole):
          state = tx.init(whole if given is whole and n == 0 else grads)
          _, state = tx.update(grads, state, given)
          found = state.inner_state.trace['w'][n:]
          is_chosen = [not isinstance(x, optax.MaskedNode) for x in found]
          self.assertEqual(is_chosen, list(map(bool, expected[n])))

  def test_masked_parts(self):
    """Who walks into them needs all params."""
    params = {'enc': {'a': 1.0, 'b': 2.0}, 'head': 1.0}
    view = params | {'enc': optax.MaskedNode()}
    mask = optax.masks.at(lambda p: p['enc'])
    self.assertEqual(mask(view), view | {'head': False})
    for where in (
        lambda p: p['enc']['a'],
        lambda p: list(p['enc'].values())[0],
        lambda p: jax.tree.leaves(p)[1],
        lambda p: next(iter(p['enc'].values())),
        lambda p: [x for a, b in [p['enc'].items()] for x in (a[1], b[1])],
    ):
      mask = optax.masks.at(where)
      self.assertEqual(mask(optax.MaskedNode()), optax.MaskedNode())
      with self.assertRaisesRegex(ValueError, 'call `update` with the params'):
        mask(view)
      tx = optax.masked(
          optax.masked(optax.scale(-1.0), mask), {'enc': False, 'head': True}
      )
      updates, _ = tx.update(params, tx.init(params), params)
      self.assertEqual(updates, params)
      with self.assertRaisesRegex(ValueError, 'call `update` with the params'):
        tx.update(params, tx.init(params))

  @parameterized.named_parameters(
      ('walks', optax.masks.at(lambda p: p['enc']['a']), [1, 0, 0]),
      ('counts', optax.masks.at(lambda p: jax.tree.leaves(p)[1]), [0, 1, 0]),
      ('tree', optax.masks.by_path('enc/.*')
       & {'enc': {'a': True, 'b': False}, 'head': True}, [1, 0, 0]),
  )  # fmt: skip
  def test_wrapper_that_gives_copies_of_the_params(self, mask, expected):
    """Leaves of its own have the place of those that they are copies of."""
    params = {'enc': {'a': jnp.ones(2), 'b': jnp.ones(2)}, 'head': jnp.ones(2)}
    inner = optax.masked(optax.scale(-1.0), mask)
    copies = optax.GradientTransformation(
        inner.init,
        lambda u, s, p=None: inner.update(u, s, jax.tree.map(jnp.copy, p)),
    )
    for seen in ([1, 1, 0], [0, 0, 1]):
      labels = {'enc': seen[0], 'head': seen[2]}
      tx = optax.partition({1: copies, 0: optax.identity()}, labels)
      updates, _ = tx.update(params, tx.init(params), params)
      is_scaled = [u[0] == -1 for u in jax.tree.leaves(updates)]
      self.assertEqual(is_scaled, [s and x for s, x in zip(seen, expected)])

  @parameterized.named_parameters(
      ('raises', lambda p: p.nom, 'AttributeError.* first: .norm/scale'),
      ('key', lambda p: p.norm['scal'], 'KeyError.* first: .norm/scale'),
      ('index', lambda p: p.layers[2], 'fails on the params, .* IndexError'),
      (
          'reads_leaf',
          lambda p: [x for x in jax.tree.leaves(p) if x.ndim > 1],
          "no values here, with AttributeError: '_Leaf' object has .* 'ndim'",
      ),
      ('calls', lambda p: p.norm['scale'](), 'is not callable. The paths'),
      ('row', lambda p: p.norm['scale'][1], r"\[1\] of a leaf .*'lr_mult': \["),
      ('number', lambda p: 3, 'must return nodes of the params, found 3'),
      ('array', lambda p: jnp.ones(2), 'must return nodes of the params'),
      ('nothing', lambda p: (), 'chooses nothing .* paths: .layers/0/weight'),
  )
  def test_bad_accessors(self, where, message):
    with self.assertRaisesRegex(ValueError, rf'at\(.*: .*{message}'):
      optax.masks.at(where)(_params())

  def test_tree_beside_a_mask(self):
    """A tree of bools has no hash, and stands for params alone."""
    model = {'w': jnp.ones(2), 'n': 3, 'f': jnp.tanh}
    weight = optax.masks.by_path('w')
    for other in (
        {'w': True, 'n': None, 'f': None},
        lambda params: jax.tree.map(lambda x: x.ndim == 1, params),
    ):
      mask = weight & other
      self.assertEqual(mask(model), {'w': True, 'n': False, 'f': False})
      labels = optax.masks.labels({mask: 'a'}, default='b')
      self.assertEqual(labels(model)['w'], 'a')

  def test_node_that_calls_its_functions(self):
    """As `eqx.nn.Shared` does, which ties two leaves."""
    def tied(node):
      return node['tree'] | {'y': node['get'](node['tree'])}

    model = {'tree': {'x': jnp.ones(2)}, 'get': lambda tree: tree['x']}
    mask = optax.masks.at(tied)
    self.assertEqual(mask(model)['tree'], {'x': True})
    with self.assertRaisesRegex(ValueError, 'None in place of functions'):
      mask(model | {'get': None})

  def test_no_function(self):
    with self.assertRaisesRegex(TypeError, 'at takes a function'):
      optax.masks.at('layers')


class LeafMaskTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda x: x.ndim > 1, lambda x: jnp.asarray(x.ndim > 1)
  )
  def test_predicate(self, predicate):
    mask = optax.masks.by_leaf(predicate)(_params())
    self.assertEqual(mask, _net([True, True], [False, False], False))

  def test_mask_or_labels_called_as_a_schedule(self):
    for chooser in (
        optax.masks.by_leaf(lambda x: x.ndim > 1),
        ~optax.masks.by_path('w'),
        optax.masks.at(lambda params: params['w']),
        optax.masks.labels({'w': 'a'}, default='b'),
    ):
      optimizer = optax.sgd(chooser)
      params = {'w': jnp.ones(2)}
      with self.assertRaisesRegex(
          TypeError, re.escape(repr(chooser)) + '.* with the step count'
      ):
        optimizer.update(params, optimizer.init(params), params)

  def test_mask_is_neither_true_nor_false(self):
    mask = optax.masks.by_leaf(lambda x: x.ndim > 1)
    with self.assertRaisesRegex(TypeError, r'Write ~a, a & b and a \| b'):
      _ = not mask
    with self.assertRaisesRegex(TypeError, 'neither true nor false'):
      _ = mask and mask

  def test_errors(self):
    with self.assertRaisesRegex(
        ValueError, "predicate fails at 'a', for a float, with AttributeError"
    ):
      optax.masks.by_leaf(lambda x: x.ndim > 1)({'a': 1.0})
    with self.assertRaisesRegex(ValueError, "'a', .*ValueError: the leaves of"):
      optax.masks.by_leaf(lambda x: x)({'a': 0.5})
    with self.assertRaisesRegex(TypeError, 'by_leaf takes a function'):
      optax.masks.by_leaf(True)


class CombinedTest(parameterized.TestCase):

  def test_operators(self):
    bias = optax.masks.by_path('.*/bias')
    first = optax.masks.at(lambda p: p.layers[0])
    for mask, expected in (
        (bias & first, ([0, 0], [1, 0], 0)),
        (bias | first, ([1, 0], [1, 1], 0)),
        (~bias, ([1, 1], [0, 0], 1)),
        (~bias & ~first, ([0, 1], [0, 0], 1)),
        (~(bias | first), ([0, 1], [0, 0], 1)),
    ):
      expected = jax.tree.map(bool, _net(*expected))
      self.assertEqual(mask(_params()), expected, mask)

  def test_other_masks(self):
    bias = optax.masks.by_path('.*/bias')
    only_bias = bias(_params())
    first = _Net([True, False], False)
    both = _net([False, False], [True, False], False)
    for other in (first, lambda params: first):
      self.assertEqual((bias & other)(_params()), both)
    self.assertEqual((first | bias)(_params()).layers[0], _Layer(True, True))
    self.assertEqual((True & bias)(_params()), only_bias)
    self.assertEqual((bias | False)(_params()), only_bias)
    params = {'a': None, 'b': optax.MaskedNode(), 'c': [1.0, None, 2.0]}
    chosen = optax.masks.by_path('c/0')
    for other in (True, {'a': None, 'b': optax.MaskedNode(), 'c': True}):
      expected = params | {'c': [True, None, False]}
      self.assertEqual((chosen & other)(params), expected)
      self.assertEqual((other & chosen)(params), expected)
    with self.assertRaisesRegex(ValueError, 'mask is not a prefix'):
      _ = (bias & [True])(_params())

  def test_repr(self):
    bias = optax.masks.by_path('.*/bias', '(?i)x')
    large = optax.masks.by_leaf(jnp.size)
    norm = optax.masks.at(lambda p: p.norm)
    for mask, text in (
        (bias, "by_path('.*/bias', '(?i)x')"),
        (large & ~norm, 'by_leaf(size) & ~at(<lambda>)'),
        ((large | norm) & True, f'({large} | {norm}) & True'),
        (large | norm | large, f'{large} | {norm} | {large}'),
        (~(large & norm), '~(by_leaf(size) & at(<lambda>))'),
        (large & jnp.ndim, 'by_leaf(size) & ndim'),
        (large & functools.partial(max, 1),
         'by_leaf(size) & functools.partial(<built-in function max>, 1)'),
    ):
      self.assertEqual(repr(mask), text)

  def test_labels_beside_a_mask(self):
    with self.assertRaisesRegex(ValueError, "is 'x'.* leaves of a mask") as e:
      (optax.masks.by_path('w') & optax.masks.labels({'w': 'x'}))({'w': 1.0})
    self.assertNotIn('by_path', str(e.exception))

  def test_masks_are_values(self):
    make = lambda: ~optax.masks.by_path('.*/bias') & optax.masks.by_leaf(len)
    self.assertEqual(make(), make())
    self.assertEqual(hash(make()), hash(make()))
    self.assertEqual(pickle.loads(pickle.dumps(make())), make())
    self.assertNotEqual(make(), ~make())


class PathLabelsTest(parameterized.TestCase):

  def test_first_match_wins(self):
    labels = {'.*/0/.*': 'a', '.*/bias': 'b', '.*': 'c'}
    found = optax.masks.labels(labels)(_params())
    self.assertEqual(found, _net(['a', 'c'], ['a', 'b'], 'c'))

  def test_default(self):
    labels = optax.masks.labels({'.*/bias': 1}, default=0)
    self.assertEqual(labels(_params()), _net([0, 0], [1, 1], 0))
    self.assertEqual(repr(labels), "labels({'.*/bias': 1}, default=0)")

  def test_masks_are_patterns_too(self):
    first = optax.masks.at(lambda p: p.layers[0])
    matrix = optax.masks.by_leaf(lambda x: x.ndim > 1)
    labels = {first & matrix: 'a', '.*/bias': 'b', first | matrix: 'c'}
    labels = optax.masks.labels(labels, default='d')
    self.assertEqual(labels(_params()), _net(['a', 'c'], ['b', 'b'], 'd'))
    self.assertIn("'b', at(<lambda>) | by_leaf", repr(labels))

  def test_masks_that_choose_nothing(self):
    norm = optax.masks.at(lambda p: p.norm)
    scalar = optax.masks.by_leaf(lambda x: x.ndim == 0)
    for labels, message in (
        ({'.*': 1, norm: 2}, r'at\(<lambda>\) is never the first to'),
        ({norm & ~norm: 1, '.*': 2}, r'& ~at\(<lambda>\) chooses none of the'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        optax.masks.labels(labels)(_params())
    # No param need have what a leaf is asked for.
    labels = optax.masks.labels({scalar: 1}, default=2)
    self.assertEqual(set(jax.tree.leaves(labels(_params()))), {2})

  def test_no_default(self):
    labels = optax.masks.labels({'.*/bias': 1})
    self.assertEqual(pickle.loads(pickle.dumps(labels)), labels)
    with self.assertRaisesRegex(
        ValueError, r'param_labels.*layers\[0\].weight is None.* a default'
    ):
      optax.partition({1: optax.sgd(0.1)}, labels).init(_params())

  def test_holes(self):
    params = {'a': None, 'b': optax.MaskedNode(), 'c': 1.0}
    labels = optax.masks.labels({'b/w': 'x', 'c': 'y'})
    self.assertEqual(labels(params), params | {'c': 'y'})

  def test_errors(self):
    for labels, message in (
        ({'.*': 1, '.*/bias': 2}, "never the first .* matches '.*' before"),
        ({'.*': 1, '.*/baes': 2}, "matches no path .* first: 'layers/0/bias'"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        optax.masks.labels(labels)(_params())
    for labels, error, message in (
        ({}, ValueError, 'at least one'),
        ({'(': 1}, ValueError, r"'\(' is not a regular expression"),
        ([('.*', 1)], TypeError, 'takes a mapping'),
        ({_Layer: 1}, TypeError, 'strings, or masks of `optax.masks`, found'),
        ({'.*': ('a', 'b')}, TypeError, r"\('a', 'b'\) .* since it is a tree"),
        ({'.*': ['a']}, TypeError, 'since it is a tree'),
    ):
      with self.assertRaisesRegex(error, message):
        optax.masks.labels(labels)


class RawModelTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('not', lambda: ~optax.masks.by_path('w')),
      ('all', lambda: optax.masks.by_path('.*')),
      ('not_not', lambda: ~~optax.masks.by_path('w')),
      ('node', lambda: optax.masks.by_node(dict)),
      ('tree', lambda: optax.masks.by_path('w') | True),
      ('at', lambda: optax.masks.at(lambda m: m)),
  )
  def test_mask_is_false_where_there_is_no_param(self, make):
    """So it splits a model as `split` does, whoever splits it."""
    model = {'w': jnp.ones(2), 'v': jnp.ones(3), 'n': 3, 'f': jnp.tanh}
    mask = make()(model)
    trained, _ = optax.masks.split(model, make())
    for name, is_chosen in mask.items():
      self.assertEqual(is_chosen, trained[name] is not None)
    self.assertFalse(mask['n'] or mask['f'])


class NotParamsTest(parameterized.TestCase):
  """What an optimizer sees of a model has None for what is not a param."""

  @parameterized.parameters(
      lambda m: m['a'] if m['flag'] else m['b'],
      lambda m: [x for x in m.values() if x != 1],
  )
  def test_value_cannot_decide(self, where):
    layer = {'w': jnp.ones(2), 'act': jnp.tanh}
    model = {'a': layer, 'b': layer, 'flag': True}
    mask = optax.masks.at(where)
    for choose in (
        optax.selective_transform(optax.sgd(0.1), train_mask=mask).init,
        lambda model: optax.masks.split(model, mask),
    ):
      with self.assertRaisesRegex(ValueError, 'no value'):
        choose(model)

  def test_function_does_not_decide(self):
    layer = {'w': jnp.ones(2), 'act': jnp.tanh}
    model = {'a': layer, 'b': layer | {'act': jnp.sin}}
    mask = optax.masks.at(lambda m: m['b' if m['b']['act'] is jnp.sin else 'a'])
    for params in (model, optax.masks.params(model)):
      chosen = mask(params)
      self.assertTrue(chosen['a']['w'])
      self.assertFalse(chosen['b']['w'])


_HEAD = optax.masks.by_path('head')
_SGD = optax.sgd(0.1)
_PARAMS = {'body': [np.ones((2, 3)), np.ones(3)], 'head': np.array([2.0])}


class MaskOfALeafTest(parameterized.TestCase):

  @parameterized.parameters(
      (_HEAD,),
      (optax.masks.at(lambda p: p['head']),),
      (~optax.masks.at(lambda p: p['head']),),
      (optax.masks.by_leaf(lambda x: x.ndim == 1) & _HEAD,),
  )
  def test_error_says_to_call_the_mask(self, mask):
    with self.assertRaisesRegex(ValueError, r'single leaf.*mask\(model\)'):
      jax.tree.map(mask, _PARAMS)  # As `eqx.filter(params, mask)` does it.

  def test_params_that_are_a_leaf(self):
    leaf = jnp.ones(2)
    self.assertIs(optax.masks.by_path('')(leaf), True)
    self.assertIs((~optax.masks.at(lambda p: p))(leaf), False)


def _is_array(x):  # As the functions of `equinox` are.
  return hasattr(x, 'dtype')


_HALVES = optax.masks.by_leaf(lambda x: x.dtype == np.float16)


class FunctionOfALeafTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda mask: optax.masks.split(_PARAMS, mask),
      lambda mask: optax.selective_transform(_SGD, train_mask=mask).init(
          _PARAMS
      ),
  )
  def test_nothing_is_trained(self, use):
    none = lambda params: jax.tree.map(lambda _: False, params)
    for mask, way in (
        (_is_array, 'Give .* as `optax.masks.by_leaf'),
        (none, 'Give .* as `optax.masks.by_leaf'),
        (_HALVES, 'If nothing is meant, give False'),
        (_HALVES & _HEAD, 'If nothing is meant, give False'),
    ):
      error = f'chooses none of the params. {way}'
      with self.assertRaisesRegex(ValueError, error):
        use(mask)
    use(False)  # It says so.
    use(optax.masks.by_leaf(_is_array))

  def test_nothing_is_trained_in_a_part(self):
    """A wrapper hides the rest, and a step may lack gradients of a model."""
    tx = optax.selective_transform(_SGD, train_mask=_HEAD)
    optax.masked(tx, {'body': True, 'head': False}).init(_PARAMS)
    optax.partition({0: tx, 1: _SGD}, {'body': 1, 'head': 1}).init(_PARAMS)
    model = _PARAMS | {'size': 3}
    tx = optax.selective_transform(
        _SGD, train_mask=optax.masks.by_leaf(lambda x: x.ndim > 1)
    )
    grads = {'body': [None, np.ones(3)], 'head': None, 'size': None}
    updates, _ = tx.update(grads, tx.init(model), model)
    self.assertEqual(updates['body'][1].tolist(), [0, 0, 0])

  def test_operand_that_takes_a_leaf(self):
    for mask in (_HEAD & _is_array, _HEAD | _is_array):
      with self.assertRaisesRegex(ValueError, '`optax.masks.by_leaf'):
        mask(_PARAMS)

  @parameterized.parameters(
      lambda fn: optax.adamw(0.1, mask=fn),
      lambda fn: optax.selective_transform(_SGD, freeze_mask=fn),
  )
  def test_warning_where_a_function_may_give_one_bool(self, make):
    with self.assertWarnsRegex(UserWarning, '`optax.masks.by_leaf'):
      make(_is_array).init(_PARAMS)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      make(_is_array).init(np.ones(3))  # A leaf.
      make(lambda params: True).init(_PARAMS)
      make(False).init(_PARAMS)
      # A label may be False.
      two = {True: _SGD, False: _SGD}
      optax.partition(two, lambda params: False).init(_PARAMS)
