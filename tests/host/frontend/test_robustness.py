"""Ops called with any arguments are built, or raise an error that names a line of Python."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.frontend import ops

OPS = sorted(ops.__all__)
EXTENTS = (0, 1, 1, 2, 2, 3, 4, 8, 2**31, 2**40, 2**62)


class Caller:
    """Calls ops with arguments of every kind, mostly invalid ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tensors: list[ark.Tensor] = []

    def shape(self) -> tuple[int, ...]:
        return tuple(self.random.choices(EXTENTS, k=self.random.randint(0, 4)))

    def value(self) -> Any:
        pick = self.random
        return pick.choice(
            [
                lambda: pick.choice(self.tensors),
                lambda: pick.choice(self.tensors),
                lambda: pick.choice(self.tensors),
                lambda: pick.choice([0, 1, 2, -1, -3, 2**31, 2**63, 0.5, float("nan"), 1e300]),
                self.shape,
                lambda: tuple(pick.choices([-1, 0, 1, 2], k=pick.randint(0, 4))),
                lambda: pick.choices(self.tensors, k=pick.randint(0, 3)),
                lambda: pick.choice(["bf16", "none", "sum", None, True, object(), float, [[]]]),
                lambda: pick.choice(ark.dtypes.ALL),
            ]
        )()

    def call(self) -> None:
        function = getattr(ark, self.random.choice(OPS))
        parameters = inspect.signature(function).parameters.values()
        arguments = {
            p.name: self.value()
            for p in parameters
            if p.name != "name" and (p.default is p.empty or self.random.random() < 0.4)
        }
        several = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        if several:  # the parameters before it are positional, too
            first = [value for name, value in arguments.items() if name not in several]
            more = [self.value() for _ in range(self.random.randint(0, 3))]
            self.keep(lambda: function(*first, *more))
            return
        self.keep(lambda: function(**arguments))

    def index(self) -> None:
        entries = [0, -1, 5, None, Ellipsis, slice(None), slice(1, 3), slice(None, None, -1)]
        key = tuple(self.random.choices(entries, k=self.random.randint(0, 3)))
        tensor = self.random.choice(self.tensors)
        self.keep(lambda: tensor[key])

    def keep(self, make: Any) -> None:
        refused: ark.InvalidUsageError | None = None
        result: Any = []
        try:
            result = make()
        except ark.InvalidUsageError as error:
            refused = error
        assert refused is None or __file__ in str(refused.location), refused
        results = list(result) if isinstance(result, list | tuple) else [result]
        results = [each for each in results if each is not None]
        self.tensors += results[: max(0, 50 - len(self.tensors))]


@pytest.mark.parametrize("seed", range(8))
def test_ops_are_built_or_raise(seed: int) -> None:
    caller = Caller(seed)
    with ark.Program("fuzz", rank=0, world_size=2) as program:
        caller.tensors += [
            ark.state("s", (4, 8)),
            ark.scalar("i", max=3),
            ark.input("x", (4, 8)),
            ark.input("m", (4, 8), ark.bool),
            ark.input("n", (2, 3), ark.int32),
            ark.input("e", (8, 8), ark.fp8_e4m3),
            ark.input("q", (2, 4, 8), ark.bf16),
        ]
        for _ in range(250):
            caller.call()
            caller.index()
        ark.output("y", caller.tensors[-1])
    assert program.outputs
