"""Footprints: every field is checked, and no operand leaves its value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ark_mlir.bundle import Bundle
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import ToyProgram, add_program, run

Change = Callable[[dict[str, Any]], object]


def operand(manifest: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """An operand of the tasks of the toy's body `add`: 0 is written, 1 and 2 are read."""
    return manifest["bodies"][0]["footprints"][0][number]


def field(**values: Any) -> Change:
    return lambda manifest: operand(manifest).update(values)


CHANGES: dict[str, tuple[Change, str]] = {
    "no-access": (lambda m: operand(m).pop("access"), "'access' is missing"),
    "unknown-key": (field(size=3), "unknown key 'size'"),
    "access": (field(access="execute"), "'execute' is not one of"),
    "dtype": (field(dtype="fp64"), "'fp64' is not one of"),
    "shape-negative": (field(shape=[-1]), r"shape\[0\]: -1"),
    "shape-huge": (field(shape=[1 << 40, 1 << 40]), "the limit"),
    "rank": (field(shape=[1] * 33, offsets=[0] * 33, sizes=[1] * 33), "rank 33"),
    "strides-few": (field(strides=[]), "0 numbers for 1 dimensions"),
    "strides-negative": (field(strides=[-1]), r"strides\[0\]"),
    "strides-far": (field(strides=[1 << 46]), "the limit"),
    "strides-past": (field(strides=[2]), "its footprint leaves its value"),
    "begin-negative": (field(begin=-4), "begin"),
    "begin": (field(begin=4), "does not point to its value in the manifest"),
    "alignment-odd": (field(alignment=12), "not a power of two"),
    "offsets-few": (field(offsets=[]), "0 offsets for 1 dimensions"),
    "offset-text": (field(offsets=["e0"]), "expected a grid index"),
    "offset-zeros": (field(offsets=["d00"]), "expected a grid index"),
    "offset-digits": (field(offsets=["d\N{SUPERSCRIPT TWO}"]), "expected a grid index"),
    "offset-of-no-grid": (field(offsets=["d1"]), "grid indices that the task lacks"),
    "offset-negative": (field(offsets=[-1]), "leaves its 128 elements in dimension 0"),
    "offset-past": (field(offsets=[["*", "d0", 19]]), "leaves its 128 elements"),
    "offset-below": (field(offsets=[["+", ["*", "d0", -16], 111]]), "leaves its 128 elements"),
    "offset-modulo": (field(offsets=[["*", ["mod", "d0", 4], 43]]), "leaves its 128 elements"),
    "offset-null": (field(offsets=[None]), "expected an integer"),
    "operator": (field(offsets=[["-", "d0", 1]]), "'-' is not one of"),
    "operator-alone": (field(offsets=[["+", "d0"]]), "expected an operator"),
    "operator-of-two": (field(offsets=[["*", "d0", "d0"]]), "needs a number"),
    "divisor": (field(offsets=[["floordiv", "d0", 0]]), "is not in"),
    "factor": (field(offsets=[["*", "d0", 1 << 41]]), "is not in"),
    "sizes-few": (field(sizes=[]), "0 numbers for 1 dimensions"),
    "size-zero": (field(sizes=[0]), r"sizes\[0\]"),
    "no-footprint": (lambda m: m["tasks"][0].update(footprint=1), "footprint: 1 is not in"),
    "values-few": (lambda m: m["tasks"][0].update(values=[0]), "1 values for 3 operands"),
    "value": (lambda m: m["tasks"][0].update(values=[5, 0, 1]), "there are 5 values"),
    "other-value": (
        lambda m: m["tasks"][0].update(values=[4, 1, 0]),
        "does not point to its value in the manifest",
    ),
    "intermediate-slot": (lambda m: m.update(intermediates=[[1, 0, 8]]), "not in the arena"),
    "intermediate-past": (lambda m: m.update(intermediates=[[0, 8, 512]]), "not in the arena"),
    "intermediate-pair": (lambda m: m.update(intermediates=[[0, 8]]), "slot, offset and bytes"),
    "intermediate-small": (lambda m: m.update(intermediates=[[0, 0, 508]]), "leaves its value"),
    "stamps": (lambda m: m["bodies"][0].update(stamps=1), "expected true or false"),
    "smaller-output": (
        lambda m: m["buffers"][3].update(shape=[64], bytes=256),
        "its footprint leaves its value",
    ),
    "written-parameter": (lambda m: operand(m, 2).update(access="write"), "no task may write"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_change(change: str) -> None:
    spoil, message = CHANGES[change]
    manifest, sections = add_program().parts()
    Bundle.from_parts(copy.deepcopy(manifest), sections)
    spoil(manifest)
    with pytest.raises(BundleError, match=message) as caught:
        Bundle.from_parts(manifest, sections)
    assert len(str(caught.value)) < 400


def test_values_in_use_share_no_bytes() -> None:
    """Another task writes the bytes between the task that writes the value and the task that reads
    it."""
    manifest, sections = add_program().parts()
    manifest["intermediates"] = [[0, 0, 512], [0, 64, 64]]
    manifest["tasks"].insert(1, {**manifest["tasks"][0], "name": "between", "values": [5, 0, 1]})
    with pytest.raises(BundleError, match=r"\[1\]: shares bytes with .* while tasks 1 to 1 use"):
        Bundle.from_parts(manifest, sections)


def test_intermediates_are_not_too_many() -> None:
    """The number of intermediates is limited, since the check of shared bytes compares all
    pairs."""
    manifest, sections = add_program().parts()
    manifest["intermediates"] = [[0, 0, 512]] + [[0, 0, 8]] * (1 << 15)
    with pytest.raises(BundleError, match="intermediates: more than 32768"):
        Bundle.from_parts(manifest, sections)


def test_expressions_are_not_too_deep() -> None:
    manifest, sections = add_program().parts()
    expression: Any = "d0"
    for _ in range(40):
        expression = ["+", expression, 0]
    operand(manifest)["offsets"] = [expression]
    with pytest.raises(BundleError, match="not too deeply nested"):
        Bundle.from_parts(manifest, sections)


def test_expressions_of_a_file_have_one_budget() -> None:
    """Tasks with different grids are valid alone, and together exceed the budget."""
    manifest, sections = add_program().parts()
    expression: Any = ["mod", ["+", "d0", "d1"], 1]
    for _ in range(8):
        expression = ["+", expression, 0]
    operand(manifest, 0)["offsets"] = [expression]
    operand(manifest, 1)["offsets"] = operand(manifest, 2)["offsets"] = [0]
    task = manifest["tasks"][0]
    manifest["tasks"] = [
        {**task, "vctas": vctas << 11, "grid": [1 << 11, vctas]} for vctas in range(1900, 1964)
    ]
    with pytest.raises(
        BundleError, match=r"of this file's regions take more than .* steps"
    ) as info:
        Bundle.from_parts(manifest, sections)
    assert "manifest: tasks[" in str(info.value)
    manifest["tasks"] = manifest["tasks"][:1]
    with pytest.raises(BundleError, match="entries for 1 tasks"):
        Bundle.from_parts(manifest, sections)


def test_expressions_that_overflow_are_refused() -> None:
    """An intermediate result exceeds 64 bits, although the final result does not."""
    manifest, sections = add_program().parts()
    huge: Any = ["mod", "d0", 3]
    for _ in range(3):
        huge = ["*", huge, 1 << 40]
    operand(manifest)["offsets"] = [["floordiv", huge, 1 << 40]]
    with pytest.raises(BundleError, match="leaves its 128 elements"):
        Bundle.from_parts(manifest, sections)


@pytest.mark.parametrize("offset", [["mod", "d0", 8], ["floordiv", "d0", 3], ["ceildiv", "d0", 2]])
def test_expressions_that_are_not_linear_raise(offset: list[Any]) -> None:
    manifest, sections = add_program().parts()
    operand(manifest)["offsets"] = [["*", offset, 16]]
    bundle = Bundle.from_parts(manifest, sections)
    assert bundle.manifest.as_json()["bodies"] == manifest["bodies"]


# Entry 0 is the output of the first task, at byte 0 of the arena; entries 1 and 2 are its inputs.
ROWS = {
    "slot": ((0, 0), 1, "does not point to its value in the manifest"),
    "offset": ((0, 1), 64, "does not point to its value in the manifest"),
    "other-parameter": ((2, 0), 1, "does not point to its value in the manifest"),
    "parameter-offset": ((2, 1), 16, "does not point to its value in the manifest"),
}


@pytest.mark.parametrize("case", ROWS)
def test_entries_of_operands_agree_with_the_manifest(case: str) -> None:
    index, value, message = ROWS[case]
    manifest, sections = add_program().parts()
    rows = np.frombuffer(sections["operands"], "<i8").reshape(-1, 2).copy()
    rows[index] = value
    with pytest.raises(BundleError, match=message):
        Bundle.from_parts(manifest, {**sections, "operands": rows.tobytes()})


def test_first_entries_agree_with_the_manifest() -> None:
    manifest, sections = add_program().parts()
    rows = np.frombuffer(sections["tasks"], "<i4").reshape(-1, 2).copy()
    rows[0, 1] = 3
    with pytest.raises(BundleError, match="does not point to its value in the manifest"):
        Bundle.from_parts(manifest, {**sections, "tasks": rows.tobytes()})


def test_alignment() -> None:
    """A GPU's vector loads need alignment, and the toy's operand is at byte 8."""
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "int64", [2])
    program.lane(0, [run(program.task("count", 1, [(state, 8)]), 0, 1)])
    manifest, sections = program.parts()
    Bundle.from_parts(manifest, sections)
    manifest["bodies"][2]["footprints"][0][0]["alignment"] = 16
    with pytest.raises(BundleError, match="lacks the alignment"):
        Bundle.from_parts(manifest, sections)
