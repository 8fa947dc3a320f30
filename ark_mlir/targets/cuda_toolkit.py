"""Search for NVIDIA's assembler and device library."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnsupportedError

# Wheels with the toolkit: those of CUDA 12, then those of CUDA 13.
_WHEELS = ("nvidia.cuda_nvcc", "nvidia.cu13")


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit: a folder with ``bin/ptxas``, ``nvvm/libdevice``, or both."""

    root: Path

    @property
    def ptxas(self) -> Path:
        """Returns the path of the assembler."""
        return self.root / "bin" / "ptxas"

    @property
    def libdevice(self) -> Path:
        """Returns the folder of the device library."""
        return self.root / "nvvm" / "libdevice"


def _candidates() -> list[Path]:
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for wheel in _WHEELS:
        try:
            spec = importlib.util.find_spec(wheel)
        except ModuleNotFoundError:
            continue
        if spec is not None:
            roots += [Path(path) for path in spec.submodule_search_locations or ()]
    if ptxas := shutil.which("ptxas"):
        roots.append(Path(ptxas).resolve().parent.parent)
    return [*roots, Path("/usr/local/cuda")]


@functools.cache
def find_toolkit() -> Toolkit:
    """Returns the first toolkit with an assembler.

    The order is: CUDA_HOME and CUDA_PATH, wheels, PATH, the system.

    Raises UnsupportedError if no toolkit has an assembler.
    """
    for root in _candidates():
        toolkit = Toolkit(root)
        if toolkit.ptxas.is_file():
            return toolkit
    raise UnsupportedError(
        "there is no ptxas, which assembles kernels for cuda: install the package "
        "nvidia-cuda-nvcc, or set CUDA_HOME"
    )


@functools.cache
def find_libdevice() -> Toolkit | None:
    """Returns the first toolkit with the device library, or None; the order is the same."""
    for root in _candidates():
        toolkit = Toolkit(root)
        if toolkit.libdevice.is_dir():
            return toolkit
    return None
