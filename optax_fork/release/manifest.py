# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The manifest that an installed fork carries: what was patched, and by what.

It stands beside the installed ``optax`` package and is found from there, so
that a checkout in the current directory cannot answer for it.
"""

import importlib.util
import json
import pathlib
from typing import Any, Optional

from optax_fork.release import pin

_NAME = 'optax_fork/manifest.json'


def write(
    root: pathlib.Path,
    *,
    version: str,
    patched: dict[str, list[str]],
    added: list[str],
    stamped: str,
) -> None:
  """Writes the manifest of a finished tree.

  Args:
    root: holds ``optax/`` as it will be installed.
    version: the fork's version.
    patched: {path: names of the patches that change it}.
    added: the paths of the files that the fork adds.
    stamped: the path of the file that got the fork's version.
  """
  before = pin.digests()
  files = {}
  for path in sorted((root / 'optax').rglob('*')):
    if path.is_file():
      name = path.relative_to(root).as_posix()
      files[name] = entry = {'sha256': pin.sha256(path.read_bytes())}
      if name in added:
        entry['added'] = True
      elif name in patched or name == stamped:
        entry['patches'] = patched.get(name, [])
        entry['sha256_before'] = before.get(name)
      if name == stamped:
        entry['version_stamped'] = True
  manifest = {
      'version': version,
      'upstream': pin.version(),
      'patches': sorted({p for names in patched.values() for p in names}),
      'files': files,
  }
  (root / _NAME).write_text(json.dumps(manifest, indent=1) + '\n', 'utf-8')


def imported() -> Optional[pathlib.Path]:
  """Returns the directory that ``import optax`` takes the package from."""
  spec = importlib.util.find_spec('optax')
  if spec is None or spec.origin is None:
    return None
  return pathlib.Path(spec.origin).parent.parent


def read(root: pathlib.Path) -> Optional[dict[str, Any]]:
  """Returns the manifest beside the ``optax`` in root, or None."""
  path = root / _NAME
  return json.loads(path.read_text('utf-8')) if path.is_file() else None


def damage(root: pathlib.Path, manifest: dict[str, Any]) -> list[str]:
  """Returns a line for each file in root that is not as it was installed."""
  recorded = {k: v['sha256'] for k, v in manifest['files'].items()}
  found = {
      path.relative_to(root).as_posix()
      for path in (root / 'optax').rglob('*.py')
  }
  extra = sorted(found - set(recorded))
  return pin.compare(root, recorded) + [
      f'{name} is not of the fork' for name in extra
  ]


def inspect() -> dict[str, Any]:
  """Returns what is known of the Optax that ``import optax`` gives.

  Returns:
    A dict that JSON can hold: ``intact`` (bool), ``reason`` (why not, or None),
    ``location`` (the directory of the package, or None), ``version``,
    ``upstream`` (the base version), ``patches`` (names) and ``damaged`` (a line
    for each file that is not as it was built).
  """
  found = {
      'intact': False,
      'reason': None,
      'location': None,
      'version': None,
      'upstream': None,
      'patches': [],
      'damaged': [],
  }
  root = imported()
  if root is None:
    return found | {'reason': 'no Optax is installed here'}
  found['location'] = str(root / 'optax')
  recorded = read(root)
  if recorded is None:
    if (root / '.git').exists():
      reason = 'this is a git checkout, such as the work tree, not a build'
    else:
      reason = 'this is upstream Optax: it has no manifest of the fork'
    return found | {'reason': reason}
  found |= {k: recorded[k] for k in ('version', 'upstream', 'patches')}
  found['damaged'] = damage(root, recorded)
  if found['damaged']:
    return found | {'reason': 'files are not as they were built'}
  return found | {'intact': True}
