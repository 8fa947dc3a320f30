"""LLVM's linker, which links an object file to a shared object."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

from ..errors import CompileError, UnsupportedError
from ..tools import run_tool
from .fingerprints import loaded_libraries
from .scratch import scratch_file

# Without a build id and paths, equal objects give equal kernels.
_FLAGS = (
    "-shared", "--build-id=none", "--hash-style=gnu", "--gc-sections", "--strip-debug",
    "-z", "now", "-z", "relro", "-z", "noexecstack",
)  # fmt: skip

# The linker in a wheel that includes LLVM.
_BUNDLED = Path(__file__).parents[1] / "_mlir_libs" / "ld.lld"


def link(code: bytes, *flags: str) -> bytes:
    """Links a relocatable object to a shared object and returns its bytes.

    Symbols of the C and maths library stay undefined; the process that loads the object has them.

    Raises:
        UnsupportedError: the linker is not installed.
        CompileError: the linker failed or did not end in time, or the disk is full.
    """
    linker = find_linker()
    # The files have no names, so that none is left if this process is killed.
    with scratch_file() as source:
        source.write(code)
        source.flush()
        path = f"/dev/fd/{source.fileno()}"
        command = [linker, *_FLAGS, *flags, "-o", "-", path]
        done = run_tool(command, capture_output=True, pass_fds=(source.fileno(),))
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise CompileError(
            f"{Path(linker).name} failed with status {done.returncode}", notes=reason[:8]
        )
    return done.stdout


@functools.cache
def find_linker() -> str:
    """Returns the path of ``ld.lld`` in the package, beside the loaded LLVM, or in PATH.

    Raises UnsupportedError if it is not installed.
    """
    for candidate in (_BUNDLED, *(prefix / "bin" / "ld.lld" for prefix in _llvm_prefixes())):
        if candidate.exists():
            return str(candidate)
    for name in ("ld.lld-22", "ld.lld"):
        if found := shutil.which(name):
            return found
    raise UnsupportedError(
        "LLVM's ld.lld, which links kernels for cpu and hip, is not installed "
        "(Debian: apt install lld-22)"
    )


def _llvm_prefixes() -> list[Path]:
    """Returns the prefixes of the installations of the loaded libraries of LLVM."""
    libraries = loaded_libraries(("libMLIR.so", "libLLVM.so"))
    return sorted({file.parent.parent for file in libraries})
