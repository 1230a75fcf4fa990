# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for names in states in `_state_names.py`."""

import collections
import re

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax.tree_utils import _state_names


@jax.tree_util.register_pytree_node_class
class _Keyless(dict):

  def tree_flatten(self):
    return tuple(self.values()), tuple(self)

  @classmethod
  def tree_unflatten(cls, keys, children):
    return cls(zip(keys, children))


_PLATEAU = optax.contrib.reduce_on_plateau()
_Scaled = collections.namedtuple('_Scaled', 'scale', module='mine')


def _integers(state):
  return [x for x in jax.tree.leaves(state) if isinstance(x, int)]


class StateNamesTest(absltest.TestCase):

  def test_name_that_is_not_there(self):
    """In 0.2.8, the message holds the whole state."""
    params = {'w': jnp.ones((40, 40))}
    state = optax.adam(0.1).init(params)
    self.assertIsNone(optax.tree.get(state, 'momentum'))
    for args in ((), (lambda path, value: False,)):
      with self.assertRaises(KeyError) as raised:
        optax.tree.set(state, *args, momentum=1)
      names = "'ScaleByAdamState', 'count', 'mu', 'nu', 'w', 'EmptyState'"
      said = str(raised.exception)
      self.assertIn(names, said)
      self.assertEqual('`filtering`' in said, bool(args))
      self.assertLess(len(said), 250)

  def test_name_that_is_there_twice(self):
    state = (optax.adam(0.1).init(jnp.ones(2)),) * 2
    with self.assertRaises(KeyError) as raised:
      optax.tree.get(state, 'count')
    self.assertIn('[0][0]ScaleByAdamState.count, [1]', str(raised.exception))

  def test_many_names(self):
    shown = _state_names.show_names({str(i): {} for i in range(99)})
    self.assertEndsWith(shown, "'29', ...")

  def test_output_that_has_names_of_states(self):
    fn = lambda x: (jnp.sum(x**2), {'aux': x[0], 'value': x, 'count': 2.0})
    params = jnp.arange(1.0, 4)
    aux_like = jax.eval_shape(fn, params)[1]
    solver = optax.scale_by_zoom_linesearch(
        5, has_aux=True, aux_like=aux_like
    )
    state = solver.init(params)
    value_and_grad = optax.value_and_grad_from_state(fn, has_aux=True)
    (value, aux), grad = value_and_grad(params, state=state)
    _, state = solver.update(
        grad, state, params, value=value, aux=aux, grad=grad, value_fn=fn
    )
    aux = optax.tree.get(state, 'aux')
    self.assertEqual({*aux}, {'aux', 'value', 'count'})
    self.assertEqual(jnp.shape(optax.tree.get(state, 'value')), ())
    new = optax.tree.set(state, aux={'aux': 1, 'value': 2, 'count': 3})
    self.assertEqual(optax.tree.get(new, 'aux')['count'], 3)

  def test_state_of_another_class_with_this_name(self):
    """The class decides, not its name."""
    other = collections.namedtuple('LinesearchAuxState', ('aux', 'search'))
    state = {'x': other(aux={'count': 1}, search=2)}
    self.assertEqual(optax.tree.get(state, 'count'), 1)
    found = optax.tree.set(state, count=3)['x']
    self.assertEqual(found.aux, {'count': 3})

  def test_keys_that_do_not_sort(self):
    """JAX cannot flatten such a dict, but Optax stops at one with the name."""
    state = [{'a': {'a': 1, 2: 3}, 2: 4}]
    found = [value for _, value in optax.tree.get_all_with_path(state, 'a')]
    self.assertEqual(found, [{'a': 1, 2: 3}, 1])
    self.assertEqual(optax.tree.get([{'a': 1, 2: 3}], 'a'), 1)
    self.assertEqual(optax.tree.set(state, a=6), [{'a': 6, 2: 4}])
    with self.assertRaisesRegex(KeyError, "'a', '2'"):
      optax.tree.set(state, lambda path, value: False, a=6)

  def test_path_through_nodes_of_every_kind(self):
    node = jax.tree_util.Partial(len, [{'x': 1}], y=_Keyless(z={'x': 2}))
    tree = {'a': node, 'b': (None, {'x': 3})}
    found = optax.tree.get_all_with_path(tree, 'x')
    self.assertEqual([value for _, value in found], [1, 2, 3])


class ScheduleTest(parameterized.TestCase):
  """What follows a schedule has its name twice."""

  @parameterized.named_parameters(
      ('alone', lambda tx: tx),
      ('chain', lambda tx: optax.chain(optax.scale(1.0), tx)),
      ('masked', lambda tx: optax.masked(tx, True)),
      ('partition', lambda tx: optax.partition({'x': tx}, 'x')),
      ('multi_steps', lambda tx: optax.MultiSteps(tx, 2)),
      ('inject', lambda tx: optax.inject_hyperparams(lambda b: tx)(0.5)),
  )
  def test_number_under_a_wrapper(self, wrap):
    params = jnp.ones(2)
    optimizer = wrap(optax.inject_hyperparams(optax.sgd)(
        lambda count: 0.5 / (count + 1), momentum=0.9
    ))  # fmt: skip
    state = optimizer.init(params)
    self.assertEqual(optax.tree.get(state, 'learning_rate'), 0.5)
    for _ in range(4):
      _, state = optimizer.update(params, state, params)
    is_array = lambda path, value: isinstance(value, jax.Array)
    wanted = optax.tree.get(state, 'learning_rate', filtering=is_array)
    self.assertEqual(optax.tree.get(state, 'learning_rate'), wanted)
    self.assertLess(wanted, 0.5)
    self.assertLen(optax.tree.get_all_with_path(state, 'learning_rate'), 2)
    with self.assertRaisesRegex(ValueError, "'learning_rate' follows a sched"):
      optax.tree.set(state, learning_rate=0.1, momentum=0.8)
    state = optax.tree.set(state, momentum=0.8)
    self.assertEqual(optax.tree.get(state, 'momentum'), 0.8)

  @parameterized.parameters(
      lambda tx: tx,
      lambda tx: optax.masked(tx, True),
      # A node that is neither a tuple nor a dict, as a user's state may be.
      lambda tx: tx._replace(init=lambda params: jax.tree_util.Partial(
          len, tx.init(params)
      )),
  )  # fmt: skip
  def test_every_count_is_set(self, wrap):
    """In 0.2.8, only the outermost, which nothing reads."""
    tx = optax.inject_hyperparams(lambda rate, inner: optax.scale(
        rate
    )._replace(init=wrap(inner).init))(
        lambda count: 0.1, optax.adam(0.1)
    )  # fmt: skip
    state = tx.init({'w': jnp.ones(2)})
    find = optax.tree.get_all_with_path
    get = lambda state: [x for _, x in find(state, 'count')]
    self.assertEqual(get(optax.tree.set(state, count=4)), [4, 4, 4])
    of_schedule = lambda path, _: 'hyperparams_states' in str(path)
    state = optax.tree.set(state, of_schedule, count=4)
    self.assertEqual(get(state), [0, 4, 0])

  @parameterized.parameters('count', 'mu')
  def test_param_with_the_name_of_a_field(self, name):
    """Deep in the moments, it is not set along, whatever a filter says."""
    params = {'net': {name: {name: jnp.ones(2)}}}
    state = optax.adam(0.1).init(params)
    in_adam = lambda path, _: 'ScaleByAdamState' in str(path)
    of_param = lambda path, _: path[-1] == jax.tree_util.DictKey(name)
    for args in ((), (in_adam,)):
      new = optax.tree.set(state, *args, **{name: 4})
      self.assertEqual(new[0], state[0]._replace(**{name: 4}))
    new = optax.tree.set(state, of_param, **{name: 4})
    self.assertEqual(new[0].nu, {'net': {name: 4}})
    self.assertEqual(new[0].count, 0)

  @parameterized.named_parameters(
      ('adam', optax.adam(0.1), '[0].count'),
      ('plateau', optax.chain(optax.adam(0.1), _PLATEAU), '[1].scale'),
      ('zero_nans', optax.chain(optax.zero_nans(), _PLATEAU), '[1].scale'),
      ('schedule_free', optax.contrib.schedule_free_adamw(0.1), '.b1'),
      ('injected', optax.inject_hyperparams(optax.adam)(0.1),
       ".hyperparams['b1']"),
      ('named', optax.named_chain(
          ('scale', optax.adam(0.1)), ('x', _PLATEAU)), "['x'].scale"),
      ('user', optax.chain(optax.trace(0.9), optax.masked(
          optax.GradientTransformation(
              lambda _: _Scaled(jnp.ones(())), lambda *grads_and_state: None
          ), True)), '[1].inner_state.scale'),
  )  # fmt: skip
  def test_param_with_the_name_of_a_number(self, tx, place):
    """It is not set along, wherever it is, nor is a state among the params."""
    name = re.findall(r'\w+', place)[-1]
    net = collections.namedtuple('Net', name, module='mine')
    is_leaf = lambda _, value: not isinstance(value, tuple)
    one, two = jnp.ones(()), jnp.ones(2)
    states = [
        tx.init({name: x, 'net': [{name: x}, net(x), tx.init({'w': x})]})
        for x in (one, two)
    ]
    for state in (*states, jax.tree.map(lambda _: 'sharding', states[0])):
      new = optax.tree.set(state, is_leaf, **{name: 4})
      pairs = zip(*map(jax.tree_util.tree_leaves_with_path, (state, new)))
      places = [path for (path, x), (_, y) in pairs if x is not y]
      self.assertEqual([*map(jax.tree_util.keystr, places)], [place])

  @parameterized.parameters(
      (_PLATEAU, r'at \[1\]Reduce'),
      (optax.trace(0.9), r'at \[1\]TraceState.trace\['),
  )
  def test_entry_that_may_be_of_a_users_state(self, tx, place):
    """Also where all others are in params."""
    user = collections.namedtuple('Norm', 'stats', module='mine')
    params = {'scale': jnp.ones(())}
    state = user(params), tx.init(params)
    is_array = lambda _, value: isinstance(value, jax.Array)
    for args in ((), (is_array,)):
      with self.assertRaisesRegex(
          ValueError, r'at \[0\]Norm.stats\[.*' + place
      ):
        optax.tree.set(state, *args, scale=4)
    is_own = lambda path, _: 'Norm' in str(path)
    new = optax.tree.set(state, is_own, scale=4)
    self.assertEqual(new, (user({'scale': 4}), state[1]))

  def test_params_in_nodes_of_every_kind(self):
    node = collections.namedtuple('Node', 'params', module='mine')
    make = lambda x: {'b': x, 'net': [{'b': x}, node({'b': x})]}
    state = optax.trace(0.9).init(make(jnp.ones(2)))
    self.assertEqual(optax.tree.set(state, b=4).trace, make(4))

  def test_what_cannot_be_a_param(self):
    """An integer and a state are set wherever a state of a user's has them."""
    norm = collections.namedtuple('Norm', 'stats', module='mine')(0.5)
    adam = optax.adam(0.1).init(jnp.ones(2))
    users = _Scaled({'count': jnp.array(0), 'x': norm})
    state = users, _Scaled(adam), optax.trace(0.9).init([norm]), adam
    for name, places in (('count', 3), ('mu', 2), ('Norm', 1)):
      values = {name: 4}
      self.assertLen(_integers(optax.tree.set(state, **values)), places)

  def test_names_inside_of_others(self):
    """As docs/checkpoints.md says of `set`, and as in 0.2.8."""
    params = collections.OrderedDict(count=jnp.ones(2), b=jnp.ones(1))
    (adam, empty) = state = optax.adam(0.1).init(params)
    new = optax.tree.set(state, ScaleByAdamState=adam, count=4)
    self.assertEqual(new, state)
    new = optax.tree.set(state, mu=params, count=4)
    self.assertEqual(new, (adam._replace(mu=params, count=4), empty))
    self.assertIsInstance(new[0].nu, collections.OrderedDict)
    new, _ = optax.tree.set((params, state), count=4)
    self.assertEqual(new, params | {'count': 4})
    self.assertIsInstance(new, collections.OrderedDict)
    masked = optax.MaskedState(adam)
    new = optax.tree.set(masked, inner_state=4, ScaleByAdamState=3)
    self.assertEqual(new, optax.MaskedState(4))

  def test_states_of_a_class_at_several_depths(self):
    trace = optax.trace(0.9)
    mask = {'w': True, 'b': False}
    tx = optax.chain(trace, optax.masked(trace, mask))
    state = tx.init({'w': jnp.ones(2), 'b': jnp.ones(1)})
    found = optax.tree.set(state, TraceState=None)
    self.assertEqual(found, (None, optax.MaskedState(None)))

  def test_one_of_both(self):
    """A filter chooses it, as in 0.2.8."""
    state = optax.inject_hyperparams(optax.sgd)(lambda x: x).init(1.0)
    for is_one in (
        lambda path, value: isinstance(value, tuple),
        lambda path, value: not isinstance(value, tuple),
    ):
      found = optax.tree.get(state, 'learning_rate', filtering=is_one)
      wanted = jax.tree.map(lambda x: x + 3, found)
      new = optax.tree.set(state, is_one, learning_rate=wanted)
      is_set = optax.tree.get(new, 'learning_rate', filtering=is_one)
      self.assertEqual(is_set, wanted)

  def test_two_schedules(self):
    state = (optax.inject_hyperparams(optax.sgd)(lambda x: x).init(1.0),) * 2
    with self.assertRaisesRegex(KeyError, r'0.*params\[.*1.*ms\[[^,]*\. Ch'):
      optax.tree.get(state, 'learning_rate')

  @parameterized.named_parameters(
      ('inject', optax.inject_hyperparams(optax.adam)(0.1), 'count', 2),
      ('schedule', optax.adam(lambda count: 0.1), 'count', 2),
      ('label', optax.partition({'x': optax.contrib.muon(0.1)}, 'x'), 'mu', 2),
      ('labels', optax.partition(
          {0: optax.contrib.muon(0.1), 1: optax.adam(0.1)}, {'w': 0, 'b': 1}
      ), 'mu', 1),
  )  # fmt: skip
  def test_error_says_how_to_get_one(self, tx, name, count):
    state = tx.init({'w': jnp.ones((2, 2)), 'b': jnp.ones(2)})
    with self.assertRaisesRegex(KeyError, 'multiple values') as error:
      optax.tree.get(state, name)
    text = error.exception.args[0]
    ways = re.findall(r"`optax.tree.get\(state, '(\w+)'\).(\w+)`", text)
    self.assertLen(ways, count)
    for state_name, field in ways:
      self.assertEqual(field, name)
      self.assertIn(name, optax.tree.get(state, state_name)._fields)
    for keys, value in optax.tree.get_all_with_path(state, name):
      path = jax.tree_util.keystr(keys)
      self.assertIn(path, text)
      is_it = lambda p, _, path=path: jax.tree_util.keystr(p) == path
      self.assertIs(optax.tree.get(state, name, filtering=is_it), value)

  def test_state_of_another_class_with_these_fields(self):
    fields = ('hyperparams', 'hyperparams_states')
    other = collections.namedtuple('InjectStatefulHyperparamsState', fields)
    state = other({'x': 1}, {'x': 2})
    with self.assertRaises(KeyError):
      optax.tree.get(state, 'x')
    self.assertEqual(optax.tree.set(state, x=3), other({'x': 3}, {'x': 3}))
