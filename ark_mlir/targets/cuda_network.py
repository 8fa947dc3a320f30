"""The device functions of NCCL, which kernels for ranks of several NVLink domains call."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from .. import ir
from .._mlir_libs import _ark  # noqa: TID251 - bitcode is the extension's
from ..errors import UnsupportedError
from ..pins import NCCL_VERSION

__all__ = ["find_network_library", "needs_network", "network_library"]

_PACKAGE = "nvidia-nccl-cu13"
_FILE = "nvidia/nccl/lib/libnccl_device.bc"
# A function that each kernel with copies between domains calls.
_FIRST_FUNCTION = "ncclGin_C_init"


def needs_network(gpu_module: ir.Operation) -> bool:
    """Returns True if a ``gpu.module`` calls the network functions of NCCL."""
    return any(
        op.operation.name == "llvm.func"
        and ir.StringAttr(op.operation.attributes["sym_name"]).value == _FIRST_FUNCTION
        for op in gpu_module.regions[0].blocks[0]
    )


@contextmanager
def network_library(gpu_module: ir.Operation) -> Generator[Path]:
    """Provides the file of NCCL's device functions in a block, for linking with a ``gpu.module``.

    Raises UnsupportedError if the package is missing, or has another version.
    """
    layout = ir.StringAttr(gpu_module.attributes["llvm.data_layout"]).value
    with tempfile.NamedTemporaryFile(suffix=".bc") as file:
        # LLVM warns of data layouts that differ.
        file.write(_ark.set_data_layout(find_network_library().read_bytes(), layout))
        file.flush()
        yield Path(file.name)


def find_network_library() -> Path:
    """Returns the file of NCCL's device functions, as LLVM bitcode.

    Raises UnsupportedError if the package is missing, or has another version.
    """
    try:
        found = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise UnsupportedError(
            f"ranks of several NVLink domains need {_PACKAGE} {NCCL_VERSION}, which is not "
            "installed: pip install 'ark-mlir[nccl]'"
        ) from None
    if found.version != NCCL_VERSION:
        raise UnsupportedError(
            f"ranks of several NVLink domains need {_PACKAGE} {NCCL_VERSION}, and version "
            f"{found.version} is installed: pip install 'ark-mlir[nccl]'"
        )
    path = Path(str(found.locate_file(_FILE)))
    if not path.is_file():
        raise UnsupportedError(f"{_PACKAGE} {NCCL_VERSION} has no file {path}")
    return path
