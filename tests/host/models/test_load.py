"""Folders that cannot be loaded: one clear error each, naming the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.encoder_config import ENCODERS
from ark_mlir.models.families import FAMILIES, WITH_IMAGES
from ark_mlir.models.similar_types import SIMILAR


def check(folder: Path, message: str, **options: Any) -> ark.ArkError:
    with pytest.raises(ark.ArkError) as caught:
        ark.models.load(folder, **options)
    assert message in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_missing_folder(tmp_path: Path) -> None:
    error = check(tmp_path / "none", "the model folder does not exist")
    assert error.location == str(tmp_path / "none")
    (tmp_path / "file").write_text("")
    check(tmp_path / "file", "is not a folder")


def test_weights_that_are_not_safetensors(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "m", "llama")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    check(folder, "has no *.safetensors file, and ark does not read pytorch_model.bin")
    (folder / "pytorch_model.bin").unlink()
    assert str(check(folder, "")).endswith("has no *.safetensors file")


def test_no_config(tmp_path: Path) -> None:
    check(tmp_path, "the model folder has no config.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "expected an object, got an array"),
        (b"{}", "'model_type' is missing"),
        (b'{"model_type": 3}', "model_type: expected a string, got 3"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_an_invalid_config(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "config.json").write_bytes(content)
    error = check(tmp_path, message)
    assert error.location == str(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("kind", "similar"),
    [
        ("falcon", "phi"),
        ("internlm2", "llama"),
        ("codegen", "phi"),
        ("bloom", "gpt2"),
        ("phi4", "phi3"),
        ("dbrx", "mixtral"),
        ("deberta-v2", "bert"),
        ("Llama", "llama"),
        ("t5", None),
        ("whisper", None),
        ("mamba", None),
        ("gpt9", None),
    ],
)
def test_an_unknown_model_type(tmp_path: Path, kind: str, similar: str | None) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    reason = (
        f"the most similar type that ark loads is {similar}; "
        if similar
        else "docs/support.md lists the types that ark loads; "
    )
    error = check(tmp_path, f"unknown model type {kind!r}: {reason}")
    assert str(error).endswith('torch.compile(model, backend="ark") compiles other models')
    assert isinstance(error, ark.UnsupportedError)


@pytest.mark.parametrize(
    ("kind", "closest"),
    [("lamma", "llama"), ("mistal", "mistral"), ("Qwn-2", "qwen2"), ("gpt-2", "gpt2")],
)
def test_a_misspelt_model_type(tmp_path: Path, kind: str, closest: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    reason = f"the closest name of a type that ark loads is {closest}; "
    check(tmp_path, f"unknown model type {kind!r}: {reason}")


def test_a_misspelt_type_with_a_relative(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "internlm4"}))
    check(tmp_path, "for internlm, the closest name, the most similar type is llama; ")


def test_a_different_type_with_a_near_name_is_not_misspelt(tmp_path: Path) -> None:
    """bart, an encoder-decoder, differs from bert by one letter."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bart"}))
    check(tmp_path, "unknown model type 'bart': docs/support.md lists the types that ark loads; ")


def test_similar_types_are_known() -> None:
    """The types of the table are unknown, and each has a type that ark loads."""
    known = {*FAMILIES, *WITH_IMAGES, *ENCODERS}
    assert set(SIMILAR.values()) <= known
    assert not known & set(SIMILAR)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("bert", {"hidden_size": None}, "'hidden_size' is missing"),
        ("bert", {"hidden_size": 0}, "hidden_size: 0 is less than 1"),
        ("bert", {"hidden_size": "16"}, "hidden_size: expected an integer, got a string"),
        ("bert", {"hidden_size": True}, "hidden_size: expected an integer, got a boolean"),
        ("bert", {"num_attention_heads": 3}, "hidden size 16 is not a multiple of 3 heads"),
        ("bert", {"hidden_act": "swish9"}, "unknown hidden_act 'swish9'; known are gelu"),
        ("bert", {"layer_norm_eps": float("nan")}, "not valid JSON: NaN is not a number"),
        (
            "bert",
            {"position_embedding_type": "relative"},
            "'position_embedding_type' must be 'absolute'",
        ),
        ("llama", {"num_key_value_heads": 3}, "4 heads are not a multiple of 3 key heads"),
        ("llama", {"num_hidden_layers": 2**31}, "'num_hidden_layers' is 2147483648, but the wei"),
        ("qwen3", {"num_hidden_layers": 100_000}, "'num_hidden_layers' is 100000, but the weights"),
        ("bert", {"num_hidden_layers": 1000}, "'num_hidden_layers' is 1000, but the weights have"),
        ("llama", {"head_dim": 2**40}, "'model.layers.0.self_attn.q_proj.weight' has shape"),
        ("llama", {"vocab_size": 2**40}, "'model.embed_tokens.weight' has shape"),
        ("llama", {"intermediate_size": 2**62}, "'model.layers.0.mlp.gate_proj.weight' has shape"),
        ("llama", {"rope_scaling": {"rope_type": "ntk"}}, "unknown rope scaling 'ntk'"),
        ("llama", {"rope_scaling": {"rope_type": "llama3"}}, "rope_scaling: key 'factor' is"),
        ("llama", {"rope_scaling": 3}, "rope_scaling: expected an object, got 3"),
        ("llama", {"hidden_act": "gelu9"}, "unknown hidden_act 'gelu9'"),
        ("llama", {"tie_word_embeddings": "yes"}, "tie_word_embeddings: expected true or false"),
        ("llama", {"torch_dtype": "float64"}, "unknown dtype 'float64'"),
        (
            "llama",
            {"attn_logit_softcapping": 50.0},
            "'attn_logit_softcapping' may change the model",
        ),
        (
            "llama",
            {"soft": 1, "capping": 2},
            "'soft', 'capping' may change the model",
        ),
        (
            "llama",
            {"quantization_config": {"bits": 4}},
            "quantization_config: key 'quant_method' is missing",
        ),
        ("llama", {"partial_rotary_factor": 0.5}, "'partial_rotary_factor' is 0.5, which this"),
        (
            "llama",
            {"sliding_window": 4},
            "'sliding_window' is 4, which this version does not support",
        ),
        ("llama", {"layer_types": ["sliding_attention"] * 2}, "this type does not have"),
        ("qwen3", {"layer_types": ["sliding_attention"] * 2}, "but there is no window"),
        ("qwen3", {"layer_types": ["full_attention"] * 3}, "'layer_types' has 3 entries, not 2"),
        ("qwen3", {"layer_types": ["linear_attention"] * 2}, "layer_types[0]: 'linear_attention'"),
        (
            "qwen3",
            {"use_sliding_window": True, "num_hidden_layers": 9999, "max_window_layers": 5000},
            "'max_window_layers' is 5000; the limit is 4096",
        ),
        (
            "llama",
            {"rope_parameters": {"rope_type": "ntk"}, "rope_scaling": None},
            "scaling 'ntk'",
        ),
        (
            "qwen3",
            {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 2]}},
            "'mrope_section' may change the model",
        ),
        (
            "llama",
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 4.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 16,
                }
            },
            "low_freq_factor below high_freq_factor",
        ),
        (
            "llama",
            {"eos_token_id": 37},
            "'eos_token_id' has token 37, but the vocabulary has 37 entries",
        ),
        ("llama", {"eos_token_id": [1, 99]}, "'eos_token_id' has token 99"),
        ("llama", {"eos_token_id": -1}, "eos_token_id: -1 is less than 0"),
        ("llama", {"eos_token_id": [1, "</s>"]}, "eos_token_id[1]: expected an integer"),
        ("llama", {"eos_token_id": list(range(9))}, "9 end-of-text tokens; the limit is 8"),
        ("bert", {"is_decoder": True}, "'is_decoder' is True, which this version does not support"),
        ("bert", {"embedding_size": 8}, "'embedding_size' may change the model"),
    ],
)
def test_invalid_values_in_a_config_raise(
    tiny: Any, tmp_path: Path, kind: str, changes: dict[str, Any], message: str
) -> None:
    check(tiny.write_model(tmp_path, kind, config=changes), message)


def test_entries_that_do_not_matter(tiny: Any, tmp_path: Path) -> None:
    harmless = {
        "architectures": ["LlamaForCausalLM"], "_name_or_path": "x", "use_cache": True,
        "transformers_version": "5", "sliding_window": None, "partial_rotary_factor": 1.0,
        "use_sliding_window": False, "max_window_layers": 28, "torch_dtype": "float32",
        "layer_types": ["full_attention"] * 2, "attention_dropout": 0.1,
    }  # fmt: skip
    folder = tiny.write_model(tmp_path, "qwen3", config=harmless)
    assert ark.models.load(folder, max_length=8).ends == ()
    # The feature is off whatever its width.
    tiny.write_model(tmp_path, "qwen3", config={"use_sliding_window": False, "sliding_window": 4})
    ark.models.load(folder, max_length=8)
    tiny.write_model(tmp_path, "qwen3", config={"mystery": 3, "riddle": 4})
    for ignore in (["mystery", "riddle"], "mystery,riddle"):
        ark.models.load(folder, max_length=8, ignore=ignore)
    error = check(folder, "'riddle' may change", max_length=8, ignore="mystery")
    assert str(error).endswith("in ignore=, or on the command line in --set ignore=NAME")


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_layers_that_are_not_used_are_a_warning(tiny: Any, tmp_path: Path, kind: str) -> None:
    folder = tiny.write_model(tmp_path, kind, config={"num_hidden_layers": 1})
    unused = "'num_hidden_layers' is 1, but the weights have 2 layers: the weights of 1 layers are"
    with pytest.warns(UserWarning, match=unused) as warned:
        ark.models.load(folder, **({"length": 8} if kind == "bert" else {}))
    assert [Path(warning.filename) for warning in warned] == [Path(__file__)]


def test_tokens_that_end_a_text(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path, "llama", config={"eos_token_id": 13})
    model = ark.models.load(folder, max_length=24)
    assert model.ends == (13,)
    prompt = [(7 * i + 3) % 37 for i in range(11)]
    assert model.generate(prompt, 8, reference=True) == [27, 13]
    assert model.generate(prompt, 3, stop=(), reference=True) == [27, 13, 5]
    assert model.generate(prompt, 8, stop=[5, 1], reference=True) == [27, 13, 5]
    # The generation config has precedence.
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [5, 27], "top_k": 3}')
    assert ark.models.load(folder, max_length=24).ends == (5, 27)
    (tmp_path / "generation_config.json").write_text("{")
    error = check(folder, "not valid JSON")
    assert error.location == str(tmp_path / "generation_config.json")


def test_invalid_options_raise(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "bert", "bert")
    check(folder, "bert have no option lenght; options are batch, length", lenght=3)
    check(folder, "length 13 exceeds the model's 12 positions", length=13)
    check(folder, "length must be at least 1, not 0", length=0)
    check(folder, "batch must be at least 1, not 0", batch=0, length=8)
    check(folder, "batch must be an integer, not '4'", batch="4", length=8)
    check(folder, "pooling must be one of mean, cls, pooler, none", pooling="max", length=8)
    check(folder, "unknown dtype", dtype="fp99", length=8)
    check(folder, "dtype must be fp32, fp16 or bf16, not int8", dtype="int8", length=8)
    folder = tiny.write_model(tmp_path / "llama", "llama")
    check(folder, "llama have no option length", length=3)
    check(folder, "max_length must be an integer, not 2.5", max_length=2.5)
    check(folder, "chunk must be at least 1", chunk=-1)


Damage = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda a: a.pop("encoder.layer.1.output.dense.bias"),
            "the weights lack encoder.layer.1.output.dense.bias",
        ),
        (
            lambda a: a.clear(),
            "the weights lack encoder.layer.0, which the model type in config.json",
        ),
        (
            lambda a: a.update({"embeddings.LayerNorm.bias": np.zeros(15, np.float32)}),
            "tensor 'embeddings.LayerNorm.bias' has shape [15], the configuration requires [16]",
        ),
        (
            lambda a: a.update({"embeddings.LayerNorm.bias": np.zeros(16, np.int64)}),
            "tensor 'embeddings.LayerNorm.bias' is int64, not fp32",
        ),
    ],
)
def test_weights_of_the_wrong_shape_raise(
    tiny: Any, tmp_path: Path, damage: Damage, message: str
) -> None:
    arrays = tiny.weights("bert")
    damage(arrays)
    error = check(tiny.write_model(tmp_path, "bert", arrays), message, length=8)
    assert error.location == str(tmp_path)


def test_no_weights(tiny: Any, tmp_path: Path) -> None:
    tiny.write_model(tmp_path, "bert")
    (tmp_path / "model.safetensors").unlink()
    check(tmp_path, "the model folder has no *.safetensors file", length=8)


@pytest.mark.parametrize("content", [b"", b"\x08\0\0\0\0\0\0\0{", b"\xff" * 64])
def test_a_weight_file_that_is_invalid_raises(tiny: Any, tmp_path: Path, content: bytes) -> None:
    tiny.write_model(tmp_path, "bert")
    (tmp_path / "model.safetensors").write_bytes(content)
    error = check(tmp_path, "", length=8)
    assert error.location == str(tmp_path / "model.safetensors")


def test_a_tensor_in_two_files(tiny: Any, tmp_path: Path) -> None:
    tiny.write_model(tmp_path, "bert")
    tiny.write_safetensors(
        tmp_path / "other.safetensors", {"embeddings.LayerNorm.bias": np.zeros(16, np.float32)}
    )
    check(tmp_path, "tensor 'embeddings.LayerNorm.bias' is in another file too", length=8)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected an object"),
        ("{}", "key 'weight_map' is missing"),
        ('{"weight_map": 3}', "weight_map: expected an object"),
        ('{"weight_map": {"a": 3}}', "weight_map.a: expected a string"),
        ('{"weight_map": {"a": "../../etc/passwd"}}', "is not the name of a file"),
    ],
)
def test_an_invalid_index_raises(tiny: Any, tmp_path: Path, index: str, message: str) -> None:
    tiny.write_model(tmp_path, "bert")
    (tmp_path / "model.safetensors.index.json").write_text(index)
    error = check(tmp_path, message, length=8)
    assert error.message.startswith("index of tensors: ")


def test_an_index_names_the_files_to_read(tiny: Any, tmp_path: Path) -> None:
    arrays = tiny.weights("bert")
    tiny.write_model(tmp_path, "bert")
    tiny.write_safetensors(tmp_path / "unrelated.safetensors", {"x": np.zeros(1, np.float32)})
    index = {"weight_map": {name: "model.safetensors" for name in arrays}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert ark.models.load(tmp_path, batch=1, length=4).parameters
    index["weight_map"]["y"] = "missing.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    check(tmp_path, "missing.safetensors", length=8)
