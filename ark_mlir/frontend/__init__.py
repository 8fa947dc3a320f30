"""Building programs: ``ark.Program``, tensors and ops.

Everything public is re-exported by ``ark_mlir``.
"""

# ruff: noqa: F403 - what is public is what every family's __all__ says

from . import arguments, ops
from .arguments import *
from .module import Module, ModuleList
from .ops import *
from .planner import Plan, planner
from .program import Argument, Output, Program
from .tensor import Tensor

__all__ = ["Argument", "Module", "ModuleList", "Output", "Plan", "Program", "Tensor", "planner"]
__all__ += arguments.__all__
__all__ += ops.__all__
