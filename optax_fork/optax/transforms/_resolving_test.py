# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax.transforms._resolving.py`."""

import functools
import types
from typing import NamedTuple
from unittest import mock

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import test_utils
from optax.transforms import _resolving


@jax.tree_util.register_pytree_with_keys_class
class _Module:
  """A callable PyTree with static data, a la equinox."""

  def __init__(self, w, b, static=None):
    self.w, self.b, self.static = w, b, static

  def __call__(self, x):
    return self.w @ x + self.b

  def tree_flatten_with_keys(self):
    key = jax.tree_util.GetAttrKey
    return ((key('w'), self.w), (key('b'), self.b)), self.static

  @classmethod
  def tree_unflatten(cls, static, children):
    return cls(*children, static)


class _Axes(NamedTuple):
  reduction: int
  output: int


def _is_axes(x):
  return isinstance(x, _Axes)


def _to_axes(x):
  if not _is_axes(x):
    raise ValueError('want axes')
  return x


def _ndim_mask(ndim, params):
  return jax.tree.map(lambda p: p.ndim == ndim, params)


def _causes(error):
  causes = []
  while error.__cause__ is not None:
    error = error.__cause__
    causes.append(type(error))
  return causes


class MaskCallableTest(parameterized.TestCase):
  """Tests for mask_callable."""

  @parameterized.named_parameters(
      ('function', _ndim_mask, True),
      ('jax_partial', jax.tree_util.Partial(_ndim_mask, 1), True),
      ('jax_partial_without_leaves', jax.tree_util.Partial(_ndim_mask), True),
      ('module', _Module(True, False), False),
      ('module_all_masked', _Module(optax.MaskedNode(), None), False),
      ('module_of_callables', _Module(abs, abs), False),
      ('module_with_other_static_data', _Module(True, False, 'other'), False),
      ('bool', True, False),
      ('none', None, False),
      ('dict', {'w': True, 'b': False}, False),
      ('dict_of_callables', {'w': abs, 'b': abs}, False),
  )
  def test_with_params(self, mask, expected):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    self.assertIs(_resolving.mask_callable(mask, params), expected)

  @parameterized.named_parameters(
      ('function', _ndim_mask, True),
      ('jax_partial_with_int', jax.tree_util.Partial(_ndim_mask, 1), False),
      ('jax_partial_of_callables', jax.tree_util.Partial(map, abs), True),
      ('module', _Module(True, False), False),
      ('module_of_callables', _Module(abs, abs), True),
      ('module_with_a_callable', _Module(abs, 1.0), False),
      ('module_without_leaves', _Module(None, None), False),
      ('dict_of_callables', {'w': abs, 'b': abs}, False),
      ('bool', True, False),
  )
  def test_without_params(self, mask, expected):
    self.assertIs(_resolving.mask_callable(mask), expected)


class ResolveTest(parameterized.TestCase):
  """Tests for resolve and resolve_mask."""

  @parameterized.named_parameters(
      ('tree', lambda mask: mask),
      ('function', lambda mask: lambda _: mask),
      ('jax_partial', lambda mask: jax.tree_util.Partial(lambda m, _: m, mask)),
  )
  def test_returns_python_bools(self, make_arg):
    params = {'a': [1.0, 2.0, 3.0, 4.0], 'b': (5.0, {'c': 6.0}), 'd': 7.0}
    mask = {
        'a': [True, np.True_, np.zeros((), bool), jnp.ones((1, 1), bool)],
        'b': np.array([0]),
        'd': 1,
    }
    result = _resolving.resolve_mask(make_arg(mask), params)
    self.assertEqual(result, {'a': [True, True, False, True], 'b': False,
                              'd': True})
    self.assertEqual({type(leaf) for leaf in jax.tree.leaves(result)}, {bool})

  def test_masked_params(self):
    node = optax.MaskedNode()
    for mask in (_Module(node, None), _Module(node, True)):
      params = jax.tree.map(jnp.asarray, mask)
      result = _resolving.resolve_mask(mask, params)
      test_utils.assert_trees_all_equal(result, mask)

  @parameterized.parameters(0.5, 'no', 3, jnp.tanh, (np.ones(2),))
  def test_leaf_that_stands_for_no_param(self, leaf):
    params = {'a': None, 'b': 1.0, 'c': {'d': None, 'e': ()}}
    mask = {'a': leaf, 'b': True, 'c': leaf}
    result = _resolving.resolve_mask(mask, params)
    self.assertEqual(result, params | {'b': True})
    labels = _resolving.resolve_labels(mask | {'b': 'x'}, params, {'x'})
    self.assertEqual(labels, params | {'b': 'x'})
    params['c']['e'] = 2.0
    with self.assertRaisesRegex(ValueError, r"mask\['c'\] is .* booleans"):
      _resolving.resolve_mask(mask, params)

  def test_leaf_of_the_params(self):
    params = {'w': jnp.ones(2), 'p': 0.5}
    keep_floats = lambda x: True if hasattr(x, 'shape') else x
    with self.assertRaisesRegex(
        ValueError, r"mask\(params\)\['p'\] is 0.5 .* The params have the same"
    ):
      _resolving.resolve_mask(lambda p: jax.tree.map(keep_floats, p), params)

  @parameterized.named_parameters(
      ('extra_key', {'a': {'b': True, 'c': True}},
       r"mask\(params\)\['a'\] is dict\(b, c\), but the "
       r'params have dict\(b\) there'),
      ('too_deep', {'a': {'b': (True, False)}},
       r"mask\(params\)\['a'\]\['b'\] is .*, but the params have float32\[3\]"),
      ('none_for_a_leaf', {'a': {'b': None}}, r"\['a'\]\['b'\] is None"),
      ('masked_leaf', {'a': {'b': optax.MaskedNode()}}, 'MaskedNode'),
  )
  def test_not_a_prefix(self, mask, message):
    params = {'a': {'b': jnp.ones(3)}}
    with self.assertRaisesRegex(ValueError, message) as context:
      _resolving.resolve_mask(lambda _: mask, params)
    self.assertLen(_causes(context.exception), 1)
    message = message.replace(r'mask\(params\)', 'mask')
    with self.assertRaisesRegex(ValueError, message):
      _resolving.resolve_mask(mask, params)

  @parameterized.parameters('mask', 'labels')
  def test_dict_for_a_module(self, name):
    """It shows classes and keys, which a reader can compare, and no arrays."""
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    given = {'w': True, 'b': False}
    with self.assertRaises(ValueError) as context:
      if name == 'mask':
        _resolving.resolve_mask(given, params)
      else:
        _resolving.resolve_labels(given, params, {True, False})
    message = str(context.exception)
    self.assertIn('is dict(b, w), but the params have _Module(w, b)', message)
    self.assertRegex(message, 'Make it a _Module.*function.*optax.masks.labels')
    self.assertNotIn('1.', message)

  def test_none_or_text(self):
    for mask, error in ((None, 'mask is None, but'), ('a', r"by_path\('a'\)")):
      with self.assertRaisesRegex(ValueError, error):
        _resolving.resolve_mask(mask, {'a': jnp.ones(2)})

  def test_function_that_returns_nothing(self):
    message = r'\(params\) is None .* lack a `return`\?$'
    with self.assertRaisesRegex(ValueError, message):
      _resolving.resolve_mask(lambda params: None, {'a': jnp.ones(2)})

  @parameterized.parameters('a', 'b')
  def test_function_that_returns_a_part_of_the_params(self, name):
    params = {'a': jnp.ones(2), 'b': {'c': jnp.ones(2)}}
    message = r'mask\(params\).*`optax\.masks\.at\(function\)`'
    with self.assertRaisesRegex(ValueError, message):
      _resolving.resolve_mask(lambda p: p[name], params)

  def test_keys_that_do_not_sort(self):
    mask = {'a': {'b': True, 0: True}}
    params = {'a': {'b': jnp.ones(3)}}
    message = r"mask\['a'\] is {'b': True, 0: True} of type dict, but the"
    with self.assertRaisesRegex(ValueError, message):
      optax.masked(optax.identity(), mask).init(params)

  @parameterized.named_parameters(
      ('string', 'False', "'False' of type str"),
      ('float', 1.0, '1.0 of type float'),
      ('two', 2, '2 of type int'),
      ('minus_one', np.array(-1), r'array\(-1\) of type ndarray'),
      ('float_array', np.array([1.0]), r'array\(\[1\.\]\) of type'),
      ('empty_array', np.array([], bool), r'bool\[0\]'),
      ('big_array', np.ones((2, 3), bool), r'bool\[2, 3\]'),
      ('function', abs, 'of type builtin_function_or_method'),
      ('shape', jax.ShapeDtypeStruct((), bool), 'ShapeDtypeStruct'),
      ('jax_array', lambda: jnp.zeros(2), r'float32\[2\]'),
      ('jax_key', lambda: jax.random.key(0), 'of type PRNGKeyArray'),
  )
  def test_wrong_leaf(self, leaf, message):
    if isinstance(leaf, types.LambdaType):
      leaf = leaf()  # JAX arrays are not made when the module is imported.
    params = {'a': [jnp.ones(3), jnp.ones(3)]}
    message = rf"(?s)mask\['a'\]\[1\] is .*{message}.*: .* must be booleans"
    with self.assertRaisesRegex(ValueError, message) as context:
      _resolving.resolve_mask({'a': [True, leaf]}, params)
    self.assertIs(_causes(context.exception)[0], ValueError)
    message = message.replace('mask', r'mask\(params\)')
    with self.assertRaisesRegex(ValueError, message):
      _resolving.resolve_mask(lambda _: {'a': [True, leaf]}, params)

  def test_traced_mask(self):
    params = {'a': jnp.ones(3)}
    for arg in (
        lambda p: {'a': p['a'].sum() > 0}, jax.jit(lambda _: {'a': True})
    ):
      message = r"mask\(params\)\['a'\] is .*: masks are static.*traced"
      with self.assertRaisesRegex(ValueError, message) as context:
        jax.jit(lambda p, a=arg: _resolving.resolve_mask(a, p))(params)
      # Before, old versions of JAX name a traceback of their own.
      self.assertEqual(
          _causes(context.exception)[-2:],
          [ValueError, jax.errors.TracerArrayConversionError],
      )
    with self.assertRaisesRegex(ValueError, r"mask\['a'\] is .*static"):
      jax.jit(_resolving.resolve_mask)({'a': jnp.asarray(True)}, params)

  @parameterized.parameters(lambda f: f, jax.tree_util.Partial)
  def test_error_of_a_function_is_left_alone(self, wrap):
    error = KeyError('mine')

    @wrap
    def fn(_):
      raise error

    with self.assertRaises(KeyError) as context:
      _resolving.resolve_mask(fn, {'a': 1.0})
    self.assertIs(context.exception, error)
    self.assertEmpty(_causes(error))

  @parameterized.parameters(
      (_Module(True, [False]), r'mask\.b is list\(0\)'),
      (_Module(False, False, 'other'), r'mask is _Module\(w, b\)'),
  )
  def test_wrong_mask_of_the_type_of_the_params_is_not_called(
      self, mask, message
  ):
    """A model may return anything, such as True, whatever it gets."""
    params = _Module(jnp.ones((2, 3)), (jnp.ones(2),))
    with mock.patch.object(_Module, '__call__', lambda self, x: True):
      with self.assertRaisesRegex(ValueError, message):
        _resolving.resolve_mask(mask, params)

  def test_static_data_that_can_not_be_compared(self):
    params = {'m': _Module(1.0, 2.0, (np.ones(2),))}
    mask = jax.tree.map(lambda _: True, params)
    result = _resolving.resolve_mask(mask, params)
    test_utils.assert_trees_all_equal(result['m'], mask['m'])
    mask['m'].static = (np.ones(2),)
    with self.assertRaisesRegex(
        ValueError, r"mask\['m'\] is _Module.*truth value of an array"
    ):
      _resolving.resolve_mask(mask, params)

  @parameterized.named_parameters(
      ('tree', lambda tree: tree), ('function', lambda tree: lambda _: tree)
  )
  def test_is_leaf_and_leaf_fn(self, make_arg):
    params = _Module(jnp.ones((2, 3)), {'c': jnp.ones((3, 4))})
    axes = _Module(_Axes(0, 1), {'c': _Axes(1, 0)})
    resolve = functools.partial(
        _resolving.resolve,
        kind=_resolving.Kind(_to_axes, _is_axes),
        name='axes',
    )
    result = resolve(make_arg(axes), params)
    self.assertEqual(result.w, _Axes(0, 1))
    self.assertEqual(result.b, {'c': _Axes(1, 0)})

    with self.subTest('wrong leaf'):
      axes.b['c'] = 'x'
      message = r"^axes.*\.b\['c'\] is 'x' of type str: want axes"
      with self.assertRaisesRegex(ValueError, message):
        resolve(make_arg(axes), params)

    with self.subTest('not a prefix'):
      axes.b['d'] = _Axes(1, 0)
      message = r'axes.*\.b is dict\(c, d\)'
      with self.assertRaisesRegex(ValueError, message):
        resolve(make_arg(axes), params)

  @parameterized.parameters({}, {'freeze_mask': True, 'train_mask': True})
  def test_exactly_one_mask_says_what_is_frozen(self, **masks):
    with self.assertRaisesRegex(TypeError, 'exactly one'):
      optax.selective_transform(optax.identity(), **masks)

  @parameterized.parameters('freeze_mask', 'train_mask')
  def test_wrong_leaf_of_what_is_frozen(self, name):
    mask, params = {'a': True, 'b': 'no'}, {'a': jnp.ones(1), 'b': jnp.ones(2)}
    tx = optax.selective_transform(optax.identity(), **{name: mask})
    with self.assertRaisesRegex(ValueError, rf"{name}\['b'\] is 'no'"):
      tx.init(params)
