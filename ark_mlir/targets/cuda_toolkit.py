"""Where NVIDIA's assembler and device library are, and what the assembler says."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, UnsupportedError

# Wheels that hold the toolkit: CUDA 12's, then CUDA 13's.
_WHEELS = ("nvidia.cuda_nvcc", "nvidia.cu13")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit: a folder with ``bin/ptxas`` and ``nvvm/libdevice``."""

    root: Path

    @property
    def ptxas(self) -> Path:
        """The assembler."""
        return self.root / "bin" / "ptxas"


@dataclass(frozen=True)
class Assembled:
    """A cubin and what its kernel takes of an SM.

    Attributes:
        image: the cubin.
        registers: registers of a thread.
        spill_bytes: bytes that a thread writes to and reads from memory for lack of registers.
    """

    image: bytes
    registers: int
    spill_bytes: int


def _candidates() -> list[Path]:
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    for wheel in _WHEELS:
        try:
            spec = importlib.util.find_spec(wheel)
        except ModuleNotFoundError:
            continue
        if spec is not None:
            roots += [Path(place) for place in spec.submodule_search_locations or ()]
    if ptxas := shutil.which("ptxas"):
        roots.append(Path(ptxas).resolve().parent.parent)
    return [*roots, Path("/usr/local/cuda")]


@functools.cache
def find_toolkit() -> Toolkit:
    """The toolkit that CUDA_HOME names, else that of a wheel, of PATH, or of the system.

    Raises UnsupportedError when there is none.
    """
    for root in _candidates():
        toolkit = Toolkit(root)
        if toolkit.ptxas.is_file() and (root / "nvvm" / "libdevice").is_dir():
            return toolkit
    raise UnsupportedError(
        "there is no CUDA toolkit, which assembles kernels for cuda: install the package "
        "nvidia-cuda-nvcc, or set CUDA_HOME"
    )


def assemble(ptx: str, arch: str, opt_level: int) -> Assembled:
    """The cubin of one PTX module; raises CompileError with what ptxas says."""
    toolkit = find_toolkit()
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [
            str(toolkit.ptxas), "-v", f"-arch={arch}", f"-O{opt_level}",
            "-o", str(result), str(source),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        output = done.stderr or done.stdout
        if done.returncode:
            raise CompileError(
                f"ptxas failed with status {done.returncode}", notes=output.strip().splitlines()[:8]
            )
        return Assembled(result.read_bytes(), *read_resources(output))


def read_resources(output: str) -> tuple[int, int]:
    """Registers of a thread and bytes that it spills, of what ``ptxas -v`` printed.

    The kernel's registers are enough for the functions that it calls, but each of them says for
    itself what it spills.
    """
    registers, spills = _REGISTERS.search(output), _SPILLS.findall(output)
    if registers is None or not spills:
        raise CompileError("ptxas does not say what the kernel takes of an SM", notes=[output])
    return int(registers[1]), sum(int(stores) + int(loads) for stores, loads in spills)
