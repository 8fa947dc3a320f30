"""``torch.compile(backend="ark")`` on tensors of a GPU.

These tests compile, so that they need an installed wheel, not the runtime of `make gpu-bundles`:

    pip install dist/ark_mlir-*.whl
    python -m pytest tests/gpu/test_torch_compile.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_modules import bytes_of_copies, mlp, target_of

pytest.importorskip("ark_mlir._mlir_libs", reason="ark is installed without its compiler")

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _fresh(torch: Any) -> Iterator[None]:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch._dynamo.reset()
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def fast(torch: Any, function: Any, **keywords: Any) -> Any:
    return torch.compile(function, backend="ark", **keywords)


def assert_as_good(torch: Any, got: Any, module: Any, *inputs: Any) -> None:
    """Checks that the error to float64 is at most PyTorch's plus a few roundings of the dtype."""
    plain = module(*inputs)
    assert (got.shape, got.dtype, got.device) == (plain.shape, plain.dtype, plain.device)
    dtype = plain.dtype
    exact = module.double()(*(i.double() for i in inputs))
    module.to(dtype)
    rounding = 16 * torch.finfo(dtype).eps * exact.abs().max()
    assert (got - exact).abs().max() <= 4 * (plain - exact).abs().max() + rounding


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_module(torch: Any, logged: Callable[[], list[str]], dtype: str) -> None:
    net = mlp(torch, getattr(torch, dtype)).eval()
    compiled = fast(torch, net)
    for _ in range(3):
        x = torch.randn(16, 64, device="cuda", dtype=getattr(torch, dtype))
        assert_as_good(torch, compiled(x), net, x)
    assert logged() == []


def test_from_torch_takes_tensors_of_the_gpu(torch: Any) -> None:
    """A module and its example inputs on the GPU; runs read and write tensors there."""
    import ark_mlir as ark

    net = mlp(torch).eval()
    x = torch.randn(16, 64, device="cuda")
    program = ark.from_torch(net, x)
    parameters = program.state_dict()
    assert all(tensor.is_cuda for tensor in parameters.values())
    with ark.compile(program, target=target_of(torch)).bind(parameters) as executable:
        assert executable.report().bound_in_place == sum(t.nbytes for t in parameters.values())
        (before,) = executable.run(x).values()
        net[0].weight.add_(1)  # the next run sees the write
        (after,) = executable.run(x).values()
    assert not torch.equal(before, after)
    assert_as_good(torch, after, net, x)


def test_no_tensor_visits_the_host(torch: Any, tmp_path: Path) -> None:
    """Neither inputs, nor results, nor the parts that PyTorch executes."""

    def holes(x: Any) -> Any:
        return torch.erfinv(torch.tanh(x) * 0.5) + x

    compiled = fast(torch, holes)
    x = torch.randn(1024, 64, device="cuda")
    compiled(x)
    sizes = bytes_of_copies(torch, lambda: compiled(x), tmp_path / "trace.json")
    # The status of a launch is copied; a tensor has 256 KiB.
    assert max(sizes, default=0) <= 1 << 14
    assert bytes_of_copies(torch, lambda: x.cpu(), tmp_path / "copy.json") == [x.nbytes]
    torch.testing.assert_close(compiled(x), holes(x))


def test_a_run_follows_the_current_stream(torch: Any) -> None:
    compiled = fast(torch, lambda x: x * 2 + 1)
    x = torch.zeros(1 << 20, device="cuda")
    compiled(x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(3)
        y = compiled(x) + 1
    torch.cuda.current_stream().wait_stream(stream)
    assert (y == 8).all()


@pytest.mark.parametrize("kind", ["transposed", "strided", "misaligned", "expanded"])
def test_inputs_of_any_layout(torch: Any, kind: str) -> None:
    x = {
        "transposed": lambda: torch.randn(6, 4, device="cuda").t(),
        "strided": lambda: torch.randn(8, 12, device="cuda")[::2, ::2],
        "misaligned": lambda: torch.randn(25, device="cuda")[1:].view(4, 6),
        "expanded": lambda: torch.randn(1, 6, device="cuda").expand(4, 6),
    }[kind]()
    assert torch.equal(fast(torch, lambda x: x * 2 + 1)(x), x * 2 + 1)


def test_parameters_are_read_in_place(torch: Any) -> None:
    net = mlp(torch).eval()
    compiled = fast(torch, net)
    x = torch.randn(16, 64, device="cuda")
    compiled(x)
    net[0].weight.mul_(2)
    assert_as_good(torch, compiled(x), net, x)


def test_addresses_are_compared_in_one_call(torch: Any) -> None:
    """PyTorch for GPUs compares the addresses of chosen tensors; -1 is the address of none."""
    from ark_mlir.pytorch import subgraph

    equal = subgraph.equal_addresses
    assert equal is not None
    tensors = [torch.zeros(4, device="cuda") for _ in range(3)]
    addresses = [tensor.data_ptr() for tensor in tensors]
    assert equal(tensors, addresses, [0, 1, 2]) is True
    assert equal(tensors, [-1, -1, -1], [0, 1, 2]) is False
    assert equal(tensors, [addresses[0], -1, addresses[2]], [0, 2]) is True
    tensors[2] = torch.zeros(4, device="cuda")
    assert equal(tensors, addresses, [0, 1, 2]) is False
    assert equal(tensors, addresses, [0, 1]) is True


def test_attention(torch: Any, logged: Callable[[], list[str]]) -> None:
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval().cuda()
    x = torch.randn(2, 24, 64, device="cuda")
    assert_as_good(torch, fast(torch, layer)(x), layer, x)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = (torch.randn(2, 4, 24, 32, device="cuda") for _ in range(3))
    got, wanted = fast(torch, attend)(q, k, v), attend(q.double(), k.double(), v.double())
    assert (got - wanted).abs().max() < 1e-4
    assert logged() == []


def test_a_convolution(torch: Any, logged: Callable[[], list[str]]) -> None:
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    x = torch.randn(2, 3, 16, 16, device="cuda")
    net = net.eval().cuda()
    assert_as_good(torch, fast(torch, net)(x), net, x)
    assert logged() == []


def test_lengths_that_change(torch: Any) -> None:
    compiled = fast(torch, lambda x: torch.softmax(x @ x.transpose(-1, -2), -1) @ x)
    times = {}
    for length in (5, 9, 12, 10, 11, 12, 9):
        x = torch.randn(2, length, 32, device="cuda")
        start = time.perf_counter()
        got = compiled(x)
        torch.cuda.synchronize()
        times.setdefault(length, time.perf_counter() - start)
        exact = torch.softmax(x.double() @ x.double().transpose(-1, -2), -1) @ x.double()
        assert (got - exact).abs().max() < 1e-4
    assert max(times[10], times[11]) < 0.05  # new lengths in the bucket of 12


def test_reduce_overhead_replays_a_graph(torch: Any, logged: Callable[[], list[str]]) -> None:
    net = mlp(torch).eval()
    compiled = fast(torch, net, mode="reduce-overhead")
    seen = []
    for _ in range(6):
        x = torch.randn(16, 64, device="cuda")
        seen.append((x, compiled(x)))
    for x, y in seen:  # earlier results are not overwritten
        assert_as_good(torch, y, net, x)
    net[0].weight.add_(1)
    x = torch.randn(16, 64, device="cuda")
    for _ in range(3):
        assert_as_good(torch, compiled(x), net, x)
    assert logged() == []


def test_tensors_on_host_and_gpu_stay_with_pytorch(
    torch: Any, logged: Callable[[], list[str]]
) -> None:
    scale = torch.tensor(2.0)  # of rank zero: goes with any device
    x = torch.randn(8, device="cuda")
    assert torch.equal(fast(torch, lambda x, s: x * s)(x, scale), x * scale)
    assert logged() == []
    fast(torch, lambda x, y: (x + 1, y + 1))(x, torch.zeros(8))
    assert any("several devices" in line for line in logged())


@pytest.mark.multigpu
def test_the_second_gpu(torch: Any, logged: Callable[[], list[str]]) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    net = mlp(torch).eval().to("cuda:1")
    x = torch.randn(16, 64, device="cuda:1")
    got = fast(torch, net)(x)
    assert got.device == x.device
    assert_as_good(torch, got, net, x)
    assert logged() == []


@pytest.mark.perf
def test_the_time_of_a_call_on_the_host(torch: Any) -> None:
    """Prints the figure for records; the bound is loose, since hosts differ."""
    compiled = fast(torch, lambda x: x * 2 + 1)
    x = torch.zeros(1024, device="cuda")
    for _ in range(100):
        compiled(x)
    start = time.perf_counter()
    for _ in range(1000):
        compiled(x)
    torch.cuda.synchronize()
    microseconds = (time.perf_counter() - start) * 1e3
    print(f"torch.compile on cuda: {microseconds:.1f} us a call, with the kernel")
    assert microseconds < 500
