"""Compiled programs that are kept, so that nothing is compiled twice.

The key of a program is a hash of all that its bundle depends on: the compiler itself, the target
with the processor's features, every option that matters, and the module as it is, with its
constants and its locations. Locations are part of it because they are part of the bundle: what
comes from the cache is byte for byte what compiling would have made.
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
from ..paths import as_path
from ..targets import Backend, Target
from ..targets.fingerprints import hash_files, loaded_libraries
from .options import CompileOptions
from .source import bytecode

__all__ = ["Slot", "bundle_options", "compiler_build", "find_slot", "program_key"]

_LOG = logging.getLogger("ark.cache")

_FORMAT = b"ark cache 1"
# Whatever of the package makes a bundle out of a module; the rest is in the extension.
_PACKAGES = ("bundle", "compiler", "targets")


@dataclass(frozen=True)
class Slot:
    """The place of one program in a cache."""

    store: BundleStore
    key: str

    def load(self) -> Bundle | None:
        """The bundle that was made before, or None."""
        start = time.perf_counter()
        bundle = self.store.load(self.key)
        found = "not in the cache" if bundle is None else "from the cache"
        _LOG.info("%s: %.3f s, %s", found, time.perf_counter() - start, self.key)
        return bundle

    def save(self, bundle: Bundle) -> None:
        """Keeps the bundle for the next time."""
        self.store.save(self.key, bundle)


def find_slot(
    module: ir.Operation, machine: Target, backend: Backend, options: CompileOptions
) -> Slot | None:
    """Returns the place of the bundle of `module` in the cache; None if the cache is off or has no
    place for it.

    A compilation that dumps its stages has to run them, and leaves the cache alone.
    """
    dumps = options.dump_dir is not None or knobs.DUMP_DIR.get() is not None
    store = None if dumps else _chosen_store(options)
    if store is None:
        return None
    try:
        return Slot(store, program_key(module, machine, backend, options))
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
    """The key of what compiling `module` gives, in hex."""
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
        # With its length, so that no two lists of parts run into the same bytes.
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def bundle_options(options: CompileOptions) -> dict[str, Any]:
    """Returns the options that a bundle depends on; a new option is one unless its field says
    otherwise."""
    chosen: dict[str, Any] = {
        item.name: getattr(options, item.name)
        for item in fields(options)
        if item.metadata.get("changes_bundle", True)
    }
    # The order in which a dict was filled means nothing.
    chosen["tile"] = sorted(options.tile.items())
    # Which GPU it is does not matter, but ranks that share one are compiled for it.
    chosen["one_device"] = options.devices is not None and len(options.devices) == 1
    return dict(sorted(chosen.items()))


@functools.cache
def compiler_build() -> str:
    """A hash of the compiler: extension, LLVM and MLIR, and what of it is Python.

    Of compiled files their build id, which the linker made of their content.
    """
    return hash_files([*_own_files(), *loaded_libraries(("libMLIR", "libLLVM"))])


def _own_files() -> Iterable[Path]:
    yield from sorted(Path(_ark.__file__).parent.glob("*.so"))
    package = Path(__file__).parents[1]
    for name in _PACKAGES:
        yield from sorted((package / name).rglob("*.py"))
    yield package / "dtypes.py"
