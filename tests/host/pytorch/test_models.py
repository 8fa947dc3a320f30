"""Hugging Face models with random weights, through both PyTorch entry points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

Pick = Callable[[str], str]
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]

SIZES = {
    "vocab_size": 53,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
}
IDS = torch.tensor([[1, 5, 52, 7, 9, 0], [3, 8, 2, 4, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])


def bert(attention: str) -> Any:
    config = transformers.BertConfig(**SIZES, attn_implementation=attention)
    return transformers.BertModel(config)


def llama(attention: str) -> Any:
    config = transformers.LlamaConfig(
        **SIZES, num_key_value_heads=1, use_cache=False, attn_implementation=attention
    )
    return transformers.LlamaForCausalLM(config)


def qwen3(attention: str) -> Any:
    config = transformers.Qwen3Config(
        **SIZES, num_key_value_heads=1, head_dim=8, use_cache=False, attn_implementation=attention
    )
    return transformers.Qwen3ForCausalLM(config)


def assert_as_good(got: Any, plain: Any, exact: Any) -> None:
    """Checks that the error to float64 is at most PyTorch's in float32 plus a few roundings."""
    rounding = 8 * torch.finfo(torch.float32).eps * exact.abs().max()
    assert (got - exact).abs().max() <= 4 * (plain - exact).abs().max() + rounding


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("build", [bert, llama, qwen3])
def test_from_torch(build: Callable[[str], Any], attention: str, pick_target: Pick) -> None:
    model = build(attention).eval()
    inputs = {"input_ids": IDS, "attention_mask": MASK}
    program = ark.from_torch(model, inputs)
    assert set(program.parameters) <= set(model.state_dict())
    state = program.state_dict()
    with ark.compile(program, target=pick_target("cpu:2")).bind(state) as executable:
        got = executable.run(inputs)
    arrays = {
        name: t.numpy()
        for name, t in {**state, **inputs}.items()
        if name in program.inputs or name in state
    }
    evaluation = ark.reference.evaluate(program, arrays, bound=True)
    plain = {name: y.clone() for name, y in model(**inputs).items() if name in got}
    exact = model.double()(**inputs)
    assert list(got) == list(plain)
    for name, y in got.items():
        assert_within(y.numpy(), evaluation.outputs[name], evaluation.bounds[name], name)
        assert_as_good(y, plain[name], exact[name])


def test_from_torch_leaves_out_the_cache() -> None:
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=1)
    assert config.use_cache
    program = ark.from_torch(transformers.LlamaForCausalLM(config).eval(), {"input_ids": IDS})
    assert list(program.inputs) == ["input_ids"]
    assert list(program.outputs) == ["logits"]


@pytest.mark.parametrize("build", [bert, llama])
def test_torch_compile(
    build: Callable[[str], Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    pick_target: Pick,
) -> None:
    from ark_mlir.pytorch.backend import backend

    programs: list[ark.Program] = []

    def compiling(program: ark.Program, **options: Any) -> ark.Executable:
        programs.append(program)
        return ark.compile(program, **options)

    monkeypatch.setattr("ark_mlir.pytorch.backend.compile", compiling)
    model = build("sdpa").eval()
    compiled = torch.compile(model, backend=backend, options={"target": pick_target("cpu:2")})
    got = compiled(input_ids=IDS, attention_mask=MASK)
    plain = model(input_ids=IDS, attention_mask=MASK)
    assert not [r for r in caplog.records if r.name == "ark.pytorch"]
    (program,) = programs
    assert program.mlir.count("ark.attention") == 2
    exact = model.double()(input_ids=IDS, attention_mask=MASK)
    for name, y in got.items():
        assert_as_good(y, plain[name], exact[name])
