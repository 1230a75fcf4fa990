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
"""What is wrong at one place is an error that names the place."""

import pytest
from support import trees


def assert_fails(transform, state, prefix: trees.Prefix, *words: str) -> None:
  """Checks that `init` and `update` raise a ValueError that says these words.

  Args:
    transform: a transformation with something wrong.
    state: a state for `update`, which `init` could not make.
    prefix: of the model that it is given.
    *words: regular expressions.
  """
  grads = trees.grads_of(prefix.params)
  for call in (
      lambda: transform.init(prefix.model),
      lambda: transform.update(grads, state, prefix.model),
  ):
    with pytest.raises(ValueError) as caught:
      call()
    for word in words:
      caught.match(word)
