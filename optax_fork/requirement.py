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
"""The check of a library that needs the fork."""

import re

from optax_fork.release import manifest

_VERSION = re.compile(r'(\d+(?:\.\d+)*)\+masks\.(\d+)')


def require(version: str) -> None:
  """Checks that ``import optax`` gives this version of the fork or a later one.

  Args:
    version: such as ``'0.2.8+masks.12'``.

  Raises:
    ImportError: If it gives another Optax or an earlier version, or none.
    ValueError: If this is not a version of the fork.

  Examples:
    >>> from optax_fork.requirement import require
    >>> require('0.2.8+masks.1')
  """
  wanted = _parse(version)
  root = manifest.imported()
  recorded = root and manifest.read(root)
  found = recorded['version'] if recorded else None
  if found is None or _parse(found) < wanted:
    where = f'{found or "another Optax"}, in {root}' if root else 'no Optax'
    raise ImportError(
        f'Version {version} of the fork of Optax, or a later one, is needed;'
        f' there is {where}. Install the fork from a checkout of it, or from a'
        ' wheel: its README says how.'
    )


def _parse(version: str) -> tuple[tuple[int, ...], int]:
  match = _VERSION.fullmatch(version)
  if not match:
    raise ValueError(
        f'{version!r} is not a version of the fork, such as 0.2.8+masks.12'
    )
  release, masks = match.groups()
  return tuple(map(int, release.split('.'))), int(masks)
