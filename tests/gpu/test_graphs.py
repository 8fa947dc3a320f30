"""Runs that are captured in a CUDA graph, and the results and errors of their replays."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]

pytestmark = pytest.mark.gpu


def test_replays_between_runs(load: Load, torch: Any, tensors: Arrays) -> None:
    exe = load("weights").bind({"w": tensors["w"]})
    x, position = tensors["x"].clone(), torch.zeros((), dtype=torch.int32, device="cuda")
    exe.run(x=x, position=0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = exe.run(x=x, position=position)
    for step in range(1, 60):
        x.normal_()
        position.fill_(step)
        graph.replay()
        replayed = {name: value.clone() for name, value in result.items()}
        exe.check()
        # The state already has the rows, so that repeating a run changes nothing.
        run = exe.run(x=x, position=step)
        for name, value in run.items():
            assert torch.equal(value, replayed[name]), (step, name)


def test_many_replays_without_the_host(load: Load, torch: Any) -> None:
    """Each replay has work before and after it on its stream, and the host does not wait in
    between."""
    exe = load("good")
    x = torch.randn(64, 256, device="cuda")
    expected = exe.run(x=x)["y"]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = exe.run(x=x)["y"]
        wrong = (y != expected).sum()
    total = torch.zeros_like(wrong)
    for _ in range(2000):
        y.zero_()
        graph.replay()
        total += wrong
    exe.check()
    assert total.item() == 0


def test_two_runs_in_one_graph(load: Load, torch: Any) -> None:
    exe = load("good")
    first, second = (torch.randn(64, 256, device="cuda") for _ in range(2))
    expected = [exe.run(x=x)["y"] for x in (first, second)]
    graphs = []
    for x in (first, second):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = exe.run(x=x)["y"]
        graphs.append((graph, y))
        exe.run(x=x)
    for graph, _ in (*graphs, *reversed(graphs)):
        graph.replay()
    torch.cuda.synchronize()
    for (_, y), wanted in zip(graphs, expected, strict=True):
        assert torch.equal(y, wanted)
    exe.check()


def test_arrays_of_the_host_are_refused(load: Load, torch: Any) -> None:
    exe = load("good")
    x = torch.randn(64, 256, device="cuda")
    on_host = np.zeros((64, 256), np.float32)
    exe.run(x=x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(ark.InvalidUsageError, match="lies in host memory"):
            exe.run(x=on_host, stream=torch.cuda.current_stream())
        y = exe.run(x=x)["y"]
    graph.replay()
    exe.check()
    assert torch.equal(y, exe.run(x=x)["y"])


def test_check_reports_a_hang_of_a_replay(load: Load, torch: Any) -> None:
    x = torch.randn(64, 256, device="cuda")
    good = load("good")
    expected = good.run(x=x)["y"]
    with ark.knobs.scope(ARK_TIMEOUT="0.3"):
        exe = load("hang")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            exe.run(x=x)
        for _ in range(3):
            graph.replay()
            with pytest.raises(ark.HangError, match="softmax"):
                exe.check()
            assert torch.equal(good.run(x=x)["y"], expected)


def test_check_reports_bad_data_of_a_replay(load: Load, torch: Any) -> None:
    table = torch.randn(100, 64, device="cuda")
    exe = load("lookup").bind({"table": table})
    ids = torch.zeros(4, dtype=torch.int32, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = exe.run(ids=ids)["y"]
    for index in (0, 99):
        ids[2] = 100
        graph.replay()
        with pytest.raises(ark.InvalidUsageError, match="index 100 is out of range"):
            exe.check()
        ids.fill_(index)
        graph.replay()
        exe.check()
        assert torch.equal(y, table[index].expand(4, 64))


def test_the_example_of_check(load: Load, torch: Any) -> None:
    """On a machine without a GPU, the tests of docstrings skip this example."""
    exe, x = load("good"), torch.randn(64, 256, device="cuda")
    exe.run(x=x)
    names = {"torch": torch, "graph": torch.cuda.CUDAGraph(), "exe": exe, "x": x}
    finder = doctest.DocTestFinder(recurse=False)
    [example] = finder.find(ark.Executable.check, "Executable.check", globs=names)
    assert doctest.DocTestRunner().run(example) == (0, 3)
