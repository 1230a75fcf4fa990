# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""How the tests train, whatever the params are."""

import equinox as eqx
import numpy as np
import optax


BACKTRACKING = optax.scale_by_backtracking_linesearch(15, store_grad=True)
DEFAULT_LBFGS = optax.lbfgs()
# A step of it compiles in a third of the time that the default search takes;
# with `--full`, conftest.py puts the default in its place.
LBFGS = optax.lbfgs(memory_size=2, linesearch=BACKTRACKING)


def make_step(transform, loss, value_and_grad=None):
  """Returns a function from params and state to new ones and the loss.

  Args:
    transform: an optimizer, with a line search or without.
    loss: a function of the params, which may be a model.
    value_and_grad: where these come from, if not from `eqx.filter_grad`; it is
      given the state too.
  """
  transform = optax.with_extra_args_support(transform)
  if value_and_grad is None:
    differentiated = eqx.filter_value_and_grad(loss)
    value_and_grad = lambda params, state: differentiated(params)

  def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = transform.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return optax.apply_updates(params, updates), state, value

  return step


def train_by_line_search(transform, params, loss, steps, jit=eqx.filter_jit):
  """Returns the params and the loss of each step.

  Value and gradient are those of the search, if they are known.
  """
  value_and_grad = optax.value_and_grad_from_state(loss)
  step = jit(make_step(transform, loss, value_and_grad))
  state, losses = transform.init(params), []
  for _ in range(steps):
    params, state, value = step(params, state)
    losses.append(np.asarray(value).item())
  return params, losses
