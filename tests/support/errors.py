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
"""A wrong argument is an error that names the place."""

import pytest


def assert_fails(transform, state, params, updates, *words, jit=lambda f: f):
  """Checks that `init` and `update` raise a ValueError that says these words.

  Args:
    transform: a transformation with something wrong.
    state: a state for `update`, which `init` could not make.
    params: params or a model.
    updates: what `update` is given.
    *words: regular expressions.
    jit: is applied to both functions.
  """
  for call in (
      lambda: jit(transform.init)(params),
      lambda: jit(transform.update)(updates, state, params),
  ):
    with pytest.raises(ValueError) as caught:
      call()
    for word in words:
      caught.match(word)
