"""Entries of configurations that are missing or invalid, or that select other variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from model_cases import read_recorded

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.decoder_parts import read_text
from ark_mlir.models.decoder_reader import read_decoder
from ark_mlir.models.rope import Rope

CASES = read_recorded()


def read(folder: Path, name: str, changes: dict[str, Any]) -> Any:
    """Reads the configuration of a case with changes; "-" removes an entry."""
    entries = {**CASES[name]["config"], **changes}
    kept = {key: value for key, value in entries.items() if value != "-"}
    (folder / "config.json").write_text(json.dumps(kept))
    return read_decoder(read_config(folder))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt_oss", {"rope_parameters": "-"}, "'rope_scaling' is missing; this type needs"),
        ("gpt_oss", {"hidden_act": "gelu"}, "'hidden_act' is 'gelu', .*; supported: 'silu', no"),
        ("gpt_oss", {"num_local_experts": "-"}, "'num_local_experts' is missing"),
        ("gpt_oss", {"swiglu_limit": -1}, "swiglu_limit"),
        ("gpt_oss", {"router_bias": False}, "unknown entries 'router_bias' may change the model"),
        ("gpt_oss", {"layer_types": ["chunked_attention"] * 2}, "layer_types"),
        ("deepseek_v2", {"q_lora_rank": "-"}, "'q_lora_rank' is missing"),
        ("deepseek_v2", {"kv_lora_rank": 0}, "kv_lora_rank: 0 is less than 1"),
        ("deepseek_v2", {"qk_rope_head_dim": 5, "head_dim": "-", "qk_head_dim": "-"}, "5 is odd"),
        ("deepseek_v2", {"head_dim": 14}, "'head_dim' is 14"),
        ("deepseek_v2", {"num_key_value_heads": 2}, "'num_key_value_heads' is 2"),
        ("deepseek_v2", {"topk_method": "noaux_tc"}, "'topk_method' is 'noaux_tc'"),
        ("deepseek_v2", {"scoring_func": "sigmoid"}, "'scoring_func' is 'sigmoid'"),
        ("deepseek_v2", {"norm_topk_prob": True}, "'norm_topk_prob' is True"),
        ("deepseek_v2", {"moe_layer_freq": 2}, "'moe_layer_freq' is 2"),
        ("deepseek_v2", {"mlp_bias": True}, "'mlp_bias' is True"),
        ("deepseek_v2", {"n_shared_experts": "-"}, "'n_shared_experts' is missing"),
        ("deepseek_v2", {"first_k_dense_replace": "-"}, "'first_k_dense_replace' is missing"),
        ("deepseek_v2, groups", {"n_group": None}, "'n_group' is missing"),
        ("deepseek_v3", {"n_group": 3}, "8 experts cannot form n_group 3 groups"),
        ("deepseek_v3", {"topk_group": 5}, "topk_group 5"),
        ("deepseek_v3", {"num_experts_per_tok": 5}, "num_experts_per_tok 5 experts"),
        ("deepseek_v3", {"n_group": 8, "topk_group": 8}, "n_group 8 has fewer than 2 experts"),
        ("deepseek_v3", {"routed_scaling_factor": "-"}, "'routed_scaling_factor' is missing"),
        ("deepseek_v3", {"scoring_func": "softmax"}, "'scoring_func' is 'softmax'"),
        ("olmoe", {"clip_qkv": 8.0}, "'clip_qkv' is 8.0, .*; supported: no entry"),
        ("cohere", {"use_qk_norm": True}, "'use_qk_norm' is True"),
        ("cohere2", {"position_embedding_type": "alibi"}, "'position_embedding_type' is 'alibi'"),
        ("granite", {"logits_scaling": 0}, "'logits_scaling' must be above 0"),
        ("starcoder2", {"norm_type": "rms"}, "'norm_type' is 'rms'"),
        ("glm", {"partial_rotary_factor": 0.3, "rope_parameters": "-"}, "is odd"),
    ],
)
def test_invalid_entries(tmp_path: Path, name: str, changes: dict[str, Any], message: str) -> None:
    read(tmp_path, name, {})
    with pytest.raises(ark.InvalidUsageError, match=message) as caught:
        read(tmp_path, name, changes)
    assert caught.value.location == str(tmp_path / "config.json")
    assert "\n" not in str(caught.value)


GEMMA3 = {
    "model_type": "gemma3", "vision_config": {}, "image_token_index": 262144, "eos_token_id": [1],
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
        "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
}  # fmt: skip


def read_gemma3(folder: Path, changes: dict[str, Any]) -> Any:
    entries = {key: value for key, value in {**GEMMA3, **changes}.items() if value != "-"}
    (folder / "config.json").write_text(json.dumps(entries))
    return read_decoder(read_text(read_config(folder)))


def test_entries_that_published_files_of_gemma3_lack(tmp_path: Path) -> None:
    config = read_gemma3(tmp_path, {})
    assert (config.heads, config.kv_heads, config.head, config.window) == (8, 4, 256, 1024)
    assert (config.vocabulary, config.attention_scale, config.tied) == (262208, 1 / 16, True)
    assert config.windowed == (True,) * 5 + (False,)
    assert (config.theta, config.local) == (1e6, Rope(256, 1e4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_config": "-"}, "key 'text_config' is missing"),
        ({"text_config": {"model_type": "qwen3"}}, "text_config: 'model_type' is 'qwen3', which"),
        ({"text_config": {"model_type": "gemma3_text"}}, "key 'hidden_size' is missing"),
        ({"audio_config": {}}, "unknown entries 'audio_config' may change the model"),
    ],
)
def test_invalid_entries_of_gemma3(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        read_gemma3(tmp_path, changes)


GPT_OSS = {
    "architectures": ["GptOssForCausalLM"], "attention_bias": True, "attention_dropout": 0.0,
    "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2880, "initial_context_length": 4096, "initializer_range": 0.02,
    "intermediate_size": 2880, "layer_types": ["sliding_attention", "full_attention"] * 12,
    "max_position_embeddings": 131072, "model_type": "gpt_oss", "num_attention_heads": 64,
    "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
    "num_local_experts": 32, "output_router_logits": False, "pad_token_id": 199999,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
        "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": False,
    },
    "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0,
    "tie_word_embeddings": False, "use_cache": True, "vocab_size": 201088,
}  # fmt: skip
DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "auto_map": {}, "bos_token_id": 0, "eos_token_id": 1, "ep_size": 1, "first_k_dense_replace": 3,
    "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02,
    "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
    "model_type": "deepseek_v3", "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8,
    "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": True,
    "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06,
    "rope_scaling": {
        "beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096, "type": "yarn",
    },
    "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
    "tie_word_embeddings": False, "topk_group": 4, "topk_method": "noaux_tc",
    "torch_dtype": "bfloat16", "use_cache": True, "v_head_dim": 128, "vocab_size": 129280,
}  # fmt: skip


@pytest.mark.parametrize("entries", [GPT_OSS, DEEPSEEK_V3], ids=lambda e: e["model_type"])
def test_entries_of_published_files(tmp_path: Path, entries: dict[str, Any]) -> None:
    """Published files have older names of entries than files that transformers saves now."""
    (tmp_path / "config.json").write_text(json.dumps(entries))
    config = read_decoder(read_config(tmp_path))
    assert (config.layers, config.theta) == (entries["num_hidden_layers"], entries["rope_theta"])
    assert config.scaling is not None
    if config.latent is not None:
        assert config.scale == pytest.approx((0.1 * 3.6888794541139363 + 1) ** 2 / 192**0.5)
