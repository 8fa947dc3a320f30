"""Every type of decoder trains: gradients of transformers, and files that ``ark.models`` reads."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from model_cases import DECODERS, MIXTURES, PROMPT, RECORDED

import ark_mlir as ark
from ark_mlir.cli.main import main
from ark_mlir.json_checks import Document, Node
from ark_mlir.models.config import Config, read_config
from ark_mlir.models.decoder import build_decode
from ark_mlir.models.decoder_config import DecoderConfig
from ark_mlir.models.decoder_reader import read_decoder
from ark_mlir.models.expert_weights import stack_experts, unstack_experts
from ark_mlir.models.experts import Experts, Router
from ark_mlir.models.families import FAMILIES
from ark_mlir.models.weights import assign, read_weights, spellings
from ark_mlir.runtime.arrays.safetensors import read_safetensors

CASES = {**DECODERS, **MIXTURES}
# The types whose auxiliary loss transformers has.
ROUTED = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss")
# transformers computes angles, and their cosines, in fp32.
ANGLES = 1e-5


def test_every_type_has_a_case() -> None:
    assert {case.kind for case in CASES.values()} == set(FAMILIES)


def build(
    sizes: DecoderConfig, rows: int, length: int, factor: float, checkpoint: bool = False
) -> ark.Program:
    """A program whose outputs are the loss and the slope of each weight.

    `factor` is that of the auxiliary loss of routers.
    """
    with ark.Program("slopes") as program:
        tokens = ark.input("tokens", (rows, length + 1), ark.int32)
        decoder = ark.training.TrainableDecoder(sizes, checkpoint=checkpoint)
        weights = ark.trainable(decoder)
        loss = ark.cross_entropy(decoder(tokens[:, :-1]), tokens[:, 1:])
        if factor:
            assert decoder.router_loss is not None
            ark.output("router_loss", decoder.router_loss)
            loss = loss + factor * decoder.router_loss
        ark.output("loss", loss)
        for weight, slope in zip(weights, ark.gradients(loss, weights), strict=True):
            ark.output(f"slope of {weight.name}", slope)
    return program


def read_arrays(folder: Path, sizes: DecoderConfig, program: ark.Program) -> dict[str, Any]:
    tensors = read_weights(folder)
    if sizes.experts is not None:
        tensors = stack_experts(sizes.experts, sizes.layers, tensors, str(folder))
    return assign({**program.states, **program.parameters}, tensors, str(folder), spellings)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """The float64 interpreter against transformers in float64. Cases take turns with recomputation.

    The gradients of transformers are saved as if they were weights, so that they get the names and
    the order of the weights of files.
    """
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    model = CASES[name].make(tmp_path)
    sizes = read_decoder(read_config(tmp_path))
    tokens = np.array([PROMPT, PROMPT[::-1]], np.int32)
    factor = 0.3 if CASES[name].kind in ROUTED else 0.0
    again = list(CASES).index(name) % 2 == 0
    program = build(sizes, 2, len(PROMPT) - 1, factor, again)
    arrays = read_arrays(tmp_path, sizes, program)
    states = {key: arrays[key] for key in program.states}
    constants = {key: arrays[key] for key in program.parameters}
    got = ark.reference.run(program, {"tokens": tokens, **constants}, states)

    ids = torch.tensor(tokens.astype(np.int64))
    more = {"output_router_logits": True} if factor else {}
    out = model(ids[:, :-1], use_cache=False, **more)
    logits = out.logits.reshape(-1, sizes.vocabulary)
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].reshape(-1))
    if factor:
        assert abs(float(got["router_loss"]) - out.aux_loss.item()) <= ANGLES
        loss = loss + factor * out.aux_loss
    assert abs(float(got["loss"]) - loss.item()) <= ANGLES
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None
                            else parameter.grad)  # fmt: skip
    model.save_pretrained(tmp_path)
    slopes = read_arrays(tmp_path, sizes, program)
    for key in program.states:
        scale = max(1.0, float(np.abs(slopes[key]).max()))
        np.testing.assert_allclose(
            got[f"slope of {key}"], slopes[key], rtol=0, atol=ANGLES * scale, err_msg=key
        )


SMALL = DecoderConfig(
    vocabulary=256, hidden=16, layers=2, heads=2, kv_heads=2, head=8, intermediate=24,
    mlp="experts", positions=16,
)  # fmt: skip


def test_the_auxiliary_loss_of_sigmoids() -> None:
    """The loss is the number of experts of a token for equal probabilities, and its slope along a
    direction is the central difference along it."""
    router = Router("sigmoid", correction=True, scale=2.0, wide=True)
    sizes = dataclasses.replace(SMALL, experts=Experts(6, 2, 8, normalize=True, router=router))
    program = build(sizes, 2, 8, factor=1000.0)
    rng = np.random.default_rng(3)
    tokens = rng.integers(0, 256, (2, 9)).astype(np.int32)
    weights = ark.training.initial_weights(program.states, layers=2, spread=0.5)
    constants = {key: np.zeros(each.shape) for key, each in program.parameters.items()}
    gates = [key for key in weights if key.endswith("gate.weight")]
    directions = {key: rng.standard_normal(weights[key].shape) for key in gates}

    def run(shift: float, scale: float = 1.0) -> dict[str, Any]:
        moved = {key: scale * weights[key] + shift * directions[key] for key in gates}
        return ark.reference.run(program, {"tokens": tokens, **constants}, {**weights, **moved})

    assert abs(float(run(0.0, scale=0.0)["router_loss"]) - 2.0) <= 1e-12
    exact = sum((run(0.0)[f"slope of {key}"] * directions[key]).sum() for key in gates)
    measured = (float(run(1e-5)["loss"]) - float(run(-1e-5)["loss"])) / 2e-5
    assert abs(measured - exact) <= 1e-5 * abs(exact)


@pytest.mark.parametrize("name", MIXTURES)
def test_files_of_experts(name: str) -> None:
    """Arrays of a program, written as tensors of a file and read again, have the same bits."""
    config = json.loads(RECORDED.read_text())[name]["config"]
    node = Node(config, "", Document("config.json", "", ark.InvalidUsageError))
    sizes = read_decoder(Config(node))
    assert sizes.experts is not None
    program = build_decode(sizes, max_length=8, dtype="fp32")
    rng = np.random.default_rng(0)
    arrays = {
        key: rng.standard_normal(each.shape).astype(np.float32)
        for key, each in program.parameters.items()
    }
    tensors = unstack_experts(sizes.experts, arrays)
    assert sum(tensor.size for tensor in tensors.values()) == sum(a.size for a in arrays.values())
    again = stack_experts(sizes.experts, sizes.layers, tensors, "folder")
    assert {key: again[key].tobytes() for key in arrays} == {
        key: array.tobytes() for key, array in arrays.items()
    }


MIXTRAL = {
    "model_type": "mixtral", "vocab_size": 256, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
    "num_local_experts": 4, "num_experts_per_tok": 2, "max_position_embeddings": 32,
    "sliding_window": 5, "router_aux_loss_coef": 0.02,
}  # fmt: skip
GEMMA2 = {
    "model_type": "gemma2", "vocab_size": 256, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 24,
    "max_position_embeddings": 32, "query_pre_attn_scalar": 8, "attn_logit_softcapping": 30.0,
    "final_logit_softcapping": 20.0, "sliding_window": 4,
}  # fmt: skip


@pytest.mark.parametrize("model", [MIXTRAL, GEMMA2], ids=lambda model: model["model_type"])
def test_a_trained_model_loads(model: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 9)
    entries = {
        "model": model,
        "data": {"text": ["text.txt"]},
        "train": {"steps": 12, "batch": 4, "length": 8, "learning_rate": 0.02, "target": "cpu:1"},
    }
    (tmp_path / "gpt.json").write_text(json.dumps(entries))
    out = tmp_path / "out"
    assert main(["train", str(tmp_path / "gpt.json"), "-o", str(out)]) == 0
    states = read_safetensors(out / "training" / "states.safetensors")
    losses = states["training.losses"]
    assert losses[-1] < losses[0] - 0.3
    loaded = ark.models.load(out, max_length=12, chunk=4)
    for name, array in loaded.parameters.items():
        np.testing.assert_array_equal(array, states[name], err_msg=name)
    assert len(loaded.generate([116, 104], 2, reference=True)) == 2


def test_the_factor_of_the_auxiliary_loss() -> None:
    """The factor is that of the training, else of the model, else 0.01; dense models have none."""

    def parse(model: dict[str, Any], **train: Any) -> float:
        entries = {"model": model, "data": {"text": ["a"]}, "train": {"length": 8, **train}}
        return ark.training.TrainingConfig.parse(entries).router_loss

    bare = {key: value for key, value in MIXTRAL.items() if key != "router_aux_loss_coef"}
    assert parse(MIXTRAL, router_loss=0.5) == 0.5
    assert parse(MIXTRAL, router_loss=0) == 0
    assert parse(MIXTRAL) == 0.02
    assert parse(bare) == 0.01
    assert parse(GEMMA2) == 0
    with pytest.raises(ark.InvalidUsageError, match=r"train\.router_loss: .* no experts"):
        parse(GEMMA2, router_loss=0.1)
