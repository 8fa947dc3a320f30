"""The cache of compiled programs.

The key of a program is a hash of everything on which its bundle depends: the build of the compiler,
the target with the processor's features, the options that change the bundle, and the module with
its constants and locations. Locations are part of the key since they are part of the bundle: a
bundle from the cache has the same bytes as a new one.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .. import ir, knobs
from .._mlir_libs import _ark
from ..bundle import Bundle
from ..bundle.store import BundleStore, default_store
from ..devices import most_ranks_per_device
from ..paths import as_path
from ..targets import Backend, Target
from ..targets.fingerprints import hash_files, loaded_libraries
from .options import CompileOptions
from .source import bytecode

__all__ = ["Slot", "bundle_options", "compiler_build", "find_slot", "program_key"]

_LOG = logging.getLogger("ark.cache")

_FORMAT = b"ark cache 1"
# The Python packages on which a bundle depends; the rest of the compiler is in the extension.
_PACKAGES = ("bundle", "compiler", "targets")


@dataclass(frozen=True)
class Slot:
    """The file of one program in a cache."""

    store: BundleStore
    key: str

    def load(self) -> Bundle | None:
        """Returns the bundle in the cache, or None."""
        start = time.perf_counter()
        bundle = self.store.load(self.key)
        found = "not in the cache" if bundle is None else "from the cache"
        _LOG.info("%s: %.3f s, %s", found, time.perf_counter() - start, self.key)
        return bundle

    def save(self, bundle: Bundle) -> None:
        """Writes the bundle to the cache."""
        self.store.save(self.key, bundle)


def find_slot(
    module: ir.Operation,
    machine: Target,
    backend: Backend,
    options: CompileOptions,
    *,
    schedule: bool = False,
) -> Slot | None:
    """Returns the file of the bundle of `module` in the cache; None if the cache is not used.

    A compilation that dumps its stages does not use the cache. `schedule` is True for the bundle
    without machine code, which has a file of its own.
    """
    dumps = options.dump_dir is not None or knobs.DUMP_DIR.get() is not None
    store = None if dumps else _chosen_store(options)
    if store is None:
        return None
    try:
        key = program_key(module, machine, backend, options)
        return Slot(store, f"{key}-schedule" if schedule else key)
    except OSError as error:
        _LOG.warning("compiling without the cache: the compiler's files: %s", error)
        return None


def _chosen_store(options: CompileOptions) -> BundleStore | None:
    chosen = knobs.CACHE.get() if options.cache is None else options.cache
    if isinstance(chosen, bool):
        return default_store() if chosen else None
    return BundleStore(as_path(chosen, "the cache's folder"), knobs.CACHE_SIZE.get())


def program_key(
    module: ir.Operation, machine: Target, backend: Backend, options: CompileOptions
) -> str:
    """Returns the key of the bundle of `module`, as a hexadecimal number."""
    parts = (
        _FORMAT,
        compiler_build().encode(),
        machine.mlir.encode(),
        backend.fingerprint(options.cpu).encode(),
        repr(bundle_options(options)).encode(),
        bytecode(module),
    )
    digest = hashlib.sha256()
    for part in parts:
        # The length separates the parts: two lists of parts never give the same bytes.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def bundle_options(options: CompileOptions) -> dict[str, Any]:
    """Returns the options that change the bundle.

    The metadata of the other fields has ``changes_bundle: False``.
    """
    chosen: dict[str, Any] = {
        item.name: getattr(options, item.name)
        for item in fields(options)
        if item.metadata.get("changes_bundle", True)
    }
    # The order of a dict's items has no effect on the bundle.
    chosen["tile"] = sorted(options.tile.items())
    # The ordinals of the GPUs do not change the bundle. Ranks that share a GPU do.
    devices = options.devices
    chosen["one_device"] = devices is not None and len(set(devices)) == 1
    chosen["ranks_per_device"] = most_ranks_per_device(devices, 0)
    return dict(sorted(chosen.items()))


@functools.cache
def compiler_build() -> str:
    """Returns a hash of the compiler: the extension, LLVM, MLIR, and the Python files.

    Compiled files enter with their build id, which the linker computes from their content.
    """
    return hash_files([*_own_files(), *loaded_libraries(("libMLIR", "libLLVM"))])


def _own_files() -> Iterable[Path]:
    yield from sorted(Path(_ark.__file__).parent.glob("*.so"))
    package = Path(__file__).parents[1]
    for name in _PACKAGES:
        yield from sorted((package / name).rglob("*.py"))
    yield package / "dtypes.py"
