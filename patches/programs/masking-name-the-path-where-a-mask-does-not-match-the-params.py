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
"""Masks that match are used as before, and the error is a ValueError still."""

import jax.numpy as jnp
import optax

params = {'layers': [{'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}] * 3}
decay = {'w': True, 'b': False}
mask = {'layers': [decay, {'w': True}, decay]}
try:
  optax.masked(optax.scale(3.0), mask).init(params)
except ValueError as error:
  print(error)
  assert "mask['layers'][1]" in str(error), 'which layer?'
