# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/api.md from the docstrings of the installed fork.

`python docs/api_page.py` writes the page. It compares the fork with
pristine Optax: a new name has its whole docstring there, any other name the
sentences and arguments that are new. tests/regression/api_page_test.py fails
where the page is another, and tests/regression/docs_test.py runs its examples.
"""

import inspect
import pathlib
import re
import textwrap
import types
from typing import Iterator, NamedTuple, Optional

import optax
from optax_fork.release import pristine

PAGE = pathlib.Path(__file__).resolve().with_name('api.md')

# `text` raises an error where a name that belongs on the page is missing here.
_TOPICS = {
    'choose params': (
        'optax.tree.path_mask',
        'optax.tree.node_mask',
        'optax.tree.where_mask',
        'optax.tree.leaf_mask',
        'optax.tree.Mask',
        'optax.tree.path_labels',
        'optax.tree.describe',
        'optax.transforms.mask_callable',
        'optax.masked',
        'optax.partition',
    ),
    'give groups numbers of their own': (
        'optax.tree.param_groups',
        'optax.scale',
        'optax.add_decayed_weights',
    ),
    'train a part of the params': (
        'optax.tree.split',
        'optax.tree.join',
        'optax.selective_transform',
        'optax.freeze',
    ),
    'train raw models': (
        'optax.tree.params',
        'optax.GradientTransformation',
        'optax.apply_updates',
        'optax.incremental_update',
        'optax.periodic_update',
        'optax.with_extra_args_support',
    ),
    'change numbers while training': (
        'optax.schedules.describe_hyperparams',
        'optax.inject_hyperparams',
        'optax.schedules.inject_stateful_hyperparams',
    ),
    'use L-BFGS and line searches': (
        'optax.lbfgs',
        'optax.scale_by_lbfgs',
        'optax.ScaleByLBFGSState',
        'optax.scale_by_zoom_linesearch',
        'optax.scale_by_backtracking_linesearch',
        'optax.value_and_grad_from_state',
        'optax.flatten',
    ),
    'use Muon': (
        'optax.contrib.muon',
        'optax.contrib.scale_by_muon',
    ),
    'use states': (
        'optax.tree.carry_over',
        'optax.tree.CarriedOver',
        'optax.tree_map_params',
        'optax.contrib.schedule_free_eval_params',
    ),
}

_HEAD = """\
# API

What the docstrings of the fork say and those of Optax 0.2.8 do not. A new name
comes with its signature and its whole docstring. Any other name comes with its
new arguments, and with the sentences that the fork adds to its docstring;
`help(optax.masked)` shows all of it. [What Optax's functions take
here](functions-of-optax.md) is a page of its own. [How to](README.md) has the words.

`python docs/api_page.py` makes this page from the installed fork.

"""

# What heads a part of a docstring, such as `Args:` or `.. note::`.
_TITLE = (
    r'((?:Args|Attributes|Examples?|Raises|References|Returns):|\.\. \w+::)'
    r'(?: (.*))?'
)
# A sentence with so many of upstream's words in a row counts as upstream's.
_RUN = 10


class Name(NamedTuple):
  """A public name of the fork that is new or says something new.

  Attributes:
    path: what users write, such as `optax.tree.split`.
    value: the function or class.
    before: what pristine Optax has under that name, None if it is new.
  """

  path: str
  value: object
  before: Optional[object]


def changed_names() -> list[Name]:
  """Returns the new names of the fork, and those with another docstring.

  An object with several names is there once, by the name that is in `_TOPICS`.
  """
  found = {}
  for path, fork, release in _modules(optax, pristine.load(), 'optax'):
    for name, value in vars(fork).items():
      if name.startswith('_') or isinstance(value, types.ModuleType):
        continue
      new = Name(f'{path}.{name}', value, getattr(release, name, None))
      if _docstring(value) != _docstring(new.before):
        known = found.setdefault(id(value), new)
        if new.path in _listed() and known.path not in _listed():
          found[id(value)] = new
  return list(found.values())


def added_arguments(name: Name) -> list[inspect.Parameter]:
  """Returns the arguments that a function or class has in the fork alone."""
  before = name.before and inspect.signature(name.before).parameters
  return [
      parameter.replace(annotation=parameter.empty)
      for parameter in inspect.signature(name.value).parameters.values()
      if before is None or parameter.name not in before
  ]


def _modules(
    fork: types.ModuleType, release: types.ModuleType, path: str
) -> Iterator[tuple[str, types.ModuleType, types.ModuleType]]:
  """Yields the public modules of the fork beside those of the release."""
  yield path, fork, release
  for name, module in vars(fork).items():
    if isinstance(module, types.ModuleType) and not name.startswith('_'):
      if module.__name__ == f'{fork.__name__}.{name}':
        pair = module, getattr(release, name)
        yield from _modules(*pair, f'{path}.{name}')


def _docstring(value: object) -> str:
  """Returns the docstring of a function or a class, '' for all else."""
  is_own = inspect.isclass(value) or inspect.isroutine(value)
  return inspect.cleandoc(value.__doc__ or '') if is_own else ''


def text() -> str:
  """Returns the page.

  Raises:
    ValueError: when `_TOPICS` lacks a name that has a section, or has others.
  """
  names = {name.path: name for name in changed_names()}
  sections = {path: _section(name) for path, name in names.items()}
  with_text = {path for path, section in sections.items() if section}
  if wrong := sorted(with_text ^ set(_listed())):
    raise ValueError(
        f'_TOPICS of {__file__} should list the names whose docstrings are new'
        f' or say more, and no others. These differ: {", ".join(wrong)}'
    )
  rows = ['| to | new | says more than in 0.2.8 |', '|---|---|---|']
  for topic, paths in _TOPICS.items():
    new = [_link(path) for path in paths if names[path].before is None]
    more = [_link(path) for path in paths if names[path].before is not None]
    rows.append(f'| {topic} | {", ".join(new)} | {", ".join(more)} |')
  return '\n\n'.join([
      _HEAD + '\n'.join(rows),
      *(f'## {path}\n\n{sections[path]}' for path in _listed()),
  ]) + '\n'


def _listed() -> list[str]:
  """Returns the names on the page in their order."""
  return [path for paths in _TOPICS.values() for path in paths]


def _link(path: str) -> str:
  """Returns a link to the section of a name on the page."""
  return f'[`{path}`](#{path.lower().replace(".", "")})'


def _section(name: Name) -> str:
  """Returns the new arguments and the new text of a name, '' if it has none."""
  blocks = []
  arguments = added_arguments(name)
  if arguments and not inspect.isclass(name.value):
    shown = str(inspect.Signature(arguments))
    if name.before is not None:
      shown = shown.replace('(', '(..., ', 1)
    blocks.append(f'```python\n{name.path}{shown}\n```')
  release = _words(_docstring(name.before))
  for title, rest, body in _parts(_docstring(name.value), _TITLE):
    if title in ('Args:', 'Attributes:', 'Raises:'):
      entries = _entries(body, release)
      new = ['\n'.join(entries)] if entries else []
    elif title in ('Example:', 'Examples:') and '>>>' in release:
      new = []  # They go on from upstream's.
    elif title == '.. seealso::':
      others = f'{rest}\n{body}'.strip()
      new = [] if release else _markdown(f'See also {others}.', '')
    elif title and title.startswith('.. version'):
      new = _markdown(body, release)  # The version is one of upstream.
    else:
      new = _markdown(f'{rest or ""}\n{body}', release)
    is_section = new and title and title.endswith(':') and title[0] != '.'
    blocks += [f'**{title[:-1]}**', *new] if is_section else new
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


def _entries(body: str, release: str) -> list[str]:
  """Returns what is new of a list of arguments, attributes or errors."""
  found = []
  for name, start, below in _parts(body, r'(\*{0,2}\w+): (.*)'):
    new = '\n\n'.join(_markdown(f'{start}\n{below}', release))
    if name and new:
      found.append(f'- `{name}`: ' + new.replace('\n', '\n  '))
  return found


def _markdown(text: str, release: str) -> list[str]:
  """Returns the new blocks of a part of a docstring, in Markdown.

  Args:
    text: the part, without an indent.
    release: the words of the docstring that pristine Optax has, or ''.
  """
  found, introduces_code, is_known = [], False, False
  for block in re.split(r'\n\s*\n|\n(?= *- )', text.strip('\n')):
    is_code = introduces_code or '>>> ' in block
    introduces_code = block.endswith('::') and not is_code
    block = textwrap.dedent(block)
    is_item = block.startswith('- ')
    if is_code:
      new = '' if _words(block) in release else _fenced(block)
    elif is_item and is_known:
      new = ''  # It says nothing without upstream's introduction.
    else:
      new = _new_sentences(block[:-1] if introduces_code else block, release)
      new = _inline(new)
      is_known = not is_item and not new
    if new and found and is_item and found[-1].startswith('- '):
      found[-1] += f'\n{new}'
    elif new and found and is_code and found[-1].startswith('```pycon'):
      found[-1] = found[-1].removesuffix('```') + new.removeprefix('```pycon\n')
    elif new:
      found.append(new)
  return found


def _fenced(code: str) -> str:
  """Returns a block of code; a blank line ends the output of a doctest."""
  if code.startswith('>>> '):
    return f'```pycon\n{code}\n\n```'
  return f'```python\n{code}\n```'


def _new_sentences(block: str, release: str) -> str:
  """Returns the sentences of a block without those of a pristine docstring."""
  sentences = re.split(r'(?<=[.:])\s+(?=[A-Z`])', block)
  new = [line for line in sentences if not _is_known(line, release)]
  if len(new) == len(sentences):
    return block
  return textwrap.fill(' '.join(new), 80, break_on_hyphens=False)


def _is_known(sentence: str, release: str) -> bool:
  """Tells whether a sentence, or a long run of its words, is in a docstring."""
  words = _words(sentence).split()
  runs = range(max(1, len(words) - _RUN + 1))
  return any(' '.join(words[i : i + _RUN]) in release for i in runs)


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


def _words(text: str) -> str:
  """Returns a text in one line."""
  return ' '.join(text.split())


if __name__ == '__main__':
  PAGE.write_text(text(), 'utf-8')
