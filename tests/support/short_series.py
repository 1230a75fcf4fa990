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
"""A checkout with the first patches of the series alone.

What the tool does with a series depends little on how long it is, but a git
command for each patch makes up most of the time that its tests take.
"""

import pathlib
import shutil

from optax_fork.move import places
from optax_fork.patches import series
from support.environments import git
from support.environments import must_tool

LENGTH = 9


def shorten(checkout: pathlib.Path) -> None:
  """Drops all but the first patches of a checkout that has its work tree."""
  patches = checkout / 'patches'
  dropped = series.read(patches)[LENGTH:]
  git(
      checkout / 'work/optax', 'reset', '--quiet', '--hard',
      f'HEAD~{len(dropped)}',
  )  # fmt: skip
  shutil.rmtree(patches / 'docs')  # Some are about patches that are dropped.
  must_tool(checkout, 'export')
  places.write_patches(checkout, dropped)
  must_tool(checkout, 'check')
