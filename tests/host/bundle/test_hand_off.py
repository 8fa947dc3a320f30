"""Packets between tasks of a GPU: a slot after the last buffer's, and its size in the manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ark_mlir.bundle import Bundle, read_bundle, write_bundle
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import ToyProgram, run


def parts(slot: int = 2, offset: int = 0, packets: int = 64, backend: str = "cuda") -> Any:
    program = ToyProgram(sms=1)
    program.buffer("n", "state", "int64", [])
    program.lane(0, [run(program.task("count", 1, [(slot, offset)]), 0, 1)])
    manifest, sections = program.parts(packets=packets)
    manifest["target"].update(backend=backend, arch="sm_90a")
    return manifest, sections


@pytest.mark.parametrize("offset", [0, 56])
def test_operands_may_lie_in_the_packet_slot(offset: int, tmp_path: Path) -> None:
    write_bundle(tmp_path / "kernel.arkbin", *parts(offset=offset))
    manifest = read_bundle(tmp_path / "kernel.arkbin").manifest
    assert manifest.packets == 64
    assert manifest.as_json()["packets"] == 64


def test_a_program_without_packets_has_no_packet_size() -> None:
    manifest = Bundle.from_parts(*parts(slot=1, packets=0)).manifest
    assert manifest.packets == 0
    assert "packets" not in manifest.as_json()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"packets": 0}, "there are 2 values"),
        ({"slot": 3}, "there are 3 values"),
        ({"offset": 64}, "outside the buffer"),
        ({"offset": 60}, "leaves its value"),
        ({"offset": -4}, "begin: -4 is not in"),
        ({"backend": "cpu"}, "packets: a kernel for cpu cannot have packets"),
        ({"packets": -1}, "-1 is not in"),
        ({"packets": 1 << 62}, "is not in"),
        ({"packets": "64"}, "expected an integer"),
    ],
)
def test_invalid_packet_operands_raise(changes: dict[str, Any], error: str) -> None:
    with pytest.raises(BundleError, match=error):
        Bundle.from_parts(*parts(**changes))
