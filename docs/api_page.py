# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/api.md from the docstrings of the installed fork.

`python -m docs.api_page` writes the page, with the names that pristine Optax
lacks. tests/regression/api_page_test.py fails where the page is another, and
tests/regression/docs_test.py runs its examples.
"""

import doctest
import inspect
import pathlib
import re
import sys
import textwrap
from typing import Iterator

import optax
from optax_fork import pristine

PAGE = pathlib.Path(__file__).resolve().with_name('api.md')

# `text` raises an error where a name that belongs on the page is missing here.
_TOPICS = {
    'choose params': (
        'optax.masks.by_path',
        'optax.masks.by_node',
        'optax.masks.at',
        'optax.masks.by_leaf',
        'optax.masks.Mask',
        'optax.masks.labels',
        'optax.masks.describe',
        'optax.transforms.mask_callable',
    ),
    'set numbers for groups of params': ('optax.masks.groups',),
    'train a part of the params': ('optax.masks.split', 'optax.masks.join'),
    'train params of low precision': (
        'optax.contrib.master_weights', 'optax.contrib.MasterWeightsState'
    ),
    'train raw models': ('optax.masks.params',),
    'solve': (
        'optax.contrib.minimize',
        'optax.contrib.MinimizeResult',
        'optax.contrib.MinimizeStatus',
    ),
    'keep params within bounds': ('optax.contrib.lbfgsb',),
    'use states': ('optax.tree.carry_over', 'optax.tree.CarriedOver'),
}

_HEAD = """\
# API

The names that the fork adds to Optax, with their signatures and docstrings.
[What Optax's own functions take here](functions-of-optax.md) is another page.
[How to](README.md) has the words.

`python -m docs.api_page` makes this page from the installed fork.

"""

# What heads a part of a docstring, such as `Args:` or `.. note::`.
_TITLE = (
    r'((?:Args|Attributes|Examples?|Raises|References|Returns):|\.\. \w+::)'
    r'(?: (.*))?'
)


def new_names() -> dict[str, object]:
  """Returns {path: function or class} of the public names that the fork adds.

  An object with several names is there once, by the name that is in `_TOPICS`.
  """
  found, upstream = {}, pristine.load()
  for path, module in list(sys.modules.items()):
    if re.fullmatch(rf'{optax.__name__}(\.[a-z]\w*)*', path):
      before = upstream
      for part in path.split('.')[1:]:
        before = getattr(before, part, None)
      for name, value in vars(module).items():
        is_own = inspect.isclass(value) or inspect.isroutine(value)
        if is_own and name[0] != '_' and not hasattr(before, name):
          found.setdefault(id(value), []).append((f'{path}.{name}', value))
  # The listed name comes first.
  order = lambda named: named[0] not in _listed()
  return dict(min(names, key=order) for names in found.values())


def text() -> str:
  """Returns the page.

  Raises:
    ValueError: when `_TOPICS` lacks a name, or has others.
  """
  names = new_names()
  if wrong := sorted(names.keys() ^ set(_listed())):
    raise ValueError(
        f'_TOPICS of {__file__} should list the names that are new, and no'
        f' others. These differ: {", ".join(wrong)}'
    )
  rows = ['| to | use |', '|---|---|']
  for topic, paths in _TOPICS.items():
    rows.append(f'| {topic} | {", ".join(map(_link, paths))} |')
  return '\n\n'.join([
      _HEAD + '\n'.join(rows),
      *(f'## {path}\n\n{_section(path, names[path])}' for path in _listed()),
  ]) + '\n'


def _listed() -> list[str]:
  """Returns the names on the page in their order."""
  return [path for paths in _TOPICS.values() for path in paths]


def _link(path: str) -> str:
  """Returns a link to the section of a name on the page."""
  return f'[`{path}`](#{path.lower().replace(".", "")})'


def _section(path: str, value: object) -> str:
  """Returns the signature of a function or class and its docstring."""
  blocks = []
  if not inspect.isclass(value):
    parameters = inspect.signature(value).parameters.values()
    shown = [p.replace(annotation=p.empty) for p in parameters]
    blocks.append(f'`{path}{inspect.Signature(shown)}`')
  for title, rest, body in _parts(inspect.getdoc(value), _TITLE):
    if title in ('Args:', 'Attributes:', 'Raises:'):
      blocks.append('\n'.join([f'**{title}**', *_entries(body)]))
    elif title == '.. seealso::':
      others = f'{rest}\n{body}'.strip()
      blocks += _markdown(f'See also {others.rstrip(".")}.')
    else:
      first, *others = _markdown(f'{rest or ""}\n{body}')
      is_section = title and title.endswith(':') and title[0] != '.'
      blocks += [f'**{title}**\n{first}' if is_section else first, *others]
  return '\n\n'.join(blocks)


def _parts(text: str, title: str) -> Iterator[tuple[str, str, str]]:
  """Splits a text into what stands below its titles.

  Args:
    text: lines, of which those that belong to a title are indented.
    title: a regular expression with two groups, which matches such a line.

  Yields:
    The two groups and the text below them; None twice for text without a title.
  """
  groups, body = (None, None), []
  for line in [*text.splitlines(), None]:
    match = re.fullmatch(title, line or '')
    if line is None or match or groups[0] and re.match(r'\S', line):
      if body or groups[0]:
        yield *groups, textwrap.dedent('\n'.join(body))
      groups, body = match.groups() if match else (None, None), []
    if not match:
      body.append(line)


def _entries(body: str) -> list[str]:
  """Returns a list of arguments, attributes or errors, in Markdown."""
  found = []
  for name, start, below in _parts(body, r'(\*{0,2}\w+): (.*)'):
    if name:
      told = '\n\n'.join(_markdown(f'{start}\n{below}'))
      found.append(f'- `{name}`: ' + told.replace('\n', '\n  '))
  return found


def _markdown(text: str) -> list[str]:
  """Returns the blocks of a part of a docstring, in Markdown.

  Args:
    text: the part, without an indent.
  """
  found, introduces_code = [], False
  for block in re.split(r'\n\s*\n|\n(?= *- )', text.strip('\n')):
    is_code = introduces_code or '>>> ' in block
    introduces_code = block.endswith('::') and not is_code
    block = textwrap.dedent(block)
    is_item = block.startswith('- ')
    if is_code:
      new = _fenced(block)
    else:
      new = _inline(block[:-1] if introduces_code else block)
    if new and found and is_item and found[-1].startswith('- '):
      found[-1] += f'\n{new}'
    elif new and found and is_code and found[-1].startswith('```'):
      found[-1] = found[-1].removesuffix('```') + new.removeprefix('```python')
    elif new:
      found.append(new)
  return found


def _fenced(code: str) -> str:
  """Returns a program, with what a doctest prints as comments."""
  lines = []
  for example in doctest.DocTestParser().get_examples(code):
    source, want = example.source.strip(), example.want.splitlines()
    if want and not source.startswith('print('):
      source = f'print({source})'
    lines += [source, *(f'# {line}' for line in want)]
  text = '\n'.join(lines).replace('# <BLANKLINE>', '#')
  return f'```python\n{text}\n```'


def _inline(text: str) -> str:
  """Returns a text with Markdown in place of the inline markup of reST."""
  text = re.sub(r'`([^`<]+?)\s+<([^>]+)>`_', r'[\1](\2)', text)
  text = re.sub(r':math:`([^`]+)`', r'$\1$', text)
  text = re.sub(r':\w+:`([^`]+)`', _reference, text)
  return text.replace('``', '`')


def _reference(match: re.Match[str]) -> str:
  """Returns a link to a name that is on the page, and code for all others."""
  path = match.group(1)
  return _link(path) if path in _listed() else f'`{path}`'


if __name__ == '__main__':
  PAGE.write_text(text(), 'utf-8')
