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
"""What the README says of the fork and of pristine Optax is so."""

import pathlib
import re

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine

_README = pathlib.Path(__file__).resolve().parents[1] / 'README.md'


class ReadmeTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('fork', lambda: optax, -1e-4), ('pristine', pristine.load, 0.0)
  )
  def test_first_example_decays_on_the_fork_alone(self, load, wanted):
    code = re.search(r'```python\n(.*?)```', _README.read_text('utf-8'), re.S)
    names = {'jax': jax, 'jnp': jnp, 'optax': load()}
    exec(code[1], names)  # pylint: disable=exec-used
    np.testing.assert_allclose(names['updates']['w'], wanted, rtol=1e-6)
    np.testing.assert_array_equal(names['updates']['b'], 0.0)
