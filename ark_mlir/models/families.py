"""The types of decoders: their entries in ``config.json``, as a table.

An entry of the table lists the differences of a type from Llama. A field of
:class:`.decoder_config.DecoderConfig` is a value, or a function that reads the value from the
configuration. :mod:`.decoder_reader` reads a ``config.json`` by this table. A new type needs an
entry here, and a test against transformers in tests/host/models/test_families.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import tensor_names
from .config import Config
from .experts import (
    Experts,
    read_deepseek_v2,
    read_deepseek_v3,
    read_gpt_oss,
    read_mixtral,
    read_olmoe,
    read_qwen_moe,
)

__all__ = ["FAMILIES", "LAYER_TYPES", "WITH_IMAGES", "Family"]

# Reads a field of DecoderConfig, or several of them.
Read = Callable[[Config], Any]

# More layers than any model has; a damaged file may claim 2^31.
_MAX_LAYERS = 4096
# The values of the entry `layer_types`.
LAYER_TYPES = ("full_attention", "sliding_attention")


@dataclass(frozen=True)
class Family:
    """The differences of a model type from Llama.

    Attributes:
        fields: fields of DecoderConfig, each a value or a function that reads it.
        keys: names of entries of ``config.json``, by the names of Llama's entries.
        eps: the name of the entry with the epsilon of norms, and its default.
        activation: the name of the entry with the activation, and its default.
        windows: returns the flags of the layers that have a window, for a model without
            ``layer_types``; None if the type has no windows.
        window: the default window, of a file without ``sliding_window``; null there means none.
        windows_on: the default of ``use_sliding_window``.
        theta: the default base of rotary positions.
        scaled: True if a file must describe the scaling of rotary positions.
        latent: True if the attention is latent (:mod:`.latent_attention`).
        rotary: the default fraction of a head's elements that rotate; None if all must rotate.
        plain: entries of which only some values are supported, see :meth:`Config.plain`.
        harmless: entries that do not affect a forward pass.
        ranks: True if the model can be divided among ranks (:mod:`.sharding`).
    """

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    eps: tuple[str, float] = ("rms_norm_eps", 1e-6)
    activation: tuple[str, str] = ("hidden_act", "silu")
    windows: Callable[[Config], tuple[bool, ...]] | None = None
    window: int | None = 4096
    windows_on: bool = True
    theta: float = 10000.0
    scaled: bool = False
    latent: bool = False
    rotary: float | None = None
    plain: Mapping[str, tuple[object, ...]] = field(default_factory=dict[str, "tuple[object, ...]"])
    harmless: tuple[str, ...] = ()
    ranks: bool = False

    def key(self, name: str) -> str:
        """Returns the name of an entry of ``config.json``."""
        return self.keys.get(name, name)


# -- functions that read fields -------------------------------------------------------------------


def _flag(key: str, default: bool = False) -> Read:
    return lambda config: config.flag(key, default)


def _optional_number(key: str) -> Read:
    return lambda config: config.optional_number(key)


def _inverse_root(key: str) -> Read:
    """Reads a scale of attention: one over the root of an entry, None if there is none."""

    def read(config: Config) -> float | None:
        number = config.optional_number(key)
        if number == 0:
            raise config.error(f"{key!r} must be above 0")
        return None if number is None else number**-0.5

    return read


def _number(key: str, default: float) -> Read:
    return lambda config: config.number(key, default)


def _inverse(key: str) -> Read:
    """Reads a divisor as a factor."""

    def read(config: Config) -> float:
        number = config.number(key, 1.0)
        if number == 0:
            raise config.error(f"{key!r} must be above 0")
        return 1 / number

    return read


def _root(key: str) -> Read:
    return lambda config: config.count(key) ** 0.5


def _unrotated(config: Config) -> tuple[bool, ...]:
    """Reads SmolLM3's layers without rotary positions."""
    rotated = config.flags("no_rope_layers", config.count("num_hidden_layers"))
    interval = config.count("no_rope_layer_interval", 4)
    if rotated is not None:
        return tuple(not each for each in rotated)
    return _every(interval, True)


def _every(interval: int, value: bool) -> tuple[bool, ...]:
    """Returns flags of which every `interval`-th is `value`."""
    return (*[not value] * (interval - 1), value)


# -- functions that determine the layers with windows ---------------------------------------------


def _all(config: Config) -> tuple[bool, ...]:
    return (True,)


def _alternate(config: Config) -> tuple[bool, ...]:
    return (True, False)


def _pattern(default: int) -> Callable[[Config], tuple[bool, ...]]:
    """Returns a function that reads the interval of the layers without a window."""

    def read(config: Config) -> tuple[bool, ...]:
        other = config.count("_sliding_window_pattern", default)
        return _every(config.count("sliding_window_pattern", other), False)

    return read


_cohere2_windows = _pattern(4)


def _cohere2_unrotated(config: Config) -> tuple[bool, ...]:
    """Layers without a window have no rotary positions."""
    kinds = config.words("layer_types", config.count("num_hidden_layers"), LAYER_TYPES)
    if kinds is None:
        return tuple(not windowed for windowed in _cohere2_windows(config))
    return tuple(kind == "full_attention" for kind in kinds)


def _upper(config: Config) -> tuple[bool, ...]:
    """Layers from ``max_window_layers`` on have the window."""
    layers, first = config.count("num_hidden_layers"), config.natural("max_window_layers", 28)
    if first >= layers:
        return (False,)
    if first > _MAX_LAYERS:
        raise config.error(f"'max_window_layers' is {first}; the limit is {_MAX_LAYERS}")
    return (*[False] * first, *[True] * (min(layers, _MAX_LAYERS) - first))


def _experts(read: Callable[[Config, int], Experts]) -> dict[str, Any]:
    """Returns the fields of a decoder with experts."""

    def read_layers(config: Config) -> Experts:
        return read(config, config.count("num_hidden_layers"))

    return {"mlp": "experts", "experts": read_layers}


def _listed(config: Config) -> tuple[bool, ...]:
    raise config.error("'layer_types' must name the layers that have a sliding window")


# -- the table ------------------------------------------------------------------------------------

_TIED = {"tied": _flag("tie_word_embeddings", True)}
# Biases of queries, keys, values and of the attention's output have one flag.
_BIASES = {"attention_bias": _flag("attention_bias"), "output_bias": _flag("attention_bias")}
_GEMMA: dict[str, Any] = {
    **_TIED, **_BIASES, "norm": "rms_plus_one", "embedding_scale": _root("hidden_size"),
}  # fmt: skip
_GEMMA2: dict[str, Any] = {
    **_GEMMA,
    "names": tensor_names.SANDWICH,
    "attention_scale": _inverse_root("query_pre_attn_scalar"),
    "score_cap": _optional_number("attn_logit_softcapping"),
    "logit_cap": _optional_number("final_logit_softcapping"),
}
_COHERE: dict[str, Any] = {
    **_TIED, **_BIASES, "norm": "layer_without_bias", "parallel": True, "interleaved": True,
    "logit_scale": _number("logit_scale", 0.0625),
}  # fmt: skip
# Variants of Cohere 2 that have no files.
_OF_COHERE2: dict[str, tuple[object, ...]] = {
    "use_qk_norm": (False,), "use_gated_activation": (True,), "use_parallel_block": (True,),
    "position_embedding_type": ("rope_gptj",), "order_of_interleaved_layers": ("local_attn_first",),
    "rotary_pct": (1.0,), "layer_switch": (4,), "use_embedding_sharing": (True,),
}  # fmt: skip
_GLM: dict[str, Any] = {"attention_bias": _flag("attention_bias", True), "interleaved": True}
# Bidirectional attention, which no supported decoder has.
_OF_GEMMA = {"use_bidirectional_attention": (False,)}
_OLMO2: dict[str, Any] = {**_BIASES, "names": tensor_names.OLMO2, "whole_qk_norm": True}

# Entries of DeepSeek about ranks, and about layers that predict more than the next token.
_NOT_OF_THE_STEP = ("ep_size", "num_nextn_predict_layers")

FAMILIES: dict[str, Family] = {
    "llama": Family(
        {**_BIASES, "mlp_bias": _flag("mlp_bias")},
        plain={"is_llama_config": (True,), "rope_interleaved": (False,)},
        ranks=True,
    ),
    "mistral": Family(windows=_all, ranks=True),
    "qwen2": Family(
        {"attention_bias": True},
        windows=_upper,
        windows_on=False,
        plain={"use_mrope": (False,)},
        ranks=True,
    ),
    "qwen3": Family({**_BIASES, "qk_norm": True}, windows=_upper, windows_on=False, ranks=True),
    "mixtral": Family(
        _experts(read_mixtral),
        eps=("rms_norm_eps", 1e-5),
        windows=_all,
        window=None,
        theta=1000000.0,
        ranks=True,
    ),
    "qwen3_moe": Family(
        {**_BIASES, "qk_norm": True, **_experts(read_qwen_moe)},
        windows=_upper,
        windows_on=False,
        ranks=True,
    ),
    "qwen2_moe": Family(
        {"attention_bias": _flag("qkv_bias", True), **_experts(read_qwen_moe)},
        windows=_upper,
        windows_on=False,
        ranks=True,
    ),
    "olmoe": Family(
        {**_BIASES, "whole_qk_norm": True, **_experts(read_olmoe)},
        eps=("rms_norm_eps", 1e-5),
        plain={"clip_qkv": ()},
    ),
    "granite": Family(
        {
            **_BIASES, "mlp_bias": _flag("mlp_bias"),
            "attention_scale": _number("attention_multiplier", 1.0),
            "embedding_scale": _number("embedding_multiplier", 1.0),
            "residual_scale": _number("residual_multiplier", 1.0),
            "logit_scale": _inverse("logits_scaling"),
        },
        ranks=True,
    ),
    "cohere": Family(
        _COHERE,
        eps=("layer_norm_eps", 1e-5),
        theta=500000.0,
        plain={"use_qk_norm": (False,)},
        ranks=True,
    ),
    "cohere2": Family(
        {**_COHERE, "unrotated": _cohere2_unrotated},
        eps=("layer_norm_eps", 1e-5),
        windows=_cohere2_windows,
        plain=_OF_COHERE2,
        harmless=("cache_implementation", "use_parallel_embedding"),
        ranks=True,
    ),
    "starcoder2": Family(
        {
            **_TIED, "names": tensor_names.STARCODER2, "norm": "layer", "mlp": "plain",
            "attention_bias": _flag("use_bias", True), "output_bias": _flag("use_bias", True),
            "mlp_bias": _flag("use_bias", True),
        },
        eps=("norm_epsilon", 1e-5),
        activation=("hidden_act", "gelu_pytorch_tanh"),
        windows=_all,
        window=None,
        plain={
            "norm_type": ("layer_norm",), "mlp_type": ("default",), "scale_attn_weights": (True,),
        },
        harmless=(
            "attention_softmax_in_fp32", "embedding_dropout", "layer_norm_epsilon",
            "residual_dropout", "scale_attention_softmax_in_fp32",
        ),
    ),
    "glm": Family(
        {"names": tensor_names.GLM, **_GLM},
        eps=("rms_norm_eps", 1.5625e-07),
        rotary=0.5,
    ),
    "glm4": Family(
        {"names": tensor_names.GLM4, **_GLM},
        eps=("rms_norm_eps", 1.5625e-07),
        rotary=0.5,
    ),
    "glm4_moe": Family(
        {
            "attention_bias": _flag("attention_bias"), "qk_norm": _flag("use_qk_norm"),
            **_experts(read_deepseek_v3),
        },
        eps=("rms_norm_eps", 1e-5),
        rotary=0.5,
        harmless=_NOT_OF_THE_STEP,
        ranks=True,
    ),
    "seed_oss": Family(
        {
            "attention_bias": _flag("attention_bias", True),
            "output_bias": _flag("attention_out_bias"), "mlp_bias": _flag("mlp_bias"),
        },
        harmless=("residual_dropout",),
        ranks=True,
    ),
    "ernie4_5": Family(
        {
            **_TIED, "interleaved": True, "attention_bias": _flag("use_bias"),
            "output_bias": _flag("use_bias"), "mlp_bias": _flag("use_bias"),
        },
        eps=("rms_norm_eps", 1e-5),
        theta=500000.0,
        ranks=True,
    ),
    "gpt_oss": Family(
        {
            "attention_bias": _flag("attention_bias", True),
            "output_bias": _flag("attention_bias", True), "sinks": True, **_experts(read_gpt_oss),
        },
        eps=("rms_norm_eps", 1e-5),
        windows=_alternate,
        window=128,
        theta=150000.0,
        scaled=True,
        # The second name of an entry, and the context before the scaling.
        harmless=("experts_per_token", "initial_context_length"),
        ranks=True,
    ),
    "deepseek_v2": Family(
        {**_BIASES, "interleaved": True, **_experts(read_deepseek_v2)},
        latent=True,
        plain={"mlp_bias": (False,)},
        harmless=_NOT_OF_THE_STEP,
        ranks=True,
    ),
    "deepseek_v3": Family(
        {
            **_BIASES, "interleaved": _flag("rope_interleave", True),
            **_experts(read_deepseek_v3),
        },
        latent=True,
        harmless=_NOT_OF_THE_STEP,
        ranks=True,
    ),
    "gemma": Family(
        _GEMMA,
        activation=("hidden_act", "gelu_pytorch_tanh"),
        plain={**_OF_GEMMA, "hidden_activation": ("gelu_pytorch_tanh",)},
    ),
    "gemma2": Family(
        _GEMMA2,
        activation=("hidden_activation", "gelu_pytorch_tanh"),
        windows=_alternate,
        plain=_OF_GEMMA,
        harmless=("cache_implementation", "hidden_act", "sliding_window_size"),
    ),
    "gemma3_text": Family(
        {**_GEMMA2, "qk_norm": True},
        activation=("hidden_activation", "gelu_pytorch_tanh"),
        windows=_pattern(6),
        theta=1000000.0,
        plain=_OF_GEMMA,
        harmless=("cache_implementation", "hidden_act"),
    ),
    "phi3": Family(
        {"names": tensor_names.PHI3},
        eps=("rms_norm_eps", 1e-5),
        windows=_all,
        window=None,
        rotary=1.0,
        plain={
            "attention_bias": (False,), "mlp_bias": (False,), "lm_head_bias": (False,),
            "full_attn_mod": (1,), "interpolate_factor": (1,),
        },
        harmless=("embd_pdrop", "resid_pdrop", "original_max_position_embeddings"),
    ),
    "smollm3": Family(
        {**_TIED, **_BIASES, "mlp_bias": _flag("mlp_bias"), "unrotated": _unrotated},
        windows=_listed,
        window=None,
        windows_on=False,
        theta=2000000.0,
        harmless=("max_window_layers",),
    ),
    "olmo2": Family(_OLMO2, eps=("rms_norm_eps", 1e-5)),
    "olmo3": Family(
        _OLMO2, eps=("rms_norm_eps", 1e-5), windows=lambda config: _every(4, False)
    ),
    "stablelm": Family(
        {
            "norm": "layer", "attention_bias": _flag("use_qkv_bias"),
            "parallel": _flag("use_parallel_residual"),
        },
        eps=("layer_norm_eps", 1e-5),
        rotary=0.25,
        plain={"qk_layernorm": (False,)},
        harmless=("hidden_dropout",),
    ),
    "phi": Family(
        {
            "names": tensor_names.PHI, "norm": "layer", "parallel": True, "mlp": "plain",
            "attention_bias": True, "output_bias": True, "mlp_bias": True, "head_bias": True,
        },
        eps=("layer_norm_eps", 1e-5),
        activation=("hidden_act", "gelu_new"),
        rotary=0.5,
        plain={"qk_layernorm": (False,)},
        harmless=("embd_pdrop", "resid_pdrop"),
    ),
    "gpt2": Family(
        {
            **_TIED, "names": tensor_names.GPT2, "norm": "layer", "mlp": "plain",
            "learned_positions": True, "attention_bias": True, "output_bias": True,
            "mlp_bias": True,
        },
        keys={
            "hidden_size": "n_embd", "num_hidden_layers": "n_layer",
            "num_attention_heads": "n_head", "intermediate_size": "n_inner",
            "max_position_embeddings": "n_positions",
        },
        eps=("layer_norm_epsilon", 1e-5),
        activation=("activation_function", "gelu_new"),
        plain={
            "scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,),
        },
        harmless=(
            "attn_pdrop", "embd_pdrop", "resid_pdrop", "n_ctx", "reorder_and_upcast_attn",
            "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
            "summary_use_proj",
        ),
    ),
}  # fmt: skip


# Models of text and images, whose text part is a decoder: the default entries of its section.
WITH_IMAGES: dict[str, dict[str, Any]] = {
    "gemma3": {
        "model_type": "gemma3_text", "vocab_size": 262208, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072,
        "query_pre_attn_scalar": 256, "rope_local_base_freq": 10000.0,
    },
}  # fmt: skip
