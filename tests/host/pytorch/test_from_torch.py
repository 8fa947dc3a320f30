"""Modules of PyTorch as programs: names, structure, numbers, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")

Pick = Callable[[str], str]
Check = Callable[[Any, Any], ark.Program]
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def arrays(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


@pytest.fixture(scope="session")
def check(pick_target: Pick) -> Check:
    """``check(module, inputs)`` compares the program with the module in float64, and the compiled
    program within its bound. Returns the program."""

    def agree(module: Any, inputs: Any) -> ark.Program:
        program = ark.from_torch(module.eval(), inputs)
        named = (
            inputs if isinstance(inputs, dict) else dict(zip(program.inputs, inputs, strict=True))
        )
        evaluation = ark.reference.evaluate(
            program, arrays({**program.state_dict(), **named}), bound=True
        )
        with ark.compile(program, target=pick_target("cpu:2")).bind(
            program.state_dict()
        ) as executable:
            got = executable.run(named)
        assert list(got) == list(program.outputs)
        for name, y in got.items():
            assert isinstance(y, torch.Tensor)
            assert_within(y.numpy(), evaluation.outputs[name], evaluation.bounds[name], name)
        wide = {n: t.double() if t.is_floating_point() else t for n, t in named.items()}
        with torch.no_grad():
            expected = (
                module.double()(**wide)
                if isinstance(inputs, dict)
                else module.double()(*wide.values())
            )
        module.float()
        flat = [t for t in torch.utils._pytree.tree_leaves(expected) if isinstance(t, torch.Tensor)]
        for y, wanted in zip(evaluation.outputs.values(), flat, strict=True):
            np.testing.assert_allclose(y, wanted.numpy(), rtol=1e-6, atol=1e-7)
        return program

    return agree


def test_mlp(check: Check) -> None:
    module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    program = check(module, (torch.randn(3, 8),))
    assert list(program.inputs) == ["input"]
    assert set(program.parameters) == set(module.state_dict())
    assert list(program.outputs) == ["output"]
    assert program.name == "Sequential"


@pytest.mark.parametrize("activation", [nn.GELU, nn.SiLU, nn.ReLU])
def test_activations(check: Check, activation: Any) -> None:
    check(nn.Sequential(nn.Linear(4, 6), activation()), (torch.randn(2, 4),))


def test_inputs_that_are_one_tensor_in_the_example() -> None:
    class Sum(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + 2 * y

    x = torch.ones(3)
    program = ark.from_torch(Sum(), (x, x))
    with ark.compile(program, target="cpu:2") as exe:
        assert exe.run(x=x, y=torch.zeros(3))["output"].tolist() == [1, 1, 1]


def test_embedding_and_softmax(check: Check) -> None:
    module = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 5), nn.Softmax(-1))
    check(module, (torch.tensor([[1, 10, 3], [0, 2, 2]]),))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_encoder_layer(check: Check, norm_first: bool, activation: str) -> None:
    layer = nn.TransformerEncoderLayer(
        16, 2, 32, batch_first=True, norm_first=norm_first, activation=activation
    )
    check(layer, (torch.randn(2, 5, 16),))


def test_transformer_encoder_with_padding(check: Check) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    program = check(encoder, {"src": torch.randn(2, 5, 16), "src_key_padding_mask": padding})
    assert list(program.inputs) == ["src", "src_key_padding_mask"]


def test_transformer_decoder_layer(check: Check) -> None:
    layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    x = torch.randn(2, 5, 16)
    check(layer, {"tgt": x, "memory": torch.randn(2, 7, 16), "tgt_mask": mask})


def test_multihead_attention_gives_weights_too(check: Check) -> None:
    module = nn.MultiheadAttention(16, 4, batch_first=True)
    q, kv = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    program = check(module, (q, kv, kv.clone()))
    assert list(program.outputs) == ["output_0", "output_1"]


class Structured(nn.Module):
    def forward(self, pair: Any, *, shift: Any) -> Any:
        a, b = pair
        return {"sum": a + b, "more": [a * shift, None], "flag": a > b}


def test_structures() -> None:
    a, b = torch.randn(2, 3), torch.randn(2, 3)
    program = ark.from_torch(Structured(), {"pair": (a, b), "shift": torch.ones(3)})
    assert list(program.inputs) == ["pair_0", "pair_1", "shift"]
    assert list(program.outputs) == ["sum", "more_0", "flag"]
    values = {"pair_0": a.numpy(), "pair_1": b.numpy(), "shift": np.ones(3, np.float32)}
    assert np.array_equal(ark.reference.run(program, values)["flag"], a.numpy() > b.numpy())


class Positions(nn.Module):
    """A module with buffers in and outside of the state dict, and masks that depend on no input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("ids", torch.arange(4).flip(0), persistent=False)

    def forward(self, x: Any) -> Any:
        mask = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
        spread = (self.ids[:, None] - torch.arange(4)).cumsum(0).masked_fill(mask, 0)
        return x * self.scale + spread.to(x.dtype) @ x


def test_values_that_depend_on_no_input_are_constants(check: Check) -> None:
    program = check(Positions(), (torch.randn(4, 3),))
    assert list(program.parameters) == ["scale"]
    assert "ark.constant" in program.mlir
    assert "gather" not in program.mlir


def test_a_large_mask_is_no_constant() -> None:
    class Causal(nn.Module):
        def forward(self, x: Any) -> Any:
            positions = torch.arange(1100)
            return torch.where(positions <= positions[:, None], x, 0.0).tril(-1)

    x = torch.randn(1100, 1100)
    program = ark.from_torch(Causal(), x)
    assert len(program.mlir) < 100_000
    assert np.array_equal(ark.reference.run(program, {"x": x.numpy()})["output"], x.tril(-1))


def test_parameters_are_bound_in_place_and_later_writes_are_seen() -> None:
    module = nn.Linear(64, 64)
    program = ark.from_torch(module, torch.zeros(2, 64))
    exe = ark.compile(program, target="cpu:1").bind(program.state_dict())
    x = torch.randn(2, 64)
    assert torch.allclose(exe.run(input=x)["output"], module(x), atol=1e-5)
    assert exe.report().bound_copied == 0
    with torch.no_grad():
        module.weight.mul_(2)
    assert torch.allclose(exe.run(input=x)["output"], module(x), atol=1e-5)


def test_tied_weights_are_one_parameter(check: Check) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids: Any) -> Any:
            return self.head(self.table(ids))

    program = check(Tied(), (torch.tensor([[1, 6]]),))
    assert len(program.parameters) == 1


def test_results_that_are_arguments() -> None:
    class Same(nn.Module):
        def forward(self, x: Any) -> Any:
            return x, x.t(), x

    program = ark.from_torch(Same(), torch.zeros(2, 3))
    values = ark.reference.run(program, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)})
    assert [v.shape for v in values.values()] == [(2, 3), (3, 2), (2, 3)]


def test_results_that_are_constants() -> None:
    class Counts(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.new_zeros(2) + 1, torch.tensor(3), torch.arange(2.0)

    program = ark.from_torch(Counts(), torch.zeros(4))
    values = ark.reference.run(program, {"x": np.zeros(4, np.float32)})
    assert [v.tolist() for v in values.values()] == [[1, 1], 3, [0, 1]]
    assert program.outputs["output_1"].dtype is ark.int64


def test_an_exported_program() -> None:
    exported = torch.export.export(nn.Linear(3, 2), (torch.zeros(1, 3),))
    program = ark.from_torch(exported, name="head")
    assert program.name == "head"
    assert set(program.parameters) == {"weight", "bias"}


class Unsupported(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.i0(x)  # first
        z = torch.erfinv(y) + torch.i0(y)
        return torch.fft.fft(z).real  # last


def test_all_missing_ops_are_named_with_their_lines(request: pytest.FixtureRequest) -> None:
    lines = request.path.read_text(encoding="utf-8").splitlines()
    first, last = (
        next(n for n, line in enumerate(lines, 1) if line.endswith(f"  # {mark}"))
        for mark in ("first", "last")
    )
    with pytest.raises(ark.UnsupportedError) as caught:
        ark.from_torch(Unsupported(), torch.zeros(4))
    text = str(caught.value)
    assert "unsupported ops" in text
    assert f"{request.path}:{first}: aten.i0.default: ark has no such op" in text
    assert "and 1 more" in text
    assert f"{request.path}:{first + 1}: aten.erfinv.default" in text
    assert f"{request.path}:{last}: " in text


class Branch(nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x  # branch


class Selected(nn.Module):
    def forward(self, x: Any) -> Any:
        return x[x > 0]


class Item(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + x.max().item()


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            Branch(),
            "test_from_torch.py:LINE: torch.export cannot trace 'Branch': the Python "
            "code depends on the values of a tensor, as `if x.sum() > 0` does; use torch.where",
        ),
        (Selected(), "aten.index.Tensor: shape [u0] is known only at run time"),
        (Item(), "aten.add.Tensor: "),
    ],
)
def test_data_dependent_control_flow_raises(
    module: Any,
    message: str,
    request: pytest.FixtureRequest,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lines = request.path.read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("  # branch"))
    with pytest.raises(ark.UnsupportedError) as caught:
        ark.from_torch(module, torch.ones(3))
    assert message.replace("LINE", str(line)) in str(caught.value)
    assert capfd.readouterr().err == "", "torch prints neither its error nor the graph"


def test_example_inputs_of_numpy_raise() -> None:
    message = r"example_inputs must be .*; pass torch\.from_numpy\(array\)$"
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.from_torch(nn.Linear(4, 2).eval(), np.ones((3, 4), np.float32))


def test_dropout_in_training_raises() -> None:
    with pytest.raises(ark.UnsupportedError, match=r"module.eval\(\)"):
        ark.from_torch(nn.Dropout(0.5).train(), torch.zeros(4))


def test_a_module_that_writes_to_its_inputs_raises() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x + self.count

    with pytest.raises(ark.UnsupportedError, match=r"test_from_torch.py:\d+: .*writes to 'count'"):
        ark.from_torch(Counter(), torch.zeros(4))


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def test_an_op_with_effects_is_named() -> None:
    """Torch orders the check of a singular matrix by a token, to which the graph seems to write."""
    with pytest.raises(ark.UnsupportedError, match=r"aten.linalg_inv_ex.default: ark has no such"):
        ark.from_torch(Applied(torch.linalg.inv), torch.eye(3))


def test_a_module_without_results_raises() -> None:
    with pytest.raises(ark.UnsupportedError, match="'Applied' returns no tensor"):
        ark.from_torch(Applied(lambda x: None), torch.eye(3))


@pytest.mark.parametrize("inputs", [(np.eye(3),), {"x": np.eye(3)}])
def test_arrays_of_numpy_raise_with_the_remedy(inputs: Any) -> None:
    message = r"example_inputs\[(0|'x')\] is an array of numpy; pass torch.from_numpy"
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.from_torch(Applied(torch.exp), inputs)


def test_from_torch_shows_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    ark.from_torch(nn.Linear(3, 2), torch.zeros(4, 3))
    assert not [w for w in recwarn if "LeafSpec" in str(w.message)]


def test_float64_raises_and_names_the_tensor() -> None:
    with pytest.raises(ark.UnsupportedError, match=r"'input': elements of float64.* x\.float\(\)"):
        ark.from_torch(nn.ReLU(), torch.zeros(4, dtype=torch.float64))


def test_dynamic_sizes_raise_and_name_the_tensor() -> None:
    shapes = {"input": {0: torch.export.Dim("rows")}}
    exported = torch.export.export(nn.ReLU(), (torch.zeros(4, 2),), dynamic_shapes=shapes)
    with pytest.raises(
        ark.UnsupportedError, match=r"'input': shape \[.*, 2\] is known only at run"
    ):
        ark.from_torch(exported)


@pytest.mark.parametrize(
    ("module", "inputs", "message"),
    [("no module", (), "not a str"), (nn.ReLU(), 3, "not an int"), (nn.ReLU(), "x", "not a str")],
)
def test_wrong_arguments_raise(module: Any, inputs: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.from_torch(module, inputs)


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: Any, scale: Any = None) -> Any:
        return self.apply_linear(x)

    def apply_linear(self, x: Any) -> Any:
        return self.linear(torch.erfinv(x) if x.shape[0] == 1 else x)  # linear


def line_of(request: pytest.FixtureRequest, mark: str) -> int:
    lines = request.path.read_text(encoding="utf-8").splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"  # {mark}"))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "missing a required argument: 'x'"),
        ({"z": torch.zeros(2, 8)}, "missing a required argument: 'x'"),
        ((torch.zeros(2, 8), None, 3), "too many positional arguments"),
    ],
)
def test_inputs_that_forward_does_not_take_raise(inputs: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.from_torch(Wrapped(), inputs)
    assert str(caught.value).endswith(f"do not fit Wrapped.forward(x, scale): {message}")


def test_a_wrong_shape_is_one_line_with_its_location(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.from_torch(Wrapped(), torch.zeros(2, 9))
    text = str(caught.value)
    assert text.startswith(f"{request.path}:{line_of(request, 'linear')}: 'Wrapped' fails for")
    assert "[2, 9]" in text
    assert "\n" not in text
    # torch logs the traceback by itself.
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_the_line_of_an_op_is_that_of_a_helper(request: pytest.FixtureRequest) -> None:
    with pytest.raises(ark.UnsupportedError) as caught:
        ark.from_torch(Wrapped(), torch.zeros(1, 8))
    assert str(caught.value).startswith(f"{request.path}:{line_of(request, 'linear')}: ")


class Cache:
    """No type of torch, as the caches of transformers."""


class Decoder(nn.Module):
    """Returns a cache unless it is called with ``use_cache=False``, as models of transformers."""

    def forward(self, x: Any, use_cache: bool | None = None, **_: Any) -> Any:
        return (x + 1, Cache()) if use_cache is not False else (x + 1,)


def test_a_model_with_a_cache_is_traced_without_it() -> None:
    program = ark.from_torch(Decoder(), torch.zeros(3))
    values = ark.reference.run(program, {"x": np.ones(3, np.float32)})
    assert [value.tolist() for value in values.values()] == [[2, 2, 2]]


def test_a_cache_that_the_caller_wants_raises_with_the_remedy() -> None:
    with pytest.raises(ark.UnsupportedError, match=r"a Cache, .* pass use_cache=False$"):
        ark.from_torch(Decoder(), {"x": torch.zeros(3), "use_cache": True})


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.as_strided((3, 4), (4, 1)),
        lambda x: x.t().as_strided((4, 3), (1, 4)),
        lambda x: x[1:].as_strided((2, 2), (4, 1)),
        lambda x: x.as_strided((5, 4), (2, 1), 0),  # windows that overlap
        lambda x: x.mean(1, keepdim=True).as_strided((3, 1), (1, 7)),
    ],
)
def test_strides(function: Callable[[Any], Any]) -> None:
    class Strided(nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x * 2)

    x = torch.randn(3, 4)
    program = ark.from_torch(Strided(), x)
    got = ark.reference.run(program, {"x": x.numpy()})["output"]
    np.testing.assert_allclose(got, function(x * 2).numpy(), rtol=1e-6)


def test_strides_that_leave_the_tensor_raise() -> None:
    class Leaving(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x * 2)[1:].as_strided((2, 4), (4, 1), 0)

    with pytest.raises(ark.UnsupportedError, match="strides that leave the tensor"):
        ark.from_torch(Leaving(), torch.zeros(3, 4))


def test_a_module_of_torch_alone_has_no_line() -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        ark.from_torch(nn.Linear(64, 16), torch.zeros(4, 63))
    assert not str(caught.value).startswith("<")
