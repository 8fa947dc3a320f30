"""``keep_quantized``: checkpoints whose weights stay quantized in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime.arrays.safetensors import read_safetensors

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
save_file: Any = pytest.importorskip("safetensors.numpy").save_file

from packed_layers import AWQ, GPTQ, draw  # noqa: E402

FP8 = {
    "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
    "weight_block_size": [16, 8],
}  # fmt: skip
FBGEMM: dict[str, Any] = {
    "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
    "modules_to_not_convert": ["lm_head"],
}  # fmt: skip
COMPRESSED: dict[str, Any] = {
    "quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"],
    "quantization_status": "compressed", "kv_cache_scheme": None, "global_compression_ratio": 1.5,
    "config_groups": {
        "group_0": {
            "targets": ["Linear"], "output_activations": None,
            "weights": {
                "num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True,
                "dynamic": False, "group_size": None, "block_structure": None, "actorder": None,
                "observer": "minmax", "observer_kwargs": {},
            },
            "input_activations": {
                "num_bits": 8, "type": "float", "strategy": "token", "symmetric": True,
                "dynamic": True, "observer": None, "observer_kwargs": {},
            },
        }
    },
}  # fmt: skip
FORMATS: dict[str, dict[str, Any]] = {
    "fp8": FP8, "fbgemm_fp8": FBGEMM, "compressed-tensors": COMPRESSED, "gptq": GPTQ, "awq": AWQ,
}  # fmt: skip
BITS4 = ("gptq", "awq")
PROMPT = [3, 10, 17, 24]


def quantize(entries: dict[str, Any], random: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Returns the tensors of a layer by the ends of their names, and its matrix in fp32."""
    if entries["quant_method"] in BITS4:
        return draw(random, entries, shape[1], shape[0])
    if entries["quant_method"] != "fp8":
        weight = random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
        rows = random.uniform(0.1, 0.3, (shape[0], 1)).astype(np.float32)
        return {"weight": weight, "weight_scale": rows}, weight.astype(np.float32) * rows
    scales = random.uniform(0.1, 0.3, (-(-shape[0] // 16), -(-shape[1] // 8))).astype(np.float32)
    weight = random.standard_normal(shape).astype(ml_dtypes.float8_e4m3fn)
    factors = np.kron(scales, np.ones((16, 8), np.float32))[: shape[0], : shape[1]]
    return {"weight": weight, "weight_scale_inv": scales}, weight.astype(np.float32) * factors


def write(tiny: Any, folder: Path, entries: dict[str, Any]) -> tuple[Path, Path]:
    """Writes a quantized Llama, and the same model with its weights dequantized."""
    random, plain = np.random.default_rng(4), tiny.weights("llama")
    packed: dict[str, Any] = {}
    for name, array in list(plain.items()):
        if not name.endswith("_proj.weight"):
            packed[name] = array
            continue
        parts, plain[name] = quantize(entries, random, array.shape)
        layer = name.removesuffix(".weight")
        packed |= {f"{layer}.{key}": part for key, part in parts.items()}
    clear = tiny.write_model(folder / "clear", "llama", plain)
    config = {"quantization_config": entries, "torch_dtype": "float32"}
    tiny.write_model(folder / "quantized", "llama", {}, config)
    tiny.write_safetensors(folder / "quantized" / "model.safetensors", packed)
    return folder / "quantized", clear


@pytest.mark.parametrize("name", FORMATS)
def test_a_llama(tiny: Any, tmp_path: Path, name: str, pick_target: Callable[[str], str]) -> None:
    """Tokens are those of the dequantized model; so are those of bundles. A chunk of 4 tokens is
    multiplied by the quantized weights, and one of 20 by widened ones."""
    folder, clear = write(tiny, tmp_path, FORMATS[name])
    expected = ark.models.load(clear, max_length=32).generate(PROMPT, 6, reference=True)
    for chunk in (4, 20):
        model: Any = ark.models.load(folder, max_length=32, chunk=chunk, keep_quantized=True)
        assert model.generate(PROMPT, 6, reference=True) == expected
        kept = model.parameters["model.layers.0.mlp.down_proj.weight.quantized"]
        assert kept.shape == ((32, 20) if name in BITS4 else (32, 40))
        assert kept.dtype == (np.int8 if name in BITS4 else ml_dtypes.float8_e4m3fn)
        assert "model.layers.0.mlp.down_proj.weight" not in model.parameters
    model.compile(pick_target("cpu:2"), opt_level=0)
    assert model.generate(PROMPT, 6) == expected
    for part, executable in model.executables.items():
        executable.save(tmp_path / f"m.{part}.arkbin")
    loaded: Any = ark.models.load_compiled(folder, tmp_path / "m.arkbin")
    assert loaded.generate(PROMPT, 6) == expected


def test_layers_in_the_order_of_activations_are_dequantized(tiny: Any, tmp_path: Path) -> None:
    """A layer in this order has no consecutive groups; all other layers stay quantized."""
    folder, _ = write(tiny, tmp_path, GPTQ)
    path = folder / "model.safetensors"
    arrays = {name: array.copy() for name, array in read_safetensors(path).items()}
    arrays["model.layers.1.mlp.up_proj.g_idx"] = arrays["model.layers.1.mlp.up_proj.g_idx"][::-1]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    tiny.write_safetensors(path, arrays)
    model: Any = ark.models.load(folder, max_length=16, keep_quantized=True)
    assert model.parameters["model.layers.1.mlp.up_proj.weight"].dtype == np.float32
    assert model.parameters["model.layers.0.mlp.up_proj.weight.quantized"].dtype == np.int8


def test_scales_are_checked(tiny: Any, tmp_path: Path) -> None:
    for name in FORMATS:
        folder, _ = write(tiny, tmp_path / name, FORMATS[name])
        path = folder / "model.safetensors"
        arrays = {key: array.copy() for key, array in read_safetensors(path).items()}
        end = "scales" if name in BITS4 else "weight_scale"
        end += "_inv" * (name == "fp8")
        arrays[f"model.layers.1.mlp.up_proj.{end}"].reshape(-1)[2] = np.nan
        tiny.write_safetensors(path, arrays)
        with pytest.raises(ark.InvalidUsageError, match=rf"up_proj.{end}' has the scale nan"):
            ark.models.load(folder, max_length=16, keep_quantized=True)


@pytest.mark.parametrize("name", ["gptq", "awq"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qweight": np.zeros((), np.int32)}, "qweight and qzeros must be matrices of int32"),
        ({"qweight": np.zeros((0, 8), np.int32)}, "qweight has shape"),
        ({"qweight": np.zeros((8, 8), np.int64)}, "qweight and qzeros must be matrices of int32"),
        ({"qzeros": np.zeros((1, 1), np.int32)}, "qzeros has shape"),
        ({"qzeros": None}, r"lack .*up_proj\.qzeros, which belongs to .*up_proj\.qweight"),
    ],
)
def test_damaged_layers(
    tiny: Any, tmp_path: Path, name: str, change: dict[str, Any], message: str
) -> None:
    """The errors are those of a model whose weights are dequantized."""
    folder, _ = write(tiny, tmp_path, FORMATS[name])
    replace(tiny, folder, "model.layers.1.mlp.up_proj", change)
    texts: list[str] = []
    for kept in (False, True):
        with pytest.raises(ark.InvalidUsageError, match=message) as caught:
            ark.models.load(folder, max_length=16, keep_quantized=kept)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "model.layers.1.mlp.up_proj" in texts[0]


def test_layers_with_scales_of_integers_are_dequantized(tiny: Any, tmp_path: Path) -> None:
    """A product with quantized weights has float scales."""
    folder, _ = write(tiny, tmp_path, AWQ)
    layer = "model.layers.1.mlp.up_proj"
    scales = read_safetensors(folder / "model.safetensors")[f"{layer}.scales"]
    replace(tiny, folder, layer, {"scales": np.full(scales.shape, 2, np.int32)})
    kept, wide = (
        ark.models.load(folder, max_length=16, keep_quantized=kept) for kept in (True, False)
    )
    assert "model.layers.0.mlp.up_proj.weight.quantized" in kept.parameters
    np.testing.assert_array_equal(
        kept.parameters[f"{layer}.weight"], wide.parameters[f"{layer}.weight"]
    )


def replace(tiny: Any, folder: Path, layer: str, change: dict[str, Any]) -> None:
    """Replaces tensors of a layer in the files of a model, or removes them."""
    path = folder / "model.safetensors"
    arrays = {key: array.copy() for key, array in read_safetensors(path).items()}
    arrays |= {f"{layer}.{key}": array for key, array in change.items()}
    tiny.write_safetensors(path, {key: array for key, array in arrays.items() if array is not None})


def test_refusals(tiny: Any, tmp_path: Path) -> None:
    folder, clear = write(tiny, tmp_path, AWQ)
    with pytest.raises(ark.InvalidUsageError, match="keep_quantized needs weights in FP8"):
        ark.models.load(clear, keep_quantized=True)
    with pytest.raises(ark.UnsupportedError, match="keep_quantized with tensor_parallel 2"):
        ark.models.load(folder, keep_quantized=True, tensor_parallel=2)
