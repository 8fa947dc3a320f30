"""Passes get facts of anchors, and of ops of bodies, from their interfaces and list no ops."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("passes", "lib/analysis", "lib/support")
# `Case<...>` is not matched: a switch over ops selects the code that expands each op.
QUESTION = re.compile(r"\b(?:isa|isa_and_nonnull|isa_and_present)<([^<>;]*)>")
OP = re.compile(r"^### `ark\.[\w.]+` \(ark::(\w+)\)$(.*?)(?=^### |\Z)", re.M | re.S)
# Files that make, tile, bufferize or lower a certain op of bodies.
OF_ONE_OP = (
    "passes/memory/bufferize/BufferizeBodyOps.cpp",
    "passes/target/attention/",
    "passes/target/rowwise/ExpandNorms.cpp",
    "passes/tiling/FuseElementwise.cpp",
    "passes/tiling/NormFusion.cpp",
    "passes/tiling/decompose/",
    "passes/tiling/tasks/Tile",
)


def get_ops_with(interface: str) -> set[str]:
    """Returns the classes of ops with an interface, from the reference of the dialect."""
    text = (ROOT / "dialects/ark/ArkDialect.md").read_text()
    return {name for name, entry in OP.findall(text) if f"`{interface}`" in entry}


def get_anchors() -> set[str]:
    return get_ops_with("AnchorOpInterface")


def find_lists(text: str, anchors: set[str]) -> list[str]:
    """Returns the `isa` tests that name two or more anchors, or an anchor beside
    `AnchorOpInterface`.
    """
    return [
        question[0]
        for question in QUESTION.finditer(text)
        if len((anchors | {"AnchorOpInterface"}) & set(re.split(r"[\s,]+", question[1]))) > 1
    ]


def test_anchors() -> None:
    anchors = get_anchors()
    assert {"MatmulOp", "ConcatOp", "UpdateOp", "AllReduceOp", "RopeOp"} <= anchors
    assert not {"AddOp", "ReshapeOp", "RecvOp"} & anchors


def test_lists() -> None:
    anchors = get_anchors()
    found = {
        str(path.relative_to(ROOT)): lists
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".cpp", ".h")
        if (lists := find_lists(path.read_text(), anchors))
    }
    assert not found


def test_lists_are_found() -> None:
    anchors = {"RopeOp", "SoftmaxOp"}
    assert find_lists("isa<RopeOp,\n    SoftmaxOp>(op)", anchors)
    assert find_lists("isa_and_present<SoftmaxOp, RopeOp>(op)", anchors)
    assert find_lists("isa<AnchorOpInterface, RopeOp>(op)", anchors)
    assert not find_lists("isa<RopeOp>(op) || isa<AddOp, MulOp>(op)", anchors)


def test_body_ops() -> None:
    """Other passes ask `BodyOpInterface`, so that a further op of bodies changes none of them."""
    ops = get_ops_with("BodyOpInterface")
    assert ops == {"BlockedAttentionGradientOp", "OnlineAttentionOp", "RowNormOp"}
    named = re.compile(rf"\b(?:{'|'.join(sorted(ops))})\b")
    found = [
        name
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".cpp", ".h") and named.search(path.read_text())
        if not (name := str(path.relative_to(ROOT))).startswith(OF_ONE_OP)
    ]
    assert not found
