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

from optax_fork import series
from support.environments import copy_repository
from support.environments import git
from support.environments import must_tool

LENGTH = 9


def make(target: pathlib.Path) -> None:
  """Makes a checkout with a short series, and the work tree of it.

  Args:
    target: a directory that does not exist.
  """
  copy_repository(target)
  must_tool(target, 'checkout')
  patches = target / 'patches'
  dropped = series.read(patches)[LENGTH:]
  git(
      target / 'work/optax', 'reset', '--quiet', '--hard',
      f'HEAD~{len(dropped)}',
  )  # fmt: skip
  shutil.rmtree(patches / 'docs')  # Some are about patches that are dropped.
  names = {patch.name for patch in dropped}
  for name in names:
    program = patches / 'programs' / f'{name[5:].removesuffix(".patch")}.py'
    program.unlink(missing_ok=True)
  readme = patches / 'README.md'
  lines = readme.read_text('utf-8').splitlines(keepends=True)
  kept = [x for x in lines if not any(name in x for name in names)]
  readme.write_text(''.join(kept), 'utf-8')
  must_tool(target, 'export')
  must_tool(target, 'check')
