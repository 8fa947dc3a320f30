"""Limits of the bundle format, which the compiler checks before it makes machine code, and options
that the bundle keeps.

A kernel above a limit could be refused only by the reader of the finished bundle, after minutes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.compiler import bundles, packaging
from ark_mlir.runtime.drivers.table import drivers_for


def _program() -> ark.Program:
    with ark.Program("sums") as program:
        x = ark.input("x", (8, 8), ark.fp32)
        ark.output("y", ark.matmul(ark.matmul(x, x), x))
    return program


@pytest.mark.parametrize(
    ("limit", "name"), [("MAX_INTERMEDIATES", "intermediates"), ("MAX_SLOTS", "buffers")]
)
def test_values_above_a_limit(monkeypatch: pytest.MonkeyPatch, limit: str, name: str) -> None:
    def emit(*_: object) -> None:
        pytest.fail("machine code was made before the check")

    monkeypatch.setattr(bundles, "_emit", emit)
    monkeypatch.setattr(packaging, limit, 0)
    with pytest.raises(ark.UnsupportedError, match=rf"{name} on all ranks; a bundle can") as info:
        ark.compile(_program(), target="cpu", cache=False)
    assert "compile fewer ranks" in str(info.value)


def _ranks() -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank in range(2):
        with ark.Program("sum", rank=rank, world_size=2) as program:
            ark.output("y", ark.all_reduce(ark.input("x", (64,))))
        programs.append(program)
    return programs


@pytest.mark.parametrize(("devices", "shared"), [([0], True), ([0, 1], False), (None, False)])
def test_a_bundle_for_ranks_on_one_gpu_runs_there(
    tmp_path: Path, devices: list[int] | None, shared: bool
) -> None:
    """``ark.load`` without `devices` takes one GPU for a bundle of shares of a GPU."""
    path = tmp_path / "sum.arkbin"
    ark.compile(_ranks(), target="cuda:sm_90a", devices=devices, cache=False).save(path)
    bundle = read_bundle(path)
    assert bundle.manifest.shares_device is shared
    assert bundle.manifest.target.sms == (132 if shared else 264)
    factory = drivers_for(bundle)["cuda"]
    assert isinstance(factory, partial)
    assert factory.args == ((0,) if shared else (0, 1),)


def test_a_schedule_for_ranks_on_one_gpu_says_so() -> None:
    schedule = ark.compiler.compile_schedule(_ranks(), "cuda:sm_90a", devices=[0])
    assert schedule.manifest.shares_device


def test_ranks_with_launches_of_their_own_share_a_gpu() -> None:
    world = ark.compile(
        _ranks(), target="cuda:sm_90a", devices=[1, 1], concurrent=True, cache=False
    )
    manifest = world.bundle.manifest
    assert (manifest.target.sms, manifest.shares_device) == (132, True)
    with pytest.raises(ark.InvalidUsageError, match="a GPU is named twice"):
        ark.compile(_ranks(), target="cuda:1,1", cache=False)
    with pytest.raises(ark.InvalidUsageError, match="option concurrent=1: expected True or False"):
        ark.compile(_ranks(), target="cuda:sm_90a", concurrent=1)  # type: ignore[call-overload]
