"""Files that are damaged or not bundles: each raises one BundleError that names the position."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.bundle import read_bundle, write_bundle
from ark_mlir.bundle.format import MAX_MANIFEST, Header
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import add_program


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.arkbin"
    write_bundle(path, *add_program().parts())
    return path


def patched(data: bytes, offset: int, value: bytes) -> bytes:
    return data[:offset] + value + data[offset + len(value) :]


def u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "at least 64"),
    "few-bytes": (lambda data: data[:10], "at least 64"),
    "magic": (lambda data: b"PK\3\4" + data[4:], "not a bundle"),
    "version": (lambda data: patched(data, 8, b"\4\0\0\0"), "version is 4"),
    "old-version": (lambda data: patched(data, 8, b"\2\0\0\0"), "compile the program again"),
    "flags": (lambda data: patched(data, 12, b"\1\0\0\0"), "format is unknown to this version"),
    "manifest-length-huge": (lambda data: patched(data, 16, u64(MAX_MANIFEST + 1)), "the limit"),
    "manifest-length-max": (lambda data: patched(data, 16, u64(2**64 - 1)), "the limit"),
    "manifest-longer-than-file": (lambda data: patched(data, 16, u64(len(data))), "not fit"),
    "manifest-length-zero": (lambda data: patched(data, 16, u64(0)), "altered"),
    "file-length": (lambda data: patched(data, 24, u64(2**63)), "truncated"),
    "truncated": (lambda data: data[:-1], "truncated"),
    "half": (lambda data: data[: len(data) // 2], "truncated"),
    "only-the-header": (lambda data: data[:64], "truncated"),
    "appended": (lambda data: data + b"\0", "appended"),
    "manifest-hash": (lambda data: patched(data, 40, b"\0\0"), "manifest: altered"),
    "manifest-byte": (lambda data: patched(data, 70, b"\0"), "manifest: altered"),
    "last-byte": (lambda data: data[:-1] + b"\1", "section constants: altered"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_raise_bundle_error(good: Path, damage: str) -> None:
    change, message = DAMAGES[damage]
    good.write_bytes(change(good.read_bytes()))
    with pytest.raises(BundleError, match=message) as caught:
        read_bundle(good)
    assert str(good) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_appended_bytes_raise_even_if_the_header_admits_them(good: Path) -> None:
    data = good.read_bytes()
    good.write_bytes(patched(data, 24, u64(len(data) + 64)) + bytes(64))
    with pytest.raises(BundleError, match="64 bytes after the last section"):
        read_bundle(good)


def test_padding_must_be_zero(good: Path) -> None:
    data = good.read_bytes()
    end = 64 + Header.unpack(data, len(data), "").manifest_size
    assert data[end] == 0, "this manifest happens to end at a multiple of 64"
    good.write_bytes(patched(data, end, b"\1"))
    with pytest.raises(BundleError, match="padding"):
        read_bundle(good)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t["lanes"].update(offset=t["lanes"]["offset"] + 64), "offset is .*; expected"),
        (lambda t: t["lanes"].update(offset=t["tasks"]["offset"]), "offset is .*; expected"),
        (lambda t: t["lanes"].update(offset=64), "offset is .*; expected"),
        (lambda t: t["constants"].update(size=1 << 30), "not in the file"),
        (lambda t: t["constants"].update(size=(1 << 63) - 1), r"is not in \[0"),
        (lambda t: t["constants"].update(size=1 << 70), r"is not in \[0"),
        (lambda t: t["constants"].update(size=0), "SHA-256|after the last"),
        (lambda t: t["constants"].update(offset=-64), r"is not in \[0"),
        (lambda t: t["kernel"].update(sha256="0" * 64), "section kernel: altered"),
        (lambda t: t["kernel"].update(sha256="0" * 63), "hex digits"),
        (lambda t: t["kernel"].update(sha256="G" * 64), "hex digits"),
        (lambda t: t["kernel"].update(path="/etc/passwd"), "unknown key 'path'"),
        (lambda t: t.pop("timeline"), "key 'timeline' is missing"),
        (lambda t: t.update(evil=t["lanes"]), "unknown key 'evil'"),
        (lambda t: t.update({"../kernel": t["lanes"]}), "unknown key"),
    ],
)
def test_table_of_sections(seal: Callable[..., Path], spoil: Any, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        read_bundle(seal(*add_program().parts(), move=spoil))


def test_paths_that_are_not_files_raise(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", ".", "loop", "pipe", "a\0b"):
        with pytest.raises(BundleError):
            read_bundle(tmp_path / name)
    with pytest.raises(BundleError):
        read_bundle("/dev/zero")


def test_a_large_file_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    """Nothing as large as the file may be read or allocated before the header is checked."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 39)
    with pytest.raises(BundleError, match="not a bundle"):
        read_bundle(path)


def test_a_later_change_of_the_file_does_not_reach_the_bundle(good: Path) -> None:
    """Edits and truncation of the file after the check have no effect."""
    bundle = read_bundle(good)
    before = bytes(bundle.sections["instructions"])
    with good.open("r+b") as file:
        file.write(b"\xff" * 4096)
        file.truncate(0)
    assert bytes(bundle.sections["instructions"]) == before
