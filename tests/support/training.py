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
"""How the tests train by a line search, whatever the params are."""

import equinox as eqx
import optax


def train_by_line_search(transform, params, loss, steps):
  """Returns the params, which may be a model, and the loss of each step."""
  value_and_grad = optax.value_and_grad_from_state(loss)

  @eqx.filter_jit
  def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = transform.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return optax.apply_updates(params, updates), state, value

  state, losses = transform.init(params), []
  for _ in range(steps):
    params, state, value = step(params, state)
    losses.append(value.item())
  return params, losses
