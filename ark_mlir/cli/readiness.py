"""Abilities of this machine for each target, and the commands that add missing software."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..backends import backend_info, backend_names
from ..errors import ArkError
from .common import import_compiler

# The package with the compiler; the extras of pyproject.toml have the libraries of each target.
_INSTALL = "pip install ark-mlir"


@dataclass(frozen=True)
class Readiness:
    """The abilities of a machine for one target.

    Attributes:
        target: the name of the backend.
        compiles: the reason why this machine can or cannot compile programs.
        runs: the reason why this machine can or cannot run compiled programs.
        can_compile, can_run: True if it can.
        remedy: the command that installs missing software; empty if there is none.
    """

    target: str
    compiles: str
    runs: str
    can_compile: bool
    can_run: bool
    remedy: str = ""

    def __str__(self) -> str:
        compiles = f"{'compiles' if self.can_compile else 'does not compile'}: {self.compiles}"
        runs = f"{'runs' if self.can_run else 'does not run'}: {self.runs}"
        remedy = f"; to mend it: {self.remedy}" if self.remedy else ""
        return f"{compiles}; {runs}{remedy}"


def find_readiness() -> dict[str, Readiness]:
    """Returns the abilities of this machine, by target."""
    found = (backend_info(name).find_readiness() for name in backend_names())
    return {each.target: each for each in found if each is not None}


def find_cpu() -> Readiness:
    """Returns the abilities for the target `cpu`."""
    missing = _missing_compiler() or _reason(_find_linker)
    return Readiness(
        "cpu",
        missing or "compiler and linker",
        "this processor",
        not missing,
        True,
        _INSTALL if missing else "",
    )


def find_cuda() -> Readiness:
    """Returns the abilities for the target `cuda`."""
    missing = _missing_compiler()
    remedy = _INSTALL if missing else ""
    compiles = missing or _assembler()
    problem = _reason(_find_gpu)
    if problem and not has_nvidia():
        problem = "this machine has no GPU of NVIDIA"
    elif problem and not remedy and not _has_cuda_python():
        remedy = f"pip install 'ark-mlir[{_cuda_extra()}]'"
    return Readiness(
        "cuda", compiles, problem or "GPU and driver", not missing, not problem, remedy
    )


def find_hip() -> Readiness:
    """Returns the abilities for the target `hip`."""
    missing = _missing_compiler() or _reason(_find_linker)
    remedy = _INSTALL if missing else ""
    problem = _reason(_find_amd_gpu)
    if problem and not has_amd():
        problem = "this machine has no GPU of AMD"
    elif problem and not remedy and not _has_hip_python():
        remedy = "pip install 'ark-mlir[hip]'"
    return Readiness(
        "hip",
        missing or "compiler and linker",
        problem or "GPU and ROCm; ark was never tested on a GPU of AMD",
        not missing,
        not problem,
        remedy,
    )


def has_nvidia() -> bool:
    """Returns True if the operating system has a GPU of NVIDIA."""
    return any(Path("/dev").glob("nvidia[0-9]*"))


def has_amd() -> bool:
    """Returns True if the operating system has a GPU of AMD."""
    return Path("/dev/kfd").exists()


def _missing_compiler() -> str:
    return _reason(import_compiler)


def _assembler() -> str:
    """Returns the assembler that a compilation for cuda uses."""
    from ..targets.cuda_assembler import choose_assembler

    try:
        chosen = choose_assembler()
        origin = chosen.origin()
    except ArkError as error:
        return f"PTX only: {error.message}"
    if chosen.name == "driver":
        return "assembled by NVIDIA's driver when a bundle is loaded; ptxas is not installed"
    return f"assembled by {chosen.name} {origin.version}"


def _find_linker() -> None:
    from ..targets.linker import find_linker

    find_linker()


def _find_gpu() -> None:
    from ..runtime.cuda.api import CudaApi

    CudaApi()


def _find_amd_gpu() -> None:
    from ..runtime.hip.api import HipApi

    HipApi()


def _has_hip_python() -> bool:
    from ..runtime.hip.library import import_hip

    try:
        import_hip()
    except ImportError:
        return False
    return True


def _has_cuda_python() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.driver") is not None
    except ModuleNotFoundError:
        return False


def _cuda_extra() -> str:
    """Returns the extra for NVIDIA's driver on this machine: for CUDA 13 from version 580 on."""
    from ..runtime.cuda.survey import kernel_driver

    major = kernel_driver().partition(".")[0]
    return "cuda13" if major.isdigit() and int(major) >= 580 else "cuda12"


def _reason(find: Callable[[], object]) -> str:
    """Returns the message of the error that `find` raises; empty if it raises none."""
    try:
        find()
    except ArkError as error:
        return error.message
    return ""
