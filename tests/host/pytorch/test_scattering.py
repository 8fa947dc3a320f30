"""Sorts and writes by index, by ``from_torch``: the interpreter gives PyTorch's results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.errors import DataRangeError

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

X = torch.tensor([[3.0, -1.0, 3.0, 0.5], [2.0, 2.0, -7.0, 9.0], [0.0, 1.0, 2.0, 3.0]])
IDS = torch.tensor([[0, 2, 1, 0], [2, 2, 0, 1], [1, 0, 0, 2]])
UNIQUE = torch.tensor([[0, 1, 2, 0], [2, 0, 1, 1], [1, 2, 0, 2]])
ROWS = torch.tensor([2, -3])


class Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "topk": (lambda x: torch.topk(x[:, [0, 1, 3]], 2), (X,)),
    "smallest": (lambda x: torch.topk(x[:, [0, 1, 3]], 2, 1, largest=False)[0], (X,)),
    "topk of columns": (lambda x: torch.topk(x, 2, 0), (X,)),
    "sort": (lambda x: torch.sort(x, stable=True), (X,)),
    "sort of columns": (lambda x: torch.sort(x, dim=0, descending=True, stable=True), (X,)),
    "sort of integers": (lambda x: torch.sort(x, stable=True), (IDS,)),
    "argsort": (lambda x: torch.argsort(x, stable=True), (X,)),
    "sort with NaN": (
        lambda x: torch.sort(x, stable=True),
        (torch.tensor([math.nan, 1.0, -math.inf, math.nan, math.inf]),),
    ),
    "sort with NaN, descending": (
        lambda x: torch.sort(x, stable=True, descending=True),
        (torch.tensor([math.nan, 1.0, -math.inf, math.nan, math.inf]),),
    ),
    "scatter": (lambda x, i, y: x.scatter(0, i, y), (X, UNIQUE, -X)),
    "scatter of a value": (lambda x, i: x.scatter(1, i, 8.0), (X, IDS)),
    "scatter_add": (lambda x, i, y: x.scatter_add(1, i, y), (X, IDS, X * 2)),
    **{
        f"{reduce}, include_self={own}": (
            lambda x, i, y, reduce=reduce, own=own: x.scatter_reduce(
                1, i, y, reduce, include_self=own
            ),
            (X, IDS[:, :3], X[:, [3, 0, 1]]),
        )
        for reduce in ("sum", "prod", "amax", "amin", "mean")
        for own in (True, False)
    },
    "amax of integers": (
        lambda x, i: x.scatter_reduce(0, i, x - 5, "amax", include_self=False),
        (IDS, UNIQUE),
    ),
    "index_put": (lambda x, i, y: x.index_put((i,), y), (X, ROWS, -X[:2])),
    "index_put of columns": (
        lambda x, i, y: torch.ops.aten.index_put(x, [None, i], y),
        (X, torch.tensor([3, 0]), -X[:, :2]),
    ),
    "index_put, added": (
        lambda x, i, y: x.index_put((i,), y, accumulate=True),
        (X, torch.tensor([1, 1]), X[:2]),
    ),
    "index_put by two indices": (
        lambda x, i, j, y: x.index_put((i, j), y),
        (X, torch.tensor([[0, 2], [-1, 0]]), torch.tensor([3, -4]), -X[:2, :2]),
    ),
    "index_put by indices of rank two": (
        lambda x, i, y: x.index_put((i,), y),
        (X, torch.tensor([[0, 2]]), -X[None, :2]),
    ),
    "index_put of values by a mask": (
        lambda x, y: x.index_put((x > 2,), y),
        (X, torch.tensor([8.0, 7.0, 6.0, 5.0])),
    ),
    "index_put of rows by a mask": (
        lambda x, y: x.index_put((x[:, 0] < 3,), y),
        (X, -X[:2]),
    ),
    "masked_scatter": (lambda x, y: x.masked_scatter(x > 1, y), (X, -X)),
    "put": (lambda x, i, y: x.put(i, y), (X, torch.tensor([[1, 7], [-1, 4]]), -X[:2, :2])),
    "put, added": (
        lambda x, i, y: x.put(i, y, accumulate=True),
        (X, torch.tensor([1, 1]), X[0, :2]),
    ),
    "scatter with fewer rows": (lambda x, i, y: x.scatter(1, i, y), (X, IDS[:2, :1], -X)),
    "scatter_add with fewer rows": (
        lambda x, i, y: x.scatter_add(1, i, y),
        (X, IDS[:2, :3], X * 2),
    ),
    "scatter with add": (lambda x, i, y: x.scatter(1, i, y, reduce="add"), (X, IDS, X * 2)),
    "scatter with multiply": (lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), (X, IDS)),
    "diagonal_scatter": (lambda x, y: x.diagonal_scatter(y, 1), (X, -X[0, :3])),
    "diagonal_scatter below": (lambda x, y: x.diagonal_scatter(y, -1, 1, 0), (X, -X[0, :3])),
    "cummax": (lambda x: x.cummax(1), (X,)),
    "cummin of columns": (lambda x: x.cummin(0), (X,)),
    "cummax of integers": (lambda x: x.cummax(1), (IDS,)),
    "cummax with NaN": (
        lambda x: x.cummax(0),
        (torch.tensor([1.0, -math.inf, math.nan, 2.0, math.nan]),),
    ),
    "cumsum with infinities": (
        lambda x: x.cumsum(0),
        (torch.tensor([1.0, -math.inf, 2.0, math.inf, 2.0]),),
    ),
    "cumprod of a long row": (lambda x: x.cumprod(0), (torch.arange(70) % 3 - 1,)),
    "median": (lambda x: x.median(), (X,)),
    "argmin of integers": (lambda x: x.argmin(1), (IDS - 2,)),
    "histc between the extremes": (lambda x: x.histc(4), (X,)),
    "histc of equal elements": (lambda x: x.histc(4), (X[:1, :1],)),
    "fmax and fmin": (
        lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)),
        (torch.tensor([math.nan, 1.0, math.nan]), torch.tensor([2.0, math.nan, math.nan])),
    ),
    "ldexp": (lambda x, e: torch.ldexp(x, e), (X, torch.tensor([0, 1, -2, 3]))),
    "repeat_interleave": (
        lambda x, n: x.repeat_interleave(n, 0, output_size=6),
        (X, torch.tensor([2, 0, 4])),
    ),
    "adaptive_max_pool": (
        lambda x: torch.nn.functional.adaptive_max_pool1d(x, 2, return_indices=True),
        (X,),
    ),
    **{
        f"embedding_bag, {mode}": (
            lambda w, i, o, mode=mode: torch.nn.functional.embedding_bag(
                i, w, o, mode=mode, padding_idx=1
            ),
            (X, torch.tensor([0, 2, 1, 1, 2]), torch.tensor([0, 2, 2, 3])),
        )
        for mode in ("sum", "mean")
    },
    "embedding_bag that ends before the indices": (
        lambda w, i, o: torch.nn.functional.embedding_bag(
            i, w, o, mode="sum", include_last_offset=True
        ),
        (X, torch.tensor([0, 2, 1, 1, 2]), torch.tensor([0, 2, 3])),
    ),
    "median with NaN": (
        lambda x: x.median(0),
        (torch.tensor([3.0, math.nan, 1.0, math.nan]),),
    ),
    "scatter by an index of rank zero": (
        lambda x, i, y: (x.scatter(0, i, y), x.scatter(0, i, 7.0), x.scatter_add(0, i, y)),
        (X[0], torch.tensor(2), torch.tensor(5.0)),
    ),
    "gather by an index of rank zero": (lambda x, i: x.gather(0, i), (X[0], torch.tensor(2))),
    "gather from one number": (lambda x, i: x.gather(0, i), (X[0, 0], torch.tensor([0, 0]))),
    "amax by an index of rank zero": (
        lambda x, i, y: x.scatter_reduce(0, i, y, "amax"),
        (X[0], torch.tensor(1), torch.tensor(5.0)),
    ),
    "scatter into one number": (
        lambda x, i, y: (x.scatter(0, i, y), x.scatter_add(0, i, y)),
        (X[0, 0], torch.tensor(0), torch.tensor(5.0)),
    ),
    "index_put of one row by a mask": (
        lambda x, y: x.index_put((x[:, 0] < 3,), y),
        (X, -X[:1]),
    ),
    "index_put of no values": (
        lambda x, y: x.index_put((x > 99,), y),
        (X, torch.zeros(0)),
    ),
    "index_put by a mask": (lambda x: x.index_put((x > 2,), torch.tensor(-1.0)), (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    function, arguments = CASES[name]
    program = ark.from_torch(Function(function).eval(), arguments)
    values = dict(zip(program.inputs, (a.numpy() for a in arguments), strict=True))
    got = ark.reference.run(program, values)
    wanted = function(*arguments)
    leaves = list(wanted) if isinstance(wanted, tuple) else [wanted]
    for y, w in zip(got.values(), leaves, strict=True):
        # The quotients of means are rounded to fp32.
        np.testing.assert_allclose(y, w.numpy(), rtol=6e-8 if name.startswith("mean") else 0)


def test_an_index_out_of_range_is_an_error_of_the_run(pick_target: Callable[[str], str]) -> None:
    module = Function(lambda x, i, y: x.scatter(1, i, y))
    program = ark.from_torch(module, (X, IDS, X))
    names = list(program.inputs)
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        good = executable.run(dict(zip(names, (X, IDS % 2, X), strict=True)))
        assert list(good)
        with pytest.raises(ark.InvalidUsageError, match="out of range"):
            executable.run(dict(zip(names, (X, IDS + 9, X), strict=True)))


BAD_DATA: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int, Any]] = {
    # A function, valid arguments, and another value for one of them.
    "an index of gather behind its axis, where the next row begins": (
        lambda i: X.gather(1, i), (torch.tensor([[1], [0]]),), 0, torch.tensor([[X.shape[1]], [0]]),
    ),
    "too few values for a mask": (
        lambda m, y: X.index_put((m,), y),
        (X > 2, torch.tensor([8.0, 7.0, 6.0, 5.0])), 0, X > 1,
    ),
    "too many values for a mask": (
        lambda m, y: X.index_put((m,), y),
        (X > 2, torch.tensor([8.0, 7.0, 6.0, 5.0])), 0, X > 3,
    ),
    "no values for a mask": (
        lambda x, y: x.index_put((x > 99,), y), (X, torch.zeros(0)), 0, 40 * X
    ),
    "too few values of a masked_scatter": (
        lambda x, y: x.masked_scatter(x > 8, y), (X, X[0, :2].clone()), 0, X + 7
    ),
    "repeats with another sum": (
        lambda n: X.repeat_interleave(n, 0, output_size=6),
        (torch.tensor([2, 0, 4]),), 0, torch.tensor([2, 3, 4]),
    ),
    "negative repeats": (
        lambda n: X.repeat_interleave(n, 0, output_size=6),
        (torch.tensor([2, 0, 4]),), 0, torch.tensor([4, -2, 4]),
    ),
    "first offset of a bag": (
        lambda i, o: torch.nn.functional.embedding_bag(i, X, o, mode="sum"),
        (IDS[0], torch.tensor([0, 2])), 1, torch.tensor([1, 2]),
    ),
    "last offset of a bag": (
        lambda i, o: torch.nn.functional.embedding_bag(i, X, o, mode="sum"),
        (IDS[0], torch.tensor([0, 2])), 1, torch.tensor([0, 5]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_is_an_error_of_the_run(name: str, pick_target: Callable[[str], str]) -> None:
    function, good, position, bad = BAD_DATA[name]
    spoilt = [bad if i == position else value for i, value in enumerate(good)]
    with pytest.raises((RuntimeError, IndexError, AssertionError)):
        function(*spoilt)
    program = ark.from_torch(Function(function), good)
    names = list(program.inputs)
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        (got,) = executable.run(dict(zip(names, good, strict=True))).values()
        torch.testing.assert_close(got, function(*good))
        with pytest.raises(DataRangeError, match="out of range"):
            executable.run(dict(zip(names, spoilt, strict=True)))


def test_reductions_by_index_on_a_target(pick_target: Callable[[str], str]) -> None:
    module = Function(
        lambda x, i, y: [x.scatter_reduce(1, i, y, name) for name in ("prod", "amin", "mean")]
    )
    program = ark.from_torch(module, (X, IDS, -X))
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(dict(zip(program.inputs, (X, IDS, -X), strict=True)))
    for y, wanted in zip(got.values(), module(X, IDS, -X), strict=True):
        torch.testing.assert_close(y, wanted)


def test_means_of_integers_are_refused() -> None:
    module = Function(lambda x, i: x.scatter_reduce(1, i, x, "mean"))
    with pytest.raises(ark.UnsupportedError, match="a scatter with reduce='mean' of int64"):
        ark.from_torch(module, (IDS, IDS))


def test_the_work_is_limited() -> None:
    with pytest.raises(ark.UnsupportedError, match="comparisons of positions; the limit is"):
        ark.from_torch(Function(lambda x: torch.sort(x)), torch.zeros(4096, dtype=torch.int64))
    with pytest.raises(ark.UnsupportedError, match="the order of 70000 elements; the limit is"):
        ark.from_torch(Function(lambda x: torch.sort(x)), torch.zeros(70000))
