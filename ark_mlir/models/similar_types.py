"""Model types that ark does not load, and the type of ark's tables that shares most with each.

The table goes by the parts of a layer: norm, positions, kind of attention, MLP with or without a
gate, and whether attention and MLP are parallel.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from ..errors import shorten

__all__ = ["SIMILAR", "describe_unknown"]

# By the type that ark loads. Types without a relative are not listed: encoder-decoders (t5, bart,
# whisper), models of states instead of attention (mamba, rwkv), and models of images or sound.
_BY_KNOWN = {
    # RMSNorm, rotary positions, gated MLP
    "llama": (
        "aquila", "arcee", "baichuan", "bitnet", "decilm", "exaone", "helium", "internlm",
        "internlm2", "internlm3", "llava", "mllama", "orion", "telechat", "xverse", "yi",
    ),
    "mistral": ("ministral", "mistral3"),
    "granite": ("minicpm",),  # with factors of embeddings and residuals
    "qwen2": ("qwen", "qwen2_vl", "qwen2_5_vl"),
    "qwen3": ("apertus", "hunyuan_v1_dense", "qwen3_vl"),  # with norms of queries and keys
    "gemma3": ("gemma3n",),
    "glm": ("chatglm",),
    "glm4": ("glm4v",),
    "olmo2": ("exaone4", "olmo"),
    "phi3": ("phi4", "phi4mm", "phi4_multimodal"),
    # experts
    "mixtral": ("dbrx", "grok_1", "granitemoe", "jetmoe", "phimoe"),
    "qwen2_moe": ("deepseek", "ernie4_5_moe"),  # with a shared expert
    "qwen3_moe": ("hunyuan_v1_moe", "qwen3_vl_moe"),
    "glm4_moe": ("dots1",),
    "deepseek_v3": ("deepseek_v32", "kimi_k2"),
    # LayerNorm, MLP without a gate; attention and MLP one after the other, or parallel
    "starcoder2": ("fuyu", "nemotron", "persimmon"),
    "phi": ("codegen", "falcon", "gpt_neox", "gpt_neox_japanese", "gptj"),
    # LayerNorm, MLP without a gate, learned positions or slopes
    "gpt2": (
        "biogpt", "bloom", "ctrl", "gpt_bigcode", "gpt_neo", "gptsan_japanese", "mpt",
        "openai_gpt", "opt", "xglm",
    ),
    # encoders
    "bert": (
        "albert", "convbert", "deberta", "deberta_v2", "electra", "ernie", "layoutlm", "mobilebert",
        "mpnet", "nezha", "roformer", "squeezebert",
    ),
    "roberta": ("esm", "ibert", "layoutlmv3", "longformer", "roberta_prelayernorm", "xmod"),
    "xlm-roberta": ("xlm_roberta_xl",),
    "modernbert": ("eurobert", "neobert"),
    "nomic_bert": ("jina_bert", "new"),
}  # fmt: skip

# The ratio of difflib from which a name counts as misspelt: "lamma" and "llama" have 0.8, and
# "bart" and "bert", which are different types, 0.75.
_LEAST_RATIO = 0.76

# A model type in lower case, with underscores -> the type that ark loads.
SIMILAR = {kind: known for known, kinds in _BY_KNOWN.items() for kind in kinds}


def describe_unknown(kind: str, known: Collection[str]) -> str:
    """Returns the message about a model type that ark does not load, in one line.

    Args:
        kind: ``model_type`` of ``config.json``.
        known: the types that ark loads.

    Example:
        >>> describe_unknown("falcon", ["llama", "phi"]).partition(";")[0]
        "unknown model type 'falcon': the most similar type that ark loads is phi"
        >>> describe_unknown("lamma", ["llama", "phi"]).partition(";")[0]
        "unknown model type 'lamma': the closest name of a type that ark loads is llama"
    """
    names = {_spelling(name): name for name in known}
    spelling = _spelling(kind)
    similar = names.get(spelling) or SIMILAR.get(spelling)
    reason = "docs/support.md lists the types that ark loads"
    if similar is not None:
        reason = f"the most similar type that ark loads is {similar}"
    elif (closest := _find_closest(spelling, names)) in names:
        reason = f"the closest name of a type that ark loads is {names[closest]}"
    elif closest is not None:
        reason = f"for {closest}, the closest name, the most similar type is {SIMILAR[closest]}"
    return (
        f"unknown model type {shorten(kind)}: {reason}; "
        'torch.compile(model, backend="ark") compiles other models'
    )


def _spelling(kind: str) -> str:
    return kind.lower().replace("-", "_")


def _find_closest(spelling: str, names: Collection[str]) -> str | None:
    """Returns the spelling of a type that ark loads or lists that is closest, or None."""
    found = difflib.get_close_matches(spelling, [*names, *SIMILAR], n=1, cutoff=_LEAST_RATIO)
    return found[0] if found else None
