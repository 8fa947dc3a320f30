"""Recorded graphs compute the results of the graphs, and a recording leaves no trace in the
process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from ark_mlir.pytorch.recording import Description, NotRecorded, Recorder, Walker, describe

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]


def traced(function: Callable[..., Any], *inputs: Any) -> Any:
    """Returns the graph of a function with symbols for the sizes of `inputs`."""
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(function, tracing_mode="symbolic", _allow_non_fake_inputs=True)(*inputs)


def recorded(graph: Any, *inputs: Any) -> Any:
    recorder = Recorder()
    arguments = [recorder.placeholder(describe(each)) for each in inputs]
    return recorder.run(Walker(graph), arguments)


TABLE = torch.arange(8.0)
GRAPHS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: (x * 2 + 1).relu(),
    "a constant tensor": lambda x: x + TABLE,
    "a new tensor": lambda x: x + torch.arange(x.shape[0])[:, None],
    "several results": lambda x: torch.topk(x, 3),
    "a part of several results": lambda x: torch.topk(x, 3)[1] + 1,
    "views": lambda x: x.t()[1:].reshape(-1).view(7, -1),
    "an argument": lambda x: (x, x * 1),
    "a size": lambda x: x * x.shape[0],
    "a write": lambda x: torch.zeros(x.shape[0]).add_(x[:, 0]).mul(2),
    "an op of other ops": lambda x: torch.nn.functional.linear(x, torch.ones(3, 8)),
    "norms": lambda x: torch.nn.functional.layer_norm(x, (8,)),
}


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_recorded_graph_has_the_results_of_the_graph(name: str, inference: bool) -> None:
    function = GRAPHS[name]
    x = torch.randn(5, 8)
    graph = traced(function, x)
    with torch.inference_mode(inference):
        found = recorded(graph, x)
    got, wanted = found(x), function(x)
    for y, w in zip(*map(torch.utils._pytree.tree_leaves, (got, wanted)), strict=True):
        torch.testing.assert_close(y, w)
    for node in found.graph.nodes:
        if node.op == "call_function" and isinstance(node.meta["val"], torch.Tensor):
            assert all(isinstance(extent, int) for extent in node.meta["val"].shape)


def test_arguments_are_described_and_not_kept() -> None:
    x = torch.randn(4, 6).t()
    described = describe(x)
    assert described == Description((6, 4), (1, 6), torch.float32, torch.device("cpu"))
    assert describe(3) == 3
    value = Recorder().placeholder(described)
    assert value.stride() == (1, 6)


def test_nodes_have_the_lines_of_the_graph() -> None:
    x = torch.randn(5, 8)
    graph = traced(GRAPHS["elements"], x)
    for node in graph.graph.nodes:
        node.meta["stack_trace"] = f"line of {node.op} {node.name}"
        node.meta["nn_module_stack"] = {"net": ("net", "Net")}
    found = recorded(graph, x)
    lines = [n.meta["stack_trace"] for n in found.graph.nodes if n.op == "call_function"]
    assert lines == ["line of call_function mul", "line of call_function add",
                     "line of call_function relu"]  # fmt: skip
    assert all(n.meta["nn_module_stack"] for n in found.graph.nodes if n.op == "call_function")


def test_graphs_that_are_not_recorded() -> None:
    sparse = torch.eye(3).to_sparse()
    with pytest.raises(NotRecorded, match="sparse"):
        describe(sparse)

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    number = graph.call_function(torch.ops.aten.item.default, (x,))
    graph.output(graph.call_function(torch.ops.aten.zeros.default, ([number],)))
    with pytest.raises(NotRecorded, match="known at run time only"):
        recorded(torch.fx.GraphModule({}, graph), torch.tensor(3))


@pytest.mark.parametrize("sizes", ["padded", "exact"])
def test_assertions_of_graphs_with_dynamic_sizes(sizes: str) -> None:
    def halved(x: torch.Tensor) -> torch.Tensor:
        torch._assert_async((x > 0).all(), "not positive")  # noqa: SLF001
        return x / 2

    options = {"target": "cpu:1", "sizes": sizes}
    compiled = torch.compile(halved, backend="ark", dynamic=True, options=options)
    for length in (3, 4):
        assert torch.equal(compiled(torch.ones(length)), torch.full((length,), 0.5))
        with pytest.raises(RuntimeError, match="not positive"):
            compiled(torch.zeros(length))


def test_ops_that_take_graphs_are_not_recorded() -> None:
    x = torch.randn(5)
    graph = traced(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), x)
    with pytest.raises(NotRecorded, match="cond"):
        recorded(graph, x)


def test_compiled_functions_run_while_a_graph_is_recorded() -> None:
    """``make_fx`` would make the calls raise an error, since it sets a variable of the process."""
    x = torch.randn(5, 8)
    graph = traced(GRAPHS["elements"], x)
    reached, ready = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    class Slow(Walker):
        def run_node(self, n: Any) -> Any:
            reached.set()
            assert ready.wait(60)
            return super().run_node(n)

    def record() -> None:
        try:
            recorder = Recorder()
            recorder.run(Slow(graph), [recorder.placeholder(describe(x))])
        except BaseException as error:  # the test fails
            errors.append(error)

    compiled = torch.compile(lambda x: x.sin() + 1, backend="eager")
    compiled(x)
    thread = threading.Thread(target=record)
    thread.start()
    assert reached.wait(60)
    try:
        torch.testing.assert_close(compiled(x), x.sin() + 1)
        assert type(x * 2) is torch.Tensor
    finally:
        ready.set()
        thread.join()
    assert errors == []
