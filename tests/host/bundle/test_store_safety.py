"""The store is safe from other users of the machine, who may write, rename or link its files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ark_mlir import permissions
from ark_mlir.bundle import Bundle, read_bundle, store
from ark_mlir.bundle.store import BundleStore
from ark_mlir.permissions import find_weakness, make_private_folder
from ark_mlir.testing.toy import add_program

Log = pytest.LogCaptureFixture
LIMIT = 1 << 30
SOMEBODY = 12345


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_SAID", set())


@pytest.fixture
def kept(tmp_path: Path) -> BundleStore:
    """Returns a store with one entry, ``a``."""
    kept = BundleStore(tmp_path / "cache", LIMIT)
    kept.save("a", made())
    return kept


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077, 0o277, 0o777])
def umask(request: pytest.FixtureRequest) -> Generator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def made() -> Bundle:
    return Bundle.from_parts(*add_program().parts())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def owned_by_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or folder of another user: root changes its owner, other users simulate the change."""
    if os.geteuid() == 0:
        os.chown(path, SOMEBODY, -1, follow_symlinks=False)
        return
    number, real = path.lstat().st_ino, permissions.is_foreign
    monkeypatch.setattr(permissions, "is_foreign", lambda s: s.st_ino == number or real(s))
    for module in ("store", "reader"):
        monkeypatch.setattr(f"ark_mlir.bundle.{module}.is_foreign", permissions.is_foreign)


# -- modes of files and folders --------------------------------------------------------------------


def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    kept = BundleStore(tmp_path / "not" / "there", LIMIT)
    assert kept.load("a") is None
    kept.save("a", made())
    assert kept.load("a") is not None
    assert [mode(path) for path in (kept.folder.parent, kept.folder)] == [0o700, 0o700]
    assert {path.name: mode(path) for path in kept.folder.iterdir()} == {
        "a.arkbin": 0o600, "hits": 0o600 & ~umask, "misses": 0o600 & ~umask,
    }  # fmt: skip


def test_existing_folders_keep_their_modes(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "a" / "b")
    assert [mode(path) for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [
        0o755, 0o700, 0o700,
    ]  # fmt: skip
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "c"):
        with pytest.raises(NotADirectoryError):
            make_private_folder(path)


# -- entries ---------------------------------------------------------------------------------------


def test_a_renamed_entry_is_not_used(kept: BundleStore, caplog: Log) -> None:
    """The entry is a valid bundle of this user, under the key of another program."""
    (kept.folder / "a.arkbin").rename(kept.folder / "b.arkbin")
    assert kept.load("b") is None
    assert "made for another key" in caplog.text
    kept.save("b", made())
    assert kept.load("b") is not None


def test_a_bundle_that_no_store_wrote_is_not_used(kept: BundleStore) -> None:
    made().save(kept.folder / "b.arkbin")
    assert kept.load("b") is None


def test_the_key_stays_in_the_store(kept: BundleStore, tmp_path: Path) -> None:
    """The key is not part of the loaded bundle: equal programs give equal files."""
    loaded = kept.load("a")
    assert loaded is not None
    assert read_bundle(kept.folder / "a.arkbin").manifest.options["cache_key"] == "a"
    made().save(tmp_path / "made")
    loaded.save(tmp_path / "loaded")
    assert (tmp_path / "made").read_bytes() == (tmp_path / "loaded").read_bytes()


@pytest.mark.parametrize("bits", [0o620, 0o602, 0o666, 0o777])
def test_an_entry_that_others_can_write_is_not_used(
    kept: BundleStore, monkeypatch: pytest.MonkeyPatch, caplog: Log, bits: int
) -> None:
    monkeypatch.setattr(permissions, "_is_private_group", lambda gid: False)
    path = kept.folder / "a.arkbin"
    path.chmod(bits)
    assert kept.load("a") is None
    assert f"can be written by others (mode {bits:o})" in caplog.text
    kept.save("a", made())
    assert mode(path) == 0o600
    assert kept.load("a") is not None


def test_a_linked_entry_is_not_used(kept: BundleStore, tmp_path: Path, caplog: Log) -> None:
    elsewhere = tmp_path / "elsewhere.arkbin"
    (kept.folder / "a.arkbin").rename(elsewhere)
    (kept.folder / "a.arkbin").symlink_to(elsewhere)
    assert kept.load("a") is None
    assert "is a symbolic link" in caplog.text
    kept.save("a", made())  # the new file replaces the link, not its target
    assert not (kept.folder / "a.arkbin").is_symlink()
    assert kept.load("a") is not None


def test_counters_do_not_follow_links(kept: BundleStore, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    (kept.folder / "hits").unlink(missing_ok=True)
    (kept.folder / "hits").symlink_to(tmp_path / "mine")
    (kept.folder / "misses").unlink(missing_ok=True)
    os.mkfifo(kept.folder / "misses")
    assert kept.load("a") is not None
    assert kept.load("b") is None
    assert (tmp_path / "mine").read_text() == ""


# -- folders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o777, 0o770, 0o1777, 0o707])
def test_a_folder_that_others_can_write_loses_this_permission(
    kept: BundleStore, monkeypatch: pytest.MonkeyPatch, caplog: Log, bits: int
) -> None:
    monkeypatch.setattr(permissions, "_is_private_group", lambda gid: False)
    kept.folder.chmod(bits)
    assert kept.load("a") is not None
    assert mode(kept.folder) == 0o700
    (record,) = caplog.records
    assert f"others could write the cache {kept.folder} (mode {bits:o})" in record.getMessage()


def test_a_folder_whose_permissions_cannot_be_changed_is_not_used(
    kept: BundleStore, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    kept.folder.chmod(0o777)
    monkeypatch.setattr(os, "chmod", fail)
    assert kept.load("a") is None
    kept.save("b", made())
    assert not (kept.folder / "b.arkbin").exists()
    assert "is not safe: its permissions cannot be read: Operation not permitted" in caplog.text


def refuses(kept: BundleStore, caplog: Log, reason: str) -> None:
    before = sorted(os.listdir(kept.folder))
    assert kept.load("a") is None
    kept.save("b", made())
    assert sorted(os.listdir(kept.folder)) == before
    (record,) = caplog.records
    assert f"compiling without the cache {kept.folder}, which is not safe" in record.getMessage()
    assert reason in record.getMessage()


def test_a_folder_of_another_user_is_not_used(
    kept: BundleStore, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    owned_by_another_user(kept.folder, monkeypatch)
    refuses(kept, caplog, "it belongs to user")


def test_a_folder_above_that_others_can_write(
    kept: BundleStore, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    """Another user could replace this folder."""
    monkeypatch.setattr(permissions, "_is_private_group", lambda gid: False)
    kept.folder.parent.chmod(0o775)
    refuses(kept, caplog, f"{kept.folder.parent} can be written by others (mode 775)")
    kept.folder.parent.chmod(0o1777)  # as in /tmp
    assert kept.load("a") is not None


def test_a_parent_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    kept = BundleStore(tmp_path / "above" / "cache", LIMIT)
    kept.save("a", made())
    owned_by_another_user(tmp_path / "above", monkeypatch)
    refuses(kept, caplog, f"{tmp_path / 'above'} belongs to user")


def test_links_in_the_path_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Log
) -> None:
    """A link of this user is followed and its target checked; links of other users are rejected."""
    monkeypatch.setattr(permissions, "_is_private_group", lambda gid: False)
    beyond = tmp_path / "open"
    real = BundleStore(beyond / "cache", LIMIT)
    real.save("a", made())
    (tmp_path / "here").mkdir()
    for name, target in (("absolute", beyond / "cache"), ("relative", Path("../open/cache"))):
        (tmp_path / "here" / name).symlink_to(target)
        linked = BundleStore(tmp_path / "here" / name, LIMIT)
        assert linked.load("a") is not None
    beyond.chmod(0o777)
    assert find_weakness(linked.folder) == f"{beyond} can be written by others (mode 777)"
    beyond.chmod(0o700)
    owned_by_another_user(linked.folder, monkeypatch)
    refuses(linked, caplog, f"{linked.folder} belongs to user")


def test_links_in_a_circle(tmp_path: Path, caplog: Log) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    kept = BundleStore(tmp_path / "a" / "cache", LIMIT)
    assert kept.load("a") is None
    assert "levels of symbolic links" in caplog.text


def test_relative_folders(kept: BundleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kept.folder)
    assert BundleStore(Path("../cache"), LIMIT).load("a") is not None
    assert BundleStore(Path("."), LIMIT).load("a") is not None


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "own"),
    [
        ({"gr_name": "me", "gr_mem": []}, True),
        ({"gr_name": "me", "gr_mem": ["me"]}, True),
        ({"gr_name": "me", "gr_mem": ["me", "you"]}, False),
        ({"gr_name": "users", "gr_mem": []}, False),
        (None, False),
    ],
)
def test_the_group_of_one_user(
    monkeypatch: pytest.MonkeyPatch, group: dict[str, Any] | None, own: bool
) -> None:
    def look_up(gid: int) -> Any:
        if group is None:
            raise KeyError(gid)
        return SimpleNamespace(**group)

    user = SimpleNamespace(pw_name="me", pw_gid=77)
    monkeypatch.setattr(permissions, "pwd", SimpleNamespace(getpwuid=lambda uid: user))
    monkeypatch.setattr(permissions, "grp", SimpleNamespace(getgrgid=look_up))
    status: Any = SimpleNamespace(st_mode=0o40775, st_gid=77)
    assert permissions.others_can_write(status) is not own
    status.st_gid = 78
    assert permissions.others_can_write(status)
