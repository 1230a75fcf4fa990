# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A series that is damaged is refused, and the error says what and where."""

import shutil
import sys

from fork import environments
from fork.environments import files_of
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import tool
import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import patching
from optax_fork.patches import series
from optax_fork.release import pin
import pytest

_SERIES = series.read(environments.REPOSITORY / 'patches')


def _first(patches):
  """Returns a patch's path, and a change of it to a file of the release."""
  patch = series.read(patches)[0]
  change = next(c for c in patch.changes if c.before != series.ABSENT)
  return patches / patch.name, change


def _stranger(patches):
  (patches / 'masks.patch.orig').write_text('')
  return 'masks.patch.orig does not belong there'


def _not_listed(patches):
  (patches / 'hooks/masks.patch').write_text('')
  return 'the patches there differ: hooks/masks.patch'


def _not_there(patches):
  path, _ = _first(patches)
  path.unlink()
  return f'the patches there differ: backports/{path.name}'


def _no_list(patches):
  (patches / 'series').write_text('to_send/../masks.patch\n')
  return 'series, line 1: wanted FOLDER/NAME.patch'


def _listed_twice(patches):
  names = (patches / 'series').read_text().splitlines(keepends=True)
  (patches / 'series').write_text(''.join([*names, names[-1]]))
  return 'names a patch twice, or not in the order'


def _other_order(patches):
  names = (patches / 'series').read_text().splitlines(keepends=True)
  (patches / 'series').write_text(''.join([*names[1:], names[0]]))
  return 'names a patch twice, or not in the order'


def _elsewhere(patches):
  patch, _ = _first(patches)
  patch.write_text(patch.read_text().replace('optax/', 'docs/'))
  return 'touches optax/ alone'


def _no_diff(patches):
  _first(patches)[0].write_text('From 0\n')
  return 'found 0 such among 0 diffs'


def _no_text(patches):
  _first(patches)[0].write_bytes(b'\xff\xfe')
  return 'found 0 such among 0 diffs'


def _gone(patches):
  shutil.rmtree(patches)
  return 'no list of patches'


@pytest.mark.parametrize(
    'damage',
    [
        _stranger,
        _not_listed,
        _not_there,
        _no_list,
        _listed_twice,
        _other_order,
        _elsewhere,
        _no_diff,
        _no_text,
        _gone,
    ],
)
def test_directory_that_is_no_series_is_refused(checkout, damage):
  said = damage(checkout / 'patches')
  with pytest.raises(optax_fork.ForkError, match=said):
    series.read(checkout / 'patches')


def test_series_gives_the_files_of_its_sums_and_goes_in_once(checkout, release):
  found = series.read(checkout / 'patches')
  patching.assemble(checkout / 'patches', checkout, release)
  with pytest.raises(optax_fork.ForkError, match='does not apply|applied'):
    patching.apply(found, release)
  with pytest.raises(optax_fork.ForkError, match='is already applied'):
    patching.apply(found[-1:], release)
  change = found[-1].changes[0].path
  with (release / change).open('a') as file:
    file.write('# one more line\n')
  with pytest.raises(optax_fork.ForkError, match=f'{change} is not as'):
    patching.verify(release, checkout / 'patches', found)


def _hunk_that_does_not_fit(patches):
  path, change = _first(patches)
  # A context line of the file's first hunk that upstream does not have.
  head, rest = path.read_text().split(f'+++ b/{change.path}\n', 1)
  lines = rest.split('\n')
  lines[1] = ' no such line'
  path.write_text(head + f'+++ b/{change.path}\n' + '\n'.join(lines))
  return path.name, change.path, change.hunks[0], 'hunk no.1'


def _made_for_another_file(patches):
  path, change = _first(patches)
  text = path.read_text()
  path.write_text(text.replace(f'index {change.before}', 'index ' + 'a' * 40))
  return f'{path.name} does not apply to {change.path}', change.hunks[0]


def _twice(patches):
  last = series.read(patches)[-1]
  name = f'{last.folder}/again.patch'
  shutil.copyfile(patches / last.name, patches / name)
  with (patches / 'series').open('a') as file:
    file.write(f'{name}\n')
  return f'{name} is already applied', last.changes[0].path


def _edited_by_hand(patches):
  path, _ = _first(patches)
  head, rest = path.read_text().split('\n@@ ', 1)
  added = rest.index('\n+') + 2
  path.write_text(f'{head}\n@@ {rest[:added]}# by hand {rest[added:]}')
  return f'{path.name} gives another', 'than git', '@@ '


def _other_sum(patches):
  sums = pin.read_sums(patches / series.SUMS)
  name = min(sums)
  pin.write_sums(patches / series.SUMS, sums | {name: 'a' * 64})
  return f'{name} is not as', series.SUMS


def _sum_that_is_missing(patches):
  sums = pin.read_sums(patches / series.SUMS)
  name = min(sums)
  del sums[name]
  pin.write_sums(patches / series.SUMS, sums)
  return 'do not name the same files', name


def _sums_that_are_none(patches):
  (patches / series.SUMS).write_bytes(b'\xff\xfe\n')
  return f'{series.SUMS}, line 1'


def _sums_that_are_short(patches):
  (patches / series.SUMS).write_text('a' * 63 + '  optax/x.py\n')
  return f'{series.SUMS}, line 1'


@pytest.mark.parametrize(
    'damage',
    [
        _hunk_that_does_not_fit,
        _made_for_another_file,
        _twice,
        _edited_by_hand,
        _other_sum,
        _sum_that_is_missing,
        _sums_that_are_none,
        _sums_that_are_short,
    ],
)
def test_series_that_gives_something_else_is_refused(checkout, damage, release):
  patches = checkout / 'patches'
  said = damage(patches)
  with pytest.raises(optax_fork.ForkError) as raised:
    found = series.read(patches)
    patching.apply(found, release)
    patching.verify(release, patches, found)
  for words in [said] if isinstance(said, str) else said:
    assert words in str(raised.value)


def test_release_that_the_patches_were_not_made_for_is_refused(
    checkout, release
):
  _, change = _first(checkout / 'patches')
  (release / change.path).write_text('REWRITTEN = True\n')
  said = f'does not apply to {change.path}'
  with pytest.raises(optax_fork.ForkError, match=said):
    patching.apply(series.read(checkout / 'patches'), release)


def test_patch_ng_that_is_missing_is_named(checkout, monkeypatch, release):
  monkeypatch.setitem(sys.modules, 'patch_ng', None)
  with pytest.raises(optax_fork.ForkError, match='pip install patch-ng'):
    patching.apply(series.read(checkout / 'patches'), release)


@pytest.mark.usefixtures('tree')
def test_patches_with_crlf_are_named_and_export_writes_them_anew(
    build, checkout
):
  patches = checkout / 'patches'
  before = {
      folder: files_of(patches / folder) for folder in ('backports', 'to_send')
  }
  for folder, files in before.items():
    for name, data in files.items():
      (patches / folder / name).write_bytes(data.replace(b'\n', b'\r\n'))
  first = series.BACKPORTS
  for command in ('checkout', 'check'):
    refused(tool(checkout, command), first, 'CRLF', 'core.autocrlf')
  result, wheels = build(checkout)
  assert 'has CRLF' in result.output
  assert not wheels
  must_tool(checkout, 'export')
  for folder, files in before.items():
    assert files_of(patches / folder) == files


def test_patch_is_picked_by_its_name_or_words():
  patches = _SERIES
  third = patches[2]
  for wanted in (third.name, third.subject, third.subject[3:]):
    assert series.pick(patches, wanted) is third
  with pytest.raises(optax_fork.ForkError, match=f'\n  {third.subject}'):
    series.pick(patches, 'a')


def test_tests_that_the_series_adds_do_not_start_jax_when_collected():
  # A test of Optax's main sets the number of devices when it is collected.
  paths = [
      change.path
      for patch in _SERIES
      for change in patch.changes
      if change.before == series.ABSENT and change.is_test
  ]
  paths += [
      path
      for path in added_files.paths(environments.REPOSITORY)
      if path.endswith('_test.py')
  ]
  added = [path.removesuffix('.py').replace('/', '.') for path in paths]
  assert len(added) > 20
  program = f"""if True:
      import importlib
      from jax._src import xla_bridge
      for name in {added}:
        importlib.import_module(name)
        assert not xla_bridge.backends_are_initialized(), name
  """
  environments.must(sys.executable, '-P', '-c', program)
