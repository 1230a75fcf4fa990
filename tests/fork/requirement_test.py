# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A library asks for the fork, and is told what there is instead."""

import pathlib

from fork.environments import fork_version
from optax_fork.release import manifest
from optax_fork import requirement
import pytest


def _there_is(monkeypatch, version, root=pathlib.Path('/packages')):
  monkeypatch.setattr(manifest, 'imported', lambda: root)
  found = version and {'version': version}
  monkeypatch.setattr(manifest, 'read', lambda root: found)


@pytest.mark.parametrize(
    'found', ['0.2.8+masks.12', '0.2.8+masks.14', '0.2.9+masks.1']
)
def test_this_version_or_a_later_one_is_enough(monkeypatch, found):
  _there_is(monkeypatch, found)
  requirement.require('0.2.8+masks.12')


@pytest.mark.parametrize(
    'found', ['0.2.8+masks.9', '0.2.7+masks.20', None]
)
def test_error_says_what_is_there(monkeypatch, found):
  _there_is(monkeypatch, found)
  there = found or 'another Optax'
  with pytest.raises(ImportError) as caught:
    requirement.require('0.2.8+masks.12')
  assert f'there is {there}, in /packages' in str(caught.value)
  assert '0.2.8+masks.12' in str(caught.value)


def test_no_optax_at_all(monkeypatch):
  _there_is(monkeypatch, None, None)
  with pytest.raises(ImportError, match='there is no Optax'):
    requirement.require('0.2.8+masks.12')


@pytest.mark.parametrize('version', ['0.2.8', 'masks.12', '0.2.8+masks.x'])
def test_what_is_no_version_of_the_fork(version):
  with pytest.raises(ValueError, match='not a version of the fork'):
    requirement.require(version)


def test_library_that_asks_for_the_installed_version(environment):
  ask = (
      'from optax_fork.requirement import require;'
      f' require({fork_version()!r}); print(1)'
  )
  assert environment.run(ask) == '1'
