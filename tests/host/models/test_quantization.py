"""Files with quantized weights: numbers of transformers, and damaged files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.quantization import read_quantization
from ark_mlir.runtime.arrays.safetensors import read_safetensors

MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
FP8 = {
    "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
    "weight_block_size": [16, 8],
}  # fmt: skip
FBGEMM: dict[str, Any] = {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}
Array = np.ndarray[Any, Any]


def compressed(**weights: Any) -> dict[str, Any]:
    """Returns a section of compressed-tensors with entries of its weights."""
    described = {"num_bits": 8, "type": "float", "strategy": "channel", **weights}
    return {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": described}},
    }


def dequantize(folder: Path, entries: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Array]:
    """Returns the arrays of a file whose configuration has the entries of a quantization."""
    (folder / "config.json").write_text(json.dumps({"quantization_config": entries}))
    return read_quantization(read_config(folder))(arrays, ark.fp32, "folder")


# -- numbers --------------------------------------------------------------------------------------


def test_mxfp4_is_its_definition(tmp_path: Path) -> None:
    """Two numbers of a byte, the lower bits first, times the power of two of their group."""
    blocks = np.arange(2 * 3 * 2 * 16, dtype=np.uint8).reshape(2, 3, 2, 16)
    scales = np.array([127, 126, 130, 1, 252, 253] * 2, np.uint8).reshape(2, 3, 2)
    got = dequantize(tmp_path, MXFP4, {"w_blocks": blocks, "w_scales": scales})["w"]
    assert got.shape == (2, 64, 3)
    for index in np.ndindex(2, 3, 2, 16):
        expert, row, group, byte = index
        scale = 2.0 ** (int(scales[index[:3]]) - 127)
        for half, bits in enumerate((blocks[index] % 16, blocks[index] // 16)):
            number = [0.0, 0.5, 1, 1.5, 2, 3, 4, 6][bits % 8] * (-1 if bits > 7 else 1) * scale
            column = 32 * group + 2 * byte + half
            np.testing.assert_equal(got[expert, column, row], np.float32(number))


def test_fp8_is_its_definition(tmp_path: Path) -> None:
    """The last blocks of a matrix may be smaller."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((40, 20)).astype(ml_dtypes.float8_e4m3fn)
    scales = random.uniform(0.1, 2, (3, 3)).astype(np.float32)
    got = dequantize(tmp_path, FP8, {"w": weight, "w_scale_inv": scales})
    assert list(got) == ["w"]
    wanted = weight.astype(np.float32) * np.kron(scales, np.ones((16, 8)))[:40, :20]
    np.testing.assert_array_equal(got["w"], wanted.astype(np.float32))


@pytest.mark.parametrize("entries", [FBGEMM, compressed(), compressed(strategy="tensor")], ids=str)
@pytest.mark.parametrize("shape", [(300, 1), (300,), (1,), ()], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_fp8_with_scales_of_rows(
    tmp_path: Path, entries: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> None:
    """A matrix may also have one scale. The upper bound of activations is not used."""
    random = np.random.default_rng(1)
    weight = random.standard_normal((300, 20)).astype(ml_dtypes.float8_e4m3fn)
    scales = random.uniform(0.1, 2, shape).astype(dtype)
    bound = np.ones(1, np.float32)
    arrays = {"a.weight": weight, "a.weight_scale": scales, "a.input_scale_ub": bound}
    got = dequantize(tmp_path, entries, arrays)
    assert list(got) == ["a.weight"]
    factors = scales.astype(np.float32).reshape(-1, 1)
    np.testing.assert_array_equal(got["a.weight"], weight.astype(np.float32) * factors)


# -- models ---------------------------------------------------------------------------------------


def compare(folder: Path, theirs: Any, target: str) -> None:
    """Compares logits and tokens of a folder with those of a model of transformers."""
    torch: Any = importlib.import_module("torch")
    prompt, ids, logits = [7, 3, 50, 21, 9, 9, 40], [7, 3, 50, 21, 9, 9, 40], []
    with torch.no_grad():
        for _ in range(6):
            logits.append(theirs(torch.tensor([ids]), use_cache=False).logits[0, -1].numpy())
            ids.append(int(logits[-1].argmax()))
    model = ark.models.load(folder, max_length=len(ids), chunk=len(prompt))
    inputs: dict[str, Any] = {
        "ids": [prompt], "begin": 0, "last": len(prompt) - 1, "ends": [-1] * 8
    }  # fmt: skip
    exact = model.run("prefill", inputs, reference=True)["logits"][0]
    np.testing.assert_allclose(exact, logits[0], atol=3e-4)
    assert model.compile(target, opt_level=0).generate(prompt, 6) == ids[len(prompt) :]


def read_arrays(folder: Path) -> dict[str, Array]:
    """Returns copies of the weights, whose file changes."""
    arrays = read_safetensors(folder / "model.safetensors")
    return {name: array.copy() for name, array in arrays.items()}


def rewrite(folder: Path, tiny: Any, arrays: dict[str, Array], entries: dict[str, Any]) -> None:
    """Replaces the weights of a folder, and adds a quantization to its configuration."""
    tiny.write_safetensors(folder / "model.safetensors", arrays)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": entries}))


def test_gpt_oss_in_mxfp4(tmp_path: Path, tiny: Any, pick_target: Callable[[str], str]) -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from model_cases import MIXTURES

    mxfp4: Any = importlib.import_module("transformers.integrations.mxfp4")
    case = MIXTURES["gpt_oss"]
    sized = type(case)(
        case.kind, case.family, {**case.more, "hidden_size": 64, "intermediate_size": 32}
    )
    theirs = sized.make(tmp_path)
    arrays = read_arrays(tmp_path)
    random = np.random.default_rng(1)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                continue
            experts, inputs, outputs = parameter.shape
            blocks = random.integers(0, 256, (experts, outputs, inputs // 32, 16), np.uint8)
            scales = random.integers(122, 127, (experts, outputs, inputs // 32), np.uint8)
            del arrays[name]
            arrays |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
            exact = mxfp4.convert_moe_packed_tensors(
                torch.tensor(blocks), torch.tensor(scales), dtype=torch.float32
            )
            parameter.copy_(exact)
    rewrite(tmp_path, tiny, arrays, MXFP4)
    compare(tmp_path, theirs, pick_target("cpu:2"))


def test_deepseek_v3_in_fp8(tmp_path: Path, tiny: Any, pick_target: Callable[[str], str]) -> None:
    """The file also has a layer that predicts further tokens, which a step does not use."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from model_cases import MIXTURES

    theirs = MIXTURES["deepseek_v3"].make(tmp_path)
    arrays = read_arrays(tmp_path)
    random, exact = np.random.default_rng(2), {}
    for name, array in list(arrays.items()):
        if "_proj" in name and array.ndim == 2:
            rows, columns = array.shape
            scales = random.uniform(0.1, 0.3, (-(-rows // 16), -(-columns // 8))).astype(np.float32)
            whole = np.kron(scales, np.ones((16, 8), np.float32))[:rows, :columns]
            weight = (array / whole).astype(ml_dtypes.float8_e4m3fn)
            arrays |= {name: weight, f"{name}_scale_inv": scales}
            exact[name] = weight.astype(np.float32) * whole
    arrays["model.layers.2.eh_proj.weight"] = np.zeros((4, 8), np.float32)
    tiny.write_safetensors(tmp_path / "model.safetensors", {**arrays, **exact})
    theirs = type(theirs).from_pretrained(tmp_path, attn_implementation="eager").double().eval()
    theirs.set_experts_implementation("eager")
    rewrite(tmp_path, tiny, arrays, FP8)
    compare(tmp_path, theirs, pick_target("cpu:2"))


# -- invalid files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"quant_method": "bnb"},
            "unknown quantization 'bnb'; known are mxfp4, fp8, fbgemm_fp8, compressed-tensors, "
            "gptq and awq; save",
        ),
        ({}, "'quant_method' is missing"),
        ({**FP8, "fmt": "e5m2"}, "'fmt' is 'e5m2', which this version does not support"),
        ({**FP8, "activation_scheme": "static"}, "'activation_scheme' is 'static'"),
        ({**FP8, "weight_block_size": [128]}, "weight_block_size must be two numbers above 0"),
        ({**FP8, "weight_block_size": [0, 8]}, "weight_block_size must be two numbers above 0"),
        ({**FP8, "weight_block_size": None}, "'weight_block_size' is missing"),
        ({**MXFP4, "group": 16}, "unknown entries 'group' may change the model"),
        ({**FBGEMM, "fmt": "e4m3"}, "unknown entries 'fmt' may change the model"),
        ({**compressed(), "format": "pack-quantized"}, "'format' is 'pack-quantized'"),
        ({**compressed(), "config_groups": {}}, "'config_groups' is missing"),
        ({**compressed(), "config_groups": {"a": {}}}, "group 'a' has no 'weights'"),
        ({**compressed(), "kv_cache_scheme": {"num_bits": 8}}, "unknown entries 'kv_cache_scheme'"),
        ({**compressed(), "sparsity_config": {"format": "2:4"}}, "'sparsity_config' is"),
        (compressed(num_bits=4), "'num_bits' is 4"),
        (compressed(type="int"), "'type' is 'int'"),
        (compressed(strategy="block"), "'strategy' is 'block'.*supported: 'channel', 'tensor'"),
        (compressed(symmetric=False), "'symmetric' is [Ff]alse"),
        (compressed(group_size=32), "unknown entries 'group_size'"),
    ],
)
def test_invalid_quantizations(tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        dequantize(tmp_path, entries, {})


BLOCKS, SCALES = np.zeros((2, 3, 1, 16), np.uint8), np.zeros((2, 3, 1), np.uint8)
NARROW = np.zeros((16, 8), ml_dtypes.float8_e4m3fn)


@pytest.mark.parametrize(
    ("entries", "arrays", "message"),
    [
        (MXFP4, {"w_blocks": BLOCKS}, "lack w_scales, the scales of w_blocks"),
        (MXFP4, {"w_blocks": BLOCKS, "w_scales": SCALES[:1]}, "'w_scales' are .*not MXFP4"),
        (MXFP4, {"w_blocks": BLOCKS[..., :8], "w_scales": SCALES}, "is not MXFP4"),
        (MXFP4, {"w_blocks": BLOCKS, "w_scales": SCALES.astype(np.int64)}, "is not MXFP4"),
        (FP8, {"w": NARROW}, "lack w_scale_inv, the scales of w"),
        (FP8, {"w": NARROW, "w_scale_inv": np.ones((2, 1))}, r"requires \[1, 1\]"),
        (FBGEMM, {"w": NARROW}, "lack w_scale, the scales of w"),
        (FBGEMM, {"w": NARROW, "w_scale": np.ones((8, 1))}, r"requires \[16, 1\]"),
        (None, {"w": NARROW}, "config.json has no quantization_config"),
    ],
)
def test_invalid_weights(
    tmp_path: Path, entries: dict[str, Any], arrays: dict[str, Array], message: str
) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        dequantize(tmp_path, entries, arrays)


def test_scales_of_nan_in_mxfp4(tmp_path: Path) -> None:
    """The largest number of a scale's 8 bits is NaN, which no valid checkpoint has."""
    scales = np.full((2, 3, 1), 127, np.uint8)
    scales[1, 2, 0] = 255
    with pytest.raises(ark.InvalidUsageError, match=r"'w_scales' has the scale nan at \[1, 2, 0\]"):
        dequantize(tmp_path, MXFP4, {"w_blocks": BLOCKS, "w_scales": scales})


@pytest.mark.parametrize("scale", [0.0, np.nan, np.inf, -np.inf])
def test_scales_that_are_no_factors_in_fp8(tmp_path: Path, scale: float, tiny: Any) -> None:
    """The message names the tensor and its file."""
    scales = np.ones((3, 3), np.float32)
    scales[2, 1] = scale
    arrays = {"a.w": np.ones((40, 20), ml_dtypes.float8_e4m3fn), "a.w_scale_inv": scales}
    tiny.write_safetensors(tmp_path / "one.safetensors", {"b": scales})
    tiny.write_safetensors(tmp_path / "two.safetensors", {"model.a.w_scale_inv": scales})
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": FP8}))
    read = read_quantization(read_config(tmp_path))
    with pytest.raises(ark.InvalidUsageError) as caught:
        read(arrays, ark.fp32, str(tmp_path))
    message = str(caught.value)
    assert f"'a.w_scale_inv' has the scale {scale} at [2, 1], and 1 of its 9 scales" in message
    assert message.startswith(str(tmp_path / "two.safetensors"))


def test_the_table_of_embeddings_determines_the_dtype(tmp_path: Path, tiny: Any) -> None:
    """A configuration without an entry for it is that of gpt-oss."""
    arrays = {
        name: array.astype(ml_dtypes.bfloat16) for name, array in tiny.weights("llama").items()
    }
    model = ark.models.load(tiny.write_model(tmp_path, "llama", arrays))
    assert {each.dtype for each in model.programs["decode"].parameters.values()} == {ark.bf16}
