# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The table of the series in patches/README.md, made of the messages."""

import pathlib
import re

import optax_fork
from optax_fork.patches import series

_START = '<!-- The series: written by `python -m optax_fork export`. -->\n'
_END = '<!-- The end of the series. -->\n'
_TITLES = {
    series.BACKPORTS: 'Backports',
    series.TO_SEND: 'To be sent',
    series.HOOKS: 'Hooks',
}
_THREAD = re.compile(r'https://github\.com/[^/]+/([^/]+)/[^/]+/(\d+)')


def write(readme: pathlib.Path, patches: list[series.Patch]) -> str:
  """Returns the text of a README with the table of these patches.

  Raises:
    ForkError: when the README has no place for it.
  """
  text = readme.read_text('utf-8')
  if (text.count(_START), text.count(_END)) != (1, 1):
    raise optax_fork.ForkError(
        f'{readme} has no place for the table of the series, which is between'
        f' these lines:\n{_START}{_END}'
    )
  before, _, rest = text.partition(_START)
  after = rest.partition(_END)[2]
  return f'{before}{_START}{_tables(patches)}{_END}{after}'


def _tables(patches: list[series.Patch]) -> str:
  lines = ['']
  for folder, title in _TITLES.items():
    found = series.in_folder(patches, folder)
    lines += [f'### {title}', '']
    lines += _row('patch', 'lines', 'threads', 'needs', 'tests', 'status')
    lines += _row(*['---'] * 6)
    for patch in found:
      lines += _row(
          f'[{patch.subject}]({patch.name})',
          str(patch.changed_lines),
          ', '.join(map(_thread, patch.see)),
          ', '.join(patch.needs),
          ', '.join(
              f'`{change.path.removeprefix("optax/")}`'
              for change in patch.changes
              if change.is_test
          ),
          patch.status or patch.backport or '',
      )
    lines.append('')
  return '\n'.join(lines)


def _row(*cells: str) -> list[str]:
  return ['| ' + ' | '.join(cell or '–' for cell in cells) + ' |']


def _thread(address: str) -> str:
  match = _THREAD.match(address)
  return f'[{match[1]}#{match[2]}]({address})' if match else f'<{address}>'
