"""Llama and Qwen3, compared with the results of transformers for the same weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_decoders import CONFIG

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode, build_prefill, rope_tables

PROMPT = [(7 * i + 3) % 37 for i in range(11)]
# transformers 5.23 in float64: logits after the prompt, and the greedy continuation.
LOGITS = {
    "llama": [-0.7571256616129163, -0.3412161235525897, 1.9160016325764635, 1.1103703353388712],
    "qwen3": [-1.8920278239748656, 0.48855285647389923, -1.4200383964042036, 0.01785454611927606],
}
TOKENS = {"llama": [27, 13, 5, 5, 5, 5, 5, 5], "qwen3": [9, 25, 0, 10, 16, 10, 3, 10]}
KINDS = list(TOKENS)


@pytest.fixture(scope="module")
def folders(tiny: Any, tmp_path_factory: Any) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("decoders")
    return {kind: tiny.write_model(root / kind, kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_transformers(folders: dict[str, Path], kind: str) -> None:
    model = ark.models.load(folders[kind], max_length=32, chunk=16)
    inputs = {
        "ids": [PROMPT + [0] * 5], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    outputs = ark.reference.run(
        model.programs["prefill"], {**model.parameters_of("prefill"), **inputs}
    )
    assert outputs["logits"].shape == (1, 37)
    # transformers makes its table of angles in fp32.
    np.testing.assert_allclose(outputs["logits"][0, :4], LOGITS[kind], atol=2e-5)
    assert outputs["token"].tolist() == TOKENS[kind][:1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [1, 4, 11, 16])
def test_generation_is_that_of_transformers(
    folders: dict[str, Path], kind: str, chunk: int
) -> None:
    model = ark.models.load(folders[kind], max_length=24, chunk=chunk)
    assert model.generate(PROMPT, 8, reference=True) == TOKENS[kind]


def test_generation_can_stop_and_be_short(folders: dict[str, Path]) -> None:
    model = ark.models.load(folders["llama"], max_length=24, chunk=16)
    assert model.generate(PROMPT, 8, stop=13, reference=True) == [27, 13]
    assert model.generate(PROMPT, 1, reference=True) == [27]
    assert model.generate(PROMPT, 0, reference=True) == []


@pytest.mark.parametrize(
    ("ids", "count", "message"),
    [
        ([], 1, "the prompt has no token"),
        (PROMPT, 14, "11 tokens and 14 new ones exceed max_length 24"),
        (PROMPT, -1, "max_new_tokens must be at least 0, not -1"),
        (PROMPT, 1.5, "max_new_tokens must be an integer"),
        ([37], 1, "has token 37, but the vocabulary has 37"),
        ([[1, 2]], 1, "must be a row of integers"),
    ],
)
def test_prompts_that_are_refused(
    folders: dict[str, Path], ids: Any, count: Any, message: str
) -> None:
    model = ark.models.load(folders["llama"], max_length=24, chunk=16)
    with pytest.raises(ark.InvalidUsageError, match=message):
        model.generate(ids, count, reference=True)


def test_the_suggestion_of_an_error_can_be_followed(folders: dict[str, Path]) -> None:
    """The error suggests a larger max_length only if the model has more positions."""
    for wanted, remedy in (
        (24, "load the model with a larger max_length"),
        (99, "no more positions"),
    ):
        model = ark.models.load(folders["llama"], max_length=wanted, chunk=16)
        assert (model.max_length, model.positions) == (min(wanted, 64), 64)
        with pytest.raises(ark.InvalidUsageError, match=remedy):
            model.generate(PROMPT, 60, reference=True)


def test_programs_share_parameters_and_states(folders: dict[str, Path]) -> None:
    model = ark.models.load(folders["qwen3"], max_length=24, chunk=16)
    prefill, decode = model.programs["prefill"], model.programs["decode"]
    assert list(prefill.parameters) == list(decode.parameters)
    assert list(prefill.states) == list(decode.states)
    assert decode.states["layers.1.value"].shape == (1, 2, 24, 16)
    assert list(decode.inputs) == ["ends"]
    assert decode.scalars == {}
    assert prefill.scalars["begin"].max == 8
    assert prefill.scalars["last"].max == 15
    assert "model.layers.0.self_attn.q_norm.weight" in model.parameters


def test_bfloat16_weights(tiny: Any, tmp_path: Path) -> None:
    import ml_dtypes

    arrays = {n: a.astype(ml_dtypes.bfloat16) for n, a in tiny.weights("llama").items()}
    folder = tiny.write_model(tmp_path, "llama", arrays, {"torch_dtype": "bfloat16"})
    model = ark.models.load(folder, max_length=24, chunk=16)
    assert model.programs["decode"].states["layers.0.key"].dtype is ark.bf16
    assert not model.parameters["model.norm.weight"].flags.owndata


def llama_1b(layers: int) -> DecoderConfig:
    return DecoderConfig(
        vocabulary=128256, hidden=2048, layers=layers, heads=32, kv_heads=8, head=64,
        intermediate=8192, tied=True,
    )  # fmt: skip


def test_a_large_model_is_built_without_weights() -> None:
    program = build_decode(llama_1b(16), max_length=1024)
    assert len(program.parameters) == 1 + 16 * 9 + 1
    assert len(program.states) == 32 + 5
    assert program.outputs["logits"].shape == (1, 128256)
    size = sum(int(np.prod(p.shape)) for p in program.parameters.values())
    assert 1.23e9 < size < 1.24e9


def test_layers_are_alike() -> None:
    def ops(layers: int) -> int:
        return build_prefill(llama_1b(layers), max_length=128).mlir.count("\n")

    assert ops(4) - ops(3) == ops(3) - ops(2)


def test_rope_tables() -> None:
    config = DecoderConfig(
        vocabulary=8, hidden=8, layers=1, heads=2, kv_heads=1, head=4, intermediate=8, theta=100.0
    )
    cos, sin = rope_tables(config, 3)
    np.testing.assert_allclose(cos, np.cos([[0, 0], [1, 0.1], [2, 0.2]]), rtol=1e-6)
    np.testing.assert_allclose(sin, np.sin([[0, 0], [1, 0.1], [2, 0.2]]), rtol=1e-6)


def test_invalid_sizes_raise() -> None:
    with pytest.raises(ark.InvalidUsageError, match="chunk 65 is not between 1 and max_length 64"):
        build_prefill(llama_1b(1), chunk=65, max_length=64)
    with pytest.raises(ark.InvalidUsageError, match="exceeds the model's 131072 positions"):
        build_decode(llama_1b(1), max_length=200000)


def test_the_embedding_of_a_token_is_handed_on_as_packets() -> None:
    """All SMs would otherwise wait for a counter before the first product."""
    program = build_decode(replace(CONFIG, hidden=512), max_length=64)
    schedule = ark.compiler.export_schedule(program, target="cuda:sm_90a")
    task = next(line for line in schedule.splitlines() if 'ark.task "embed_tokens"' in line)
    assert "memref<1x512xi32>" in task.partition(" outs(")[2]
