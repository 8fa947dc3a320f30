"""Construction of programs: ``ark.Program``, tensors and ops.

The package ``ark_mlir`` re-exports every public name.
"""

# ruff: noqa: F403 - the __all__ of each module lists its public names

from . import arguments, ops
from .arguments import *
from .custom import GridIndex, Region, custom_op
from .gradients import checkpoint, gradients
from .module import Module, ModuleList
from .ops import *
from .planner import Plan, planner
from .program import Argument, Output, Program
from .tensor import Tensor
from .trainable import trainable

__all__ = [
    "Argument", "GridIndex", "Module", "ModuleList", "Output", "Plan", "Program", "Region",
    "Tensor", "checkpoint", "custom_op", "gradients", "planner", "trainable",
]  # fmt: skip
__all__ += arguments.__all__
__all__ += ops.__all__
