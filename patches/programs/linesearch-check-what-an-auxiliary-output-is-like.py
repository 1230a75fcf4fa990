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
"""Another precision is cast as before, and programs do not change."""

import jax.numpy as jnp
import optax

x, loss = jnp.array([3.0, -1.0]), lambda x: (jnp.sum(x**2), {'mean': x.mean()})
search = optax.scale_by_zoom_linesearch(
    5, has_aux=True, aux_like={'mean': jnp.zeros((), int)})
value, aux = loss(x)
try:
  print(search.update(-x, search.init(x), x, value=value, aux=aux,
                      grad=2 * x, value_fn=loss)[1].aux)
  raise SystemExit('The mean is an integer now.')
except ValueError as error:
  print(error)
