# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Labels that are trees and label functions are read as before."""

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
