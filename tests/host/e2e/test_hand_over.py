"""Packets between tasks of a GPU: from the option to the bundle. That they arrive is tests/gpu's
matter."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

WIDTH = 512


def blocks() -> ark.Program:
    """Two blocks of a decoder without attention, for one token."""
    with ark.Program("blocks") as program:
        x = ark.input("x", (1, WIDTH), ark.bf16)
        for n in range(2):
            gate, up, down = (
                ark.parameter(f"{name}{n}", (WIDTH, WIDTH), ark.bf16)
                for name in ("gate", "up", "down")
            )
            h = ark.rmsnorm(x, ark.parameter(f"g{n}", (WIDTH,), ark.bf16))
            h = ark.silu(ark.matmul(h, gate, transpose_other=True)) * ark.matmul(
                h, up, transpose_other=True
            )
            x = ark.matmul(h, down, transpose_other=True) + x
        ark.output("y", x)
    return program


def shares() -> ark.Program:
    """Each element times the sum of its column: every SM needs the sums of all columns."""
    with ark.Program("shares") as program:
        x = ark.input("x", (WIDTH, WIDTH), ark.bf16)
        ark.output("y", ark.mul(x, ark.reduce_sum(x, axis=0), name="shares"))
    return program


def pieces() -> ark.Program:
    """Attention of one token over keys in pieces, which another task puts together."""
    heads, head, keys = 4, 64, 1024
    with ark.Program("pieces") as program:
        x = ark.input("x", (1, WIDTH), ark.bf16)
        wide = ark.parameter("q", (heads * head, WIDTH), ark.bf16)
        narrow = ark.parameter("o", (WIDTH, heads * head), ark.bf16)
        k, v = (ark.parameter(n, (1, heads // 2, keys, head), ark.bf16) for n in ("k", "v"))
        q = ark.reshape(ark.matmul(x, wide, transpose_other=True), (1, heads, 1, head))
        mixed = ark.reshape(ark.attention(q, k, v), (1, heads * head))
        ark.output("y", ark.matmul(mixed, narrow, transpose_other=True))
    return program


# With which all have packets.
OPTIONS: dict[str, dict[str, Any]] = {
    "blocks": {}, "shares": {"tile": {"shares": (4, WIDTH)}}, "pieces": {},
}  # fmt: skip


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_they_take_the_place_of_waits(arch: str) -> None:
    without = ark.compile(blocks(), target=f"cuda:{arch}", packets=False).bundle.manifest
    manifest = ark.compile(blocks(), target=f"cuda:{arch}").bundle.manifest
    # Three hand-overs, each of one row.
    assert manifest.packets == 3 * 4 * WIDTH
    assert without.packets == 0
    assert without.options["packets"] is False
    assert "packets" not in manifest.options
    before, after = (m.statistics["waits"] + m.statistics["barriers"] for m in (without, manifest))
    assert after < before
    assert manifest.statistics["registers"] <= 128  # 512 threads share 65,536
    assert manifest.statistics["spill_bytes"] == 0


def test_pieces_are_wide_ones() -> None:
    """Two rows of 256 numbers, and of every piece of a head 64 sums and two numbers in f32."""
    executable = ark.compile(pieces(), target="cuda:sm_90a")
    (count,) = {
        task.grid[-1] for task in executable.bundle.manifest.tasks if "partial" in str(task.ops)
    }
    assert count > 1
    assert executable.bundle.manifest.packets == 2 * 4 * 256 + 4 * count * 66 * 8
    assert executable.bundle.manifest.statistics["waits"] == 0


def test_they_need_no_parameters_to_stream() -> None:
    manifest = ark.compile(shares(), target="cuda:sm_90a", **OPTIONS["shares"]).bundle.manifest
    assert manifest.packets == 4 * WIDTH
    assert manifest.statistics["waits"] == 0


def test_where_semaphores_are_as_fast_there_are_none() -> None:
    manifest = ark.compile(blocks(), target="cpu:2").bundle.manifest
    assert manifest.packets == 0


def test_a_bundle_is_read_again(tmp_path: Any) -> None:
    executable = ark.compile(blocks(), target="cuda:sm_90a")
    executable.save(tmp_path / "blocks.arkbin")
    assert read_bundle(tmp_path / "blocks.arkbin").manifest.packets == 3 * 4 * WIDTH


def test_they_are_part_of_the_key(tmp_path: Any) -> None:
    """A bundle without them is not given to who asks for one with them."""
    for packets in (False, True):
        executable = ark.compile(
            blocks(), target="cuda:sm_90a", packets=packets, cache=tmp_path / "cache"
        )
        assert bool(executable.bundle.manifest.packets) is packets


@pytest.mark.parametrize("value", [1, "true", None])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"option packets=.*: expected True or False"):
        ark.CompileOptions(packets=value)
