"""Graphs of ATen ops without torch: nodes with the attributes of ``torch.fx``, and tensor
metadata."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.pytorch.translate import Translation
from ark_mlir.runtime.arrays.frameworks import to_numpy
from ark_mlir.testing.bounds import assert_within


@dataclass(frozen=True)
class Described:
    """The shape and dtype of a tensor, as torch's fake tensors provide them."""

    shape: tuple[int, ...]
    dtype: str = "float32"


@dataclass(eq=False)
class FakeNode:
    """A node of a graph, with the attributes that ark reads."""

    name: str
    target: object
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    op: str = "call_function"


class Graph:
    """Builds a graph, and translates it to a program.

    Example:
        >>> graph = Graph()
        >>> x = graph.input("x", (2, 3))
        >>> y = graph.call("aten.relu.default", Described((2, 3)), x)
        >>> graph.program(y).outputs
    """

    def __init__(self) -> None:
        self.nodes: list[FakeNode] = []
        self.inputs: list[FakeNode] = []
        self.constants: dict[FakeNode, np.ndarray[Any, Any]] = {}

    def input(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> FakeNode:
        node = FakeNode(name, name, meta={"val": Described(shape, dtype)}, op="placeholder")
        self.inputs.append(node)
        return node

    def constant(self, value: object) -> FakeNode:
        array = np.asarray(value)
        node = FakeNode("c", "c", meta={"val": Described(array.shape, array.dtype.name)})
        self.constants[node] = array
        return node

    def call(self, target: object, val: object, *args: Any, **kwargs: Any) -> FakeNode:
        node = FakeNode(f"n{len(self.nodes)}", target, args, kwargs, {"val": val})
        self.nodes.append(node)
        return node

    def item(self, source: FakeNode, index: int) -> FakeNode:
        return self.call(operator.getitem, source.meta["val"][index], source, index)

    def translated(self) -> Translation:
        """Translates all nodes into the open program."""
        translation = Translation(self.constants)
        for node in self.inputs:
            val = node.meta["val"]
            translation.set(node, ark.input(node.name, val.shape, val.dtype))
        for node in self.nodes:
            translation.add(node)
        return translation

    def program(self, *results: FakeNode) -> ark.Program:
        """Returns the program with `results` as ``y0``, ``y1`` …; no op may be missing."""
        with ark.Program("graph") as program:
            translation = self.translated()
            assert not translation.problems, list(translation.problems.values())
            for number, node in enumerate(results):
                ark.output(f"y{number}", translation.tensor(node))
        return program


class Watch:
    """Records compiled programs and the number of bindings, and compares the outputs of every run
    with the interpreter within its bound."""

    def __init__(self) -> None:
        self.programs: list[ark.Program] = []
        self.binds: list[list[str]] = []
        self._made: dict[ark.Executable, tuple[ark.Program, dict[str, Any]]] = {}

    def compiled(self, program: ark.Program, executable: ark.Executable) -> None:
        self.programs.append(program)
        self._made[executable] = program, {}

    def bound(self, executable: ark.Executable, values: dict[str, Any]) -> None:
        self.binds.append(list(values))
        self._made[executable][1].update(values)

    def ran(self, executable: ark.Executable, inputs: Any, outputs: dict[str, Any]) -> None:
        program, parameters = self._made[executable]
        arrays = {n: to_numpy(t.detach(), n) for n, t in {**parameters, **inputs}.items()}
        evaluation = ark.reference.evaluate(program, arrays, bound=True)
        for name, y in outputs.items():
            got = to_numpy(y, name)
            assert_within(got, evaluation.outputs[name], evaluation.bounds[name], name)


@pytest.fixture
def fresh_torch() -> Generator[None]:
    """Resets torch's compiled functions and random numbers before tests that compile."""
    import torch

    from ark_mlir.pytorch import wait_for_programs

    torch.manual_seed(0)
    torch._dynamo.reset()
    with torch.no_grad():
        yield
    wait_for_programs(120)
    torch._dynamo.reset()


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def gradients() -> Generator[None]:
    import torch

    with torch.enable_grad():
        yield


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "ark.pytorch")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "ark.pytorch"]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a ``Seen``, which records each compilation and binding."""
    from torch_training import Seen

    from ark_mlir.pytorch import backend

    found = Seen()
    compile_program, bind = ark.compile, ark.Executable.bind

    def compiling(program: ark.Program, **options: Any) -> ark.Executable:
        found.programs.append(program)
        return compile_program(program, **options)

    def binding(self: ark.Executable, values: Any, **options: Any) -> ark.Executable:
        found.bound.append(list(values))
        return bind(self, values, **options)

    monkeypatch.setattr(backend, "compile", compiling)
    monkeypatch.setattr(ark.Executable, "bind", binding)
    return found


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    from ark_mlir.pytorch import backend

    seen = Watch()
    compile_program, bind, run = ark.compile, ark.Executable.bind, ark.Executable.run

    def compiling(program: ark.Program, **options: Any) -> ark.Executable:
        executable = compile_program(program, **options)
        seen.compiled(program, executable)
        return executable

    def binding(self: ark.Executable, values: Any, **options: Any) -> ark.Executable:
        seen.bound(self, values)
        return bind(self, values, **options)

    def running(self: ark.Executable, inputs: Any, **options: Any) -> dict[str, Any]:
        outputs = run(self, inputs, **options)
        seen.ran(self, inputs, outputs)
        return outputs

    monkeypatch.setattr(backend, "compile", compiling)
    monkeypatch.setattr(ark.Executable, "bind", binding)
    monkeypatch.setattr(ark.Executable, "run", running)
    return seen
