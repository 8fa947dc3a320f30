"""The configuration of a decoder, read from ``config.json`` by the table of :mod:`.families`."""

from __future__ import annotations

from typing import Any

from .activations import read_activation
from .config import Config
from .decoder_config import DecoderConfig
from .families import FAMILIES, LAYER_TYPES, Family
from .latent_attention import Latent
from .rope import YarnScaling, read_rope

__all__ = ["read_decoder"]


def read_decoder(config: Config) -> DecoderConfig:
    """Reads the sizes and features of a decoder from a ``config.json``.

    Raises InvalidUsageError if an entry is invalid, or unknown and not ignored.
    """
    family = FAMILIES[config.word("model_type", "llama")]
    heads = config.count(family.key("num_attention_heads"))
    hidden = config.count(family.key("hidden_size"))
    latent = _read_latent(config, heads) if family.latent else None
    if latent is None:
        head = rotates = config.count("head_dim", max(1, hidden // heads))
    else:
        head, rotates = latent.plain + latent.rotated, latent.rotated
    learned = bool(family.fields.get("learned_positions"))
    width = 4 * hidden if learned else None
    eps, default = family.eps
    sizes: dict[str, Any] = {
        "vocabulary": config.count("vocab_size"),
        "hidden": hidden,
        "layers": config.count(family.key("num_hidden_layers")),
        "heads": heads,
        "kv_heads": config.count("num_key_value_heads", heads),
        "head": head,
        "intermediate": config.count(family.key("intermediate_size"), width),
        "positions": config.count(family.key("max_position_embeddings")),
        "eps": config.number(eps, default),
        "tied": config.flag("tie_word_embeddings", False),
        "activation": read_activation(config, *family.activation),
        "latent": latent,
        **_read_windows(config, family),
    }  # fmt: skip
    if sizes["heads"] % sizes["kv_heads"]:
        raise config.error(f"{heads} heads are not a multiple of {sizes['kv_heads']} key heads")
    if rotates % 2 and not learned:
        raise config.error(f"head_dim {rotates} is odd")
    if not learned:
        ropes = read_rope(config, rotates, family.theta, family.rotary)
        full, local = ropes["full"], ropes["local"]
        sizes |= {"theta": full.theta, "scaling": full.scaling}
        sizes |= {"rotary": 0 if full.size == head else full.size}
        sizes |= {"local": None if local == full else local}
        if family.scaled and full.scaling is None:
            raise config.error("'rope_scaling' is missing; this type needs the entry of its files")
        if latent is not None and isinstance(full.scaling, YarnScaling):
            sizes["attention_scale"] = head**-0.5 * full.scaling.scores
    for name, value in family.fields.items():
        sizes[name] = value(config) if callable(value) else value
    for key, values in family.plain.items():
        config.plain(key, *values)
    config.check_known(family.harmless)
    return DecoderConfig(**sizes)


def _read_latent(config: Config, heads: int) -> Latent:
    """Reads the sizes of a latent attention."""
    # Null means that queries have no latent.
    named = config.entries.get("q_lora_rank", 0) is None
    config.skip("q_lora_rank")
    latent = Latent(
        rank=config.count("kv_lora_rank"),
        query_rank=None if named else config.count("q_lora_rank"),
        plain=config.count("qk_nope_head_dim"),
        rotated=config.count("qk_rope_head_dim"),
        value=config.count("v_head_dim"),
    )
    config.plain("num_key_value_heads", heads)
    config.plain("head_dim", latent.rotated)
    config.plain("qk_head_dim", latent.plain + latent.rotated)
    return latent


def _read_windows(config: Config, family: Family) -> dict[str, Any]:
    """Reads the sliding window, and which layers have it."""
    layers = config.count(family.key("num_hidden_layers"))
    if family.windows is None:
        _refuse_windows(config, layers)
        return {}
    window = None
    if config.flag("use_sliding_window", family.windows_on):
        named = "sliding_window" in config.entries
        window = config.optional_count("sliding_window") if named else family.window
    config.skip("sliding_window")  # files of models without windows may have 0
    # The comparison creates no list: a damaged file may claim 2^31 layers.
    kinds = config.words("layer_types", layers, LAYER_TYPES)
    config.skip("max_window_layers")
    if kinds is not None:
        windowed = tuple(kind == "sliding_attention" for kind in kinds)
        if window is None and any(windowed):
            raise config.error("'layer_types' has sliding_attention, but there is no window")
    else:
        windowed = family.windows(config) if window is not None else (False,)
    return {"window": window, "windowed": windowed} if any(windowed) else {}


def _refuse_windows(config: Config, layers: int) -> None:
    """Raises an error if a layer has a sliding window; models of this type have none."""
    config.plain("use_sliding_window", False)
    off = config.entries.get("use_sliding_window") is False
    for key in ("sliding_window", "max_window_layers"):
        config.plain(key, *([config.entries.get(key)] if off else []))
    kinds = config.words("layer_types", layers, LAYER_TYPES)
    if kinds is not None and "sliding_attention" in kinds:
        raise config.error("'layer_types' has sliding_attention, which this type does not have")
