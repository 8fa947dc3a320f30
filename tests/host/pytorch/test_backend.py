"""``torch.compile(backend="ark")``: the compiled parts, the parts that stay with PyTorch, and
messages."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark

from .conftest import Watch

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]


def fast(module: Any, **options: Any) -> Any:
    from ark_mlir.pytorch.backend import backend

    return torch.compile(
        module, backend=backend, options={"target": "cpu:2", "new_sizes": "wait", **options}
    )


def assert_as_good(got: Any, module: Any, *inputs: Any) -> None:
    """Checks that the error to float64 is at most PyTorch's in float32 plus a few roundings."""
    plain = module(*inputs)
    wide = [i.double() if i.is_floating_point() else i for i in inputs]
    exact = module.double()(*wide)
    module.float()
    rounding = 8 * torch.finfo(torch.float32).eps * exact.abs().max()
    assert (got - exact).abs().max() <= 4 * (plain - exact).abs().max() + rounding
    assert got.shape == plain.shape
    assert got.stride() == plain.stride()


class Net(nn.Module):
    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        self.up = nn.Linear(8, 16, bias=bias)
        self.norm = nn.LayerNorm(16)
        self.down = nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        return x + self.down(nn.functional.gelu(self.norm(self.up(x))))


def test_a_module_is_one_program(watch: Watch, logged: Callable[[], list[str]]) -> None:
    net, x = Net().eval(), torch.randn(3, 8)
    assert_as_good(fast(net)(x), net, x)
    (program,) = watch.programs
    assert len(program.parameters) == 6
    assert len(program.inputs) == 1
    assert logged() == []


def test_later_calls_reuse_the_compiled_and_bound_program(watch: Watch) -> None:
    net = Net().eval()
    compiled = fast(net)
    for _ in range(3):
        x = torch.randn(3, 8)
        assert_as_good(compiled(x), net, x)
    assert len(watch.programs) == 1


def test_parameters_are_bound_once_and_in_place(watch: Watch) -> None:
    linear = nn.Linear(64, 64)
    compiled = fast(linear)
    x = torch.randn(2, 64)
    compiled(x)
    compiled(x)
    assert len(watch.binds) == 1
    linear.weight.mul_(2)
    assert torch.allclose(compiled(x), linear(x), atol=1e-5)
    linear.weight = nn.Parameter(torch.randn(64, 64))
    assert torch.allclose(compiled(x), linear(x), atol=1e-5)
    assert sum(len(names) for names in watch.binds) <= 4


@pytest.mark.parametrize("size", [8, 64])
def test_a_parameter_whose_data_is_replaced(size: int) -> None:
    """``Module.to`` and ``Module.double`` give the same Parameter other memory."""
    linear = nn.Linear(size, size)
    compiled = fast(linear)
    x = torch.randn(2, size)
    compiled(x)
    linear.weight.data = 2 * linear.weight.data
    assert torch.allclose(compiled(x), linear(x), atol=1e-5)
    linear.double()
    linear.float()
    linear.weight.add_(1)
    assert torch.allclose(compiled(x), linear(x), atol=1e-5)


def test_a_copied_parameter_is_copied_again_after_a_write() -> None:
    linear = nn.Linear(8, 8, bias=False)
    linear.weight = nn.Parameter(torch.randn(8, 16)[:, ::2])
    compiled = fast(linear)
    x = torch.randn(2, 8)
    assert torch.allclose(compiled(x), linear(x), atol=1e-6)
    linear.weight.add_(1)
    assert torch.allclose(compiled(x), linear(x), atol=1e-6)


class Holes(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.i0(x * 2 + 1)  # i0
        z = torch.erfinv(y / 1000) * 2  # erfinv
        return torch.i0(z) + x


def test_unsupported_ops_stay_with_pytorch(
    watch: Watch, logged: Callable[[], list[str]], request: pytest.FixtureRequest
) -> None:
    x = torch.randn(3, 8)
    assert torch.equal(fast(Holes())(x), Holes()(x))
    assert len(watch.programs) == 4
    lines = request.path.read_text(encoding="utf-8").splitlines()
    messages = logged()
    assert len(messages) == 2  # one for each op
    for message, op in zip(messages, ("i0", "erfinv"), strict=True):
        line = next(n for n, text in enumerate(lines, 1) if text.endswith(f"  # {op}"))
        assert f"{request.path}:{line}: aten.{op}.default: ark has no such op" in message
        assert message.endswith("runs in eager PyTorch")


def test_random_numbers_stay_with_pytorch(logged: Callable[[], list[str]]) -> None:
    """The module is still in training mode."""
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).train()
    x = torch.randn(4, 8)
    y = fast(net)(x)
    kept = net[0](x).relu() * 2
    assert (((y - kept).abs() < 1e-5) | (y == 0)).all()
    assert any("dropout" in line or "bernoulli" in line for line in logged())


def test_other_devices_stay_with_pytorch(watch: Watch, logged: Callable[[], list[str]]) -> None:
    y = fast(lambda x: x + 1)(torch.empty(2, device="meta"))
    assert y.device.type == "meta"
    assert watch.programs == []
    (message,) = logged()
    assert "tensors are on meta" in message


@pytest.mark.parametrize("dtype", [torch.float64, torch.int16, torch.complex64])
def test_other_dtypes_stay_with_pytorch(dtype: Any, logged: Callable[[], list[str]]) -> None:
    x = torch.ones(3, dtype=dtype)
    assert torch.equal(fast(lambda x: (x + x) * x)(x), x * 2)
    assert all(f"elements of {str(dtype).removeprefix('torch.')}" in line for line in logged())
    assert len(logged()) == 1, "one line for all ops"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: Any, watch: Watch) -> None:
    x = torch.randn(3, 8).to(dtype)
    got = fast(lambda x: torch.softmax(x, -1) @ x.t())(x)
    assert got.dtype == dtype
    exact = torch.softmax(x.double(), -1) @ x.double().t()
    assert (got - exact).abs().max() <= 2 * torch.finfo(dtype).eps * exact.abs().max()
    assert len(watch.programs) == 1


def test_sizes_that_change_are_padded(watch: Watch, logged: Callable[[], list[str]]) -> None:
    net = Net().eval()
    compiled = fast(net)
    for length in (2, 3, 4, 3, 5, 4, 6, 2):
        x = torch.randn(length, 8)
        assert torch.allclose(compiled(x), net(x), atol=1e-5)
    # For two rows as they are, then for up to four and for up to six.
    assert [next(iter(p.inputs.values())).shape[0] for p in watch.programs] == [2, 4, 6]
    assert logged() == []


def test_the_first_length_is_a_bucket_if_it_is_marked(watch: Watch) -> None:
    run = fast(lambda x: x.softmax(0))
    for length in (5, 13, 5, 6):
        x = torch.randn(length, 8)
        if length == 5:
            torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(run(x), x.softmax(0))
    assert len(watch.programs) == 2


def test_rows_sorted_by_expert_are_padded(watch: Watch, logged: Callable[[], list[str]]) -> None:
    """A mixture of experts compiles for a bucket of lengths, as other layers do."""
    tables = torch.randn(4, 8, 8)

    def mixture(x: Any) -> Any:
        _, chosen = torch.topk(x[:, :4], 2)
        ordered, order = chosen.reshape(-1).sort(stable=True)
        counts = torch.histc(ordered.float(), 4, 0, 3)
        rows = x[order // 2] * counts.cumsum(0).sum() + tables.sum()
        back = torch.empty_like(order).index_put((order,), torch.arange(order.shape[0]))
        return rows[back].view(-1, 2, 8).sum(1)

    run = fast(mixture)
    for length in (5, 12, 9, 11):
        x = torch.randn(length, 8)
        torch.testing.assert_close(run(x), mixture(x), rtol=1e-5, atol=1e-4)
    assert len(watch.programs) == 2
    assert logged() == []


def test_sizes_that_change_are_compiled_exactly_on_demand(watch: Watch) -> None:
    compiled = fast(lambda x: x * 2 + 1, sizes="exact")
    for length in (2, 3, 5, 3):
        x = torch.randn(length)
        assert torch.equal(compiled(x), x * 2 + 1)
    assert [p.inputs["arg1_1"].shape[0] for p in watch.programs[1:]] == [3, 5]


def test_sizes_that_cannot_be_padded_are_compiled_exactly(
    watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ark.pytorch")
    compiled = fast(lambda x: x.flip(0) * 2)
    for length in (2, 3, 5, 3):
        x = torch.randn(length)
        assert torch.equal(compiled(x), x.flip(0) * 2)
    assert len(watch.programs) == 3
    reasons = {r.getMessage() for r in caplog.records if "for each size" in r.getMessage()}
    assert reasons == {
        "torch.compile: compiled for each size: aten.flip.default of sizes that change"
    }


def test_the_programs_of_few_sizes_are_kept(
    watch: Watch, logged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ark_mlir.pytorch import programs

    monkeypatch.setattr(programs, "_MAX_PROGRAMS", 2)
    compiled = fast(lambda x: x * 2 + 1, sizes="exact")
    for length in (2, 3, 4, 3, 5, 3, 4):
        x = torch.randn(length)
        assert torch.equal(compiled(x), x * 2 + 1)
    # The first size, 3 and 4, 5 in place of 4, and 4 in place of 5.
    assert len(watch.programs) == 5
    assert logged() == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x.t(),
        lambda x: (x + 1).t(),
        lambda x: ((x + 1).t(), x[1:]),
        lambda x: x.expand(2, 4, 6) * 1,
        lambda x: x.sum(),
        lambda x: x[:0] + 1,
        lambda x: {"a": x.view(-1), "b": [x.max(1)]},
    ],
)
def test_results_have_the_strides_and_dtypes_of_pytorch(function: Callable[[Any], Any]) -> None:
    x = torch.randn(4, 6)
    got, wanted = (torch.utils._pytree.tree_leaves(f(x)) for f in (fast(function), function))
    for a, b in zip(got, wanted, strict=True):
        assert torch.allclose(a, b)
        assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(6, 4).t(),
        lambda: torch.randn(8, 12)[::2, ::2],
        lambda: torch.randn(25)[1:].view(4, 6),  # misaligned
        lambda: torch.randn(1, 6).expand(4, 6),
        lambda: torch.empty(0, 6),
        lambda: torch.randn(()),
    ],
)
def test_inputs_of_any_layout(make: Callable[[], Any]) -> None:
    x = make()
    assert torch.equal(fast(lambda x: x * 2 + 1)(x), x * 2 + 1)


def test_inputs_that_are_written_to() -> None:
    def step(x: Any, y: Any) -> Any:
        x.add_(1)
        y[1:] = x[1:] * 2
        return x + y

    a, b = [torch.ones(4, 3), torch.zeros(4, 3)], [torch.ones(4, 3), torch.zeros(4, 3)]
    assert torch.equal(fast(step)(*a), step(*b))
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_constants_become_part_of_the_program(watch: Watch) -> None:
    def positions(x: Any) -> Any:
        mask = torch.ones(4, 4, dtype=torch.bool).tril()
        return torch.where(mask, x, 0.0) + torch.arange(4).cumsum(0)

    x = torch.randn(4, 4)
    assert torch.equal(fast(positions)(x), positions(x))
    (program,) = watch.programs
    assert len(program.inputs) == 1
    assert program.mlir.count("ark.constant") <= 3


def test_two_modules_share_a_program(watch: Watch) -> None:
    a, b = nn.Linear(4, 4), nn.Linear(4, 4)
    x = torch.randn(2, 4)

    def apply(layer: Any, x: Any) -> Any:
        return layer(x)

    compiled = fast(apply)
    for layer in (a, b, a):
        assert torch.allclose(compiled(layer, x), layer(x), atol=1e-6)


def test_threads(in_threads: Callable[..., None]) -> None:
    net = Net().eval()
    compiled = fast(net)
    x = torch.randn(3, 8)
    wanted = compiled(x)

    def work() -> None:
        with torch.no_grad():
            for _ in range(20):
                assert torch.equal(compiled(x), wanted)

    in_threads(*[work] * 4)


def test_inference_mode() -> None:
    with torch.inference_mode():
        linear = nn.Linear(4, 4)
        compiled = fast(linear)
        x = torch.randn(2, 4)
        assert torch.allclose(compiled(x), linear(x), atol=1e-6)
        linear.weight.add_(1)
        assert torch.allclose(compiled(x), linear(x), atol=1e-6)


def test_results_outlive_the_compiled_function() -> None:
    compiled = fast(lambda x: x + 1)
    y = compiled(torch.zeros(1000))
    del compiled
    torch._dynamo.reset()
    gc.collect()
    assert y.sum() == 1000


def test_a_part_that_does_not_compile_stays_with_pytorch(
    logged: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ark_mlir.pytorch import backend

    def fail(*_: Any, **__: Any) -> None:
        raise ark.CompileError("no luck")

    monkeypatch.setattr(backend, "compile", fail)
    x = torch.randn(3)
    assert torch.equal(fast(lambda x: x * 2)(x), x * 2)
    (message,) = logged()
    assert "no luck" in message


def test_invalid_options_raise() -> None:
    options = "has no option 'tiles'; its options are target, sizes, new_sizes, "
    with pytest.raises(Exception, match=options):
        fast(lambda x: x * 2, tiles=3)(torch.zeros(2))
    with pytest.raises(Exception, match="vax"):
        fast(lambda x: x * 2, target="vax")(torch.zeros(2))
    with pytest.raises(Exception, match="expected 'padded' or 'exact'"):
        fast(lambda x: x * 2, sizes="wide")(torch.zeros(2))


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_modes_without_effect_are_accepted_with_a_warning(
    mode: str, watch: Watch, logged: Callable[[], list[str]]
) -> None:
    from ark_mlir.pytorch.backend import backend

    tuned = torch.compile(lambda x: x * 2, backend=backend, mode=mode)
    assert tuned(torch.ones(2)).tolist() == [2, 2]
    assert len(watch.programs) == 1
    assert logged() == [f"torch.compile: mode={mode!r} has no effect on cpu"]


def test_a_second_process_takes_the_program_from_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TorchDynamo begins again, as in another process; ark finds the bundle."""
    caplog.set_level(logging.INFO, "ark.cache")
    net, x = Net().eval(), torch.randn(3, 8)
    results = []
    for _ in range(2):
        torch._dynamo.reset()
        results.append(fast(net, cache=str(tmp_path))(x))
    assert torch.equal(*results)
    looked_up = [r.getMessage() for r in caplog.records if r.name == "ark.cache"]
    assert ["not in the cache" in line for line in looked_up] == [True, False]


def test_workers_end_with_the_compiled_function() -> None:
    before = set(threading.enumerate())
    compiled = fast(lambda x: x + 1)
    compiled(torch.zeros(1 << 16))  # of two lanes: the calling thread runs a short one
    workers = [t for t in threading.enumerate() if t.name.startswith("ark:") and t not in before]
    assert workers
    del compiled
    torch._dynamo.reset()
    gc.collect()
    for worker in workers:
        worker.join(100)
        assert not worker.is_alive()


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_encoder_layer(norm_first: bool, watch: Watch) -> None:
    """PyTorch calls one fused op for this module."""
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, batch_first=True, norm_first=norm_first, activation="gelu"
    ).eval()
    x = torch.randn(2, 5, 16)
    assert_as_good(fast(layer)(x), layer, x)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    got = fast(layer)(x, src_key_padding_mask=padding)
    assert torch.allclose(got, layer(x, src_key_padding_mask=padding), atol=1e-5)
    assert len(watch.programs) == 2


@pytest.mark.parametrize("average", [False, True])
def test_multihead_attention(average: bool, watch: Watch) -> None:
    module = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    options = {"key_padding_mask": padding, "average_attn_weights": average}
    for a, b in zip(fast(module)(x, x, x, **options), module(x, x, x, **options), strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    assert len(watch.programs) == 1
