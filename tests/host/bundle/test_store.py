"""The store of bundles: entries, rejected entries, and many processes at once."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from ark_mlir import knobs
from ark_mlir.bundle import Bundle, store
from ark_mlir.bundle.store import BundleStore, default_store
from ark_mlir.errors import InvalidUsageError
from ark_mlir.testing.toy import add_program

Log = pytest.LogCaptureFixture
LIMIT = 1 << 30


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_SAID", set())


def made(trace: bool = False, padding: int = 0) -> Bundle:
    return Bundle.from_parts(*add_program().parts(b"\x7fELF" + bytes(padding), trace=trace))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# -- saving and loading ----------------------------------------------------------------------------


def test_a_saved_bundle_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "yet"
    kept = BundleStore(folder, LIMIT)
    assert kept.load("a") is None
    kept.save("a", made(trace=True))
    loaded = BundleStore(folder, LIMIT).load("a")
    assert loaded is not None
    assert loaded.manifest.traced
    assert bytes(loaded.sections["kernel"]) == b"\x7fELF"
    # A compiled bundle has no file, and hence no signature.
    assert loaded.where == made().where
    assert BundleStore(folder, LIMIT).load("b") is None
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_second_save_replaces_the_first(tmp_path: Path) -> None:
    kept = BundleStore(tmp_path, LIMIT)
    kept.save("a", made(trace=False))
    kept.save("a", made(trace=True))
    loaded = kept.load("a")
    assert loaded is not None
    assert loaded.manifest.traced


def test_usage(tmp_path: Path) -> None:
    kept = BundleStore(tmp_path / "new", LIMIT)
    assert kept.usage() == store.Usage(0, 0, 0, 0)
    kept.save("a", made())
    kept.save("b", made())
    for key in ("a", "a", "b", "c"):
        kept.load(key)
    usage = kept.usage()
    assert (usage.entries, usage.hits, usage.misses) == (2, 3, 1)
    assert usage.bytes == sum(path.stat().st_size for path in kept.folder.glob("*.arkbin"))


# -- rejected entries ------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "longer", "a folder"])
def test_damage_is_found_and_logged_once(tmp_path: Path, damage: str, caplog: Log) -> None:
    kept = BundleStore(tmp_path, LIMIT)
    kept.save("a", made(padding=100))
    path = tmp_path / "a.arkbin"
    data = path.read_bytes()
    if damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            {
                "truncated": data[:-1],
                "empty": b"",
                "flipped": data[:-50] + bytes([data[-50] ^ 1]) + data[-49:],
                "longer": data + b"\0",
            }[damage]
        )
    assert kept.load("a") is None
    assert kept.load("a") is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "a.arkbin is not used, and the program is recompiled" in record.getMessage()


def test_a_change_of_any_byte_is_found(tmp_path: Path) -> None:
    kept = BundleStore(tmp_path, LIMIT)
    kept.save("a", made())
    path = tmp_path / "a.arkbin"
    data = path.read_bytes()
    for index in range(0, len(data), 7):
        path.write_bytes(data[:index] + bytes([data[index] ^ 0x10]) + data[index + 1 :])
        assert kept.load("a") is None, index


def test_an_entry_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    kept = BundleStore(tmp_path, LIMIT)
    kept.save("a", made())
    if os.geteuid() == 0:
        os.chown(tmp_path / "a.arkbin", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert kept.load("a") is None
    assert "belongs to user" in caplog.text


# -- folders that cannot be used -------------------------------------------------------------------


def test_a_store_without_a_folder_logs_a_warning(tmp_path: Path, caplog: Log) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        kept = BundleStore(tmp_path / "file" / "cache", LIMIT)
        assert kept.load("a") is None
        kept.save("a", made())
    kinds = [record.getMessage() for record in caplog.records]
    assert len(kinds) == 2  # reading and writing fail, each with one warning
    assert all("compiling without the cache" in kind for kind in kinds)
    assert kept.usage() == store.Usage(0, 0, 0, 0)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Log, call: str, number: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    kept = BundleStore(tmp_path, LIMIT)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        kept.save("a", made())
        kept.save("b", made())
    (record,) = caplog.records
    assert os.strerror(number) in record.getMessage()
    assert names(tmp_path) == set()
    kept.save("a", made())
    assert kept.load("a") is not None


# -- size ------------------------------------------------------------------------------------------


def aged(path: Path, seconds: float) -> None:
    status = path.stat()
    os.utime(path, (status.st_atime, status.st_mtime - seconds))


def test_the_least_recently_used_entry_is_removed_first(tmp_path: Path) -> None:
    size = _size(tmp_path / "probe")
    kept = BundleStore(tmp_path / "cache", int(4.5 * size))
    for age, key in enumerate("abcd"):
        kept.save(key, made())
        aged(kept.folder / f"{key}.arkbin", 100 - age)
    assert kept.load("a") is not None  # used now
    kept.save("e", made())
    assert {path.stem for path in kept.folder.glob("*.arkbin")} == set("acde")


def test_an_entry_beyond_the_limit_does_not_stay(tmp_path: Path) -> None:
    kept = BundleStore(tmp_path, limit=100)
    kept.save("a", made())
    assert names(tmp_path) == set()


def test_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    kept = BundleStore(tmp_path, LIMIT)
    for name in (".a.arkbin.0123", ".b.arkbin.4567", "notes.txt"):
        (tmp_path / name).write_text("part")
    aged(tmp_path / ".a.arkbin.0123", 7200)
    aged(tmp_path / "notes.txt", 7200)
    kept.save("c", made())
    assert names(tmp_path) == {".b.arkbin.4567", "notes.txt", "c.arkbin"}


def _size(folder: Path) -> int:
    kept = BundleStore(folder, LIMIT)
    kept.save("a", made())
    return kept.usage().bytes


# -- many processes --------------------------------------------------------------------------------

WORKER = """
import logging, sys, random
from pathlib import Path
from ark_mlir.bundle import Bundle
from ark_mlir.bundle.store import BundleStore
from ark_mlir.testing.toy import add_program

logging.basicConfig(level=logging.WARNING)
folder, limit, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
store = BundleStore(folder, limit)
sys.stdin.readline()  # all start at once
for _ in range(40):
    key = draw.randrange(6)
    bundle = store.load(str(key))
    if bundle is None:
        image = b"\\x7fELF" + bytes([key]) * 5000
        store.save(str(key), Bundle.from_parts(*add_program().parts(image)))
    else:
        assert bytes(bundle.sections["kernel"])[4:] == bytes([key]) * 5000, key
"""


@pytest.fixture
def workers(tmp_path: Path) -> Generator[list[subprocess.Popen[str]]]:
    """16 processes that read and write six entries of one folder with room for three."""
    limit = int(3.5 * (_size(tmp_path / "probe") + 5000))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "cache"), str(limit), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for seed in range(16)
    ]
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_sixteen_processes_share_a_store(
    tmp_path: Path, workers: list[subprocess.Popen[str]]
) -> None:
    for process in workers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [(process.communicate(timeout=500)[0], process.returncode) for process in workers]
    # No process logged a damaged entry or a failed write.
    assert results == [("", 0)] * 16
    kept = BundleStore(tmp_path / "cache", LIMIT)
    usage = kept.usage()
    assert usage.entries <= 3
    assert usage.hits + usage.misses == 16 * 40
    assert usage.hits > 0
    assert all(not name.startswith(".") for name in names(kept.folder))


# -- folder and size limit -------------------------------------------------------------------------


def test_the_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"

    def folder_of(**variables: str | None) -> Path | None:
        with knobs.scope(**{"ARK_CACHE_DIR": None, "XDG_CACHE_HOME": None, **variables}):
            found = default_store()
            return found and found.folder

    monkeypatch.setenv("HOME", str(home))
    assert folder_of() == home / ".cache/ark"
    assert folder_of(XDG_CACHE_HOME=str(tmp_path)) == tmp_path / "ark"
    assert folder_of(XDG_CACHE_HOME="not/absolute") == home / ".cache/ark"
    assert folder_of(ARK_CACHE_DIR="here", XDG_CACHE_HOME="/var/cache") == Path("here")

    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    assert folder_of() is None


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("500", 500), ("2K", 2048), ("3m", 3 << 20), ("1G", 1 << 30)]
)
def test_size(text: str, size: int) -> None:
    with knobs.scope(ARK_CACHE_SIZE=text):
        assert knobs.CACHE_SIZE.get() == size


@pytest.mark.parametrize("text", ["-1", "much", "G", "1.5G"])
def test_an_invalid_size_raises(text: str) -> None:
    with knobs.scope(ARK_CACHE_SIZE=text), pytest.raises(InvalidUsageError, match="ARK_CACHE_SIZE"):
        knobs.CACHE_SIZE.get()
