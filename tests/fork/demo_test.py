# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`demo` shows on real data what the fork does and pristine Optax does not."""

import csv
import io
import math
import sys

from fork.environments import refused
from fork.environments import REPOSITORY
from fork.environments import tool
from matplotlib import image
import optax_fork
from optax_fork.demo import files
from optax_fork.demo import plot
from optax_fork.demo import points
from optax_fork.demo import progress
from optax_fork.release import pristine
from optax_fork.upstream import compilation_cache
from PIL import Image
import pytest


@pytest.fixture(scope='module', name='demo')
def _demo(tmp_path_factory):
  """Runs the demo; what two runs compile alike is compiled once."""
  directory = tmp_path_factory.mktemp('compiled')
  settings = compilation_cache.variables(str(directory))

  def demo(directory, *arguments, **environ):
    return tool(directory, 'demo', *arguments, **settings, **environ)

  return demo


def _rows(output):
  """Returns {(optax, mask): what the table says after them}."""
  rows = {}
  for line in output.splitlines():
    names = line[:10].strip(), line[10:19].strip()
    if names[0] in ('fork', 'pristine') and not line.startswith(names[0] + ':'):
      rows.setdefault(names, line[19:].split())
  return rows


@pytest.fixture(scope='module', name='shown')
def _shown(demo, tmp_path_factory):
  """The directory and the output of the demo."""
  directory = tmp_path_factory.mktemp('demo') / 'runs' / 'first'
  result = demo(directory.parents[1], '--save', 'runs/first')
  assert result.code == 0, result.output
  return directory, result.output


def test_digits_are_learned(shown):
  assert float(_rows(shown[1])['fork', 'module'][0]) >= 0.95


def test_module_and_function_are_the_same_mask_for_the_fork(shown):
  rows = _rows(shown[1])
  assert rows['fork', 'module'] == rows['fork', 'function']
  same = 'fork: bit-identical values with the mask module and the mask function'
  assert same in shown[1]


def test_fork_decays_weights_and_pristine_silently_does_not(shown):
  rows = _rows(shown[1])
  assert rows['pristine', 'function'] == rows['fork', 'no decay']
  assert (
      'pristine: bit-identical values with the mask function and with no decay'
      in shown[1]
  )
  # Accuracy, then weights and biases, each at the start, half-way and the end.
  decayed, free = (
      [float(cell) for cell in rows['fork', mask]]
      for mask in ('module', 'no decay')
  )
  assert len(decayed) == 7
  assert decayed[1] == free[1]
  assert decayed[3] < 0.7 * free[3]


def test_pristine_fails_with_a_module_as_mask(shown):
  assert _rows(shown[1])['pristine', 'module'][0] == 'ValueError:'


def test_lbfgs_trains_the_raw_model_and_leaves_the_first_layer_alone(shown):
  rows = _rows(shown[1])
  assert rows['fork', 'raw'] == rows['fork', 'filtered']
  same = 'fork: bit-identical values with the raw model and the filtered one'
  assert same in shown[1]
  accuracy, before, after, first_layer, others = map(float, rows['fork', 'raw'])
  assert accuracy >= 0.95
  assert after < 0.01 * before
  assert first_layer == 0 < others


def test_pristine_fails_with_frozen_layers_whatever_the_model(shown):
  rows = _rows(shown[1])
  assert rows['pristine', 'raw'] == ['AttributeError']
  assert rows['pristine', 'filtered'][0] == 'TypeError:'


def test_log_gets_a_line_for_each_run_and_no_bar(shown):
  before_tables = shown[1].partition('\nfork: Optax')[0]
  assert set(before_tables.split('\n')) - {''} == {
      'fork, module: 600 steps',
      'fork, function: 600 steps',
      'fork, no decay: 600 steps',
      'pristine, function: 600 steps',
      'fork, raw: 20 steps',
      'fork, filtered: 20 steps',
      'pristine, filtered: 20 steps',
  }


def test_terminal_gets_a_bar_that_is_removed(monkeypatch):
  terminal = io.StringIO()
  terminal.isatty = lambda: True
  monkeypatch.setattr(sys, 'stderr', terminal)
  assert list(progress.follow('abc', 'a run', 3)) == ['a', 'b', 'c']
  *drawn, last, rest = terminal.getvalue().split('\r')
  assert any('a run:   0%|' in line and '0/3' in line for line in drawn)
  # Blanks are written over it, and the cursor goes back.
  assert len(last) >= max(map(len, drawn)) and not (last + rest).strip()


def test_everything_is_saved_and_named(shown):
  names = {'demo.png', 'demo.svg', 'demo.csv', 'adamw.csv', 'lbfgs.csv'}
  assert {path.name for path in shown[0].iterdir()} == names
  for name in names:
    assert f'saved: runs/first/{name}\n' in shown[1]


@pytest.mark.parametrize('name', ['adamw.csv', 'lbfgs.csv'])
def test_saved_tables_are_those_that_are_printed(shown, name):
  printed = _rows(shown[1])
  with (shown[0] / name).open(encoding='utf-8') as file:
    head, *saved = csv.reader(file)
  assert head[:3] == ['optax', head[1], 'accuracy'] and head[-1] == 'failure'
  choices = {'adamw.csv': 'mask', 'lbfgs.csv': 'model'}
  assert head[1] == choices[name]
  assert len({tuple(row[:2]) for row in saved}) == len(saved) >= 4
  for library, choice, *cells, failure in saved:
    row = printed[library, choice]
    if failure:
      assert failure.split()[: len(row)] == row and not any(cells)
    else:
      # The printed cells have two digits or more.
      wanted = [pytest.approx(float(cell), rel=0.05) for cell in row]
      assert [float(cell) for cell in cells] == wanted


def test_plot_is_a_picture_with_curves(shown):
  pixels = image.imread(shown[0] / 'demo.png')
  assert pixels.shape[:2] == (600, 1440)
  # More colors than text on a blank page has.
  assert pixels[..., :3].std(axis=-1).max() > 0.1


def _check_numbers(picture):
  numbers = picture.with_suffix('.csv').read_text('utf-8')
  with Image.open(picture) as drawn:
    assert drawn.text['Description'] == points.digest(numbers)
  return list(csv.DictReader(numbers.splitlines()))


def test_plots_say_which_numbers_they_show(shown):
  rows = _check_numbers(shown[0] / 'demo.png')
  assert {row['curve'] for row in rows} == {'weights', 'loss'}
  numbers = (shown[0] / 'demo.csv').read_text('utf-8')
  assert points.digest(numbers) in (shown[0] / 'demo.svg').read_text('utf-8')


def test_picture_of_the_front_page_is_of_this_run(shown):
  kept = _check_numbers(REPOSITORY / 'docs/demo.png')
  found = _check_numbers(shown[0] / 'demo.png')
  names = [row['curve'] + row['optax'] + row['choice'] for row in kept]
  assert len(found) == len(kept) and len(set(names)) == 6
  for row, other in zip(found, kept):
    value, expected = (float(r.pop('value')) for r in (row, other))
    assert row == other
    if row['curve'] == 'weights':
      assert value == pytest.approx(expected, rel=0.02)
    else:  # It falls by four powers of ten.
      assert math.log10(value) == pytest.approx(math.log10(expected), abs=0.5)


def test_without_network_the_fork_is_shown_all_the_same(demo, tmp_path):
  result = demo(
      tmp_path, '--steps', '3', '--output', 'curves.svg',
      XDG_CACHE_HOME=str(tmp_path), PIP_NO_INDEX='1', PIP_FIND_LINKS='',
  )  # fmt: skip
  assert result.code == 0, result.output
  rows = _rows(result.output)
  for choice in ('module', 'function', 'raw', 'filtered'):
    assert rows['pristine', choice][:2] == ['not', 'run:']
    assert float(rows['fork', choice][-1]) > 0
  assert 'No matching distribution' in ' '.join(result.output.split())
  assert '</svg>' in (tmp_path / 'curves.svg').read_text()
  assert 'saved: curves.svg\nsaved: curves.csv\n' in result.output


@pytest.mark.parametrize(
    'arguments, said',
    [
        (['--steps', '0'], "--steps: wanted a positive integer, found '0'"),
        (['--steps', '-3'], "--steps: wanted a positive integer, found '-3'"),
        (['--steps', 'many'], '--steps: wanted a positive integer, found'),
        (['--save', 'results', '--output', 'demo.png'], 'not allowed with'),
    ],
)
def test_wrong_arguments_are_refused_at_once(demo, tmp_path, arguments, said):
  result = demo(tmp_path, *arguments)
  assert result.code == 2
  assert said in result.output
  assert 'Traceback' not in result.output
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    'saved, said',
    [
        (files.beside('none/demo.png'), 'none is not a folder; make it first.'),
        (files.beside('taken.png'), 'taken.png cannot be written: Is a dir'),
        (files.beside('numbers.png'), 'numbers.csv cannot be written: Is a'),
        (files.inside('file/below'), 'file/below is not a folder that can be'),
        (files.inside('folder'), 'folder/lbfgs.csv cannot be written: Is a'),
    ],
)
def test_places_where_nothing_can_be_written_are_refused(
    tmp_path, monkeypatch, saved, said
):
  for name in ('taken.png', 'numbers.csv', 'folder/lbfgs.csv'):
    (tmp_path / name).mkdir(parents=True)
  (tmp_path / 'file').write_text('what was there')
  before = sorted(tmp_path.rglob('*'))
  monkeypatch.chdir(tmp_path)
  with pytest.raises(optax_fork.ForkError, match=said):
    files.prepare(saved)
  assert sorted(tmp_path.rglob('*')) == before


def test_file_in_place_of_the_folder_is_refused_before_training(demo, tmp_path):
  (tmp_path / 'file').write_text('what was there')
  result = demo(tmp_path, '--save', 'file')
  refused(result, 'file is not a folder that can be written to: File exists.')
  assert (tmp_path / 'file').read_text() == 'what was there'


def test_results_that_are_there_are_kept_until_there_are_new_ones(tmp_path):
  saved = files.inside(str(tmp_path))
  saved.numbers.write_text('of an earlier run')
  files.prepare(saved)
  assert [path.name for path in tmp_path.iterdir()] == ['demo.csv']
  assert saved.numbers.read_text() == 'of an earlier run'


def test_format_that_cannot_be_drawn_is_refused_before_training(demo, tmp_path):
  result = demo(tmp_path, '--output', 'demo.txt')
  assert result.code == 1
  assert 'ends in one of .' in result.output
  assert 'found demo.txt' in result.output
  assert ' steps' not in result.output
  with pytest.raises(optax_fork.ForkError, match='ends in one of .'):
    plot.check_format(tmp_path / 'demo')


def test_upstream_is_refused(demo, tmp_path):
  result = demo(tmp_path, PYTHONPATH=str(pristine.directory()))
  assert result.code == 1
  assert 'error: The demo needs the fork' in result.output
  assert 'this is upstream Optax' in result.output


def test_missing_extra_is_named(demo, tmp_path):
  (tmp_path / 'equinox.py').write_text('raise ImportError("no Equinox here")')
  result = demo(tmp_path)
  assert result.code == 1
  assert 'error: The demo needs something' in result.output
  assert 'no Equinox here' in result.output
  assert 'pip install ".[demo]"' in result.output
