"""Messages about graphs that ark cannot express, without torch."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import pytest

import ark_mlir as ark
from ark_mlir.pytorch.translate import Problem, refusal

from .conftest import Described, Graph

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

X = Described((2, 3))


@contextlib.contextmanager
def thrown_away() -> Generator[None]:
    class Done(Exception):
        pass

    with contextlib.suppress(Done), ark.Program("scratch"):
        yield
        raise Done


def problems(graph: Graph) -> list[Problem]:
    with thrown_away():
        return list(graph.translated().problems.values())


def trace(line: int) -> str:
    return f'  File "/net.py", line {line}, in forward\n    y = f(x)\n'


def test_all_missing_ops_are_found_at_once(graph: Graph) -> None:
    x = graph.input("x", (2, 3))
    for line, op in enumerate(("i0", "relu", "erfinv", "i0"), 10):
        x = graph.call(f"aten.{op}.default", X, x)
        x.meta["stack_trace"] = trace(line)
    error = refusal("net", problems(graph))
    assert str(error) == (
        "'net' has 2 unsupported ops; torch.compile(module, backend=\"ark\") leaves such ops to "
        "PyTorch\n"
        "  note: /net.py:10: aten.i0.default: ark has no such op (node 'n0' and 1 more)\n"
        "  note: /net.py:12: aten.erfinv.default: ark has no such op (node 'n2')"
    )


def test_one_missing_op_is_one_line(graph: Graph) -> None:
    x = graph.call("aten.i0.default", X, graph.input("x", (2, 3)))
    x.meta["stack_trace"] = trace(7)
    assert str(refusal("net", problems(graph))) == (
        "/net.py:7: 'net' has an unsupported op: aten.i0.default: ark has no such op "
        "(node 'n0')"
        '; torch.compile(module, backend="ark") leaves such ops to PyTorch'
    )


@pytest.mark.parametrize(
    ("op", "val", "args", "reason"),
    [
        ("aten.add.Tensor", Described((2, 3), "float64"), (1,), "elements of float64"),
        ("aten.add.Tensor", Described((2, 3)), (1, 2, 3), "unknown arguments"),
        ("aten.add.Tensor", Described((2, 3)), (1j,), "an operand that is a complex"),
        ("aten.dropout.default", X, (0.5, True), r"module.eval\(\) switches it off"),
        ("aten.view.default", Described(("s0",)), ([-1],), "only at run time"),  # type: ignore[arg-type]
        ("aten.view.default", Described((7,)), ([7],), "ark.reshape: "),
        (
            "aten.relu.default",
            Described((3, 2)),
            (),
            r"is fp32\[2, 3\] in ark, fp32\[3, 2\] in torch",
        ),
        ("aten.bitwise_and.Tensor", Described((2, 3), "int64"), (1,), "bits of integers"),
        ("aten.view.dtype", Described((2, 3), "bool"), (ark.bool,), "neither true nor false"),
        ("aten.var.correction", Described((2, 1)), ([1],), None),
    ],
)
def test_errors_give_the_reason(
    graph: Graph, op: str, val: object, args: tuple[object, ...], reason: str | None
) -> None:
    graph.call(
        op, val, graph.input("x", (2, 3)), *args, **({"keepdim": True} if not reason else {})
    )
    found = problems(graph)
    assert [p.op for p in found] == ([op] if reason else [])
    if reason:
        with pytest.raises(ark.UnsupportedError, match=reason):
            raise refusal("net", found)


def test_an_unsupported_result_raises_only_if_it_is_used(graph: Graph) -> None:
    table, ids = graph.input("table", (4, 8)), graph.input("ids", (5,), "int64")
    begins = graph.input("begins", (2,), "int64")
    bag = (Described((2, 8)), *(Described((2,), "int64") for _ in range(3)))
    found = graph.call("aten._embedding_bag.default", bag, table, ids, begins)
    graph.call("aten.relu.default", bag[0], graph.item(found, 0))
    assert problems(graph) == []
    graph.call("aten.neg.default", bag[1], graph.item(found, 1))
    (problem,) = problems(graph)
    assert problem.op == "aten.neg.default"
    assert "the offsets of an embedding bag" in problem.reason


def test_statistics_of_a_norm_are_computed_only_if_they_are_used(graph: Graph) -> None:
    x = graph.input("x", (2, 3))
    row = Described((2, 1))
    norm = graph.call("aten.native_layer_norm.default", (X, row, row), x, [3], None, None, 1e-5)
    result = graph.item(norm, 0)
    assert "ark.reduce" not in graph.program(result).mlir
    assert graph.program(result, graph.item(norm, 1)).mlir.count("ark.reduce") == 1


def test_a_result_that_is_no_tensor_raises_only_if_it_is_used(graph: Graph) -> None:
    x = graph.input("x", (2, 3))
    graph.call("aten._assert_tensor_metadata.default", None, x)
    number = graph.call("aten._local_scalar_dense.default", 1.0, x)
    assert problems(graph) == []
    graph.call("aten.add.Tensor", X, x, number)
    (problem,) = problems(graph)
    assert (
        problem.reason
        == "'n1' (aten._local_scalar_dense.default) is a number known at run time only"
    )


def test_locations_skip_the_lines_of_torch(graph: Graph) -> None:
    from ark_mlir.pytorch.translate import Translation

    x = graph.call("aten.i0.default", X, graph.input("x", (2, 3)))
    x.meta["stack_trace"] = trace(7) + '  File "/lib/torch/nn/linear.py", line 3, in forward\n'
    with thrown_away():
        translation = Translation({}, "/lib/torch/")
        translation.stand_in(graph.inputs[0])
        translation.add(x)
        assert translation.problems[x].location == "/net.py:7"


def test_ops_know_line_and_module(graph: Graph) -> None:
    x = graph.call("aten.relu.default", X, graph.input("x", (2, 3)))
    x.meta.update(
        stack_trace=trace(3) + trace(7), nn_module_stack={"a": ("up", "Up"), "b": ("up.act", "Act")}
    )
    text = graph.program(x).module.operation.get_asm(enable_debug_info=True)
    assert 'loc("up.act.relu"' in text
    assert '"/net.py":7:0' in text
    assert '"/net.py":3:0' in text
