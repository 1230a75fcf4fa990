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
"""Dimension numbers that are trees, and functions of the params, are read as
before; the updates are the same.
"""

import collections
import jax
import jax.numpy as jnp
import optax


class Linear(collections.namedtuple('Linear', 'w b')):
  __call__ = lambda self, x: self.w @ x + self.b


params = Linear(jnp.ones((3, 4)), jnp.ones(3))
dim_nums = Linear(optax.contrib.GaLoreDimensionNumbers(), None)
tx = optax.contrib.galore(0.1, rank=2, weight_dimension_numbers=dim_nums)
print(jax.tree.map(jnp.shape, tx.update(params, tx.init(params), params)[0]))
