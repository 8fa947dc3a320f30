"""Keys and values in shared memory: copied before an attention polls for its query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

COPY = "cp.async.cg.shared.global"
RING = "cp.async.bulk.global"
HIDDEN = 256
HEADS, KV_HEADS = 4, 2


@dataclass(frozen=True)
class Step:
    """Steps of attention, each with a position and the number of keys that it reads.

    Attributes:
        keys: number of positions of the caches. On 32 SMs, partitions divide them.
        depth: elements of a head.
        rows: number of tokens; their products stream no weights if there are several.
    """

    keys: int
    steps: tuple[tuple[int, int], ...]
    depth: int = 64
    dtype: ark.DType = ark.bf16
    rows: int = 1
    sms: int = 4

    def build(self) -> ark.Program:
        dtype, depth, rows = self.dtype, self.depth, self.rows
        with ark.Program("step") as program:
            x = ark.input("x", (rows, HIDDEN), dtype)
            position, length = (ark.input(n, (), ark.int32) for n in ("position", "length"))

            def heads(name: str, count: int) -> ark.Tensor:
                weight = ark.parameter(name, (count * depth, HIDDEN), dtype)
                product = ark.matmul(x, weight, transpose_other=True)
                return ark.transpose(ark.reshape(product, (1, rows, count, depth)), (0, 2, 1, 3))

            def rotated(x: ark.Tensor) -> ark.Tensor:
                angles = np.linspace(0, 3, rows * depth // 2).reshape(rows, depth // 2)
                cos, sin = (ark.constant(f(angles), dtype) for f in (np.cos, np.sin))
                return ark.rope(x, cos, sin)

            def cached(name: str, x: ark.Tensor) -> ark.Tensor:
                # Rows that no step has written are not zero, and each of them counts.
                state = ark.state(name, (1, KV_HEADS, self.keys, depth), dtype, init=0.25)
                return ark.update(state, x, (0, 0, position, 0))

            q = rotated(heads("q", HEADS))
            keys = cached("keys", rotated(heads("k", KV_HEADS)))
            values = cached("values", heads("v", KV_HEADS))
            ark.output("y", ark.attention(q, keys, values, kv_length=length))
        return program

    def run(self, library: Path, folder: Path, arch: str = "sm_90a") -> str:
        """Compares each step on an emulated GPU with the interpreter; returns the code."""
        program = self.build()
        emulation = Emulation(program, library, folder, arch=arch, sms=self.sms)
        random = np.random.default_rng(0)

        def draw(shape: tuple[int, ...]) -> Any:
            return (random.standard_normal(shape) / 4).astype(self.dtype.numpy)

        with emulation.executable as executable:
            weights = {buffer.name: draw(buffer.shape) for buffer in executable.parameters}
            executable.bind(weights)
            for position, length in self.steps:
                numbers = {"position": position, "length": length}
                arrays = {name: np.array(n, np.int32) for name, n in numbers.items()}
                arrays["x"] = draw((self.rows, HIDDEN))
                before = {name: np.asarray(state) for name, state in executable.states.items()}
                expected = ark.reference.evaluate(
                    program, {**arrays, **weights}, before, bound=True
                )
                got = emulation.run(arrays)
                assert_within(got["y"], expected.outputs["y"], expected.bounds["y"], "y")
        return emulation.text


@pytest.mark.parametrize(
    "step",
    [
        Step(64, ((0, 1), (1, 2), (63, 64))),
        Step(160, ((100, 101), (15, 16), (16, 17), (159, 160))),
        # All keys are old, and keys behind the new one are.
        Step(64, ((17, 50), (50, 17), (20, 50))),
        Step(2048, ((0, 1), (700, 701), (5, 2048)), sms=32),
        Step(1024, ((1023, 1024), (64, 700)), depth=128, sms=32),
        Step(48, ((20, 21), (21, 22)), depth=128, dtype=ark.fp16),
    ],
    ids=str,
)
def test_one_token(step: Step, library: Path, tmp_path: Path) -> None:
    text = step.run(library, tmp_path)
    assert COPY in text
    assert RING in text


@pytest.mark.parametrize(
    ("step", "arch"),
    [
        (Step(512, ((400, 401),)), "sm_90a"),  # stages of 147 KB
        (Step(64, ((9, 11),), rows=2), "sm_90a"),  # weights come through the L1
        (Step(64, ((9, 10),)), "sm_80"),  # no rings
    ],
    ids=str,
)
def test_keys_that_are_not_staged(step: Step, arch: str, library: Path, tmp_path: Path) -> None:
    assert COPY not in step.run(library, tmp_path, arch)
