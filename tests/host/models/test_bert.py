"""The BERT encoder, compared with the results of transformers for the same weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.encoder import EncoderConfig

IDS = [[1, 5, 9, 2], [3, 3, 8, 4, 11, 2]]
# transformers 5.23 in float64: mean pooling over the tokens, then length one.
EXPECTED = np.array(
    [
        [-0.19099286378035257, -0.00031067662132573676, 0.02523181721110871, 0.4778157288576348],
        [-0.18662670096809492, -0.007989306110138681, -0.0789571388512726, 0.3450064031633713],
    ]
)


@pytest.fixture(scope="module")
def folder(tiny: Any, tmp_path_factory: Any) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return ark.models.load(folder, batch=2, length=8)


def embed(model: Any, ids: Any, mask: Any = None) -> Any:
    return model.embed(ids, mask, reference=True)


def test_results_equal_those_of_transformers(model: Any) -> None:
    got = embed(model, IDS)
    assert got.shape == (2, 16)
    np.testing.assert_allclose(got[:, :4], EXPECTED, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, rtol=1e-12)


def test_the_program_lists_its_arguments(model: Any) -> None:
    program = model.programs["embed"]
    assert program.inputs["ids"].shape == program.inputs["mask"].shape == (2, 8)
    assert program.inputs["mask"].dtype is ark.bool
    assert program.outputs["embedding"].dtype is ark.fp32
    assert set(program.parameters) == set(model.parameters)
    assert "encoder.layer.1.attention.self.query.weight" in model.parameters


def test_sizes_can_be_read_by_themselves(folder: Path) -> None:
    """As in examples/minilm.py; the caller then chooses the type of the model."""
    sizes = EncoderConfig.read(read_config(folder))
    assert (sizes.hidden, sizes.layers) == (16, 2)


def test_weights_stay_in_their_file(model: Any) -> None:
    array = model.parameters["embeddings.word_embeddings.weight"]
    assert not array.flags.owndata
    assert not array.flags.writeable


def test_padding_changes_nothing(model: Any) -> None:
    expected = embed(model, IDS)
    padded = np.full((2, 7), 22)
    mask = np.zeros((2, 7), int)
    for row, ids in enumerate(IDS):
        padded[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    np.testing.assert_allclose(embed(model, padded, mask), expected, atol=1e-12)
    # Padding beyond the program's length contains no token.
    wide = np.pad(padded, ((0, 0), (0, 30)))
    np.testing.assert_allclose(
        embed(model, wide, np.pad(mask, ((0, 0), (0, 30)))), expected, atol=1e-12
    )


def test_any_number_of_prompts(model: Any) -> None:
    one = embed(model, IDS[:1])
    five = embed(model, [IDS[0], IDS[1], IDS[0], IDS[1], IDS[0]])
    assert five.shape == (5, 16)
    for row in (0, 2, 4):
        np.testing.assert_allclose(five[row], one[0], atol=1e-12)
    assert embed(model, []).shape == (0, 16)


def test_poolings(folder: Path) -> None:
    hidden = ark.models.load(folder, batch=2, length=8, pooling="none", normalize=False)
    states = embed(hidden, IDS)
    assert states.shape == (2, 8, 16)
    first = ark.models.load(folder, batch=2, length=8, pooling="cls", normalize=False)
    np.testing.assert_allclose(embed(first, IDS), states[:, 0], atol=1e-12)
    mean = ark.models.load(folder, batch=2, length=8, normalize=False)
    np.testing.assert_allclose(embed(mean, IDS)[0], states[0, :4].mean(0), atol=1e-12)


def test_narrow_weights(folder: Path) -> None:
    model = ark.models.load(folder, batch=2, length=8, dtype="bf16")
    assert {a.dtype for a in model.parameters.values()} == {np.dtype(ml_dtypes.bfloat16)}
    np.testing.assert_allclose(embed(model, IDS)[:, :4], EXPECTED, atol=0.02)


def test_types_tell_the_sentences_of_a_pair_apart(model: Any) -> None:
    types = [[0, 0, 1, 1], [0, 1, 1, 1, 1, 1]]
    expected = embed(model, IDS)
    np.testing.assert_array_equal(
        model.embed(IDS, types=[[0] * 4, [0] * 6], reference=True), expected
    )
    paired = model.embed(IDS, types=types, reference=True)
    assert (np.abs(paired - expected).max(axis=1) > 1e-3).all()
    # Token types of padding have no effect.
    mask = np.array([[1, 1, 1, 0]])
    one = model.embed([IDS[0]], mask, [[0, 0, 1, 0]], reference=True)
    other = model.embed([IDS[0]], mask, [[0, 0, 1, 1]], reference=True)
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([[0, 0]], "types must have a row for each row of ids"),
        ([[0, 2, 0, 0]], r"types\[0\] must be from 0 to 1"),
        ([[0, -1, 0, 0]], r"types\[0\] must be from 0 to 1"),
        ([[0.5, 0, 0, 0]], r"types\[0\] must be a row of integers"),
        (7, "types must be rows of integers"),
    ],
)
def test_types_that_are_refused(model: Any, types: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        model.embed(IDS[:1], types=types, reference=True)


def test_holes_in_a_mask(model: Any) -> None:
    """A masked token has no effect at any position, and the other tokens keep their positions."""
    mask = [[1, 0, 1, 1]]
    first, second = (embed(model, [[1, token, 9, 2]], mask) for token in (5, 17))
    np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize("style", ["bert.", "gamma"])
def test_alternative_names_of_tensors(tiny: Any, tmp_path: Path, style: str) -> None:
    arrays = tiny.weights("bert")
    if style == "gamma":
        renamed = {
            n.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): a
            for n, a in arrays.items()
        }
    else:
        renamed = {f"bert.{n}": a for n, a in arrays.items()}
    model = ark.models.load(tiny.write_model(tmp_path, "bert", renamed), batch=2, length=8)
    np.testing.assert_allclose(embed(model, IDS)[:, :4], EXPECTED, atol=1e-9)


def test_weights_in_several_files(tiny: Any, tmp_path: Path) -> None:
    arrays = tiny.weights("bert")
    tiny.write_model(tmp_path, "bert", {})
    (tmp_path / "model.safetensors").unlink()
    names = list(arrays)
    tiny.write_safetensors(tmp_path / "a.safetensors", {n: arrays[n] for n in names[:20]})
    tiny.write_safetensors(tmp_path / "b.safetensors", {n: arrays[n] for n in names[20:]})
    model = ark.models.load(tmp_path, batch=2, length=8)
    np.testing.assert_allclose(embed(model, IDS)[:, :4], EXPECTED, atol=1e-9)


@pytest.mark.parametrize(
    ("ids", "mask", "message"),
    [
        (
            [[1] * 9],
            None,
            "prompt 0 has 9 tokens, the program's limit is 8; load the model with length=9",
        ),
        ([[1], [1, 23]], None, r"ids\[1\] has token 23, but the vocabulary has 23 entries"),
        ([[-1]], None, r"ids\[0\] has token -1"),
        ([[1.5]], None, r"ids\[0\] must be a row of integers"),
        ([[[1]]], None, r"ids\[0\] must be a row of integers"),
        (3, None, "ids must be rows of integers"),
        ([[1], []], None, "prompt 1 has no token"),
        ([[1, 2]], [[0, 0]], "prompt 0 has no token"),
        ([[1, 2]], [[1]], "mask must have a row for each row of ids"),
        ([[1, 2]], [[1, 2]], r"mask\[0\] must hold zeros and ones"),
        ([[1, 2]], 1, "mask must be rows"),
    ],
)
def test_prompts_that_are_refused(model: Any, ids: Any, mask: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        embed(model, ids, mask)


def test_running_before_compiling_is_refused(model: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"call compile\(target\)"):
        model.embed(IDS)
