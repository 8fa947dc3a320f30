"""ark compiles a tensor program into one persistent GPU kernel.

    import ark_mlir as ark

    with ark.Program("mlp") as program:
        x = ark.input("x", (4, 64), ark.fp32)
        w = ark.parameter("w", (256, 64), ark.fp32)
        ark.output("y", ark.gelu(ark.matmul(x, w, transpose_other=True)))

    exe = ark.compile(program, target="cpu")

Names resolve on first use: importing the package loads no compiler, and a machine that only
runs bundles (``ark.load``) needs neither MLIR nor the compiled bindings.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import bundle as bundle
    from . import cli as cli
    from . import compiler as compiler
    from . import distributed as distributed
    from . import dtypes as dtypes
    from . import errors as errors
    from . import frontend as frontend
    from . import ir as ir
    from . import knobs as knobs
    from . import models as models
    from . import optim as optim
    from . import passmanager as passmanager
    from . import pytorch as pytorch
    from . import reference as reference
    from . import runtime as runtime
    from . import show as show
    from . import simulation as simulation
    from . import targets as targets
    from . import text as text
    from . import training as training
    from . import tuning as tuning
    from . import typing as typing
    from .compiler import CompileOptions as CompileOptions
    from .compiler import compile as compile
    from .dtypes import DType as DType
    from .dtypes import bf16 as bf16
    from .dtypes import bool_ as bool  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from .dtypes import fp8_e4m3 as fp8_e4m3
    from .dtypes import fp8_e5m2 as fp8_e5m2
    from .dtypes import fp16 as fp16
    from .dtypes import fp32 as fp32
    from .dtypes import int8 as int8
    from .dtypes import int32 as int32
    from .dtypes import int64 as int64
    from .dtypes import uint8 as uint8
    from .dtypes import uint32 as uint32
    from .errors import *  # noqa: F403 - errors.__all__ is public as a whole
    from .frontend import *  # noqa: F403 - frontend.__all__ is public as a whole
    from .pytorch import from_torch as from_torch  # pyright: ignore[reportUnknownVariableType]
    from .runtime import Executable as Executable
    from .runtime import World as World
    from .runtime import load as load

__version__ = "0.1.0"

_ERRORS = (
    "ArkError", "BundleError", "BusyError", "CompileError", "DataRangeError", "DeviceError",
    "HangError", "InvalidUsageError", "MemoryLimitError", "RankFailedError", "UnprovenWarning",
    "UnsupportedError", "VerificationError",
)  # fmt: skip
_DTYPES = (
    "DType", "bf16", "fp16", "fp32", "fp8_e4m3", "fp8_e5m2", "int32", "int64", "int8", "uint32",
    "uint8",
)  # fmt: skip
_FRONTEND = (
    # building
    "Argument", "GridIndex", "Module", "ModuleList", "Output", "Plan", "Program", "Region",
    "Tensor", "custom_op", "input", "output", "parameter", "placeholder", "planner", "scalar",
    "state", "stop_when", "tensor",
    # create and view
    "arange", "bitcast", "broadcast_to", "concat", "constant", "full", "identity", "noop", "ones",
    "reshape", "sharding", "slice", "split", "squeeze", "transpose", "unsqueeze", "zeros",
    # unary
    "abs", "cast", "copy", "cos", "erf", "exp", "gelu", "log", "logical_not", "neg",
    "reciprocal", "relu", "rsqrt", "sigmoid", "silu", "sin", "sqrt", "tanh",
    # binary
    "add", "div", "equal", "greater", "greater_equal", "less", "less_equal", "logical_and",
    "logical_or", "maximum", "minimum", "mul", "not_equal", "pow", "sub", "where",
    # composed of others
    "clamp", "einsum", "floor", "one_hot", "pad", "sign", "stack",
    # reduce, normalise, linear, attention, position, index, windows
    "argmax", "argsort", "attention", "batch_norm", "bincount", "conv1d", "conv2d",
    "conv_transpose1d", "conv_transpose2d", "cumsum", "embedding", "gather", "group_norm",
    "grouped_matmul", "im2col", "indexed_matmul", "layernorm", "matmul", "max_pool", "mean",
    "quantized_matmul", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "rmsnorm", "rope",
    "scatter", "scatter_add", "softmax", "sort", "top_k", "update", "upsample",
    # train
    "checkpoint", "cross_entropy", "dropout", "gradients", "trainable",
    # sample
    "philox", "top_threshold",
    # communicate
    "all_gather", "all_reduce", "all_to_all", "broadcast", "recv", "reduce_scatter", "send",
)  # fmt: skip
_SUBPACKAGES = (
    "bundle", "cli", "compiler", "distributed", "dtypes", "errors", "frontend", "ir", "knobs",
    "models", "optim", "passmanager", "pytorch", "reference", "runtime", "show", "simulation",
    "targets", "text", "training", "tuning", "typing",
)  # fmt: skip

# Modules that the build adds to the source.
_COMPILED = ("_mlir_libs", "dialects", "ir", "passmanager")

# Public name -> (module, name there); __all__ and __dir__ are derived from it.
_NAMES: dict[str, tuple[str, str]] = {
    **{name: (".errors", name) for name in _ERRORS},
    **{name: (".dtypes", name) for name in _DTYPES},
    "bool": (".dtypes", "bool_"),
    **{name: (".frontend", name) for name in _FRONTEND},
    "CompileOptions": (".compiler", "CompileOptions"),
    "compile": (".compiler", "compile"),
    "Executable": (".runtime", "Executable"),
    "World": (".runtime", "World"),
    "load": (".runtime", "load"),
    "from_torch": (".pytorch", "from_torch"),
}

__all__ = [*sorted(_NAMES), "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name in _NAMES:
            module, attribute = _NAMES[name]
            value: object = getattr(_import(module), attribute)
        elif name in _SUBPACKAGES:
            value = _import("." + name)
        else:
            from .spellings import TORCH_FUNCTIONS

            op = TORCH_FUNCTIONS.get(name)
            hint = f"; use ark.{op}" if op else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        globals()[name] = value
        return value


def _import(module: str) -> object:
    try:
        return importlib.import_module(module, __name__)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        # A remedy is known only if the compiled part of ark_mlir itself is missing.
        if missing.startswith(tuple(f"{__name__}.{part}" for part in _COMPILED)):
            raise ImportError(
                "the compiled part of ark_mlir is not installed: ark.load runs bundles, but "
                "programs cannot be built or compiled; install with `pip install .`",
                name=missing,
            ) from error
        if missing == __name__ + module:
            raise AttributeError(f"module {__name__!r} has no attribute {module[1:]!r}") from None
        raise


def __dir__() -> list[str]:
    module = (name for name in globals() if name.startswith("__"))
    return sorted({*module, *_NAMES, *_SUBPACKAGES})
