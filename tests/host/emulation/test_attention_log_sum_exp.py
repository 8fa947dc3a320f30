"""One loop over the keys computes an attention and the log-sum-exps of its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attention_sums import Case, attentions, build, draw

import ark_mlir as ark

Check = Callable[..., Any]
TOGETHER = ["attention", "attention_log_sum_exp"]
# Tiles of 256 rows, of which each of four warpgroups computes a block, or of fewer blocks whose
# keys the warpgroups share.
WARPGROUPS = {
    "a block for each": Case(ark.bf16, (4, 2), queries=256, keys=192, depth=64),
    "causal": Case(ark.fp16, (4, 4), queries=256, keys=130, depth=128, causal=True),
    "all operands": Case(
        ark.bf16, (4, 2), queries=200, keys=130, depth=64, length=77, causal=True, mask=ark.bool
    ),
}
ON_UNITS = {
    "blocks": Case(ark.bf16, queries=64, keys=48, depth=64, causal=True),
    "odd": Case(ark.fp16, queries=37, keys=53, depth=32),
    "bool mask": Case(ark.bf16, queries=40, keys=72, depth=64, mask=ark.bool),
    "float mask": Case(ark.fp16, queries=40, keys=72, depth=64, mask=ark.fp16),
    "length": Case(ark.bf16, queries=40, keys=90, depth=64, length=77, causal=True),
    "no keys": Case(ark.bf16, queries=40, keys=40, depth=64, length=0),
}
UNITS = {"sm_80": "mma.m16n8k16", "sm_90a": "mma", "gfx942": "llvm.amdgcn.mfma.f32"}


def run(case: Case, check: Check, arch: str) -> str:
    emulation = check(build(case), draw(case), arch=arch)
    assert attentions(emulation.executable) == [TOGETHER]
    return emulation.text


@pytest.mark.parametrize("case", WARPGROUPS.values(), ids=WARPGROUPS)
def test_by_warpgroups(case: Case, check: Check) -> None:
    assert "wgmma.mma_async" in run(case, check, "sm_90a")


@pytest.mark.parametrize("arch", UNITS)
@pytest.mark.parametrize("case", ON_UNITS.values(), ids=ON_UNITS)
def test_on_matrix_units(case: Case, arch: str, check: Check) -> None:
    assert UNITS[arch] in run(case, check, arch)


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_partitions_of_the_keys(arch: str, check: Check) -> None:
    case = Case(ark.bf16, (4, 1), queries=1, keys=4096, depth=64, length=1500)
    emulation = check(build(case), draw(case), arch=arch, sms=16)
    assert attentions(emulation.executable) == [["partial_attention"]]


@pytest.mark.parametrize("arch", ["sm_90a", "gfx942"])
def test_structured_ops(arch: str, check: Check) -> None:
    run(Case(ark.fp32, queries=12, keys=24, mask=ark.bool), check, arch)
