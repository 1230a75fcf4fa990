# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Facts that have to stand in two files are the same in both."""

import calendar
import datetime
import re

from fork.environments import build_requirements
from fork.environments import fork_version
from fork.environments import REPOSITORY
from fork.environments import setup_cfg
from optax_fork import pin
import pytest


def test_build_needs_the_pinned_release():
  assert build_requirements()['optax'] == f'optax==={pin.version()}'


def test_version_and_description_name_the_pinned_release():
  assert fork_version().startswith(f'{pin.version()}+masks.')
  description = setup_cfg()['metadata']['description']
  assert description.startswith(f'Optax {pin.version()} ')


@pytest.mark.parametrize('page', ['README.md', 'docs/depending-on-the-fork.md'])
def test_lines_for_requirements_name_this_version(page):
  text = (REPOSITORY / page).read_text('utf-8')
  place = r'(?:its version is `|optax[-=]+)'
  named = re.findall(place + r'(\d[\w.+]*masks\.\d+)', text)
  assert named
  assert set(named) == {fork_version()}


@pytest.mark.parametrize('extra', ['dev', 'test'])
def test_extras_have_what_builds_need(extra):
  requirements = setup_cfg()['options.extras_require'][extra].split()
  pinned = [line for line in requirements if '==' in line]
  assert pinned
  assert set(pinned) <= set(build_requirements().values())


def test_release_is_dated():
  day = datetime.date.fromisoformat(pin.released())
  # Zip files know no earlier day.
  assert calendar.timegm(day.timetuple()) > 315532800
