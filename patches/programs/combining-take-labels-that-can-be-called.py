# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Label functions, and labels that cannot be called, work as before."""

import collections
import jax.numpy as jnp
import optax


class Linear(collections.namedtuple('Linear', 'w b')):
  __call__ = lambda self, x: self.w @ x + self.b


params = Linear(jnp.ones((2, 2)), jnp.ones(2))
labels = Linear('train', 'freeze')
txs = {'train': optax.sgd(0.1), 'freeze': optax.set_to_zero()}
tx = optax.partition(txs, labels)
print(tx.update(params, tx.init(params))[0])
