"""LLVM's linker: an object file becomes a shared object."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

from ..errors import CompileError, UnsupportedError
from .fingerprints import loaded_libraries
from .scratch import scratch_file

# No hash of the build, no path: equal objects give equal kernels.
_FLAGS = (
    "-shared", "--build-id=none", "--hash-style=gnu", "--gc-sections", "--strip-debug",
    "-z", "now", "-z", "relro", "-z", "noexecstack",
)  # fmt: skip

# In a wheel that has LLVM inside.
_BUNDLED = Path(__file__).parents[1] / "_mlir_libs" / "ld.lld"


def link(code: bytes, *flags: str) -> bytes:
    """The shared object made of one relocatable object, with further flags for the linker.

    Symbols of the C and maths library stay open: the process that loads it has them.

    Raises:
        UnsupportedError: there is no linker.
        CompileError: the linker refuses the object, or the disk is full.
    """
    linker = find_linker()
    # Nothing with a name, so that nothing stays behind when this process is killed.
    with scratch_file() as source:
        source.write(code)
        source.flush()
        place = f"/dev/fd/{source.fileno()}"
        command = [linker, *_FLAGS, *flags, "-o", "-", place]
        done = subprocess.run(
            command, capture_output=True, check=False, pass_fds=(source.fileno(),)
        )
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise CompileError(
            f"{Path(linker).name} failed with status {done.returncode}", notes=reason[:8]
        )
    return done.stdout


@functools.cache
def find_linker() -> str:
    """The path of ``ld.lld``: the package's own, that beside the LLVM in use, else in PATH.

    Raises UnsupportedError, which says what to install, when there is none.
    """
    for candidate in (_BUNDLED, *(prefix / "bin" / "ld.lld" for prefix in _llvm_prefixes())):
        if candidate.exists():
            return str(candidate)
    for name in ("ld.lld-22", "ld.lld"):
        if found := shutil.which(name):
            return found
    raise UnsupportedError(
        "no linker: compiling for cpu and hip needs LLVM's ld.lld (Debian: apt install lld-22)"
    )


def _llvm_prefixes() -> list[Path]:
    """Returns the prefixes of the installations of the loaded libraries of LLVM."""
    libraries = loaded_libraries(("libMLIR.so", "libLLVM.so"))
    return sorted({file.parent.parent for file in libraries})
