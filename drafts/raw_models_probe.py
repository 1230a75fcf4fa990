"""Walks the public factories with raw models.

p4_probe.py OUT MODEL... : records results of each factory on each model, in
the Optax that Python finds, and prints a summary.  Runs: (init, update) arms
ff, fm, mm (f: filtered, m: raw model), each eager (1 step) and jitted scan (3).
"""
import re, collections, inspect, os, pickle, sys, time, warnings
sys.path.insert(0, '/tmp/lab')
import equinox as eqx
import jax, jax.numpy as jnp, numpy as np
import optax, optax.contrib
import p2_walk
warnings.simplefilter('ignore')
import logging; logging.disable(logging.WARNING)
from absl import logging as al; al.set_verbosity('error')

KEY = jax.random.PRNGKey(0)

class Drop(eqx.Module):
  lin: eqx.nn.Linear
  drop: eqx.nn.Dropout
  out: eqx.nn.Linear
  def __call__(self, x):
    return self.out(self.drop(self.lin(x), key=KEY))

class Keyed(eqx.Module):
  lin: eqx.nn.Linear
  key: jax.Array
  count: jax.Array
  act: object
  name: str
  dtype: object
  def __call__(self, x):
    noise = jax.random.normal(self.key, x.shape)
    return self.act(self.lin(x + noise))

class Pair(tuple): pass
class Two(collections.namedtuple('Two', 'a b')):
  def __call__(self, x):
    return self.b(self.a(x))

class Arrays(eqx.Module):
  w: jax.Array
  v: jax.Array
  b: jax.Array
  def __call__(self, x):
    return self.v @ (self.w @ x) + self.b

class Mats(eqx.Module):
  a: eqx.nn.Linear
  b: eqx.nn.Linear
  act: object
  def __call__(self, x):
    return self.b(self.act(self.a(x)))

class Norm(eqx.Module):
  lin: eqx.nn.Linear
  bn: eqx.nn.BatchNorm
  state: object
  def __init__(self, key):
    self.lin = eqx.nn.Linear(3, 4, key=key)
    bn, self.state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, 'batch', mode='batch')
    self.bn = bn
  def __call__(self, x):
    return self.lin(x) * self.bn.weight + self.bn.bias

class Att(eqx.Module):
  att: eqx.nn.MultiheadAttention
  def __call__(self, x):
    x = x[None]
    return self.att(x, x, x)[0]

def models():
  k1, k2 = jax.random.split(KEY)
  return {
    'mlp': eqx.nn.MLP(3, 2, 4, 1, key=KEY),
    'drop': Drop(eqx.nn.Linear(3, 4, key=k1), eqx.nn.Dropout(0.5), eqx.nn.Linear(4, 2, key=k2)),
    'att': Att(eqx.nn.MultiheadAttention(2, 3, 3, use_query_bias=True, key=KEY)) if False else Att(eqx.nn.MultiheadAttention(1, 3, key=KEY, dropout_p=0.)),
    'norm': Norm(KEY),
    'key': Keyed(eqx.nn.Linear(3, 2, key=k1), jax.random.key(1), jnp.arange(3), jax.nn.tanh, 'net', np.float32),
    'arrays': Arrays(jnp.ones((4, 3)) * .3, jnp.full((2, 4), .2), jnp.ones(2) * .1),
    'mats': Mats(eqx.nn.Linear(3, 4, use_bias=False, key=k1), eqx.nn.Linear(4, 2, use_bias=False, key=k2), jax.nn.relu),
    'two': Two(eqx.nn.Linear(3, 4, key=k1), eqx.nn.MLP(4, 2, 4, 1, activation=jax.nn.gelu, key=k2)),
  }

X = jnp.asarray(np.random.RandomState(0).randn(5, 3), jnp.float32)
loss = lambda m: jnp.mean(jax.vmap(m)(X) ** 2)
is_p = eqx.is_inexact_array

def l_name(f): return getattr(f, "__name__", None) or f.func.__name__
def matrices(p): return jax.tree.map(lambda x: x.ndim > 1, p)
def build(factory, label):
  name = l_name(factory)
  sgd = optax.sgd(0.1)
  if name == 'chain': return factory(optax.adam(.1), sgd)
  if name == 'named_chain': return factory(('x', optax.adam(.1)), ('y', sgd))
  required = p2_walk._required(optax)
  required.update(mask=matrices, freeze_mask=matrices, hyperparam=0.1,
    param_labels=lambda p: jax.tree.map(lambda x: 'x' if x.ndim > 1 else 'y', p))
  ad = optax.adam(0.1)
  for k in ('adv_optimizer', 'base_optimizer', 'fast_optimizer', 'inner', 'optimizer', 'tx'):
    required[k] = ad
  kw = {}
  for k, p in inspect.signature(factory).parameters.items():
    if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL): continue
    if p.default is inspect.Parameter.empty:
      kw[k] = required.get(k, 0.1)
    elif k == 'mask' : kw[k] = matrices
  if 'key' in kw: kw['key'] = 0
  if 'weight_decay' in inspect.signature(factory).parameters:
    kw['weight_decay'] = 0.01
  if name == 'scale_by_muon':
    kw['weight_dimension_numbers'] = lambda p: jax.tree.map(
      lambda _: optax.contrib.MuonDimensionNumbers(), p)
  if name == 'sam': kw['reset_state'] = False
  return factory(**kw)

class Multi:
  def __init__(self, tx): self.tx = optax.MultiSteps(tx, 2); self.init=self.tx.init; self.update=self.tx.update

def all_settings():
  for label, factory in p2_walk.factories(optax).items():
    yield label, l_name(factory), lambda f=factory, l=label: build(f, l)
  yield 'optax.MultiSteps', 'MultiSteps', lambda: Multi(optax.adam(.1))
  yield 'optax.MultiSteps(skip)', 'MultiSteps', lambda: optax.MultiSteps(optax.adam(.1), 2, should_skip_update_fn=optax.skip_not_finite)
  yield 'sam(opaque)', 'sam_opaque', lambda: optax.contrib.sam(optax.adam(.1), optax.sgd(.1), opaque_mode=True)
  yield 'lookahead(reset)', 'lookahead', lambda: optax.lookahead(optax.adam(.1), 2, .5, reset_state=True)
  yield 'backtracking(store)', 'scale_by_backtracking_linesearch', lambda: optax.chain(optax.sgd(.5), optax.scale_by_backtracking_linesearch(5, store_grad=True))
  yield 'inject(adamw)', 'adamw', lambda: optax.inject_hyperparams(optax.adamw)(0.1, weight_decay=.1, mask=None)
  yield 'flatten(adam)', 'flatten', lambda: optax.flatten(optax.adam(.1))
  yield 'MultiSteps(lbfgs)', 'MultiSteps_lbfgs', lambda: optax.MultiSteps(optax.lbfgs(), 2)

def extra(name, params, grads, fn):
  if name in ('sophia', 'scale_by_sophia', 'hutchinson_estimator_diag_hessian'): return {'obj_fn': fn}
  if name in ('lbfgs', 'MultiSteps_lbfgs') or name.endswith('linesearch'):
    return {'value': fn(params), 'grad': grads, 'value_fn': fn}
  if 'momo' in name or 'polyak' in name or name == 'reduce_on_plateau':
    return {'value': fn(params)}
  if name == 'sam_opaque':
    return {'grad_fn': lambda p, i: eqx.filter_grad(fn)(p)}
  return {}

def run(tx_fn, name, model, arm, jitted):
  tx = tx_fn()
  if hasattr(tx, '_fields'): tx = optax.with_extra_args_support(tx)
  filtered, static = eqx.partition(model, is_p)
  look = name == 'lookahead'
  pair = (lambda p: optax.LookaheadParams(p, p)) if look else (lambda p: p)
  choose = lambda a, p: eqx.combine(p, static) if a == 'm' else p
  def fullpair(a, p):
    if look: return optax.LookaheadParams(choose(a, p.fast), choose(a, p.slow))
    return choose(a, p)
  if arm[1] == 'm': fn = loss
  else: fn = lambda p: loss(eqx.combine(p, static))
  def step(carry, _):
    p, state = carry
    fast = p.fast if look else p
    grads = jax.grad(lambda q: loss(eqx.combine(q, static)))(fast)
    g = grads
    if name in ('differentially_private_aggregate', 'dpsgd'):
      g = jax.tree.map(lambda x: jnp.stack([x, -2 * x]), g)
    params = fullpair(arm[1], p)
    updates, state = tx.update(g, state, params, **(extra(name, params if not look else params.fast, grads, fn)))
    q = updates
    if jax.tree.structure(updates) == jax.tree.structure(p):
      if os.environ.get('PRISTINE'):
        return (optax.apply_updates(p, jax.tree.map(lambda u: .1 * u, updates)), state), updates
      new = optax.apply_updates(fullpair('m', p), jax.tree.map(lambda u: .1 * u, updates))
      if look:
        assert all(a is b for a, b in zip(jax.tree.leaves(eqx.filter(new.fast, is_p, inverse=True)), jax.tree.leaves(static)))
        p = optax.LookaheadParams(*(eqx.filter(n, is_p) for n in new))
      else:
        for a, b in zip(jax.tree.leaves(eqx.filter(new, is_p, inverse=True)), jax.tree.leaves(static), strict=True):
          assert a is b
        p = eqx.filter(new, is_p)
    return (p, state), updates
  p0 = pair(filtered)
  if name == 'monitor':
    state0 = tx.init(fullpair(arm[0], p0))
    (_, state), u = step((p0, state0), None)
    (_, state2), u = step((p0, state), None)
    assert jax.tree.structure(state2) == jax.tree.structure(state)
    return {jax.tree_util.keystr(k): np.asarray(v) for k, v in jax.tree_util.tree_leaves_with_path({'u': u, 's': state2})}
  state = tx.init(fullpair(arm[0], p0))
  if jitted == 'jaxpr':
    f = lambda c: jax.lax.scan(step, c, None, length=3)
    jaxpr, out = jax.make_jaxpr(f, return_shape=True)((p0, state))
    text = re.sub('0x[0-9a-f]+', '', str(jaxpr))
    res = {'jaxpr': np.frombuffer(text.encode(), np.uint8)}
    s = jax.tree.leaves(state)
    assert all(hasattr(x, 'dtype') or isinstance(x, (int, float)) for x in s), 'static in state'
    res['tree'] = np.frombuffer(re.sub('0x[0-9a-f]+', '', str([(jax.tree_util.keystr(k), x.shape, x.dtype) for k, x in jax.tree_util.tree_leaves_with_path(out)])).encode(), np.uint8)
    res['init'] = np.frombuffer(b''.join(np.asarray(jax.random.key_data(x) if hasattr(x,'dtype') and jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x).tobytes() for x in s), np.uint8)
    return res
  if jitted == 'scan':
    (p, state), ups = jax.jit(lambda c: jax.lax.scan(step, c, None, length=3))((p0, state))
  else:
    s0 = jax.tree.structure(state)
    (p, state), ups = step((p0, state), None)
    assert jax.tree.structure(state) == s0, 'structure'
  for leaf in jax.tree.leaves(state):
    assert hasattr(leaf, 'dtype') or isinstance(leaf, (int, float)), leaf
  def arr(x):
    if hasattr(x, 'dtype') and jnp.issubdtype(x.dtype, jax.dtypes.prng_key): x = jax.random.key_data(x)
    return np.asarray(x)
  return {jax.tree_util.keystr(k): arr(v) for k, v in
    jax.tree_util.tree_leaves_with_path({'u': ups, 's': state})}

def main(out, *names):
  results = {}
  t0 = time.time()
  table = models()
  only = os.environ.get('ONLY')
  for mname in names:
    model = table[mname]
    for label, name, tx_fn in all_settings():
      if only and only not in label: continue
      for jitted in (('eager', 'scan') if os.environ.get('RUN') else ('jaxpr',)):
        for arm in ('ff', 'fm', 'mm'):
          try: r = run(tx_fn, name, model, arm, jitted)
          except Exception as e:
            if os.environ.get('RAISE'): raise
            r = f'{type(e).__name__}: {e}'[:300]
          results[mname, label, jitted, arm] = r
      jax.clear_caches()
  c = collections.Counter(); bad = collections.defaultdict(list)
  for (m, l, j, arm), r in results.items():
    c[m, 'runs'] += 1
    b = results[m, l, j, 'ff']
    if isinstance(r, str): bad[m, l].append((j, arm, r)); c[m, 'fail'] += 1
    elif isinstance(b, str): c[m, 'no base'] += 1; bad[m, l].append((j, arm, 'no base'))
    elif r.keys() != b.keys() or not all(r[k].tobytes() == b[k].tobytes() for k in r):
      c[m, 'differ'] += 1; bad[m, l].append((j, arm, 'DIFFER'))
    else: c[m, 'pass'] += 1
  for k, v in bad.items(): print(k, [(j, a, r[:110]) for j, a, r in v])
  print(optax.__file__, len(list(all_settings())), 'settings', round(time.time() - t0), 's')
  for k, v in sorted(c.items()): print(k, v)
  if os.path.exists('/tmp/lab/p4_out_old.pkl') and 'old' not in out:
    old = pickle.load(open('/tmp/lab/p4_out_old.pkl', 'rb'))
    cc = collections.Counter()
    for k, r in results.items():
      o = old.get(k)
      if o is None: cc[k[0], k[3], 'no old'] += 1
      elif isinstance(o, str): cc[k[0], k[3], 'old fails'] += 1
      elif isinstance(r, str): cc[k[0], k[3], 'REGRESSION'] += 1; print('REG', k)
      elif r.keys() == o.keys() and all(r[x].tobytes() == o[x].tobytes() for x in r): cc[k[0], k[3], 'same as old'] += 1
      else: cc[k[0], k[3], 'other than old'] += 1; print('OTHER', k)
    for k, v in sorted(cc.items()): print(k, v)
  with open(out, 'wb') as f: pickle.dump(results, f)

if __name__ == '__main__': main(*sys.argv[1:])
