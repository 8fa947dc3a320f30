"""Graphs of tensors on GPUs, without a GPU: tensors on the host that claim to be there, and the
stand-ins for CUDA and HIP. PyTorch calls the GPUs of both vendors ``cuda``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch_on_fake_gpu import claim_vendor, make_cuda, on_gpu, torch

import ark_mlir as ark
from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip, fake_executable
from ark_mlir.testing.toy import add_program, compile_kernel

HOST, GPU0, GPU1 = (torch.device(name) for name in ("cpu", "cuda:0", "cuda:1"))


def described(device: Any, ndim: int = 1, requires_grad: bool = False) -> Any:
    return SimpleNamespace(device=device, ndim=ndim, requires_grad=requires_grad)


# -- the choice of the device ----------------------------------------------------------------


@pytest.fixture
def backend(vendor: type[FakeCuda], monkeypatch: pytest.MonkeyPatch) -> str:
    """The backend of a vendor; torch claims to be built for it."""
    claim_vendor(monkeypatch, vendor)
    return vendor.backend


def test_a_graph_is_compiled_for_the_gpu_of_its_tensors(backend: str) -> None:
    from ark_mlir.pytorch.devices import device_of, options_for

    tensors = [described(GPU1), described(GPU1), described(HOST, ndim=0)]
    assert device_of(tensors) == GPU1
    assert options_for(GPU1, {}) == {"target": backend, "devices": [1]}
    architecture = f"{backend}:any"
    assert options_for(GPU1, {"target": architecture}) == {"target": architecture, "devices": [1]}
    assert options_for(GPU1, {"target": f"{backend}:0"}) == {"target": f"{backend}:0"}
    assert options_for(HOST, {"target": "cpu:2"}) == {"target": "cpu:2"}
    assert device_of([]) == HOST


def test_graphs_on_every_device_that_ark_takes(backend: str) -> None:
    from ark_mlir.pytorch.devices import reason_against

    for options in ({}, {"target": backend}, {"target": f"{backend}:0"}, {"target": "toy"}):
        assert reason_against([described(GPU0)], options) is None
        if not str(options.get("target", "")).startswith(backend):
            assert reason_against([described(HOST)], options) is None


@pytest.mark.parametrize(
    ("tensors", "options", "reason"),
    [
        ([described(GPU0), described(GPU1)], {}, r"several devices \(NAME:0, NAME:1\)"),
        ([described(GPU0), described(HOST)], {}, r"several devices \(cpu, NAME:0\)"),
        ([described(GPU0)], {"target": "cpu:2"}, "on NAME:0, but the target is cpu:2"),
        ([described(GPU0)], {"target": "OTHER"}, "on NAME:0, but the target is OTHER"),
        ([described(HOST)], {"target": "BACKEND"}, "on cpu, but the target is BACKEND"),
        ([described(torch.device("mps"))], {}, "on mps, but ark runs on the host, NVIDIA GPUs and"),
    ],
)
def test_graphs_that_stay_with_pytorch(
    tensors: Any, options: Any, reason: str, backend: str
) -> None:
    from ark_mlir.pytorch.devices import reason_against

    other, name = ("cuda", "rocm") if backend == "hip" else ("hip", "cuda")

    def filled(text: str) -> str:
        return text.replace("NAME", name).replace("OTHER", other).replace("BACKEND", backend)

    given = {key: filled(value) for key, value in options.items()}
    found = reason_against(tensors, given)
    assert found is not None
    assert re.search(filled(reason), found)


def test_torch_compile_names_the_gpu_of_the_tensors(
    backend: str,
    fresh_torch: None,
    logged: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A graph whose tensors claim to be on the second GPU; PyTorch executes what ark refuses."""
    from ark_mlir.pytorch import backend as module

    del fresh_torch
    chosen: list[dict[str, Any]] = []

    def refusing(program: ark.Program, **options: Any) -> ark.Executable:
        del program
        chosen.append(options)
        raise ark.UnsupportedError("this machine has no such GPU")

    monkeypatch.setattr(module, "device_of", lambda tensors: GPU1)
    monkeypatch.setattr(module, "reason_against", lambda tensors, options: None)
    monkeypatch.setattr(module, "compile", refusing)
    fast = torch.compile(lambda x: x * 2 + 1, backend=module.backend)
    x = torch.randn(8, 16)
    assert torch.equal(fast(x), x * 2 + 1)
    assert chosen == [{"target": backend, "devices": [1]}]
    (line,) = logged()
    assert "this machine has no such GPU; the subgraph runs in eager PyTorch" in line


# -- a part on the stand-in ------------------------------------------------------------------


class Renamed:
    """The toy program, with the name of its result that the first result of a part has."""

    def __init__(self, executable: ark.Executable) -> None:
        self.executable = executable
        self.inputs: list[Any] = []
        self.bound = 0

    def bind(self, values: Any) -> None:
        self.bound += 1
        self.executable.bind(values)

    def run(self, inputs: Any) -> dict[str, Any]:
        self.inputs.append(inputs["x"])
        return {"0": self.executable.run(inputs)["y"]}

    def check(self) -> None:
        self.executable.check()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, vendor: type[FakeCuda]) -> FakeCuda:
    """A GPU of a vendor."""
    return make_cuda(monkeypatch, vendor)


@pytest.fixture(scope="module")
def kernel() -> bytes:
    return compile_kernel()


@pytest.fixture
def toy(cuda: FakeCuda, kernel: bytes) -> Iterator[Renamed]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield Renamed(executable)
    assert cuda.held == 0


@pytest.fixture
def part(toy: Renamed) -> Any:
    """A part ``x + w + 0.5`` that runs the toy program."""
    return make_part(toy)


@pytest.fixture(params=[False, True], ids=["PyTorch for cpu", "PyTorch for GPUs"])
def guarded_part(
    toy: Renamed, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """A part whose callers compare the strides of parameters, as TorchDynamo does.

    PyTorch for CUDA or ROCm has a function that compares addresses.
    """
    from ark_mlir.pytorch import subgraph

    def equal(tensors: list[Any], addresses: list[int], numbers: list[int]) -> bool:
        return all(tensors[n].data_ptr() == addresses[n] for n in numbers)

    monkeypatch.setattr(subgraph, "equal_addresses", equal if request.param else None)
    return make_part(toy, guarded=True)


def test_pytorch_for_cuda_has_the_function_that_compares_addresses() -> None:
    """The stubs, which PyTorch for cpu has too, name the function and its arguments. A test in
    tests/gpu calls the function."""
    stubs = Path(torch.__file__).parent / "_C" / "__init__.pyi"
    found = [
        [argument.arg for argument in node.args.args]
        for node in ast.parse(stubs.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "_tensors_data_ptrs_at_indices_equal"
    ]
    assert found == [["tensors", "ptrs", "indices"]]


def make_part(toy: Renamed, **options: Any) -> Any:
    from ark_mlir.pytorch.subgraph import CompiledSubgraph

    graph = torch.fx.Graph()
    x, w = graph.placeholder("x"), graph.placeholder("w")
    y = graph.call_function(torch.ops.aten.add.Tensor, (x, w))
    y.meta["val"] = torch.empty(128)
    graph.output(y)
    module = torch.fx.GraphModule({}, graph)
    return CompiledSubgraph(toy, module, ["input", "parameter"], HOST, **options)  # type: ignore[arg-type]


def assert_added(got: Any, x: Any, w: Any) -> None:
    assert torch.equal(
        got.as_subclass(torch.Tensor), (x.reshape(-1) + w + 0.5).as_subclass(torch.Tensor)
    )


def test_tensors_are_read_in_place_on_the_current_stream(
    part: Any, toy: Renamed, cuda: Any
) -> None:
    cuda.current = stream = cuda.new_stream()
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(128))
    assert_added(part(x, w), x, w)
    assert toy.inputs[0].data_ptr() == x.data_ptr()
    assert toy.executable.report().bound_in_place == 512
    assert cuda.launched == [stream]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: torch.randn(16, 8).t(),
        lambda: torch.randn(8, 32)[:, ::2],
        lambda: torch.randn(129)[1:].view(8, 16),
    ],
)
def test_tensors_that_a_kernel_cannot_read_are_copied_on_the_gpu(
    part: Any, toy: Renamed, spoil: Callable[[], Any]
) -> None:
    x, w = on_gpu(spoil()), on_gpu(torch.randn(128))
    assert_added(part(x, w), x, w)
    (read,) = toy.inputs
    assert read.is_cuda
    assert read.is_contiguous()
    assert read.data_ptr() % 16 == 0


def test_a_parameter_that_was_copied_and_written_to_is_bound_again(part: Any, toy: Renamed) -> None:
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(256)[::2])
    assert_added(part(x, w), x, w)
    w.mul_(2)
    assert_added(part(x, w), x, w)
    assert toy.bound == 2


def test_a_parameter_that_becomes_another_view_of_its_memory_is_bound_again(
    part: Any, toy: Renamed
) -> None:
    """All views begin at the same address."""
    memory = torch.randn(512)
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(memory[:128])
    for number, view in enumerate((memory[:128], memory[::2][:128], memory[::4], memory[:128])):
        w.data = on_gpu(view)
        assert_added(part(x, w), x, w)
        assert toy.bound == number + 1


def test_a_guarded_part_sees_parameters_that_change(guarded_part: Any, toy: Renamed) -> None:
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(128))
    for _ in range(2):
        assert_added(guarded_part(x, w), x, w)
    w.mul_(2)  # in place: the kernel reads the memory
    assert_added(guarded_part(x, w), x, w)
    assert toy.bound == 1
    w.data = on_gpu(torch.randn(128))  # other memory
    assert_added(guarded_part(x, w), x, w)
    other = on_gpu(torch.randn(128))  # another tensor
    assert_added(guarded_part(x, other), x, other)
    assert toy.bound == 3
    copied = on_gpu(torch.randn(256)[::2])
    for bound in (4, 5):
        assert_added(guarded_part(x, copied), x, copied)
        assert toy.bound == bound
        copied.mul_(2)


def test_the_kernel_reads_what_an_optimizer_has_written(part: Any, toy: Renamed) -> None:
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(128))
    for _ in range(3):
        assert_added(part(x, w), x, w)
        w.mul_(2)
    assert toy.bound == 1


@pytest.mark.parametrize("strides", [(4, 1), (1, 8)])
def test_results_of_numbers_on_the_host_are_on_the_device_of_the_part(strides: Any) -> None:
    """The only input of ``w * scale`` is a number on the host, where a run returns its results."""
    from ark_mlir.pytorch.subgraph import CompiledSubgraph

    class OnHost:
        def bind(self, values: Any) -> None: ...

        def run(self, inputs: Any) -> dict[str, Any]:
            return {"0": torch.ones(8, 4) * inputs["scale"]}

    graph = torch.fx.Graph()
    scale = graph.placeholder("scale")
    y = graph.call_function(torch.ops.aten.mul.Tensor, (scale, 1))
    y.meta["val"] = torch.empty_strided((8, 4), strides)
    graph.output(y)
    elsewhere = torch.device("meta")
    module = torch.fx.GraphModule({}, graph)
    part = CompiledSubgraph(OnHost(), module, ["input"], elsewhere)  # type: ignore[arg-type]
    result = part(torch.tensor(2.0))
    assert result.device == elsewhere
    assert (result.shape, result.stride()) == ((8, 4), strides)


# -- CUDA and HIP graphs ---------------------------------------------------------------------


@pytest.fixture
def graphs(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The CUDA or HIP graphs that were recorded, with the stand-in's captures."""
    recorded: list[Any] = []

    class CudaGraph:
        def __init__(self) -> None:
            self.replays = 0
            self.record: Any = None
            recorded.append(self)

        def replay(self) -> None:
            self.replays += 1
            self.record(cuda.current)

    @contextmanager
    def capture(graph: Any) -> Iterator[None]:
        before, cuda.current = cuda.current, cuda.new_stream()
        cuda.begin_capture(cuda.current)
        try:
            yield
        finally:
            graph.record = cuda.end_capture(cuda.current)
            cuda.current = before

    monkeypatch.setattr(torch.cuda, "CUDAGraph", CudaGraph)
    monkeypatch.setattr(torch.cuda, "graph", capture)
    return recorded


def test_a_graph_is_recorded_by_the_second_call(part: Any, graphs: list[Any]) -> None:
    from ark_mlir.pytorch.capturing import Captured

    captured = Captured(part, frozenset([1]), part.check)
    w = on_gpu(torch.randn(128))
    results = []
    for count in range(4):
        x = on_gpu(torch.randn(8, 16))
        results.append((captured(x, w), x))
        assert sum(graph.replays for graph in graphs) == count
    assert len(graphs) == 1
    for got, x in results:  # later replays leave earlier results alone
        assert_added(got, x, w)


def test_a_graph_is_recorded_anew_for_other_parameters(part: Any, graphs: list[Any]) -> None:
    from ark_mlir.pytorch.capturing import Captured

    captured = Captured(part, frozenset([1]), part.check)
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(128))
    other = on_gpu(torch.randn(128))
    for parameter in (w, w, w, other, other):
        assert_added(captured(x, parameter), x, parameter)
    other.add_(1)  # which a replay reads
    assert_added(captured(x, other), x, other)
    assert len(graphs) == 2


def test_a_graph_is_recorded_anew_if_a_copied_parameter_was_written_to(
    part: Any, graphs: list[Any]
) -> None:
    from ark_mlir.pytorch.capturing import Captured

    captured = Captured(part, frozenset([1]), part.check)
    x, w = on_gpu(torch.randn(8, 16)), on_gpu(torch.randn(256)[::2])
    for _ in range(2):
        assert_added(captured(x, w), x, w)
        assert_added(captured(x, w), x, w)
        w.add_(1)
    assert len(graphs) == 2


@pytest.mark.parametrize("shape", [(2, 4, 3, 5), (1, 1, 3, 5), (3, 5)])
def test_the_gradient_of_an_attention_on_gpus(shape: tuple[int, ...]) -> None:
    from ark_mlir.pytorch.decompositions import decompositions

    rules = {str(op): rule for op, rule in decompositions().items()}
    rule = rules["aten._scaled_dot_product_efficient_attention_backward.default"]
    q, k, v, bias = (
        torch.randn(s, dtype=torch.float64, requires_grad=True)
        for s in ((2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 8), shape)
    )
    slopes = torch.randn(2, 4, 3, 8).double()
    mixed = torch.softmax(q @ k.mT * 0.3 + bias, -1) @ v
    wanted = torch.autograd.grad(mixed, (q, k, v, bias), slopes)
    unused = [None] * 4  # what the forward op keeps for the backward op
    options: Any = {"dropout_p": 0.0, "grad_input_mask": [True] * 4, "scale": 0.3}
    found = rule(slopes, q, k, v, bias, *unused, **options)
    assert all(map(torch.allclose, found, wanted))
    *_, none = rule(
        slopes, q, k, v, bias, *unused, **{**options, "grad_input_mask": [True] * 3 + [False]}
    )
    assert none is None
    assert rule(slopes, q, k, v, bias, *unused, **{**options, "dropout_p": 0.1}) is NotImplemented


@pytest.mark.parametrize("training", [False, True])
def test_the_batch_norm_of_miopen(
    training: bool,
    fresh_torch: None,
    seen: Any,
    logged: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An op that batch norms become with PyTorch for ROCm only. It has no kernel on the host."""
    del fresh_torch
    claim_vendor(monkeypatch, FakeHip)

    def norm(x: Any, *values: Any) -> Any:
        return torch.ops.aten.miopen_batch_norm(x, *values, training, 0.1, 1e-5)[0]

    x, weight, bias, mean = torch.randn(4, 3, 5, 5), *(torch.randn(3) for _ in range(3))
    given = [weight, bias, mean, torch.rand(3) + 0.5]
    wanted = [value.clone() for value in given]
    fast = torch.compile(norm, backend="ark", options={"target": "cpu:1"})
    got = fast(x, *given)
    same = torch.nn.functional.batch_norm(
        x, wanted[2], wanted[3], wanted[0], wanted[1], training, 0.1, 1e-5
    )
    torch.testing.assert_close(got, same)
    for ours, theirs in zip(given, wanted, strict=True):  # also the running statistics
        torch.testing.assert_close(ours, theirs)
    assert len(seen.programs) == 1
    assert logged() == []


def test_what_cannot_be_recorded_runs_as_it_is(
    graphs: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    from ark_mlir.pytorch.capturing import Captured

    calls = 0

    def function(x: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("operation not permitted when stream is capturing")
        return x + 1

    captured = Captured(function, frozenset(), lambda: None)
    for _ in range(4):
        assert captured(torch.zeros(2)).tolist() == [1, 1]
    (record,) = [r for r in caplog.records if r.name == "ark.pytorch"]
    assert "without a CUDA graph: operation not permitted" in record.getMessage()
    assert not any(graph.replays for graph in graphs)
