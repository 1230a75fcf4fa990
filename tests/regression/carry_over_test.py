# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Each param trains on as if nothing had changed, or as if it were new."""

from absl.testing import parameterized
import chex
import jax
import jax.numpy as jnp
import optax
import pytest
from support import factories

_GIVEN = {'mask': True, 'freeze_mask': False, 'param_labels': 'x'}
_X = jnp.linspace(-1, 2, 40)
_OLD = {'body': _X[:6].reshape(3, 2), 'head': _X[:32].reshape(8, 4),
        'gone': _X[:3]}  # fmt: skip
_NEW = {'body': _OLD['body'], 'head': _X.reshape(8, 5), 'new': _X[:3]}
_OPTIMIZERS = {
    label: factory
    for label, factory in factories.public(optax).items()
    if 'scale_by' not in label and 'lookahead' not in label
}

# A state that goes on is the old one, whatever it is of; so in short, only
# these train on.
_TRAINED = ('adafactor', 'adamw', 'galore', 'lbfgs', 'muon')


def _make(label):
  name = factories.name_of(label)
  args, kwargs = factories.arguments(optax, name, _OPTIMIZERS[label], _GIVEN)
  return name, _OPTIMIZERS[label](*args, **kwargs)


def _train(name, tx, key, params, state, steps=2):
  """Returns updates of one param, by its own loss, and the state after them."""
  loss = lambda params: jnp.sum(jnp.cos(params[key]) + params[key] ** 2)
  found = []
  for _ in range(steps):
    grads = {k: jnp.zeros_like(x) for k, x in params.items()}
    grads[key] = 2 * params[key] - jnp.sin(params[key])
    extra = factories.extra_args(name, params, lambda g=grads: g, loss)
    grads = factories.as_taken(name, grads)
    updates, state = tx.update(grads, state, params, **extra)
    found.append(updates[key])
    params = params | {key: params[key] + updates[key]}
  return found, state


def _shapes(state):
  return list(map(jnp.shape, jax.tree.leaves(state)))


class CarryOverTest(parameterized.TestCase):

  full = False

  @pytest.fixture(autouse=True)
  def _options(self, request):
    self.full = request.config.getoption('--full')

  @parameterized.parameters(*_OPTIMIZERS)
  def test_every_optimizer_in_groups(self, label):
    """One param stays, one has another shape, one is new, and one is gone."""
    name, tx = _make(label)
    mask = lambda key: optax.masked(tx, lambda p: {k: k == key for k in p})
    start = lambda params: {k: mask(k).init(params) for k in params}
    old, fresh = start(_OLD), start(_NEW)
    is_trained = self.full or name in _TRAINED
    if is_trained:
      _, old['body'] = _train(name, mask('body'), 'body', _OLD, old['body'], 1)
    else:
      old['body'] = jax.tree.map(jnp.copy, old['body'])
    count = optax.ScaleByScheduleState(jnp.zeros((), int))
    found = optax.tree.carry_over(
        (count, optax.PartitionState(old)), (count, optax.PartitionState(fresh))
    )
    states = found.state[1].inner_states
    for key in _NEW:
      # What keeps nothing of the params goes on with any of them.
      goes_on = key in old and _shapes(old[key]) == _shapes(fresh[key])
      wanted = (old if goes_on else fresh)[key]
      # Labels in a label, of Muon, may differ in more than its updates.
      pairs = zip(*map(jax.tree.leaves, (states[key], wanted)))
      is_other = any(x is not y for x, y in pairs)
      if key == 'body' and not is_trained:
        self.assertFalse(is_other)
      elif key == 'body' or is_other:
        params = _OLD if key == 'body' else _NEW
        chex.assert_trees_all_equal(
            _train(name, mask(key), key, _NEW, states[key])[0],
            _train(name, mask(key), key, params, wanted)[0],
        )
    self.assertEqual(
        len(jax.tree.leaves(old['gone'])),
        len([x for x in found.dropped if x.startswith('1/inner_states/gone/')]),
    )

  def test_labels_in_every_wrapper(self):
    """Its state has the one inside in a field that is called so."""
    inner = optax.partition({'x': optax.adam(0.1)}, 'x')
    names = ('inner', 'base_optimizer', 'fast_optimizer', 'optimizer', 'tx')
    given = _GIVEN | dict.fromkeys(names, inner)
    wrappers = []
    for label, factory in factories.public(optax).items():
      name = factories.name_of(label)
      args, kwargs = factories.arguments(optax, name, factory, given)
      if inner in kwargs.values():
        wrappers.append(label)
        state = factory(*args, **kwargs).init(optax.LookaheadParams(_OLD, _OLD))
        found = repr(optax.tree.carry_over(state, state))
        self.assertIn('inner_states/x', found, label)
    self.assertGreater(len(wrappers), 11)

  @parameterized.parameters(*_OPTIMIZERS)
  def test_every_optimizer_alone(self, label):
    """Where one state has all params, it starts fresh, and an error says so."""
    _, tx = _make(label)
    for change in ('head', 'new', 'gone'):
      params = {k: x for k, x in _OLD.items() if k != change or k == 'head'}
      params |= {change: _NEW[change]} if change in _NEW else {}
      old = jax.tree.map(jnp.copy, tx.init(_OLD))
      fresh = tx.init(params)
      try:
        state = optax.tree.carry_over(old, fresh).state
      except ValueError as error:
        self.assertIn('so nothing goes on', str(error))
        self.assertNotEqual(_shapes(old), _shapes(fresh))
      else:
        goes_on = _shapes(old) == _shapes(fresh)
        pairs = zip(*map(jax.tree.leaves, (state, old if goes_on else fresh)))
        if any(x is not y for x, y in pairs):
          self.assertIsInstance(state, optax.PartitionState)
          self.assertFalse(goes_on)
