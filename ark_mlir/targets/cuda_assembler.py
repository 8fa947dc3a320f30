"""Assemblers that compile PTX to a cubin: ptxas, nvJitLink, or NVIDIA's driver at load."""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .. import knobs
from ..errors import CompileError, UnsupportedError
from ..tools import run_tool
from .cuda_toolkit import Toolkit, find_toolkit
from .fingerprints import hash_files, loaded_libraries
from .scratch import scratch_folder

_PTXAS_REGISTERS = re.compile(r"Used (\d+) registers")
# The message of nvJitLink after it links functions that it compiled separately.
_LINKED_REGISTERS = re.compile(r"^info +: used (\d+) registers", re.MULTILINE)
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_NVJITLINK_FILES = ("libnvJitLink",)
_PTXAS_VERSION = re.compile(r"\bV(\d[\d.]*)")
_MOST_NOTES = 8


@dataclass(frozen=True)
class Origin:
    """The version of an assembler, and the path or the name of the software that contains it."""

    version: str
    path: str


@dataclass(frozen=True)
class Assembled:
    """A kernel's image, and the resources of an SM that it needs.

    Attributes:
        image: a cubin, or zero-terminated PTX for NVIDIA's driver.
        registers: number of registers per thread; None for PTX.
        spill_bytes: bytes of spill stores and spill loads per thread; None for PTX.
    """

    image: bytes
    registers: int | None = None
    spill_bytes: int | None = None


class Assembler(Protocol):
    """An assembler of PTX."""

    @property
    def name(self) -> str:
        """Returns the value of ARK_ASSEMBLER that selects this assembler."""
        ...

    def fingerprint(self) -> str:
        """Returns a text that identifies this build of the assembler."""
        ...

    def origin(self) -> Origin:
        """Returns the description of the assembler for a user.

        Raises CompileError if the assembler does not report its version.
        """
        ...

    def assemble(self, ptx: str, arch: str, opt_level: int) -> Assembled:
        """Returns the image of one PTX module; raises CompileError with the output of the tool."""
        ...


@dataclass(frozen=True)
class Ptxas:
    """The program ``ptxas`` of a CUDA toolkit."""

    toolkit: Toolkit
    name: str = "ptxas"

    def fingerprint(self) -> str:
        """Returns a hash of the program."""
        return _hash_of(self.toolkit.ptxas)

    def origin(self) -> Origin:
        """See :meth:`Assembler.origin`."""
        done = self._run("--version")
        found = _PTXAS_VERSION.search(done.stdout)
        if done.returncode or found is None:
            raise CompileError(
                f"{self.toolkit.ptxas} does not report its version",
                notes=_notes(done.stderr or done.stdout),
            )
        return Origin(found[1], str(self.toolkit.ptxas))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.toolkit.ptxas), *arguments]
        try:
            return run_tool(command, capture_output=True, text=True)
        except OSError as error:
            raise CompileError(f"{command[0]} cannot be run: {error.strerror}") from None

    def assemble(self, ptx: str, arch: str, opt_level: int) -> Assembled:
        """See :meth:`Assembler.assemble`."""
        with scratch_folder() as folder:
            source, result = folder / "kernel.ptx", folder / "kernel.cubin"
            source.write_text(ptx)
            done = self._run(
                "-v", f"-arch={arch}", f"-O{opt_level}", "-o", str(result), str(source)
            )
            output = done.stderr or done.stdout
            if done.returncode:
                raise CompileError(
                    f"ptxas failed with status {done.returncode}", notes=_notes(output)
                )
            return Assembled(result.read_bytes(), *read_resources(output))


@dataclass(frozen=True)
class NvJitLink:
    """The library nvJitLink, by ``cuda.bindings.nvjitlink``; it compiles functions separately."""

    library: Any
    name: str = "nvjitlink"

    def fingerprint(self) -> str:
        """Returns the version and a hash of the library."""
        files = [_hash_of(file) for file in loaded_libraries(_NVJITLINK_FILES)]
        return f"{self.library.version()} {files}"

    def origin(self) -> Origin:
        """See :meth:`Assembler.origin`."""
        version = ".".join(str(part) for part in self.library.version())
        files = ", ".join(str(file) for file in loaded_libraries(_NVJITLINK_FILES))
        return Origin(version, files or "a library that is part of this process")

    def assemble(self, ptx: str, arch: str, opt_level: int) -> Assembled:
        """See :meth:`Assembler.assemble`."""
        library = self.library
        flags = [f"-arch={arch}", f"-O{opt_level}", "-verbose"]
        try:
            handle = library.create(len(flags), flags)
        except library.nvJitLinkError as error:
            raise CompileError(f"nvJitLink rejects {' '.join(flags)}: {error}") from None
        try:
            source = ptx.encode()
            library.add_data(handle, library.InputType.PTX, source, len(source), "kernel.ptx")
            library.complete(handle)
            image = bytearray(library.get_linked_cubin_size(handle))
            library.get_linked_cubin(handle, image)
            log = _read_log(library.get_info_log_size, library.get_info_log, handle)
        except library.nvJitLinkError as error:
            log = _read_log(library.get_error_log_size, library.get_error_log, handle)
            raise CompileError(f"nvJitLink failed: {error}", notes=_notes(log)) from None
        finally:
            library.destroy(handle)
        return Assembled(bytes(image), *read_resources(log))


@dataclass(frozen=True)
class DriverJit:
    """No assembler: NVIDIA's driver compiles the PTX when it loads the bundle."""

    name: str = "driver"

    def fingerprint(self) -> str:
        """Returns an empty identity: the image does not depend on this machine."""
        return ""

    def origin(self) -> Origin:
        """See :meth:`Assembler.origin`."""
        return Origin("that of NVIDIA's driver", "the machine that loads the bundle")

    def assemble(self, ptx: str, arch: str, opt_level: int) -> Assembled:
        """See :meth:`Assembler.assemble`."""
        del arch, opt_level
        return Assembled(ptx.encode() + b"\0")


def choose_assembler() -> Assembler:
    """Returns the assembler that ARK_ASSEMBLER names.

    ``auto`` means the first of ptxas, nvJitLink and NVIDIA's driver that is available. Raises
    UnsupportedError if the named assembler is not installed.
    """
    name = knobs.ASSEMBLER.get()
    if name == "driver":
        return DriverJit()
    if name == "nvjitlink":
        return _nvjitlink()
    try:
        return Ptxas(find_toolkit())
    except UnsupportedError:
        if name == "ptxas":
            raise
    try:
        return _nvjitlink()
    except UnsupportedError:
        return DriverJit()


def assemble(ptx: str, arch: str, opt_level: int) -> Assembled:
    """Assembles one PTX module with the assembler of :func:`choose_assembler`.

    Raises UnsupportedError if the assembler is not installed, CompileError if it fails.
    """
    return choose_assembler().assemble(ptx, arch, opt_level)


def _nvjitlink() -> NvJitLink:
    try:
        return NvJitLink(load_nvjitlink())
    except (ImportError, RuntimeError) as error:
        raise UnsupportedError(
            "there is no nvJitLink, which assembles kernels for cuda: install the packages "
            "cuda-bindings and nvidia-nvjitlink",
            notes=str(error).splitlines()[:1],
        ) from None


@functools.cache
def load_nvjitlink() -> Any:
    """Returns the bindings; raises ImportError or RuntimeError if a library is missing."""
    library: Any = importlib.import_module("cuda.bindings.nvjitlink")
    library.version()  # loads the library
    return library


def read_resources(output: str) -> tuple[int, int]:
    """Returns registers and spilled bytes per thread from the output of ptxas or nvJitLink.

    The registers of the kernel include those of the functions that it calls. The spilled bytes are
    summed over all functions. Raises CompileError if the output has no such figures.
    """
    registers = _LINKED_REGISTERS.search(output) or _PTXAS_REGISTERS.search(output)
    spills = _SPILLS.findall(output)
    if registers is None or not spills:
        raise CompileError(
            "the assembler does not report the kernel's registers and spills", notes=[output]
        )
    return int(registers[1]), sum(int(stores) + int(loads) for stores, loads in spills)


@functools.cache
def _hash_of(file: Path) -> str:
    return hash_files([file])


def _read_log(size: Any, read: Any, handle: int) -> str:
    log = bytearray(size(handle))
    if log:
        read(handle, log)
    return log.replace(b"\0", b"").decode(errors="replace")


def _notes(output: str) -> list[str]:
    return output.strip().splitlines()[:_MOST_NOTES]
