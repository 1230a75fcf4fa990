# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the rule of `_carrying_over.py`: whole, or fresh."""

import collections
import re
from typing import Any

from absl.testing import parameterized
import equinox as eqx
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax

_BODY = {'body': np.ones((2, 3), np.float32)}
_BOTH = _BODY | {'head': np.ones(3, np.float32)}
_ADAM = optax.adam(0.1)
_ZERO = optax.set_to_zero()
_COUNT = optax.scale_by_schedule(lambda count: 1.0)

# States of a user's, and one that holds another.
_Momentum = collections.namedtuple('Momentum', 'acc', module='mine')
_Squares = collections.namedtuple('Squares', 'acc', module='mine')
_Wrapper = collections.namedtuple('Wrapper', ('number', 'inner'), module='mine')


class _Keyless(dict):
  """A dict whose keys are static data."""
  __module__ = 'mine'


jax.tree_util.register_pytree_node(
    _Keyless,
    lambda node: (tuple(node.values()), tuple(node)),
    lambda keys, children: _Keyless(zip(keys, children)),
)


@jax.tree_util.register_pytree_with_keys_class
class _Twins(list):
  tree_flatten_with_keys = lambda self: ([('x', child) for child in self], None)
  tree_unflatten = classmethod(lambda cls, _, children: cls(children))


class _Net(eqx.Module):
  __module__ = 'mine'
  first: Any
  second: Any


class _Other(_Net):
  __module__ = 'mine'


def _accumulate(cls):
  return optax.GradientTransformation(cls, lambda grads, state: (grads, state))


def _with_number(tx):
  return optax.GradientTransformation(
      lambda params: _Wrapper(jnp.zeros(()), tx.init(params)), tx.update
  )


class _Static(eqx.Module):
  inner: Any
  number: int = eqx.field(static=True)


def _labels(body, head=_ADAM, **others):
  """Has a label for each param that is there."""
  return optax.partition(
      {'body': body, 'head': head, **others}, lambda p: {k: k for k in p}
  )


def _train(tx, params):
  """Returns a state in which no array is as `init` made it."""
  return jax.tree.map(lambda x: x + jnp.asarray(3, x.dtype), tx.init(params))


def _is_taken(found, old):
  """Whether all leaves of a state are those of the old one."""
  return all(map(lambda x, y: x is y, *map(jax.tree.leaves, (found, old))))


class CarryOverTest(parameterized.TestCase):

  @parameterized.parameters(
      (lambda tx: tx, ''),
      (lambda tx: optax.chain(_COUNT, tx), '1/'),
      (lambda tx: optax.named_chain(('x', optax.chain(tx))), 'x/0/'),
      (lambda tx: optax.masked(tx, True), 'inner_state/'),
      (lambda tx: optax.apply_if_finite(tx, 3), 'inner_state/'),
      (lambda tx: optax.masked(optax.chain(_with_number(tx)), True),
       'inner_state/0/inner/'),
  )
  def test_each_label_is_a_state(self, wrap, place):
    """Also where it has counted without params, and what is around goes on."""
    tx = wrap(_labels(_ADAM))
    old, new = _train(tx, _BODY), tx.init(_BOTH)
    found = optax.tree.carry_over(old, new)
    get = lambda state: optax.tree.get(state, 'inner_states')
    self.assertTrue(_is_taken(get(found.state)['body'], get(old)['body']))
    self.assertTrue(_is_taken(get(found.state)['head'], get(new)['head']))
    self.assertLen(found.fresh, 3)
    self.assertLen(found.dropped, 1)  # Its count.
    self.assertLen(found.carried, len(jax.tree.leaves(old)) - 1)
    self.assertRegex(repr(found), f'fresh +{place}inner_states/head +3')

  @parameterized.parameters(
      (lambda x: x, lambda x: x, ''),
      (lambda x: [x], lambda x: (x,), '/0'),
      (lambda x: {'x': [x]}, lambda x: {'x': (x,)}, '/x/0'),
      (lambda x: _Net(x, ()), lambda x: _Other(x, ()), '/first'),
      (lambda x: _Keyless(a=x), lambda x: _Keyless(a=x), '/0'),
  )
  def test_children_that_only_static_data_name(self, around, other, place):
    """Their places are not their names, wherever they are."""
    first = around(_Keyless(a=jnp.ones(2), b=jnp.zeros(2)))
    old = _ADAM.init(first)
    again = _ADAM.init(jax.tree.map(jnp.copy, first))
    self.assertTrue(_is_taken(optax.tree.carry_over(old, again).state, old))
    error = f"^At '0/mu{place}', .* have no keys"
    new = _ADAM.init(other(_Keyless(b=jnp.ones(2), c=jnp.zeros(2))))
    with self.assertRaisesRegex(ValueError, error):
      optax.tree.carry_over(old, new)
    old = _ADAM.init(around(_Keyless(a=jnp.ones(2), b=None)))
    with self.assertRaisesRegex(ValueError, error):
      optax.tree.carry_over(old, _ADAM.init(other(_Keyless(b=jnp.ones(2)))))

  def test_children_without_keys_of_another_shape(self):
    """A label with them starts fresh, as any other does."""
    old, new = (_BODY | {'head': x} for x in (
        _Keyless(a=jnp.ones(2)), _Keyless(b=jnp.ones(3))
    ))  # fmt: skip
    found = optax.tree.carry_over(
        _labels(_ADAM).init(old), _labels(_ADAM).init(new)
    )
    self.assertEqual((len(found.carried), len(found.fresh)), (3, 3))

  def test_function_that_was_made_again(self):
    """JAX's own class has no keys, so the error says what a user can do."""
    old, new = (
        _train(_ADAM, jax.tree_util.Partial(lambda x: x, jnp.ones(2)))
        for _ in range(2)
    )
    with self.assertRaises(ValueError) as raised:
      optax.tree.carry_over(old, new)
    advice = re.search(r'`(jax.tree.unflatten.*?)`', str(raised.exception))[1]
    # pylint: disable-next=eval-used
    like = eval(advice, {'jax': jax, 'old': old, 'new': new})
    self.assertTrue(_is_taken(optax.tree.carry_over(like, new).state, old))

  def test_labels_in_a_label(self):
    """As behind a clip in `selective_transform`."""
    tx = optax.selective_transform(
        optax.chain(optax.clip(1.0), _labels(_ADAM)), train_mask=True
    )
    found = optax.tree.carry_over(_train(tx, _BODY), tx.init(_BOTH))
    self.assertEqual((len(found.carried), len(found.fresh)), (3, 3))

  @parameterized.parameters(
      # Some arrays of these have the same shape with both params.
      (optax.contrib.galore(0.1, rank=1), (8, 4), (9, 4)),
      (optax.adafactor(0.1, min_dim_size_to_factor=2), (8, 4), (9, 4)),
      # These have numbers beside them: a scheduled rate, the best loss.
      (optax.adam(lambda count: 0.1), (2,), (3,)),
      (optax.inject_hyperparams(optax.adam)(lambda count: 0.1), (2,), (3,)),
      (optax.chain(_ADAM, optax.contrib.reduce_on_plateau()), (2,), (3,)),
  )
  def test_nothing_is_merged_inside_a_state(self, tx, shape, other):
    """Not even a param that the other one is beside."""
    tx = _labels(tx)
    params = {'body': (jnp.ones(2), jnp.ones(shape)), 'head': jnp.ones(1)}
    changed = params | {'body': (jnp.ones(2), jnp.ones(other))}
    old, new = _train(tx, params), tx.init(changed)
    state = optax.tree.carry_over(old, new).state.inner_states
    self.assertTrue(_is_taken(state['body'], new.inner_states['body']))
    self.assertTrue(_is_taken(state['head'], old.inner_states['head']))

  def test_what_is_outside_of_labels_is_one_state(self):
    tx = optax.MultiSteps(_labels(_ADAM), 2)
    old = _train(tx, _BODY)
    same = optax.tree.carry_over(old, tx.init(_BODY)).state
    self.assertTrue(_is_taken(same, old))
    inner = (x.inner_opt_state for x in (old, tx.init(_BOTH)))
    self.assertLen(optax.tree.carry_over(*inner).carried, 3)

  @parameterized.parameters(
      # Fresh moments beside an old schedule would be neither old nor new.
      (optax.chain(_ADAM, _labels(_COUNT, _COUNT)), '0/0/mu/head'),
      (optax.chain(_labels(_COUNT, _COUNT), _ADAM), '1/0/mu/head'),
      (optax.chain(optax.partition({0: _ADAM, 1: _ADAM}, lambda p: {
          k: x.ndim % 2 for k, x in p.items()
      }), _labels(_COUNT, _COUNT)), '0/inner_states/1/inner_state/0/mu/head'),
      (optax.MultiSteps(_labels(_ADAM), 2), 'acc_grads/head'),
      (optax.contrib.schedule_free(_labels(_ADAM), 0.1), 'z/head'),
      # Adam of params that hold labels.
      (_ADAM._replace(init=lambda params: _ADAM.init(
          _Wrapper(jnp.ones(2), _labels(_ADAM).init(params))
      )), '0/mu/inner/inner_states/head/inner_state/0/mu/head'),
  )  # fmt: skip
  def test_a_label_goes_on_with_what_is_around_it(self, tx, place):
    with self.assertRaisesRegex(ValueError, f"^At '{place}', .* goes on"):
      optax.tree.carry_over(_train(tx, _BODY), tx.init(_BOTH))

  def test_labels_that_freeze_or_that_one_state_has(self):
    frozen, trained = _labels(optax.set_to_zero()), _labels(_ADAM)
    more = _labels(_ADAM, other=_ADAM)
    for first, second, wanted in (
        (frozen, trained, 'fresh body, carried head'),
        (trained, frozen, 'dropped body, carried head'),
        (trained, more, 'carried body, carried head, fresh other'),
        (more, trained, 'carried body, carried head, dropped other'),
    ):
      new = second.init(_BOTH)
      found = optax.tree.carry_over(_train(first, _BOTH), new)
      _, *rows = map(str.split, repr(found).splitlines())
      rows = [f"{what} {place.split('/')[1]}" for what, place, _ in rows]
      self.assertEqual(', '.join(rows), wanted)
      self.assertEqual(*map(jax.tree.structure, (found.state, new)))

  @parameterized.parameters(
      (np.float32(2), jnp.bfloat16),
      (np.complex128(1 + 2j), jnp.complex64),
      (np.int64(3), jnp.int32),
      (np.float16(3), jnp.float32),
      (np.float16(3), jnp.float16),
  )
  def test_precision_is_that_of_the_new_state(self, old, dtype):
    found = optax.tree.carry_over(_Wrapper(old, ()), _Wrapper(dtype(0), ()))
    self.assertEqual(found.state.number, old)
    self.assertEqual(found.state.number.dtype, dtype)
    of_abstract = jax.eval_shape(lambda: found.state)
    states = jax.eval_shape(lambda: (_Wrapper(old, ()), _Wrapper(dtype(0), ())))
    self.assertEqual(optax.tree.carry_over(*states).state, of_abstract)

  def test_float16_cannot_hold_what_others_do(self):
    init = lambda dtype: _train(_ADAM, jax.tree.map(dtype, _BODY))
    for dtype in (jnp.bfloat16, jnp.float32):
      with self.assertRaisesRegex(ValueError, r"'0/mu/body'.* float16\[2, "):
        optax.tree.carry_over(init(dtype), init(jnp.float16))

  @parameterized.parameters((jnp.int16, jnp.int8), (jnp.int8, jnp.uint32))
  def test_an_integer_cannot_hold_what_others_do(self, old, new):
    with self.assertRaisesRegex(ValueError, 'so nothing goes on'):
      optax.tree.carry_over(_Wrapper(old(3), ()), _Wrapper(new(0), ()))

  def test_functions_and_settings(self):
    """They are in an average of a raw model."""
    old, new, other = (
        _Wrapper([fn, jnp.full(2, n), b'setting'], ())
        for n, fn in enumerate((jnp.sin, jnp.sin, jnp.cos))
    )
    found = optax.tree.carry_over(old, new).state
    self.assertIs(found.number[1], old.number[1])
    with self.assertRaisesRegex(ValueError, 'so nothing goes on'):
      optax.tree.carry_over(old, other)

  def test_dict_that_became_a_module(self):
    params = {'w': jnp.ones(2)}, _Net(jnp.ones(2), ())
    with self.assertRaisesRegex(ValueError, 'What is new takes a label'):
      optax.tree.carry_over(*map(optax.trace(0.9).init, params))

  def test_models_of_other_classes(self):
    fields = {'__annotations__': {'third': Any}, '__module__': 'mine'}
    other = type('Other', (_Net,), fields)
    init = lambda x: _train(_ADAM, [x, optax.MaskedState(x)])
    old = init(_Net(jnp.ones(2), [jnp.ones(3)]))
    new = init(other(jnp.ones(2), (jnp.ones(3),), optax.MaskedNode()))
    found = optax.tree.carry_over(old, new).state
    self.assertTrue(_is_taken(found, old))
    self.assertEqual(jax.tree.structure(found), jax.tree.structure(new))
    lost = "^At '0/mu/0/second/0', the old state has nothing, "
    with self.assertRaisesRegex(ValueError, lost):
      optax.tree.carry_over(init(_Net(jnp.ones(2), None)), new)

  @parameterized.parameters(
      lambda tx: tx,
      lambda tx: optax.chain(tx, tx),
      lambda tx: optax.chain(_ADAM, tx),
      lambda tx: _labels(optax.chain(optax.clip(1.0), tx)),
      optax.contrib.master_weights,
      # Below what is another model, or in a tree with what is no state.
      lambda tx: tx._replace(init=lambda p: optax.EmaState((), (
          (_Net if 'Momentum' in str(tx.init(p)) else _Other)(tx.init(p), ())
      ))),
  )
  def test_states_of_other_classes(self, wrap):
    """A class of a user's is another optimizer, though its fields are alike."""
    one, other = (wrap(_accumulate(cls)) for cls in (_Momentum, _Squares))
    old = _train(one, _BOTH)
    with self.assertRaisesRegex(
        ValueError, r'Momentum\(acc\), and .* Squares\(acc\), .* of another opt'
    ):
      optax.tree.carry_over(old, other.init(_BOTH))
    self.assertTrue(_is_taken(
        optax.tree.carry_over(old, one.init(_BOTH)).state, old
    ))  # fmt: skip

  @parameterized.parameters(
      (lambda x: (x, x), '0'),
      (optax.MaskedState, 'inner_state'),
  )
  def test_nodes_of_other_classes(self, wrap, place):
    """They are models only where a state of Optax has params."""
    named = collections.namedtuple('Named', 'first second', module='mine')
    for cls in _Other, named:
      old, new = (wrap(cls(jnp.ones(2), ())) for cls in (_Net, cls))
      with self.assertRaisesRegex(ValueError, f"^At '{place}'.*another optim"):
        optax.tree.carry_over(old, new)


class ErrorsTest(parameterized.TestCase):

  @parameterized.parameters(
      list,
      lambda state: [state[0]._asdict(), {}],
      lambda state: ({**state[0]._asdict()}, *state[1:]),
      lambda state: (*state[:2], {**state[2]._asdict()}),
      lambda state: (*state[:2], [*state[2]]),
  )
  def test_state_that_was_restored_without_its_classes(self, restore):
    state = optax.chain(_ADAM, _accumulate(_Momentum)).init(_BOTH)
    state = *state[0], state[1]
    several = lambda state: {'first': state, 'second': state}
    for wrap in lambda state: state, several:
      with self.assertRaisesRegex(
          ValueError, r'as if it was restored without a target.*`optimizer.init'
      ):
        optax.tree.carry_over(wrap(restore(state)), wrap(state))

  def test_states_of_nnx(self):
    state = nnx.State({'mu': {'value': 1}})
    for states in [state] * 2, [(0, state)] * 2:
      with self.assertRaisesRegex(ValueError, 'Carry over `optimizer.opt_st'):
        optax.tree.carry_over(*states)
    users = _Wrapper(state, ())  # As in `opt_state`, which has its class.
    self.assertLen(optax.tree.carry_over(users, users).carried, 1)

  @parameterized.product(
      tx=(
          _ADAM,
          optax.masked(optax.ema(0.9), True),
          optax.MultiSteps(_ZERO, 2),
      ),
      hold=(
          lambda state: {'net': jnp.ones(2), 'learned': state},
          lambda state: (jnp.ones(2), state),
          lambda state: _Net(jnp.ones(2), state),
          lambda state: state,
      ),
  )
  def test_params_that_hold_a_state(self, tx, hold):
    """Only the optimizer's own labels go on by themselves."""
    states = (_labels(_ADAM).init(params) for params in (_BODY, _BOTH))
    old, new = map(tx.init, map(hold, states))
    with self.assertRaisesRegex(ValueError, 'apart only outside of params'):
      optax.tree.carry_over(old, new)
    self.assertTrue(_is_taken(optax.tree.carry_over(new, new).state, new))

  @parameterized.named_parameters(
      ('other_class', optax.sgd(0.1, 0.9), optax.adam(0.1), '0'),
      ('wrapper', _ADAM, optax.masked(_ADAM, True), '.'),
      ('length', optax.chain(_ADAM, _ADAM), optax.chain(_ADAM), '.'),
      ('names', *(optax.named_chain((x, _ADAM)) for x in 'xy'), '.'),
      ('label', _labels(_ADAM), _labels(optax.sgd(0.1, 0.9)),
       'inner_states/body/inner_state/0'),
      ('schedule', optax.inject_hyperparams(optax.adam)(0.1),
       optax.inject_hyperparams(optax.adam)(lambda count: 0.1),
       'hyperparams_states'),
      ('labels', _ADAM, _labels(_ADAM), '.'),
      ('number', _labels(_ADAM), _ADAM._replace(init=lambda _: 1), '.'),
  )
  def test_another_optimizer(self, one, other, place):
    for first, second in ((one, other), (other, one)):
      with self.assertRaisesRegex(
          ValueError, f"^At '{re.escape(place)}', .* is of another optimizer"
      ):
        optax.tree.carry_over(first.init(_BOTH), second.init(_BOTH))

  @parameterized.named_parameters(
      ('without_labels', _ADAM, _labels(_ADAM),
       r"labels \['body', 'head'\]: .* `optax.PartitionState\({LABEL:"
       r' optax.MaskedState\(old\)}\)`'),
      ('no_labels_left', _labels(_ADAM), _ADAM, r"Give both .*\['body', 'h"),
      ('wrapped', _ADAM, optax.MultiSteps(_ADAM, 2),
       r'one holds the other, .* `optax.tree.carry_over\(old'),
      ('in_a_label', _labels(_ADAM), _labels(optax.sgd(0.1, 0.9)), 'another l'),
      ('renamed', _labels(_ADAM), optax.partition(
          {'new': _ADAM, 'old': _ADAM}, {'body': 'old', 'head': 'new'}
      ), r"has \['body', 'head'\], and the new one \['new', 'old'\]"),
      ('no_arrays', *(_labels(x, optax.sgd(0.1)) for x in (_ZERO, _ADAM)),
       'no arrays at all: use the new one'),
      ('none_any_more', *(_labels(x, optax.sgd(0.1)) for x in (_ADAM, _ZERO)),
       'no arrays at all: use the new one'),
      ('in_a_dict', *(
          tx._replace(init=lambda p, tx=tx: {'x': p, 'y': tx.init(p)})
          for tx in (_labels(_ZERO), _labels(_ADAM))
      ), 'goes into a tuple or a dataclass'),
      ('named', *(
          optax.named_chain(('x', _labels(x)), ('y', _accumulate(_Momentum)))
          for x in (_ZERO, _ADAM)
      ), '`chain` in place of `named_chain`'),
      ('not_masked', _ADAM._replace(init=lambda params: optax.PartitionState(
          {'body': _ADAM.init(params)}
      )), _labels(_ADAM), r'`optax.MaskedState\(old\)` for a label'),
      ('made_again', *(
          _accumulate(collections.namedtuple('Made', 'acc', module='mine'))
          for _ in range(2)
      ), r'Made\(acc\), whose class was made again, .*jax.tree.unflatten\('),
      ('static', *(
          _ADAM._replace(init=lambda p, n=n: _Static(_ADAM.init(p), n))
          for n in (1, 2)
      ), r'_Static\(inner\), whose static fields differ'),
      ('two_partitions', *(
          optax.chain(_labels(_ADAM), _labels(x)) for x in (_ZERO, _ADAM)
      ), 'with one partition in a chain'),
  )  # fmt: skip
  def test_errors_say_the_way_out(self, first, second, text):
    with self.assertRaisesRegex(ValueError, text):
      optax.tree.carry_over(first.init(_BOTH), second.init(_BOTH))

  def test_what_differs_in_a_label_or_outside(self):
    params = {'body': np.ones(5, np.float32), 'head': np.ones(7, np.float32)}
    for tx, text in (
        (_labels(_ADAM), 'What is new takes a label'),
        (optax.MultiSteps(_labels(_ADAM), 2), 'It is outside of all labels'),
    ):
      with self.assertRaisesRegex(ValueError, text):
        optax.tree.carry_over(tx.init(_BOTH), tx.init(params))

  def test_old_state_of_more_params(self):
    """It can be cut as the error says."""
    old, new = _ADAM.init(_BOTH), _labels(_ADAM).init(_BOTH)
    label = lambda x: optax.PartitionState({'body': optax.MaskedState(x)})
    for states in ((old, _ADAM.init(_BODY)), (label(old), new)):
      with self.assertRaisesRegex(ValueError, 'has more: cut it first'):
        optax.tree.carry_over(*states)
    cut = lambda x, keep: x if keep else optax.MaskedNode()
    keep = {'body': True, 'head': False}
    old = optax.tree_map_params(_ADAM, cut, old, keep)
    self.assertLen(optax.tree.carry_over(label(old), new).carried, 3)

  def test_nothing_goes_on(self):
    with self.assertRaisesRegex(
        ValueError, r"^At '0/mu/head', the old state has nothing, and the new"
        r' one float32\[3\], so nothing goes on. .* a label of its own'
    ):
      optax.tree.carry_over(_ADAM.init(_BODY), _ADAM.init(_BOTH))
    with self.assertRaisesRegex(ValueError, "^At '0/mu/1', .* of its own"):
      optax.tree.carry_over(_ADAM.init([1.0]), _ADAM.init((1.0, 2.0)))
    search = optax.scale_by_backtracking_linesearch
    with self.assertRaisesRegex(ValueError, "^At 'grad/body', .* has nothing"):
      optax.tree.carry_over(
          search(9).init(_BODY), search(9, store_grad=True).init(_BODY)
      )
    self.assertEqual(optax.tree.carry_over((), ()).carried, ())
    twins, one = (_ADAM.init(_Twins(x.values())) for x in (_BOTH, _BODY))
    for states in ((twins, one), (one, twins)):
      with self.assertRaisesRegex(ValueError, 'two children with one key'):
        optax.tree.carry_over(*states)
