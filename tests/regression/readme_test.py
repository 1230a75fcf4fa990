# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What the README says of the fork and of pristine Optax is so."""

import pathlib
import re
from unittest import mock

from absl.testing import parameterized
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_README = _ROOT / 'README.md'
_PAGES = sorted(
    str(page.relative_to(_ROOT))
    for folder in ('.', 'benchmarks', 'docs', 'patches')
    for page in (_ROOT / folder).glob('*.md')
)


def _anchors(page):
  """Returns the anchors that GitHub makes of the headings of a page."""
  text = re.sub(r'```.*?```', '', page.read_text('utf-8'), flags=re.S)
  headings = re.findall(r'^#+ (.*)$', text, re.M)
  return {
      re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
      for heading in headings
  }


class ReadmeTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('fork', lambda: optax, -1e-4), ('pristine', pristine.load, 0.0)
  )
  def test_first_example_decays_on_the_fork_alone(self, load, wanted):
    names, text = {}, _README.read_text('utf-8')
    program = re.search(r'```python\n(.*?)```', text, re.S)[1]
    with mock.patch.dict('sys.modules', {'optax': load()}):
      exec(program, names)  # pylint: disable=exec-used
    np.testing.assert_allclose(names['updates']['w'], wanted, rtol=1e-6)
    np.testing.assert_array_equal(names['updates']['b'], 0.0)

  def test_each_line_of_the_second_example_fails_on_pristine(self):
    upstream = pristine.load()
    model = eqx.nn.MLP(2, 2, 8, depth=1, key=jax.random.key(0))
    params = eqx.filter(model, eqx.is_inexact_array)
    loss = lambda model: jnp.sum(jax.vmap(model)(jnp.eye(2)) ** 2)
    solver, grad = upstream.lbfgs(), params
    state = solver.init(params)
    for fails in (
        lambda: solver.init(model),
        lambda: upstream.value_and_grad_from_state(loss)(model, state=state),
        lambda: solver.update(
            grad, state, model, value=1.0, grad=grad, value_fn=loss
        ),
        lambda: upstream.apply_updates(model, params),
    ):
      with self.assertRaises((AttributeError, TypeError, ValueError)):
        fails()

  def test_costs_are_those_of_the_benchmarks(self):
    page = _ROOT / 'benchmarks' / 'results' / 'README.md'
    text = page.read_text('utf-8').removeprefix('# Results')
    wanted = text.partition('\n![')[0]
    # Lines of paragraphs are broken in the README.
    said = ' '.join(_README.read_text('utf-8').split())
    self.assertIn(' '.join(wanted.split()), said)

  @parameterized.parameters(_PAGES)
  def test_links_to_files_lead_somewhere(self, page):
    path = _ROOT / page
    text = re.sub(r'```.*?```', '', path.read_text('utf-8'), flags=re.S)
    links = re.findall(r'\]\((?!https?:|#)([^)#]+)', text)
    for link in links:
      self.assertTrue((path.parent / link).exists(), f'{page}: {link}')
    links = re.findall(r'\]\((?!https?:)([^)#]*)#([^)]+)\)', text)
    for link, anchor in links:
      target = path.parent / link if link else path
      self.assertIn(anchor, _anchors(target), f'{page}: {link}#{anchor}')

  def test_patches_to_send_are_counted(self):
    table = (_ROOT / 'patches' / 'README.md').read_text('utf-8')
    table = table.partition('### To be sent\n')[2].partition('\n### ')[0]
    rows = re.findall(r'^\| \[.*\| (.*) \|$', table, re.M)
    said = r'\[(\d+) patches\][^:]*:\s+(\d+) are ready to\s+send,\s+(\d+) need'
    (numbers,) = re.findall(said, _README.read_text('utf-8'))
    self.assertEqual(
        [int(number) for number in numbers],
        [len(rows), rows.count('not sent'), rows.count('ask first')],
    )
