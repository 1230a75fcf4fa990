# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Say which Optax is imported and whether it is an intact fork.

pip's RECORD tells. The exit status is 0 if it is, and 1 if not.

Example: python -m optax_fork status
"""

import base64
import importlib.metadata
import importlib.util
import pathlib

import optax_fork
from optax_fork import pin


add_arguments = lambda parser: None
run = lambda args: print(intact())


def intact() -> str:
  """Returns which intact fork ``import optax`` gives, or raises ForkError."""
  spec = importlib.util.find_spec('optax')
  if spec is None or spec.origin is None:
    raise optax_fork.ForkError('No Optax is installed here.')
  root = pathlib.Path(spec.origin).parents[1]
  # Beside the package: a checkout in the current directory cannot answer.
  beside = importlib.metadata.distributions(name='optax', path=[str(root)])
  found = next(iter(beside), None)
  gives = f'import optax gives {root / "optax"}'
  if found is None or '+masks.' not in found.version:
    raise optax_fork.ForkError(
        f'{gives}, which is upstream Optax, or a work tree: no fork that pip'
        ' has installed.'
    )
  sums = {
      str(file): base64.urlsafe_b64decode(file.hash.value + '=').hex()
      for file in found.files
      if file.hash
  }
  there = (path.relative_to(root) for path in (root / 'optax').rglob('*.py'))
  extra = sorted({path.as_posix() for path in there} - {*sums})
  problems = pin.compare(root, sums)
  problems += [f'{name} is not of the fork' for name in extra]
  if problems:
    raise optax_fork.ForkError(
        f'{gives}, the fork {found.version}, which is not intact:\n  '
        + '\n  '.join(problems)
        + '\nInstall it again: pip install --force-reinstall --no-deps'
    )
  return f'{gives}, the fork {found.version}: intact, {len(sums)} files'
