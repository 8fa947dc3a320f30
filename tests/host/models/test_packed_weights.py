"""Checkpoints in GPTQ and AWQ, against a reference that unpacks number by number in torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.quantization import read_quantization

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

from packed_layers import AWQ, GPTQ, draw  # noqa: E402

Arrays = dict[str, Any]


def dequantize(folder: Path, entries: dict[str, Any], arrays: Arrays) -> Arrays:
    (folder / "config.json").write_text(json.dumps({"quantization_config": entries}))
    return read_quantization(read_config(folder))(arrays, ark.fp32, "folder")


CASES: dict[str, dict[str, Any]] = {
    "gptq": GPTQ,
    "gptq, second version": {**GPTQ, "checkpoint_format": "gptq_v2"},
    "gptq, 8 bits": {**GPTQ, "bits": 8},
    "gptq, 2 bits": {**GPTQ, "bits": 2, "group_size": 16},
    "gptq, one group": {**GPTQ, "group_size": -1},
    "gptq, a smaller last group": {**GPTQ, "group_size": 32},
    "awq": AWQ,
    "awq, one group": {**AWQ, "group_size": -1},
}


@pytest.mark.parametrize("name", CASES)
def test_weights_are_those_of_the_reference(tmp_path: Path, name: str) -> None:
    parts, weight = draw(np.random.default_rng(1), CASES[name], 48, 32)
    arrays = {f"a.{key}": part for key, part in parts.items()}
    got = dequantize(tmp_path, CASES[name], {**arrays, "a.bias": np.ones(32, np.float16)})
    assert sorted(got) == ["a.bias", "a.weight"]
    np.testing.assert_array_equal(got["a.weight"], weight)


def test_inputs_in_the_order_of_activations(tmp_path: Path) -> None:
    parts, weight = draw(np.random.default_rng(2), GPTQ, 64, 16, sort=True)
    got = dequantize(tmp_path, {**GPTQ, "desc_act": True}, {f"a.{k}": v for k, v in parts.items()})
    np.testing.assert_array_equal(got["a.weight"], weight)


def test_more_inputs_than_are_computed_at_once(tmp_path: Path) -> None:
    for entries in (GPTQ, AWQ):
        parts, weight = draw(np.random.default_rng(3), entries, 1056, 8)
        got = dequantize(tmp_path, entries, {f"a.{k}": v for k, v in parts.items()})
        np.testing.assert_array_equal(got["a.weight"], weight)


@pytest.mark.parametrize("entries", [GPTQ, AWQ], ids=["gptq", "awq"])
def test_a_llama(
    tiny: Any, tmp_path: Path, entries: dict[str, Any], pick_target: Callable[[str], str]
) -> None:
    """Tokens are those of the same model with its weights dequantized; so are those of bundles."""
    random, plain, packed = np.random.default_rng(4), tiny.weights("llama"), {}
    for name, array in list(plain.items()):
        packed[name] = array
        if name.endswith("_proj.weight"):
            outputs, inputs = array.shape
            layer = name.removesuffix(".weight")
            parts, plain[name] = draw(random, entries, inputs, outputs)
            del packed[name]
            packed |= {f"{layer}.{key}": part for key, part in parts.items()}
    clear = tiny.write_model(tmp_path / "clear", "llama", plain)
    config = {"quantization_config": entries, "torch_dtype": "float32"}
    folder = tmp_path / "packed"
    tiny.write_model(folder, "llama", {}, config)
    save(folder / "model.safetensors", packed)
    prompt = [3, 10, 17, 24]
    expected = ark.models.load(clear, max_length=16).generate(prompt, 6, reference=True)
    model: Any = ark.models.load(folder, max_length=16, chunk=4)
    model.compile(pick_target("cpu:2"), opt_level=0)
    assert model.generate(prompt, 6) == expected
    for name, executable in model.executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
    loaded: Any = ark.models.load_compiled(folder, tmp_path / "m.arkbin")
    assert loaded.generate(prompt, 6) == expected


def save(path: Path, arrays: Arrays) -> None:
    save_file: Any = pytest.importorskip("safetensors.numpy").save_file
    save_file(arrays, path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({**GPTQ, "bits": 3}, "'bits' is 3; supported: 2, 4, 8"),
        ({**AWQ, "bits": 8}, "'bits' is 8; supported: 4"),
        ({**GPTQ, "bits": None}, "'bits' is missing"),
        ({**GPTQ, "group_size": 0}, "group_size"),
        ({**GPTQ, "checkpoint_format": "marlin"}, "'checkpoint_format' is 'marlin'"),
        ({**GPTQ, "dynamic": {"-:.*": {}}}, "'dynamic' is "),
        ({**GPTQ, "rotation": "hadamard"}, "unknown entries 'rotation' may change the model"),
        ({**AWQ, "version": "gemv"}, "'version' is 'gemv'; supported: 'gemm'"),
    ],
)
def test_invalid_entries(tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message) as caught:
        dequantize(tmp_path, entries, {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qzeros": None}, r"lack a\.qzeros, which belongs to a\.qweight"),
        ({"scales": None}, r"lack a\.scales"),
        (
            {"scales": np.ones((6, 7), np.float16)},
            r"scales has shape \[6, 7\]; .*require \[6, 16\]",
        ),
        ({"qzeros": np.zeros((5, 2), np.int32)}, r"qzeros has shape \[5, 2\].*require \[6, 2\]"),
        ({"qweight": np.zeros((6, 16), np.int64)}, "must be matrices of int32"),
        ({"qweight": np.zeros((), np.int32)}, "must be matrices of int32"),
        ({"qweight": np.zeros((0, 16), np.int32)}, r"qweight has shape \[0, 16\]"),
        ({"g_idx": np.full(48, 6, np.int32)}, "g_idx must have a group from 0 to 5"),
        ({"g_idx": np.zeros(3, np.int32)}, "g_idx must have a group from 0 to 5 for each input"),
    ],
)
def test_invalid_layers(tmp_path: Path, change: Arrays, message: str) -> None:
    parts, _ = draw(np.random.default_rng(5), GPTQ, 48, 16)
    arrays = {f"a.{k}": v for k, v in {**parts, **change}.items() if v is not None}
    with pytest.raises(ark.InvalidUsageError, match=message):
        dequantize(tmp_path, GPTQ, arrays)


@pytest.mark.parametrize("entries", [GPTQ, AWQ], ids=["gptq", "awq"])
@pytest.mark.parametrize("scale", [0.0, np.nan, np.inf])
def test_scales_that_are_no_factors(tmp_path: Path, entries: dict[str, Any], scale: float) -> None:
    parts, _ = draw(np.random.default_rng(6), entries, 48, 16)
    parts["scales"][3, 5] = scale
    with pytest.raises(
        ark.InvalidUsageError, match=rf"'a\.scales' has the scale {scale} at \[3, 5\]"
    ):
        dequantize(tmp_path, entries, {f"a.{k}": v for k, v in parts.items()})


def test_transposed_matrices_are_refused(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "quantization_config": GPTQ}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ark.InvalidUsageError, match="gptq is not supported for gpt2"):
        read_quantization(read_config(tmp_path))
