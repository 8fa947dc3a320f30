"""Small random models of transformers, one or more of each type, and their recorded results.

`python tests/support/model_cases.py` writes the results that tests without transformers compare
with: ``tests/host/models/recorded.json``. Its weights are those of tiny_models.py, which depend on
the names of tensors alone.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

PROJECTIONS = ("gate_proj", "up_proj", "down_proj")
RECORDED = Path(__file__).parents[1] / "host/models/recorded.json"


SIZES: dict[str, Any] = {
    "vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 44, "max_position_embeddings": 64,
    "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
    "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
    "short_factor": [1.0, 1.5], "long_factor": [2.0, 5.0],
}  # fmt: skip
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}

# Classes of transformers whose names do not follow from those of their configurations.
CLASSES = {"gpt2": "GPT2LMHeadModel", "gemma3_text": "Gemma3ForCausalLM"}


@dataclasses.dataclass(frozen=True)
class DecoderCase:
    """A model, and how it runs."""

    kind: str
    family: str
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    sizes: dict[str, Any] = dataclasses.field(default_factory=lambda: SIZES)

    def make(self, folder: Path) -> Any:
        """Saves the model and returns it in float64."""
        import torch
        import transformers

        torch.manual_seed(7)
        config = getattr(transformers, f"{self.family}Config")(**{**self.sizes, **self.more})
        # Other kinds of attention in transformers ignore soft caps.
        config._attn_implementation = "eager"
        model = getattr(transformers, CLASSES.get(self.kind, f"{self.family}ForCausalLM"))(config)
        model = model.float()
        with torch.no_grad():  # ones and zeros would hide a missing weight
            for key, parameter in (*model.named_parameters(), *model.named_buffers()):
                if "norm" in key or "ln_" in key or key.endswith("bias"):
                    parameter.add_(0.3 * torch.randn_like(parameter))
        if hasattr(model, "set_experts_implementation"):  # others do not take float64
            model.set_experts_implementation("eager")
        model.save_pretrained(folder)
        assert json.loads((folder / "config.json").read_text())["model_type"] == self.kind
        return model.double().eval()


WINDOW = {"sliding_window": 5}
DECODERS = {
    "llama": DecoderCase("llama", "Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, linear": DecoderCase("llama", "Llama", {"rope_parameters": LINEAR}),
    "llama, yarn": DecoderCase("llama", "Llama", {"rope_parameters": YARN}),
    "mistral": DecoderCase("mistral", "Mistral", {"sliding_window": None, "head_dim": 12}),
    "mistral, window": DecoderCase("mistral", "Mistral", WINDOW),
    "qwen2": DecoderCase("qwen2", "Qwen2"),
    "qwen2, windows": DecoderCase(
        "qwen2", "Qwen2", {**WINDOW, "use_sliding_window": True, "max_window_layers": 1}
    ),
    "qwen3": DecoderCase("qwen3", "Qwen3", {"head_dim": 8}),
    "gemma": DecoderCase("gemma", "Gemma", {"head_dim": 12}),
    "gemma2": DecoderCase(
        "gemma2", "Gemma2",
        {
            **WINDOW, "head_dim": 12, "query_pre_attn_scalar": 20, "attn_logit_softcapping": 3.0,
            "final_logit_softcapping": 4.0,
        },
    ),
    "gemma3": DecoderCase(
        "gemma3_text", "Gemma3Text",
        {
            **WINDOW, "head_dim": 12, "query_pre_attn_scalar": 20, "num_hidden_layers": 3,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                "full_attention": LINEAR,
            },
        },
    ),
    "phi3": DecoderCase("phi3", "Phi3", {"rms_norm_eps": 1e-5}),
    "phi3, longrope": DecoderCase(
        "phi3", "Phi3",
        {
            "rope_parameters": LONG, "tie_word_embeddings": True, "sliding_window": 60,
            "original_max_position_embeddings": 32,
        },
    ),
    # All sequences are longer than the original context: transformers chooses by their length.
    "phi3, long context": DecoderCase(
        "phi3", "Phi3", {"rope_parameters": LONG, "original_max_position_embeddings": 4}
    ),
    "smollm3": DecoderCase(
        "smollm3", "SmolLM3", {"no_rope_layer_interval": 2, "tie_word_embeddings": True}
    ),
    "olmo2": DecoderCase("olmo2", "Olmo2"),
    "olmo3": DecoderCase(
        "olmo3", "Olmo3", {**WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
    ),
    "stablelm": DecoderCase("stablelm", "StableLm", {"use_qkv_bias": True}),
    "stablelm, parallel": DecoderCase(
        "stablelm", "StableLm", {"use_parallel_residual": True, "partial_rotary_factor": 0.5}
    ),
    "granite": DecoderCase(
        "granite", "Granite",
        {
            "embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.7,
            "logits_scaling": 1.7, "mlp_bias": True, "attention_bias": True,
        },
    ),
    "cohere": DecoderCase("cohere", "Cohere", {"logit_scale": 0.3, "attention_bias": True}),
    "cohere2": DecoderCase(
        "cohere2", "Cohere2",
        {**WINDOW, "layer_types": ["sliding_attention", "full_attention"], "logit_scale": 0.3},
    ),
    "starcoder2": DecoderCase("starcoder2", "Starcoder2", WINDOW),
    "glm": DecoderCase("glm", "Glm", {"head_dim": 12, "eos_token_id": [60]}),
    "glm4": DecoderCase(
        "glm4", "Glm4", {"head_dim": 12, "attention_bias": False, "eos_token_id": [60]}
    ),
    "seed_oss": DecoderCase(
        "seed_oss", "SeedOss", {"head_dim": 12, "attention_out_bias": True, "mlp_bias": True}
    ),
    "ernie4_5": DecoderCase("ernie4_5", "Ernie4_5", {"head_dim": 12, "use_bias": True}),
    "phi": DecoderCase("phi", "Phi"),
    "gpt2": DecoderCase("gpt2", "GPT2", {}, GPT2),
}  # fmt: skip
LATENT: dict[str, Any] = {
    **SIZES, "num_key_value_heads": 4, "q_lora_rank": 12, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 6, "v_head_dim": 10, "n_routed_experts": 8, "num_experts_per_tok": 3,
    "moe_intermediate_size": 20, "first_k_dense_replace": 1, "n_shared_experts": 2,
}  # fmt: skip
MSCALE = {**YARN, "mscale": 0.707, "mscale_all_dim": 1.1}
GROUPS = {"n_group": 4, "topk_group": 2, "routed_scaling_factor": 3.0}
MIXTURES = {
    "mixtral": DecoderCase("mixtral", "Mixtral", {"num_local_experts": 4, **WINDOW}),
    "qwen3_moe": DecoderCase(
        "qwen3_moe", "Qwen3Moe",
        {
            "head_dim": 8, "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": True,
            "moe_intermediate_size": 20, "mlp_only_layers": [0],
        },
    ),
    "qwen2_moe": DecoderCase(
        "qwen2_moe", "Qwen2Moe",
        {
            "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 20,
            "shared_expert_intermediate_size": 28, "hidden_act": "gelu",
        },
    ),
    "olmoe": DecoderCase("olmoe", "Olmoe", {"num_experts": 6, "num_experts_per_tok": 2}),
    "glm4_moe": DecoderCase(
        "glm4_moe", "Glm4Moe",
        {
            **GROUPS, "head_dim": 12, "n_routed_experts": 8, "num_experts_per_tok": 3,
            "moe_intermediate_size": 20, "first_k_dense_replace": 1, "use_qk_norm": True,
            "attention_bias": True,
        },
    ),
    "gpt_oss": DecoderCase(
        "gpt_oss", "GptOss",
        {
            **WINDOW, "head_dim": 8, "num_local_experts": 6, "num_experts_per_tok": 2,
            "rope_parameters": {**YARN, "truncate": False}, "swiglu_limit": 1.0,
        },
    ),
    "gpt_oss, no biases": DecoderCase(
        "gpt_oss", "GptOss",
        {
            **WINDOW, "head_dim": 12, "num_local_experts": 4, "num_experts_per_tok": 4,
            "rope_parameters": YARN, "attention_bias": False, "swiglu_alpha": 0.7,
            "layer_types": ["full_attention", "sliding_attention"],
        },
    ),
    "deepseek_v2": DecoderCase(
        "deepseek_v2", "DeepseekV2", {"rope_parameters": MSCALE, "attention_bias": True}, LATENT
    ),
    "deepseek_v2, lite": DecoderCase(
        "deepseek_v2", "DeepseekV2",
        {"q_lora_rank": None, "num_key_value_heads": None, "tie_word_embeddings": True}, LATENT,
    ),
    "deepseek_v2, groups": DecoderCase(
        "deepseek_v2", "DeepseekV2", {**GROUPS, "topk_method": "group_limited_greedy"}, LATENT
    ),
    "deepseek_v3": DecoderCase(
        "deepseek_v3", "DeepseekV3", {**GROUPS, "rope_parameters": MSCALE}, LATENT
    ),
    "deepseek_v3, plain": DecoderCase(
        "deepseek_v3", "DeepseekV3",
        {
            "n_group": 1, "topk_group": 1, "norm_topk_prob": False, "rope_interleave": False,
            "q_lora_rank": None, "first_k_dense_replace": 0, "num_mtp_layers": 0,
        },
        LATENT,
    ),
}  # fmt: skip
PROMPT = [(7 * i + 3) % 61 for i in range(11)]


ENCODER_SIZES: dict[str, Any] = {
    "vocab_size": 41, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 20, "initializer_range": 0.3,
    "pad_token_id": 1, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
DISTILBERT: dict[str, Any] = {
    "vocab_size": 41, "dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 40,
    "max_position_embeddings": 20, "initializer_range": 0.3, "pad_token_id": 1,
}  # fmt: skip
MODERN: dict[str, Any] = {
    **ENCODER_SIZES, "num_hidden_layers": 3, "layer_types":
    ["full_attention", "sliding_attention", "sliding_attention"], "local_attention": 6,
    "cls_token_id": None, "sep_token_id": None,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class EncoderCase:
    """A model; `angles` is the error that its table of angles causes."""

    kind: str
    family: str
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    sizes: dict[str, Any] = dataclasses.field(default_factory=lambda: ENCODER_SIZES)
    angles: float = 1e-9

    def make(self, folder: Path) -> Any:
        """Saves the model and returns it in float64."""
        import torch
        import transformers

        torch.manual_seed(5)
        config = getattr(transformers, f"{self.family}Config")(**{**self.sizes, **self.more})
        model = getattr(transformers, f"{self.family}Model")(config).float()
        with torch.no_grad():  # ones and zeros would hide a missing weight
            for key, parameter in model.named_parameters():
                if "norm" in key.lower() or key.endswith("bias"):
                    parameter.add_(0.3 * torch.randn_like(parameter))
        model.save_pretrained(folder)
        assert json.loads((folder / "config.json").read_text())["model_type"] == self.kind
        return model.double().eval()


ENCODERS = {
    "bert": EncoderCase("bert", "Bert"),
    "roberta": EncoderCase("roberta", "Roberta", {"type_vocab_size": 1}),
    "xlm-roberta": EncoderCase("xlm-roberta", "XLMRoberta", {"hidden_act": "gelu_new"}),
    "camembert": EncoderCase("camembert", "Camembert"),
    "distilbert": EncoderCase("distilbert", "DistilBert", {}, DISTILBERT),
    "distilbert, sinusoidal": EncoderCase(
        "distilbert", "DistilBert", {"sinusoidal_pos_embds": True, "activation": "relu"}, DISTILBERT
    ),
    "modernbert": EncoderCase("modernbert", "ModernBert", {}, MODERN, 3e-5),
    "nomic": EncoderCase("nomic_bert", "NomicBert", {}, ENCODER_SIZES, 3e-5),
}
# The last prompt has more tokens than the window of ModernBERT reaches.
PROMPTS = [[5, 9, 2, 17, 3], [4], [8, 8, 3, 30, 30, 2, 6, 11, 23, 40, 12, 7]]


# -- recorded results -----------------------------------------------------------------------------

COUNT = 6
# Entries of a configuration that depend on the version of transformers alone.
_NOISE = ("architectures", "dtype", "transformers_version", "initializer_range", "use_cache")


def read_recorded() -> dict[str, Any]:
    """Returns the recorded results by the name of the case."""
    return json.loads(RECORDED.read_text())


def write_folder(folder: Path, entries: dict[str, Any]) -> None:
    """Writes a model folder with a configuration, and the tensors that its program has."""
    from tiny_models import values, write_safetensors

    from ark_mlir.models.config import read_config
    from ark_mlir.models.decoder import build_decode
    from ark_mlir.models.decoder_reader import read_decoder
    from ark_mlir.models.encoder import EncoderConfig, build
    from ark_mlir.models.families import FAMILIES

    (folder / "config.json").write_text(json.dumps(entries))
    config = read_config(folder)
    if entries["model_type"] in FAMILIES:
        program = build_decode(read_decoder(config), max_length=16, dtype="fp32")
    else:
        program = build(EncoderConfig.read(config), 1, 12)
    arrays = {key: values(key, each.shape) for key, each in program.parameters.items()}
    experts = read_decoder(config).experts if entries["model_type"] in FAMILIES else None
    if experts is not None:
        arrays = unstack(experts, arrays)
    write_safetensors(folder / "model.safetensors", arrays)


def unstack(experts: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Returns the arrays of a program as the tensors of a file; see expert_weights.py."""
    result, names = dict(arrays), experts.names
    for key, array in arrays.items():
        found = re.fullmatch(r"(model\.layers\.\d+)\.mlp\.(experts|gate)\.(.*)", key)
        if found is None:
            continue
        layer, part, tensor = found.groups()
        if part == "gate":
            other = names.correction if tensor == "correction" else f"{names.router}.{tensor}"
            result[f"{layer}.{other}"] = result.pop(key)
        elif names.fused is None:
            projection = names.projections[PROJECTIONS.index(tensor.removesuffix(".weight"))]
            for number, matrix in enumerate(result.pop(key)):
                result[f"{layer}.{names.expert.format(number)}.{projection}.weight"] = matrix
        else:
            projection, kind = tensor.split(".")
            if projection == "up_proj":
                continue
            end = "_bias" if kind == "bias" else ""
            array = np.moveaxis(result.pop(key), -1, 1)
            if projection == "gate_proj":
                up = np.moveaxis(result.pop(key.replace("gate_proj", "up_proj")), -1, 1)
                array = np.stack((array, up), -1).reshape(*array.shape[:-1], -1)
                projection = "gate_up_proj"
            result[f"{layer}.{names.fused}.{projection}{end}"] = np.ascontiguousarray(array)
    return result


def refill(model: Any) -> None:
    """Replaces the parameters of a model of transformers by those of tiny_models.py."""
    import torch
    from tiny_models import values

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(values(name, tuple(parameter.shape)), dtype=torch.float64))


def decoder_results(model: Any) -> dict[str, Any]:
    """Returns the first logits after the prompt, and the greedy tokens."""
    import torch

    ids, logits = list(PROMPT), []
    with torch.no_grad():
        for _ in range(COUNT):
            rows = model(torch.tensor([ids]), use_cache=False).logits[0]
            logits = logits or rows[-1, :4].tolist()
            ids.append(int(rows[-1].argmax()))
    return {"logits": logits, "tokens": ids[len(PROMPT) :]}


def encoder_results(model: Any) -> dict[str, Any]:
    """Returns the begins of the vectors of all tokens of the last prompt."""
    import torch

    with torch.no_grad():
        hidden = model(torch.tensor([PROMPTS[-1]])).last_hidden_state[0]
    return {"vectors": hidden[:, :3].tolist()}


def record() -> None:
    """Writes the results of all cases."""
    transformers: Any = importlib.import_module("transformers")
    result: dict[str, Any] = {"transformers": transformers.__version__}
    for name, case in {**DECODERS, **MIXTURES, **ENCODERS}.items():
        with tempfile.TemporaryDirectory() as folder:
            model = case.make(Path(folder))
            config = json.loads((Path(folder) / "config.json").read_text())
            entries = {key: value for key, value in config.items() if key not in _NOISE}
            if name in MIXTURES:
                write_folder(Path(folder), entries)
                model = type(model).from_pretrained(folder, attn_implementation="eager")
                model = model.double().eval()
                model.set_experts_implementation("eager")
            else:
                refill(model)
        results = encoder_results(model) if name in ENCODERS else decoder_results(model)
        result[name] = {"config": entries, **results}
    RECORDED.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    record()
