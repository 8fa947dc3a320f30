"""``ark env``: prints versions, devices and variables of this machine."""

from __future__ import annotations

import argparse
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import knobs
from ..errors import ArkError, UnsupportedError
from ..units import size
from .common import Commands, add_command, import_compiler
from .readiness import find_readiness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..runtime.cuda.survey import Gpu

# Packages that ark can use; `ark env` reads the versions without an import.
_LIBRARIES = (
    "numpy",
    "ml_dtypes",
    "torch",
    "safetensors",
    "tokenizers",
    "ortools",
    "cryptography",
    "cuda-bindings",
    "hip-python",
)
_NONE = "none"
_VECTORS = (
    "sse4.2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bf16",
    "amx-tile",
    "neon",
    "sve",
)


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "env", "print versions, devices and variables", "ark env --json", run
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    found = collect()
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return 0
    for title, entries in found.items():
        print(title)
        width = max((len(name) for name in entries), default=0)
        for name, value in entries.items():
            print(f"  {name:<{width}}  {value}")
    return 0


def collect() -> dict[str, dict[str, Any]]:
    """Returns the output of the command, by section."""
    from .. import __version__
    from ..runtime.cpu import host

    nvidia = _devices("/dev", "nvidia[0-9]*")
    amd = _devices("/dev/dri", "renderD*") if Path("/dev/kfd").exists() else _NONE
    vectors = [name for name in _VECTORS if not host.missing_features((name,))]
    return {
        "ark": {
            "version": __version__,
            "compiler": _compiler(),
            "package": str(Path(__file__).parents[1]),
        },
        "python": {
            "version": platform.python_version(),
            **{name: _version(name) or "not installed" for name in _LIBRARIES},
        },
        "machine": {
            "system": platform.platform(),
            "processor": host.architecture(),
            "cores": host.cores(),
            "vectors": ", ".join(vectors) or "unknown",
            "nvidia": nvidia,
            "amd": amd,
            **_memory_of_ranks({"cuda": nvidia, "hip": amd}),
        },
        "gpus": {**gpus(), **amd_gpus()},
        "targets": {name: str(each) for name, each in find_readiness().items()},
        "assembler": assembler(),
        "cache": cache(),
        "variables": {name: _setting(knob) for name, knob in knobs.registry().items()},
    }


def gpus(driver: Any = None) -> dict[str, str]:
    """Returns the GPUs of NVIDIA with model, SMs, memory and links, and NVIDIA's driver.

    Args:
        driver: the module ``cuda.bindings.driver``, or a substitute for tests.
    """
    from ..runtime.cuda.survey import survey

    try:
        found = survey(driver)
    except ArkError as error:
        return {"nvidia": f"none: {error.message}"}
    return {
        "driver": f"{found.driver or 'version unknown'}, for CUDA {found.cuda}",
        **{f"GPU {gpu.ordinal}": _gpu(gpu, len(found.gpus)) for gpu in found.gpus},
    }


def amd_gpus(library: Any = None) -> dict[str, str]:
    """Returns the GPUs of AMD with model, CUs and memory, and the version of HIP.

    Args:
        library: hip-python, or a substitute for tests.
    """
    from ..runtime.hip.survey import survey

    try:
        found = survey(library)
    except ArkError as error:
        return {"amd": f"none: {error.message}"}
    return {
        "HIP": found.hip,
        **{
            f"AMD GPU {gpu.ordinal}": f"{gpu.kind}, {gpu.cus} CUs, {size(gpu.memory)}"
            for gpu in found.gpus
        },
    }


def _gpu(gpu: Gpu, count: int) -> str:
    text = f"{gpu.kind}, {gpu.sms} SMs, {size(gpu.memory)}"
    if count == 1:
        return text
    peers = ", ".join(map(str, gpu.peers))
    return f"{text}; accesses GPU {peers}" if peers else f"{text}; accesses no other GPU"


def assembler() -> dict[str, str]:
    """Returns the assembler that makes cubins of programs for cuda on this machine."""
    if compiler_version() is None:
        return {"name": "none: the compiler is not installed"}
    from ..targets.cuda_assembler import choose_assembler

    try:
        chosen = choose_assembler()
        origin = chosen.origin()
    except ArkError as error:
        return {"name": "; ".join((f"error: {error.message}", *error.notes))}
    return {"name": chosen.name, "version": origin.version, "path": origin.path}


def cache() -> dict[str, str]:
    """Returns the folder of the cache of compiled programs, its size, and its hits and misses."""
    from ..bundle.store import default_store

    try:
        store = default_store()
        off = not knobs.CACHE.get()
    except ArkError as error:
        return {"path": f"error: {error}"}
    if store is None:
        return {"path": "none: there is no home folder; set ARK_CACHE_DIR"}
    usage = store.usage()
    return {
        "path": f"{store.folder}{' (off)' if off else ''}",
        "size": f"{usage.bytes / 1e6:.1f} of {store.limit / 1e6:.0f} MB, {usage.entries} programs",
        "hits": f"{usage.hits} of {usage.hits + usage.misses} compilations",
    }


def version_line() -> str:
    """Returns the text that ``ark --version`` prints."""
    from .. import __version__

    return f"ark {__version__}"


def _compiler() -> str:
    version = compiler_version()
    if version is None:
        return "not installed: bundles can be run, not compiled"
    return f"with LLVM {version}"


def compiler_version() -> str | None:
    """Returns the compiler's version of LLVM, None if the compiler is not installed."""
    try:
        return str(import_compiler().LLVM_VERSION)
    except UnsupportedError:
        return None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _devices(folder: str, pattern: str) -> str:
    return ", ".join(sorted(path.name for path in Path(folder).glob(pattern))) or _NONE


def _memory_of_ranks(devices: Mapping[str, str]) -> dict[str, str]:
    """Returns the way in which processes share memory of GPUs; loads the vendor's driver.

    Args:
        devices: the devices of this machine for each backend.

    There is no entry if the machine has no GPU, and an entry for each backend if it has GPUs of
    both vendors.
    """
    from ..distributed.gpu_memory import find_sharing

    present = [backend for backend, names in devices.items() if names != _NONE]
    one = len(present) == 1
    return {
        "memory of ranks" if one else f"memory of ranks, {backend}": find_sharing(backend)
        for backend in present
    }


def _setting(knob: knobs.Knob[Any]) -> str:
    try:
        value = "unset" if knob.get() is None else str(knob.get())
    except ArkError as error:
        value = f"error: {error}"
    origin = "set" if knob.is_set else "default"
    return f"{value} ({origin}): {knob.help}"
