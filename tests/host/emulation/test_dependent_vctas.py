"""vCTAs of one task that depend on each other run one after the other, on every target.

The frontend makes no such programs; this one is written by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation

import ark_mlir as ark

COUNT, WIDTH = 6, 4
SIZE = (COUNT + 1) * WIDTH
TILE = f"memref<{WIDTH}xf32, strided<[1], offset: ?>>"
ALL = f"memref<{SIZE}xf32, strided<[1], offset: ?>>"
WHOLE = f"memref<{SIZE}xf32>"
# Copies x into y. Then every vCTA writes one more than the value it reads of y, to the element that
# the next vCTA reads.
SHIFT = f"""
#id = affine_map<(d0) -> (d0)>
module attributes {{ark.stage = "memory"}} {{
ark.program @shift(%x: {WHOLE} {{ark.kind = #ark.kind<input>, ark.name = "x"}},
                   %y: {WHOLE} {{ark.kind = #ark.kind<output>, ark.name = "y"}}) {{
  ark.task "copy" grid [1] ins(%x[#ark.region<(d0) -> (0), [{SIZE}]>] : {WHOLE})
      outs(%y[#ark.region<(d0) -> (0), [{SIZE}]>] : {WHOLE}) {{
  ^bb0(%i: index, %a: {ALL}, %o: {ALL}):
    linalg.copy ins(%a : {ALL}) outs(%o : {ALL})
    ark.yield
  }}
  ark.task "shift" grid [{COUNT}] ins(%y[#ark.region<(d0) -> (d0 * {WIDTH}), [{WIDTH}]>] : {WHOLE})
      outs(%y[#ark.region<(d0) -> (d0 * {WIDTH} + {WIDTH}), [{WIDTH}]>] : {WHOLE})
      attributes {{in_place}} {{
  ^bb0(%i: index, %a: {TILE}, %o: {TILE}):
    %one = arith.constant 1.0 : f32
    linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
        ins(%a : {TILE}) outs(%o : {TILE}) {{
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %one : f32
      linalg.yield %0 : f32
    }}
    ark.yield
  }}
  // SCHEDULE
  ark.return
}}
}}
"""
# All vCTAs of "shift" read the element that the first one writes, and depend on nothing else.
BROADCAST = (
    SHIFT.replace(f"(d0 * {WIDTH} + {WIDTH})", f"(d0 * {WIDTH})")
    .replace(f"ins(%y[#ark.region<(d0) -> (d0 * {WIDTH})", "ins(%y[#ark.region<(d0) -> (0)")
    .replace("@shift", "@broadcast")
)
# One work item has the same vCTAs.
TOGETHER = f"""ark.schedule "hand" sms = 1 {{
    ark.lane sms = [0, 1] warps = [0, 8] {{
      ark.run "copy" [0, 1]
      ark.run "shift" [0, {COUNT}]
    }}
  }}"""


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)


def expected(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    y = x.reshape(COUNT + 1, WIDTH).copy()
    for vcta in range(COUNT):
        y[vcta + 1] = y[vcta] + np.float32(1)
    return y.reshape(-1)


def test_on_cpu(x: np.ndarray[Any, Any]) -> None:
    with ark.compile(SHIFT, target="cpu:2", cache=False) as executable:
        np.testing.assert_array_equal(executable.run(x=x)["y"], expected(x))


def test_work_items_of_the_solver(x: np.ndarray[Any, Any]) -> None:
    """Equal vCTAs share a work item, except the vCTA that the others depend on."""
    pytest.importorskip("ortools", reason="OR-tools is not installed")
    y = x.reshape(COUNT + 1, WIDTH).copy()
    y[0] += np.float32(1)
    y[1:COUNT] = y[0] + np.float32(1)
    with ark.compile(BROADCAST, target="cpu:1", scheduler="cp-sat", cache=False) as executable:
        np.testing.assert_array_equal(executable.run(x=x)["y"], y.reshape(-1))


def test_on_an_emulated_gpu(x: np.ndarray[Any, Any], library: Path, tmp_path: Path) -> None:
    emulation = Emulation(SHIFT, library, tmp_path, sms=2)  # pyright: ignore[reportArgumentType]
    with emulation.executable:
        np.testing.assert_array_equal(emulation.run({"x": x})["y"], expected(x))


@pytest.mark.parametrize("target", ["cpu:1", "cuda:sm_90a"])
def test_a_single_work_item_of_all_vctas_raises(target: str) -> None:
    text = SHIFT.replace("// SCHEDULE", TOGETHER)
    with pytest.raises(ark.VerificationError, match="in the same work item as vCTA 0 of 'shift'"):
        ark.compile(text, target=target, cache=False)
