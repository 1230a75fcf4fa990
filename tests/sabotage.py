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
"""Breaks Optax in ten places, one at a time, and says which test notices it.

`python tests/sabotage.py [WORD]`: all ten, or those whose description has the
word. Each is made in a scratch copy of the installed package, which comes first
on the path of pytest. The short forms of the regression and equivalence tests
must fail there, and must pass with a copy that is not broken. The copy has no
manifest, so a test that asks whether the fork is intact fails with any copy,
even one that is not broken.
"""

from concurrent import futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import optax

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_CHECKS = ('tests/regression', 'tests/equivalence')


class SabotageError(Exception):
  """A sabotage, or a run of the tests, that proves nothing."""


@dataclasses.dataclass(frozen=True)
class Sabotage:
  """One change to one file.

  Attributes:
    breaks: what stops to work.
    path: the file, below `optax/`.
    old: text that is in the file once, of one line.
    new: what it is replaced by.
    first: the tests that are likeliest to notice, which run before all others.
  """

  breaks: str
  path: str
  old: str
  new: str
  first: str


_SABOTAGES = (
    Sabotage(
        breaks="a bit in one optimizer's update: Yogi's second moment",
        path='_src/transform.py',
        old='jnp.sign(v - abs_sq(g)) * abs_sq(g)',
        new='jnp.sign(v - abs_sq(g)) * (1.0000001 * abs_sq(g))',
        first='tests/equivalence/updates_test.py',
    ),
    Sabotage(
        breaks='a mask kind: a callable module that has no leaf',
        path='transforms/_resolving.py',
        old='all_leaves([tree], is_leaf):',
        new='all_leaves(jax.tree.leaves(tree) or [0], is_leaf):',
        first='tests/regression/masking_test.py',
    ),
    Sabotage(
        breaks='a label rule: labels need not sort',
        path='transforms/_combining.py',
        old='states_type = collections.OrderedDict',
        new='states_type = dict',
        first='tests/equivalence/differences_test.py',
    ),
    Sabotage(
        breaks="a dtype in a state: Lion's first moment",
        path='_src/transform.py',
        old='dtype=mu_dtype)  # moment',
        new='dtype=mu_dtype or jnp.bfloat16)  # moment',
        first='tests/equivalence/updates_test.py',
    ),
    Sabotage(
        breaks='a raw-model leaf: a bool beside params',
        path='_src/raw.py',
        old='isinstance(leaf, (bool, jax.Array))',
        new='isinstance(leaf, jax.Array)',
        first='tests/equivalence/differences_test.py',
    ),
    Sabotage(
        breaks='eager code alone: a bias correction of Adan',
        path='_src/transform.py',
        old='v_hat = optax.tree.bias_correction(v, b2, t)',
        new='v_hat = optax.tree.bias_correction('
        'v, b2 if isinstance(t, jax.core.Tracer) else b1, t)',
        first='tests/equivalence/settings_test.py',
    ),
    Sabotage(
        breaks="init alone: COCOB's state shares its arrays with the params",
        path='contrib/_cocob.py',
        old='utils.copy_arrays(params)',
        new='params',
        first='tests/regression/donation_test.py',
    ),
    Sabotage(
        breaks='a setting that is no default: the refined mode of Lion',
        path='_src/transform.py',
        old='jnp.abs(x) < 1.0, x,',
        new='jnp.abs(x) < 1.0, 1.001 * x,',
        first='tests/equivalence/settings_test.py',
    ),
    Sabotage(
        breaks='bfloat16 alone: updates of float32 are rounded too early',
        path='_src/update.py',
        old='jnp.asarray(p + u)',
        new='jnp.asarray(p + jnp.asarray(u, jnp.asarray(p).dtype))',
        first='tests/equivalence/settings_test.py',
    ),
    Sabotage(
        breaks='an error message: it does not name the labels that there are',
        path='transforms/_resolving.py',
        old='; the labels are {list(labels)}',
        new='',
        first='tests/regression/partition_test.py',
    ),
)
_UNBROKEN = Sabotage(
    breaks='nothing', path='__init__.py', old='', new='', first=_CHECKS[0]
)


def _copy(sabotage: Sabotage, scratch: pathlib.Path) -> None:
  """Makes a broken copy of the package that is imported here."""
  package = scratch / 'optax'
  shutil.copytree(
      pathlib.Path(optax.__file__).parent, package,
      ignore=shutil.ignore_patterns('__pycache__'),
  )  # fmt: skip
  path = package / sabotage.path
  text = path.read_text('utf-8')
  if sabotage is not _UNBROKEN and text.count(sabotage.old) != 1:
    raise SabotageError(
        f'{sabotage.path} holds {sabotage.old!r} {text.count(sabotage.old)}'
        ' times, wanted once: the sabotage is stale'
    )
  path.write_text(text.replace(sabotage.old, sabotage.new), 'utf-8')


def _first_failure(sabotage: Sabotage) -> str | None:
  """Returns the test that fails first with this sabotage, or None."""
  with tempfile.TemporaryDirectory() as directory:
    scratch = pathlib.Path(directory)
    _copy(sabotage, scratch)

    def python(*arguments):
      return subprocess.run(
          [sys.executable, *arguments], cwd=_ROOT,
          env=os.environ | {'PYTHONPATH': directory},
          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
          check=False,
      )  # fmt: skip

    imported = python('-c', 'import optax; print(optax.__file__)').stdout
    if pathlib.Path(imported.strip()) != scratch / 'optax' / '__init__.py':
      raise SabotageError(f'the copy is not what is imported: {imported}')
    others = [check for check in _CHECKS if check != sabotage.first]
    for checks in [sabotage.first], [*others, f'--ignore={sabotage.first}']:
      result = python(
          '-m', 'pytest', '-q', '-x', '--tb=short', '-p', 'no:cacheprovider',
          *checks,
      )  # fmt: skip
      failed = re.search(r'^\w*FAIL\w*\W.*?(tests/\S+)', result.stdout, re.M)
      if result.returncode == 1 and failed:
        return failed[1]
      # Then they could not run, which says nothing.
      if result.returncode != 0:
        raise SabotageError(
            f'pytest ended with {result.returncode}:\n{result.stdout[-2000:]}'
        )
  return None


def _judge(sabotage: Sabotage) -> tuple[bool, str]:
  """Returns whether all is as it should be, and the row that says so."""
  start = time.monotonic()
  try:
    caught = _first_failure(sabotage)
    is_right = (caught is None) == (sabotage is _UNBROKEN)
  except SabotageError as error:
    is_right, caught = False, f'error: {error}'
  row = f'| {sabotage.breaks} | {caught} | {time.monotonic() - start:.0f} s |'
  return is_right, row


def main() -> int:
  word = ''.join(sys.argv[1:])
  chosen = [s for s in (_UNBROKEN, *_SABOTAGES) if word in s.breaks]
  print('| broken | test that fails first | after |\n|---|---|---|')
  is_right = [bool(chosen)]  # A word that chooses nothing is a mistake.
  with futures.ThreadPoolExecutor(2) as pool:
    for right, row in pool.map(_judge, chosen):
      is_right.append(right)
      print(row if right else f'{row} <- WRONG', flush=True)
  return 0 if all(is_right) else 1


if __name__ == '__main__':
  sys.exit(main())
