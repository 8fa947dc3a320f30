"""A folder of bundles by key, which any number of processes may use at once.

An entry is a bundle file named after its key. The file also holds the key, so that a renamed entry
is not taken for another one. An entry appears by an atomic rename and is checked in full whenever
it is read. When the folder exceeds its limit, the least recently used entries are removed. Any file
of the folder may be deleted at any time.

Kernels are native code that runs without review. The folder and its entries are therefore private
to this user, and files that another user could have written are not used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from .. import knobs
from ..errors import BundleError
from ..permissions import find_weakness, is_foreign, make_private_folder, others_can_write
from .bundle import Bundle, write_bundle
from .reader import read_bundle

__all__ = ["BundleStore", "Usage", "default_store"]

_LOG = logging.getLogger("ark.cache")
_SUFFIX = ".arkbin"
# The option of an entry's manifest that holds its key; `load` removes it.
_KEY_OPTION = "cache_key"
# Age in seconds after which a temporary file counts as left behind by a process that was killed.
_STALE_SECONDS = 3600.0
# Eviction goes a little below the limit, so that not every new entry evicts.
_KEPT_SHARE = 0.9
_SAID: set[str] = set()


@dataclass(frozen=True)
class Usage:
    """The contents of a store, and its counts of hits and misses.

    Attributes:
        entries: number of bundles in the folder.
        bytes: total size of the bundles.
        hits, misses: number of look-ups that found a bundle, and of look-ups that found none, since
            the folder was created.
    """

    entries: int
    bytes: int
    hits: int
    misses: int


@dataclass(frozen=True)
class _Entry:
    """A file of the folder, with its size and time of last use."""

    used: float
    path: Path
    size: int


class BundleStore:
    """The bundles in `folder`, of `limit` bytes at most.

    If the folder cannot be read or written, no method raises an error: `load` returns None, `save`
    stores nothing, and one warning per process states the reason.

    Example:
        >>> store = BundleStore(Path("cache"), limit=1 << 30)
        >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
        >>> store.save("0123abcd", bundle)
        >>> store.load("0123abcd").manifest == bundle.manifest
        True
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit

    def load(self, key: str) -> Bundle | None:
        """Returns the bundle of `key`, checked in full, or None if there is no valid entry."""
        bundle = self._read(key) if self._safe() else None
        self._count("misses" if bundle is None else "hits")
        return bundle

    def save(self, key: str, bundle: Bundle) -> None:
        """Stores a bundle under `key`, and removes others if the folder exceeds its limit."""
        manifest = dataclasses.replace(
            bundle.manifest, options={**bundle.manifest.options, _KEY_OPTION: key}
        )
        try:
            make_private_folder(self.folder)
            if not self._safe():
                return
            write_bundle(self._path(key), manifest, bundle.sections, durable=True, private=True)
        except OSError as error:
            self._warn(f"cannot be written: {error.strerror or error}")
            return
        self._evict()

    def usage(self) -> Usage:
        """Returns the present size of the folder, with the counts of hits and misses."""
        entries = self._entries()
        return Usage(
            len(entries),
            sum(entry.size for entry in entries),
            self._counted("hits"),
            self._counted("misses"),
        )

    # -- entries -----------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _safe(self) -> bool:
        """Returns True if the folder is safe: no other user can write it, or it does not exist.

        If this user owns the folder and others can write it, their permission is removed. Files
        that they own stay in the folder, and `read_bundle` rejects them.
        """
        try:
            reason = find_weakness(self.folder) or self._restrict()
        except FileNotFoundError:
            return True
        except OSError as error:
            reason = f"its permissions cannot be read: {error.strerror or error}"
        if reason is not None:
            self._warn(f"is not safe: {reason}")
        return reason is None

    def _restrict(self) -> str | None:
        status = self.folder.stat()
        if not stat.S_ISDIR(status.st_mode):
            return None  # reading and writing the folder reports this error
        if is_foreign(status):
            return f"it belongs to user {status.st_uid}"
        if others_can_write(status):
            mode = stat.S_IMODE(status.st_mode)
            os.chmod(self.folder, 0o700)
            _warn_once(
                f"others could write the cache {self.folder} (mode {mode:o}); now they cannot "
                "(mode 700)"
            )
        return None

    def _read(self, key: str) -> Bundle | None:
        path = self._path(key)
        try:
            bundle = read_bundle(path, from_cache=True)
            bundle = self._without_key(bundle, key)
        except BundleError as error:
            self._explain(path, error)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # eviction removes the least recently used entries
        return bundle

    def _without_key(self, bundle: Bundle, key: str) -> Bundle:
        """Returns the bundle without the option that holds its key.

        Raises BundleError if the entry was saved under another key.
        """
        options = dict(bundle.manifest.options)
        if options.pop(_KEY_OPTION, None) != key:
            raise BundleError("it was made for another key, and renamed")
        manifest = dataclasses.replace(bundle.manifest, options=options)
        return dataclasses.replace(bundle, manifest=manifest, where="bundle")

    def _explain(self, path: Path, error: BundleError) -> None:
        """Warns of the reason why an entry cannot be used, unless the entry does not exist."""
        cause = error.__cause__
        if isinstance(cause, OSError):
            if not isinstance(cause, FileNotFoundError):
                self._warn(f"cannot be read: {cause.strerror or cause}")
            return
        _warn_once(f"{path.name} is not used, and the program is recompiled: {error.message}")

    def _warn(self, reason: str) -> None:
        _warn_once(f"compiling without the cache {self.folder}, which {reason}")

    # -- size --------------------------------------------------------------------------------

    def _entries(self) -> list[_Entry]:
        return [entry for entry in self._files() if entry.path.name.endswith(_SUFFIX)]

    def _files(self) -> list[_Entry]:
        """Returns the entries, and the temporary files of entries that are being written."""
        found: list[_Entry] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                # Another process may remove the file meanwhile.
                with contextlib.suppress(OSError):
                    if _SUFFIX in file.name and file.is_file(follow_symlinks=False):
                        status = file.stat(follow_symlinks=False)
                        found.append(_Entry(status.st_mtime, Path(file.path), status.st_size))
        return found

    def _evict(self) -> None:
        """Removes the least recently used files until the folder is within its limit.

        Every process evicts after each entry that it saves, so that the last of several processes
        sees all entries. Two processes that remove the same file at once both count its bytes as
        freed. A process that has opened an entry can still read it after its removal.
        """
        stale = time.time() - _STALE_SECONDS
        entries: list[_Entry] = []
        for file in self._files():
            if file.path.name.endswith(_SUFFIX):
                entries.append(file)
            elif file.used < stale:
                _remove(file.path)
        total = sum(entry.size for entry in entries)
        if total <= self.limit:
            return
        for entry in sorted(entries, key=lambda entry: (entry.used, entry.path)):
            if total <= self.limit * _KEPT_SHARE:
                return
            _remove(entry.path)
            total -= entry.size

    # -- counts ------------------------------------------------------------------------------

    def _count(self, name: str) -> None:
        # Appending one byte per event needs no lock.
        with contextlib.suppress(OSError):
            make_private_folder(self.folder)
            if not self._safe():
                return
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            descriptor = os.open(self.folder / name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
            try:
                os.write(descriptor, b".")
            finally:
                os.close(descriptor)

    def _counted(self, name: str) -> int:
        try:
            return os.stat(self.folder / name).st_size
        except OSError:
            return 0


def default_store() -> BundleStore | None:
    """Returns the cache in ``ARK_CACHE_DIR``, or else in the user's cache folder.

    Returns None if the user has no home folder.
    """
    folder = knobs.CACHE_DIR.get()
    if folder is not None:
        return BundleStore(Path(folder), knobs.CACHE_SIZE.get())
    base = Path(knobs.XDG_CACHE_HOME.get() or "")
    # The XDG specification says that relative paths are to be ignored.
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            return None
    return BundleStore(base / "ark", knobs.CACHE_SIZE.get())


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _warn_once(message: str) -> None:
    if message not in _SAID:
        _SAID.add(message)
        _LOG.warning("%s", message)
