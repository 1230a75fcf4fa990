# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""GaLore on meshes with explicit axes."""

from collections.abc import Callable
import functools
from typing import Any

import jax


def on_auto_axes(
    grad: int, whole: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
  """Makes explicit axes automatic in a projection.

  JAX takes no singular value decomposition of a matrix with explicit axes.

  Args:
    grad: which argument of the projection is the gradient. The last one that
      has no default is the dimension numbers. Arrays from outside are defaults:
      else they would have explicit axes inside, too.
    whole: whether all devices get whole results. Otherwise, these are sharded
      as the gradient is.

  Returns:
    A decorator of projections.
  """

  def decorate(project):

    @functools.wraps(project)
    def projected(*args):
      *arrays, dim_num = args
      if dim_num is None or jax.__version_info__ < (0, 7, 2):
        return project(*args)
      sharding = jax.typeof(arrays[grad]).sharding
      mesh = sharding.mesh
      if not mesh.explicit_axes:
        return project(*args)
      out = jax.sharding.NamedSharding(mesh, jax.P()) if whole else sharding

      @functools.partial(
          jax.sharding.auto_axes, axes=mesh.explicit_axes, out_sharding=out
      )
      def project_whole(arrays, outside):
        return project(*arrays, dim_num, *outside)

      return project_whole(arrays, project.__defaults__)

    return projected

  return decorate
