"""A bundle that is written and read is the same bundle, byte for byte."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ark_mlir.bundle import Bundle, read_bundle, write_bundle
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import ToyProgram, add_program, run


def test_everything_comes_back(tmp_path: Path) -> None:
    manifest, sections = add_program().parts()
    write_bundle(tmp_path / "a.arkbin", manifest, sections)
    bundle = read_bundle(tmp_path / "a.arkbin")
    assert bundle.manifest.program == "toy"
    assert [buffer.name for buffer in bundle.manifest.buffers] == ["x", "w", "c", "y"]
    assert [buffer.slot for buffer in bundle.manifest.buffers] == [1, 2, 3, 4]
    assert bundle.manifest.tasks[1].location == "net.py:8"
    assert {name: bytes(data) for name, data in bundle.sections.items()} == sections
    assert bundle.tables.lanes.tolist() == [[0, 0, 6], [1, 6, 12]]
    parsed = bundle.manifest.as_json()
    assert parsed == manifest | {"buffers": parsed["buffers"]}


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    read_bundle(tmp_path / "a.arkbin").save(tmp_path / "b.arkbin")
    assert (tmp_path / "a.arkbin").read_bytes() == (tmp_path / "b.arkbin").read_bytes()


def test_bytes_do_not_depend_on_the_order_of_keys_and_sections(tmp_path: Path) -> None:
    manifest, sections = add_program().parts()
    manifest["options"] = {"trace": False, "tile": {"m": 1, "k": [2]}}
    write_bundle(tmp_path / "a.arkbin", manifest, sections)
    manifest["options"] = {"tile": {"k": [2], "m": 1}, "trace": False}
    backwards = dict(reversed(manifest.items())), dict(reversed(sections.items()))
    write_bundle(tmp_path / "b.arkbin", *backwards)
    assert (tmp_path / "a.arkbin").read_bytes() == (tmp_path / "b.arkbin").read_bytes()


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    script = (
        "import sys; from ark_mlir.bundle import write_bundle;"
        "from ark_mlir.testing.toy import add_program;"
        "write_bundle(sys.argv[1], *add_program().parts())"
    )
    contents: set[bytes] = set()
    for seed in ("0", "1"):
        path = tmp_path / f"{seed}.arkbin"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, path], check=True, env=environment)
        contents.add(path.read_bytes())
    assert len(contents) == 1


def test_layout_is_the_documented_one(tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    data = (tmp_path / "a.arkbin").read_bytes()
    assert data[:8] == b"ARKBIN\0\1"
    assert int.from_bytes(data[8:12], "little") == 3
    assert int.from_bytes(data[24:32], "little") == len(data)
    for section in read_bundle(tmp_path / "a.arkbin").manifest.sections or ():
        assert section.offset % 64 == 0


def test_mlir_section_is_text(tmp_path: Path) -> None:
    manifest, sections = add_program().parts()
    bundle = Bundle.from_parts(manifest, {**sections, "mlir": "module {} // µ".encode()})
    bundle.save(tmp_path / "a.arkbin")
    assert read_bundle(tmp_path / "a.arkbin").mlir == "module {} // µ"
    assert Bundle.from_parts(manifest, sections).mlir is None
    with pytest.raises(BundleError, match="section mlir"):
        _ = Bundle.from_parts(manifest, {**sections, "mlir": b"\xff"}).mlir


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.arkbin"
    write_bundle(path, *add_program().parts())
    before = path.read_bytes()
    manifest, sections = add_program().parts()
    with pytest.raises(BundleError):
        write_bundle(path, manifest | {"arena": -1}, sections)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.arkbin"]


def test_modes_of_files_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_bundle(tmp_path / "a.arkbin", *add_program().parts())
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.arkbin").stat().st_mode) == 0o640


def test_a_minimal_program_is_written_and_read(tmp_path: Path) -> None:
    program = ToyProgram(sms=1, arena=0)
    task = program.task("nothing", location="")
    program.lane(0, [run(task, 0, 1)])
    write_bundle(tmp_path / "a.arkbin", *program.parts())
    assert len(read_bundle(tmp_path / "a.arkbin").tables.instructions) == 1


def test_lengths_that_move_the_offsets_converge(tmp_path: Path) -> None:
    """Offsets are in the manifest, whose length moves them: all lengths must converge."""
    for extra in range(0, 400, 7):
        manifest, sections = add_program().parts()
        manifest["options"]["note"] = "x" * extra
        write_bundle(tmp_path / "a.arkbin", manifest, sections)
        assert read_bundle(tmp_path / "a.arkbin").manifest.options["note"] == "x" * extra
