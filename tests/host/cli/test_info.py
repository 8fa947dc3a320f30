"""`ark info` prints the content of a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ark_mlir.bundle import write_bundle
from ark_mlir.testing.toy import ToyProgram, compile_kernel, run

Ark = Callable[..., Any]


def test_text(ark: Ark, bundle: Path) -> None:
    result = ark("info", bundle)
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "toy (ark toy)"
    assert lines[lines.index("inputs") + 1].split()[:3] == ["x", "fp32", "[8,"]
    assert lines[lines.index("parameters") + 1].split()[:3] == ["w", "fp32", "[128]"]
    assert lines[lines.index("outputs") + 1].split()[:3] == ["y", "fp32", "[128]"]
    assert "states" not in lines
    assert hashlib.sha256(bundle.read_bytes()).hexdigest() in result.out


def test_json(ark: Ark, tmp_path: Path) -> None:
    program = ToyProgram(sms=1)
    n = program.buffer("n", "scalar", "int32", [], max=9)
    program.buffer("total", "state", "int64", [2], init=7)
    y = program.buffer("y", "output", "int32", [2])
    program.lane(0, [run(program.task("fill", 2, [(y, 0), (n, 0)]), 0, 2)])
    write_bundle(tmp_path / "b.arkbin", *program.parts(compile_kernel()))
    found = json.loads(ark("info", "b.arkbin", "--json").out)
    assert found["scalars"] == [{"name": "n", "dtype": "int32", "shape": [], "bytes": 4, "max": 9}]
    assert found["states"] == [
        {"name": "total", "dtype": "int64", "shape": [2], "bytes": 16, "init": 7}
    ]
    assert found["outputs"][0]["shape"] == [2]
    assert found["inputs"] == found["parameters"] == []
    assert (found["target"]["backend"], found["ranks"]) == ("cpu", 1)
    assert found["file"]["bytes"] == (tmp_path / "b.arkbin").stat().st_size
    kernel = next(each for each in found["sections"] if each["name"] == "kernel")
    assert kernel["sha256"] == hashlib.sha256(compile_kernel()).hexdigest()
    assert "begins as 7" in ark("info", "b.arkbin").out
    assert "0 to 9" in ark("info", "b.arkbin").out


def test_a_damaged_bundle(ark: Ark, bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[-1] ^= 1
    bundle.write_bytes(data)
    result = ark("info", bundle)
    assert result.status == 1
    assert result.err.startswith(f"ark: error: {bundle}: ")
