"""Packets between tasks of a GPU, from the option to the bundle. tests/gpu checks their
transfer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from hand_off_programs import OPTIONS, WIDTH, blocks, partitions, shares

import ark_mlir as ark
from ark_mlir.bundle import read_bundle


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_packets_replace_waits(arch: str) -> None:
    without = ark.compile(blocks(), target=f"cuda:{arch}", packets=False).bundle.manifest
    manifest = ark.compile(blocks(), target=f"cuda:{arch}").bundle.manifest
    # Three hand-offs, each of one row.
    assert manifest.packets == 3 * 4 * WIDTH
    assert without.packets == 0
    assert without.options["packets"] is False
    assert "packets" not in manifest.options
    before, after = (m.statistics["waits"] + m.statistics["barriers"] for m in (without, manifest))
    assert after < before
    assert manifest.statistics["registers"] <= 128  # 512 threads share 65,536
    assert manifest.statistics["spill_bytes"] == 0


def test_partitions_of_attention_use_packets_of_64_bits() -> None:
    """Packets hold two rows of 256 values, and 64 sums and two scalars for each partition of a
    head.
    """
    executable = ark.compile(partitions(), target="cuda:sm_90a")
    (count,) = {
        task.grid[-1] for task in executable.bundle.manifest.tasks if "partial" in str(task.ops)
    }
    assert count > 1
    assert executable.bundle.manifest.packets == 2 * 4 * 256 + 4 * count * 66 * 8
    assert executable.bundle.manifest.statistics["waits"] == 0


def test_packets_work_without_streamed_parameters() -> None:
    manifest = ark.compile(shares(), target="cuda:sm_90a", **OPTIONS["shares"]).bundle.manifest
    assert manifest.packets == 4 * WIDTH
    assert manifest.statistics["waits"] == 0


def test_targets_with_fast_semaphores_have_no_packets() -> None:
    manifest = ark.compile(blocks(), target="cpu:2").bundle.manifest
    assert manifest.packets == 0


def test_a_bundle_with_packets_is_read_again(tmp_path: Any) -> None:
    executable = ark.compile(blocks(), target="cuda:sm_90a")
    executable.save(tmp_path / "blocks.arkbin")
    assert read_bundle(tmp_path / "blocks.arkbin").manifest.packets == 3 * 4 * WIDTH


def test_packets_are_part_of_the_cache_key(tmp_path: Any) -> None:
    """A request for packets does not take a cached bundle without packets."""
    for packets in (False, True):
        executable = ark.compile(
            blocks(), target="cuda:sm_90a", packets=packets, cache=tmp_path / "cache"
        )
        assert bool(executable.bundle.manifest.packets) is packets


@pytest.mark.parametrize("value", [1, "true", None])
def test_other_values_of_the_option_raise(value: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"option packets=.*: expected True or False"):
        ark.CompileOptions(packets=value)
