"""Reverse-mode differentiation: ``ark.gradients``, and a rule for each op of the graph level."""

from . import attention, collectives, elementwise, indexing, linear, norms, reductions, views
from .checkpoint import checkpoint
from .reverse_pass import find_gradients, gradients

__all__ = ["checkpoint", "find_gradients", "gradients"]

_ = (attention, collectives, elementwise, indexing, linear, norms, reductions, views)
