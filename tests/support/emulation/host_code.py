"""Host code for kernels: the library that emulates a GPU, and shared objects of kernels."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from .lower import Lowered

TOOLS = ("clang++-22", "llvm-dis-22", "opt-22", "mlir-translate-22")
_HERE = Path(__file__).parent
_COMPILER = ["clang++-22", "-fPIC"]


def missing_tools() -> list[str]:
    """Returns the tools for an emulation that this machine lacks; empty if it has all."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def build_library(folder: Path) -> Path:
    """Returns the library, compiled once per folder; its name has a hash of its sources."""
    parts = sorted(path for path in _HERE.iterdir() if path.suffix in (".cpp", ".h"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in parts)).hexdigest()[:16]
    output = folder / f"libark_emulation-{digest}.so"
    if not output.exists():
        sources = [str(path) for path in parts if path.suffix == ".cpp"]
        # Other processes may compile it at the same time.
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".so", delete=False) as made:
            command = [*_COMPILER, "-std=c++17", "-O2", "-Wall", "-Werror", "-shared"]
            subprocess.run([*command, "-Wl,-z,defs", *sources, "-o", made.name], check=True)
        os.replace(made.name, output)
    return output


@cache
def load_library(path: Path) -> Any:
    """Returns the library; a process has only one, since it holds the memory of the GPU."""
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    pointer, number, small = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    for name, result, arguments in (
        ("simt_set_devices", small, [small]),
        ("simt_allocate", pointer, [number, small, small]),
        ("simt_reserve", pointer, [number, number]),
        ("simt_release", None, [pointer]),
        ("simt_map", small, [pointer, number, small]),
        ("simt_set_access", None, [pointer, ctypes.c_uint32]),
        ("simt_free", None, [pointer]),
        ("simt_write", None, [pointer, pointer, number]),
        ("simt_read", None, [pointer, pointer, number]),
        ("simt_clear_variables", None, []),
        ("simt_add_variables", None, [pointer, small]),
        ("simt_set_room", None, [small]),
        ("simt_get_failure", ctypes.c_char_p, []),
        ("simt_count_banks", None, [small]),
        ("simt_get_banks", number, [small, small, small]),
        ("simt_clear_ports", None, []),
        ("simt_add_proxy", small, [pointer, pointer, number, number, number, number]),
        ("simt_add_semaphore", None, [small, pointer, small]),
        ("simt_add_memory", None, [small, pointer, number]),
        ("simt_hold_ports", None, [number]),
        ("simt_run_ports", None, []),
        ("simt_count_messages", small, []),
        ("simt_get_port_problem", ctypes.c_char_p, []),
        (
            "simt_launch",
            small,
            [pointer, small, small, small, number, ctypes.c_uint64, pointer, pointer],
        ),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def compile_kernel(lowered: Lowered, library: Path, folder: Path) -> bytes:
    """Compiles a shared object with ``ark_kernel(context)`` and a table of its variables.

    Raises subprocess.CalledProcessError if the kernel has an instruction that the emulator lacks.
    """
    source, output = folder / "kernel.ll", folder / "kernel.so"
    source.write_text(lowered.text)
    command = [*_COMPILER, "-O1", "-shared", "-Wl,-z,defs", "-Wno-override-module"]
    subprocess.run([*command, str(source), str(library), "-o", str(output)], check=True)
    return output.read_bytes()
