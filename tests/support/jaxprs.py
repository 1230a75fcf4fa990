# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What a function computes, as JAX traces it: to compare, not to compile.

XLA drops what no output needs and orders the rest by what needs what. So a
program is the expressions of its outputs: two functions with the same ones give
the same bits.
"""

from collections.abc import Callable, Iterator
import hashlib
import re
from typing import Any

import jax
from jax.extend import core
import jax.numpy as jnp
import numpy as np


def _digest(*parts: Any) -> str:
  return hashlib.sha256(repr(parts).encode()).hexdigest()


def _type(aval) -> tuple[str, bool]:
  return str(aval), bool(getattr(aval, 'weak_type', False))


def _strong(aval) -> str:
  """Returns a type without its weakness, which decides what dtypes come out."""
  return str(aval).lstrip('~')


def _value(array) -> tuple[Any, ...]:
  """Returns all bits of a constant."""
  if jnp.issubdtype(getattr(array, 'dtype', None), jax.dtypes.prng_key):
    array = jax.random.key_data(array)
  array = np.asarray(array)
  return array.shape, str(array.dtype), array.tobytes()


def _parameter(value) -> Any:
  """Returns what of an equation's parameter decides on what is computed."""
  if isinstance(value, core.ClosedJaxpr):
    return list(_expressions(value.jaxpr, value.consts))
  if isinstance(value, core.Jaxpr):
    return list(_expressions(value, ()))
  if isinstance(value, (tuple, list)):
    return [_parameter(item) for item in value]
  if isinstance(value, (np.ndarray, jax.Array)):
    return _value(value)
  if callable(value) and not isinstance(value, type):
    # The rest of what JAX calls is for derivatives, which are taken by now.
    return getattr(value, '__qualname__', type(value).__name__)
  return re.sub('0x[0-9a-f]+', '', repr(value))


def _is_inlined(eqn: core.JaxprEqn) -> bool:
  """Whether XLA gets the parts of a jitted function alone.

  Older JAX inlines it while tracing, so that no such equation is there; JAX
  0.12 inlines it later, and its parameter is no longer a bool.
  """
  inline = eqn.params.get('inline', False)
  return getattr(inline, 'value', inline) in (True, 'jax_early', 'jax_late')


def _expressions(
    jaxpr: core.Jaxpr, consts, inputs=None, literals=None
) -> Iterator[str]:
  """Yields a digest for each output, and for each effect.

  Inputs are digests of the arguments, where they are known; literals are the
  number for the digest of each literal.
  """
  literals = {} if literals is None else literals
  if inputs is None:
    inputs = [
        _digest('argument', number, _type(var.aval))
        for number, var in enumerate(jaxpr.invars)
    ]
  known = dict(zip(jaxpr.invars, inputs, strict=True))
  for number, var in enumerate(jaxpr.constvars):
    what = _value(consts[number]) if consts else number
    known[var] = _digest('constant', what, _type(var.aval))

  def literal(value, aval):
    digest = _digest('literal', _value(np.asarray(value, aval.dtype)))
    literals[digest] = value
    return digest

  def expression(atom):
    is_literal = isinstance(atom, core.Literal)
    return literal(atom.val, atom.aval) if is_literal else known[atom]

  effects = []
  for eqn in jaxpr.eqns:
    if eqn.primitive.name == 'copy':  # Where buffers are, not what is in them.
      known[eqn.outvars[0]] = expression(eqn.invars[0])
      continue
    inputs = [expression(atom) for atom in eqn.invars]
    if _is_inlined(eqn):
      inner = eqn.params['jaxpr']
      found = list(_expressions(inner.jaxpr, inner.consts, inputs, literals))
      known |= zip(eqn.outvars, found)
      effects += found[len(eqn.outvars) :]
      continue
    if eqn.primitive.name == 'convert_element_type' and inputs[0] in literals:
      # Where a number is an argument of what is inlined later.
      (var,) = eqn.outvars
      value = np.asarray(literals[inputs[0]]).astype(var.aval.dtype)
      known[var] = literal(value, var.aval)
      continue
    parameters = {
        key: _parameter(value) for key, value in sorted(eqn.params.items())
    }
    whole = _digest(eqn.primitive.name, parameters, inputs)
    for number, var in enumerate(eqn.outvars):
      known[var] = _digest(whole, number, _strong(var.aval))
    if eqn.effects:
      effects.append(whole)
  yield from (expression(atom) for atom in jaxpr.outvars)
  yield from effects


def trace(
    function: Callable[..., Any], *args: Any
) -> tuple[dict[str, tuple[Any, ...]], Any]:
  """Traces a function of trees of arrays, or of what they are like.

  Returns:
    Type and expression of each output by path, those of effects last, and what
    the outputs are like.
  """
  closed, outputs = jax.make_jaxpr(function, return_shape=True)(*args)
  paths = [
      jax.tree_util.keystr(path)
      for path, _ in jax.tree_util.tree_leaves_with_path(outputs)
  ]
  avals = closed.out_avals
  expressions = list(_expressions(closed.jaxpr, closed.consts))
  program = dict(zip(paths, zip(map(_type, avals), expressions)))
  program['effects'] = tuple(expressions[len(paths) :])
  like = [
      jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=_type(x)[1])
      for x in avals
  ]
  return program, jax.tree.structure(outputs).unflatten(like)
