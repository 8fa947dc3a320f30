"""The compiler, which lowers a program to an executable in stages.

>>> exe = ark.compile(program, target="cpu:4", dump_dir="dump")
"""

from .._mlir_libs import _ark
from .check import CheckResult, check, check_bundle
from .compile import compile
from .export import export_schedule
from .options import CompileKeywords, CompileOptions
from .schedule import compile_schedule
from .stages import stages

LLVM_VERSION: str = _ark.LLVM_VERSION

__all__ = [
    "CheckResult",
    "CompileKeywords",
    "CompileOptions",
    "check",
    "check_bundle",
    "compile",
    "compile_schedule",
    "export_schedule",
    "stages",
]
