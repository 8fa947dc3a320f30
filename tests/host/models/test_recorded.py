"""Every type of model against recorded results of transformers, in the float64 interpreter.

``python tests/support/model_cases.py`` records them; tests with transformers itself are in
test_families.py and test_encoder_families.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_cases import (
    COUNT,
    DECODERS,
    ENCODERS,
    MIXTURES,
    PROMPT,
    PROMPTS,
    read_recorded,
    write_folder,
)  # fmt: skip

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.decoder import rope_tables
from ark_mlir.models.decoder_reader import read_decoder
from ark_mlir.models.families import FAMILIES
from ark_mlir.models.sharding import Shard

Pick = Callable[[str], str]

# transformers computes angles, and their cosines, in fp32.
ANGLES = 3e-4

CASES = read_recorded()


def test_all_cases_are_recorded() -> None:
    assert set(CASES) - {"transformers"} == {*DECODERS, *MIXTURES, *ENCODERS}


@pytest.mark.parametrize("name", [*DECODERS, *MIXTURES])
def test_a_decoder(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES[name]["config"])
    case, length = CASES[name], len(PROMPT) + COUNT
    model = ark.models.load(tmp_path, max_length=length, chunk=4)
    assert model.generate(PROMPT, COUNT, stop=(), reference=True) == case["tokens"]
    whole = ark.models.load(tmp_path, max_length=length, chunk=len(PROMPT))
    inputs: dict[str, Any] = {
        "ids": [PROMPT], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    logits = whole.run("prefill", inputs, reference=True)["logits"][0, :4]
    np.testing.assert_allclose(logits, case["logits"], atol=ANGLES)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES[name]["config"])
    model = ark.models.load(tmp_path, batch=1, length=12, pooling="none", normalize=False)
    vectors = model.embed(PROMPTS[-1:], reference=True)[0, :, :3]
    np.testing.assert_allclose(vectors, CASES[name]["vectors"], atol=ANGLES)


@pytest.mark.parametrize("name", ["gemma2", "phi3, longrope", "gpt2", "deepseek_v3"])
def test_a_compiled_decoder(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES[name]["config"])
    model = ark.models.load(tmp_path, max_length=len(PROMPT) + COUNT, chunk=4)
    model.compile("cpu:2", opt_level=0)
    assert model.generate(PROMPT, COUNT, stop=()) == CASES[name]["tokens"]


def test_sinks_of_partitions(tmp_path: Path, pick_splitting: Pick) -> None:
    """A cache of 64 keys has four partitions, of which the last are empty in the first steps."""
    write_folder(tmp_path, CASES["gpt_oss"]["config"])
    model = ark.models.load(tmp_path, max_length=64, chunk=16)
    assert "tensor<1x2x16x4x8xf32>" in model.programs["decode"].mlir
    model.compile(pick_splitting("cpu:2"), opt_level=0)
    assert model.generate(PROMPT, COUNT, stop=()) == CASES["gpt_oss"]["tokens"]


def test_a_compiled_encoder_with_windows(tmp_path: Path) -> None:
    write_folder(tmp_path, CASES["modernbert"]["config"])
    model = ark.models.load(tmp_path, batch=1, length=12, pooling="none", normalize=False)
    vectors = model.compile("cpu:2", opt_level=0).embed(PROMPTS[-1:])[0, :, :3]
    np.testing.assert_allclose(vectors, CASES["modernbert"]["vectors"], atol=ANGLES)


@pytest.mark.parametrize(
    "name",
    ["mistral, window", "qwen2", "mixtral", "gpt_oss", "deepseek_v2, groups", "deepseek_v3"],
)
def test_ranks_of_a_decoder(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path, CASES[name]["config"])
    model = ark.models.load(tmp_path, max_length=len(PROMPT) + COUNT, tensor_parallel=2)
    model.compile("cpu:2", opt_level=0)
    assert model.generate(PROMPT, COUNT, stop=()) == CASES[name]["tokens"]


# The last case of each type that ranks can share.
SHARED = {
    case.kind: name for name, case in {**DECODERS, **MIXTURES}.items() if FAMILIES[case.kind].ranks
}


@pytest.mark.parametrize("kind", SHARED)
def test_logits_of_ranks_that_divide_tokens(kind: str, tmp_path: Path) -> None:
    """Ranks divide the tokens of a prompt, and add the same sums for the one token of a step."""
    write_folder(tmp_path, CASES[SHARED[kind]]["config"])
    options: Any = {"max_length": 16, "chunk": 4, "tensor_parallel": 2, "sequence_parallel": True}
    model = ark.models.load(tmp_path, **options)
    ends = {"ends": [-1] * 8}
    inputs: dict[str, dict[str, Any]] = {
        "prefill": {"ids": [PROMPT[:4]], "begin": 0, "last": 3, **ends}, "decode": ends,
    }  # fmt: skip
    for name, arrays in inputs.items():
        weights = model.parameters_of(name)
        exact = ark.reference.run(model.programs[name], {**weights, **arrays})["logits"]
        programs = model.ranks[name]
        parts = [{**arrays, **Shard.of(each).parts(weights, each)} for each in programs]
        for outputs in ark.reference.run(programs, parts):
            np.testing.assert_allclose(outputs["logits"], exact, rtol=1e-6, atol=1e-6)


def test_types_that_cannot_be_divided_raise(tmp_path: Path) -> None:
    write_folder(tmp_path, CASES["gemma2"]["config"])
    with pytest.raises(ark.UnsupportedError) as caught:
        ark.models.load(tmp_path, tensor_parallel=2)
    assert "tensor_parallel 2: models of type gemma2 run on one rank" in str(caught.value)
    assert "models of types llama, mistral, qwen2, " in str(caught.value)


def test_long_contexts_take_the_long_divisors(tmp_path: Path) -> None:
    """LongRoPE chooses by the length of the program; 32 positions are the original ones."""
    write_folder(tmp_path, CASES["phi3, longrope"]["config"])
    config = read_decoder(read_config(tmp_path))
    # The second pair rotates by 10000^-1/2 radians; its divisors are 1.5 and 5.
    scale = np.sqrt(1 + np.log(2) / np.log(32))
    for length, divisor in ((32, 1.5), (33, 5.0)):
        _, sin = rope_tables(config, length)
        np.testing.assert_allclose(sin[1, 1], np.sin(0.01 / divisor) * scale, rtol=1e-6)
