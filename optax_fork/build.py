# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build backend: setuptools' own, on a tree assembled for it elsewhere.

A build copies its inputs to a temporary directory, makes the fork there and
hands that to setuptools. The checkout is never written to: no stale build/ or
egg-info of it can get into a wheel, and it may be read-only.
"""

import importlib.metadata
import os
import pathlib
import shutil
import sys
import tempfile
from typing import NoReturn

import optax_fork
from optax_fork import pin
from optax_fork import series

_CHECKOUT = pathlib.Path(__file__).resolve().parents[1]
_COMMON = 'LICENSE NOTICE README.md pyproject.toml setup.cfg'.split()
_WHEEL = _COMMON + [
    f'optax_fork/{x}.py' for x in ('__init__', '__main__', 'pin', 'status')
]
_SDIST = _COMMON + (
    '.ci CHANGELOG.md CONTRIBUTING.md MANIFEST.in benchmarks docs linters.txt'
    ' optax_fork patches tests tox.ini'
).split()


def _run(hook: str, inputs: list[str], directory: str, settings) -> str:
  """Calls a hook of setuptools in a temporary copy of the named inputs.

  An error ends the build with its message alone: a traceback would bury it.
  """
  # Only a build needs it.
  from setuptools import build_meta  # pylint: disable=import-outside-toplevel

  directory, before = os.path.abspath(directory), os.getcwd()
  os.environ.setdefault('SOURCE_DATE_EPOCH', pin.EPOCH)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as temporary:
    stage = pathlib.Path(temporary).resolve()
    try:
      for name in inputs:
        copy(_CHECKOUT / name, stage / name)
      if inputs is _WHEEL:
        _vendor(stage)
    except (optax_fork.ForkError, OSError) as error:
      raise SystemExit(f'error: {error}') from error
    for path in stage.rglob('*'):
      path.chmod(0o755 if path.is_dir() else 0o644)
    os.chdir(stage)
    try:
      return getattr(build_meta, hook)(directory, settings)
    finally:
      os.chdir(before)


# Frontends may pass these arguments by name.
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
  del metadata_directory
  return _run('build_wheel', _WHEEL, wheel_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
  return _run('build_sdist', _SDIST, sdist_directory, config_settings)


def build_editable(*_, **__) -> NoReturn:
  raise SystemExit(
      'error: There is no editable mode: the checkout holds patches, no'
      ' importable optax. For a tree to work in run `python -m optax_fork'
      ' checkout`, then `pip install -e work/optax`; to use the fork,'
      ' `pip install .`'
  )


def copy(source: pathlib.Path, target: pathlib.Path) -> None:
  """Copies a file or a folder; of a read-only one, the copy is not."""
  target.parent.mkdir(parents=True, exist_ok=True)
  if source.is_dir():
    ignore = shutil.ignore_patterns('__pycache__', '*.py[co]')
    shutil.copytree(
        source, target, ignore=ignore, copy_function=shutil.copyfile
    )
  else:
    shutil.copyfile(source, target)


def _release() -> pathlib.Path:
  """Returns where the build environment has the pinned release installed.

  It is read as files, never imported: nothing of it runs during a build.
  """
  # Metadata of the fork that may lie in the checkout would answer for Optax.
  path = [p for p in sys.path if p and pathlib.Path(p).resolve() != _CHECKOUT]
  distributions = importlib.metadata.distributions(name='optax', path=path)
  found, wanted = next(iter(distributions), None), pin.version()
  there, problems = 'none', []
  if found:
    root = pathlib.Path(str(found.locate_file('')))
    kind = 'the fork itself, ' * ('+' in found.version)
    there = f'{kind}Optax {found.version}, in {root}'
    problems = pin.compare(root, pin.digests())
  if not found or found.version != wanted or problems:
    raise optax_fork.ForkError(
        f'The build needs Optax {wanted} as published; its environment has'
        f' {there}. {"; ".join(problems[:3])} Build in isolation (leave out'
        ' --no-build-isolation), or install the pinned release first: pip'
        ' install --no-deps --force-reinstall -r optax_fork/pin.txt'
    )
  return root


def _vendor(stage: pathlib.Path) -> None:
  """Adds ``optax/`` and the list of changes to the tree of a wheel."""
  release = _release()
  for name in pin.digests():
    copy(release / name, stage / name)
  changed = assemble(stage, _CHECKOUT / 'patches', series.added(_CHECKOUT))
  stamped, line = 'optax/__init__.py', '__version__ = "{}"\n'
  text, old = (stage / stamped).read_text('utf-8'), line.format(pin.version())
  if text.count(old) != 1:
    raise optax_fork.ForkError(
        f'{stamped} has to hold one line {old.strip()}, which gets the version'
        ' of the fork.'
    )
  text = text.replace(old, line.format(series.fork_version(stage)))
  (stage / stamped).write_text(text, 'utf-8', newline='\n')
  with (stage / 'NOTICE').open('a', encoding='utf-8', newline='\n') as notice:
    notice.write('\nChanged or added files:\n')
    notice.writelines(f'  {name}\n' for name in sorted({*changed, stamped}))


def assemble(
    root: pathlib.Path, directory: pathlib.Path, ours: dict[str, pathlib.Path]
) -> list[str]:
  """Makes the fork of the release under root; returns what is not as there.

  The patches of the directory come first, then ours, which are {path in Optax:
  source} of what the fork adds, then hooks.
  """
  patches = series.read(directory)
  apply(series.in_folder(patches, series.BACKPORTS, series.TO_SEND), root)
  copy_ours(ours, root)
  apply(series.in_folder(patches, series.HOOKS), root)
  touched = series.touched(patches)
  sums = pin.read_sums(directory / series.SUMS)
  problems = pin.compare(root, sums) + [
      f'{name} is in one of the two alone'
      for name in sorted({*sums} ^ {*touched})
  ]
  if problems:
    raise optax_fork.ForkError(
        f'What the patches make is not as {directory / series.SUMS} says: '
        + '; '.join(problems)
        + '. `python -m optax_fork export` writes both, of text whose last line'
        ' ends with a newline.'
    )
  return [*touched, *ours]


def copy_ours(ours: dict[str, pathlib.Path], root: pathlib.Path) -> None:
  """Copies {path in Optax: source} to the Optax under root."""
  for name, source in ours.items():
    if (root / name).exists():
      raise series.taken(source, name)
    copy(source, root / name)


def apply(patches: list[series.Patch], root: pathlib.Path) -> None:
  """Applies patches to the files under root, without git.

  patch-ng is lenient: what comes out has to be compared with ``SHA256SUMS``.
  """
  # Only who builds or checks the series needs it.
  import patch_ng  # pylint: disable=import-outside-toplevel

  # Only there patch-ng says which hunk fails.
  patch_ng.logger.addHandler(patch_ng.streamhandler)
  for patch in patches:
    parsed = patch_ng.fromstring(patch.path.read_bytes())
    if not parsed or not parsed.apply(root=str(root)):
      raise optax_fork.ForkError(
          f'{patch.path} does not apply to {", ".join(patch.lines)}. Change the'
          ' work tree and run `python -m optax_fork export`.'
      )
