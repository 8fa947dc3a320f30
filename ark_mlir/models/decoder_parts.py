"""Parts of the configuration of a decoder that are read without the compiler."""

from __future__ import annotations

from ..json_checks import Node
from .config import Config
from .experts import Experts
from .families import FAMILIES, WITH_IMAGES

__all__ = ["read_experts", "read_text"]

# Entries about images of a model of text and images.
_OF_IMAGES = (
    "boi_token_index", "eoi_token_index", "image_token_index", "mm_tokens_per_image",
    "vision_config",
)  # fmt: skip
# Entries of the whole model that a section may lack.
_OF_THE_WHOLE = ("dtype", "torch_dtype", "eos_token_id", "quantization_config")


def read_text(config: Config) -> Config:
    """Returns the configuration of the text part of a model of text and images, and that of any
    other model unchanged."""
    kind = config.word("model_type")
    if kind not in WITH_IMAGES:
        return config
    section = config.section("text_config")
    if section is None:
        raise config.error("key 'text_config' is missing")
    whole = {key: config.entries[key] for key in _OF_THE_WHOLE if key in config.entries}
    entries = {**WITH_IMAGES[kind], **whole, **section.entries}
    if "rope_parameters" in entries:  # the entry has the bases of all layers
        del entries["rope_local_base_freq"]
    section.plain("model_type", WITH_IMAGES[kind]["model_type"])
    config.flag("tie_word_embeddings", True)
    config.skip("quantization_config")
    config.check_known(_OF_IMAGES)
    return Config(Node(entries, "text_config", config.node.document), config.ignored)


def read_experts(config: Config) -> tuple[Experts | None, int]:
    """Returns the experts of a decoder, None if it has none, and the number of its layers.

    `config` is the text part. Raises InvalidUsageError if an entry is invalid.
    """
    family = FAMILIES[config.word("model_type", "llama")]
    read = family.fields.get("experts")
    return None if read is None else read(config), config.count(family.key("num_hidden_layers"))
