"""The types of encoders: their sizes and features, and their entries in ``config.json``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .activations import read_activation
from .config import Config
from .rope import Rope, read_rope

__all__ = ["ENCODERS", "EncoderConfig", "EncoderFamily", "EncoderNames"]


@dataclass(frozen=True)
class EncoderNames:
    """The names of an encoder's tensors, without ``.weight`` and ``.bias``.

    Attributes:
        words, positions, types, first_norm: tensors of the embeddings; None for a tensor that the
            type lacks.
        layers: the name of the list of layers; the names of a layer's tensors follow below.
        query, key, value, qkv: weights of queries, keys and values, or one that has the rows of all
            three.
        attention_norm, mlp_norm: norms of the outputs, or in a pre-norm encoder of the inputs.
        gate, up, gate_up: weights of the MLP's inputs; an MLP without a gate has only `up`, and
            `gate_up` has the rows of both.
        final_norm: the norm after the layers.
        prefixes: prefixes of all names in files of models with a head.
    """

    words: str = "embeddings.word_embeddings"
    positions: str | None = "embeddings.position_embeddings"
    types: str | None = "embeddings.token_type_embeddings"
    first_norm: str = "embeddings.LayerNorm"
    layers: str = "encoder.layer"
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    qkv: str | None = None
    attention: str = "attention"
    attention_output: str = "attention.output.dense"
    attention_norm: str = "attention.output.LayerNorm"
    gate: str | None = None
    up: str = "intermediate.dense"
    gate_up: str | None = None
    down: str = "output.dense"
    mlp_norm: str = "output.LayerNorm"
    final_norm: str | None = None
    prefixes: tuple[str, ...] = ("bert.",)


_BERT = EncoderNames()
_DISTILBERT = EncoderNames(
    types=None,
    layers="transformer.layer",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    attention_output="attention.out_lin",
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    mlp_norm="output_layer_norm",
    prefixes=("distilbert.",),
)
_MODERN = EncoderNames(
    words="embeddings.tok_embeddings",
    positions=None,
    types=None,
    first_norm="embeddings.norm",
    layers="layers",
    qkv="attn.Wqkv",
    attention="attn",
    attention_output="attn.Wo",
    attention_norm="attn_norm",
    gate_up="mlp.Wi",
    down="mlp.Wo",
    mlp_norm="mlp_norm",
    final_norm="final_norm",
    prefixes=("model.",),
)
_NOMIC = EncoderNames(
    positions=None,
    layers="layers",
    query="self_attn.q_proj",
    key="self_attn.k_proj",
    value="self_attn.v_proj",
    attention="self_attn",
    attention_output="self_attn.o_proj",
    attention_norm="post_attention_layernorm",
    gate="mlp.gate_proj",
    up="mlp.up_proj",
    down="mlp.down_proj",
    mlp_norm="post_mlp_layernorm",
    prefixes=("nomic_bert.",),
)
# The names in the first files of the type, in which transformers still saves it.
_NOMIC_OLD = EncoderNames(
    positions=None,
    first_norm="emb_ln",
    layers="encoder.layers",
    qkv="attn.Wqkv",
    attention="attn",
    attention_output="attn.out_proj",
    attention_norm="norm1",
    gate="mlp.fc12",
    up="mlp.fc11",
    down="mlp.fc2",
    mlp_norm="norm2",
    prefixes=("bert.",),
)


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes and features of an encoder; the defaults of the features are those of BERT.

    Attributes:
        types: number of token types, such as the sentences of a pair; 0 without token types.
        offset: the row of the first position in the table of positions.
        pre_norm: True if norms are before attention and MLP, and not after them.
        biases, norm_bias: True if matrices and norms have biases.
        rope, local: rotary positions of layers that attend to all tokens, and of those with a
            window; None if there are none.
        window: greatest distance of tokens that see each other in layers with a window.
        windowed: for each layer, True if it has the window; a shorter tuple repeats.
        other_names: the names in other files of the type.
        kind: the name of the program.

    Example:
        >>> minilm = EncoderConfig(30522, 384, 6, 12, 1536, 512, 2, 1e-12, "gelu")
        >>> minilm.most_tokens
        512
    """

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    types: int
    eps: float
    activation: str
    offset: int = 0
    pre_norm: bool = False
    biases: bool = True
    norm_bias: bool = True
    rope: Rope | None = None
    local: Rope | None = None
    window: int | None = None
    windowed: tuple[bool, ...] = (False,)
    names: EncoderNames = _BERT
    other_names: tuple[EncoderNames, ...] = ()
    kind: str = "bert"

    @classmethod
    def read(cls, config: Config) -> EncoderConfig:
        """Reads the sizes from a ``config.json``; raises InvalidUsageError if it is invalid."""
        return _read(config)

    def named_as(self, tensors: Collection[str]) -> EncoderConfig:
        """Returns the same sizes, with the names that a file's tensors have."""
        for names in (self.names, *self.other_names):
            starts = tuple(f"{prefix}{names.layers}.0." for prefix in ("", *names.prefixes))
            if any(name.startswith(starts) for name in tensors):
                return replace(self, names=names)
        return self

    @property
    def most_tokens(self) -> int:
        """Returns the maximum number of tokens of a prompt."""
        return self.positions - self.offset

    def has_window(self, layer: int) -> bool:
        """Returns True if a layer has the window."""
        return self.window is not None and self.windowed[layer % len(self.windowed)]


@dataclass(frozen=True)
class EncoderFamily:
    """The differences of a model type from BERT.

    Attributes:
        fields: fields of EncoderConfig, each a value or a function that reads it.
        keys: names of entries of ``config.json``, by the names of BERT's entries.
        activation: the default activation.
        plain: entries of which only some values are supported, see :meth:`Config.plain`.
        harmless: entries that do not affect a forward pass.
    """

    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    activation: str = "gelu"
    plain: Mapping[str, tuple[object, ...]] = field(default_factory=dict[str, "tuple[object, ...]"])
    harmless: tuple[str, ...] = ()

    def key(self, name: str) -> str:
        """Returns the name of an entry of ``config.json``."""
        return self.keys.get(name, name)


def _types(config: Config) -> int:
    return config.count("type_vocab_size", 2)


def _after_padding(config: Config) -> int:
    """Positions are counted from the row after that of padding."""
    return config.natural("pad_token_id", 1) + 1


def _head(config: Config, hidden: str = "hidden_size", heads: str = "num_attention_heads") -> int:
    return max(1, config.count(hidden) // config.count(heads))


def _rope(theta: float) -> Callable[[Config], Rope]:
    return lambda config: read_rope(config, _head(config), theta)["full"]


def _old_rope(config: Config) -> Rope:
    return Rope(_head(config, "n_embd", "n_head"), config.number("rotary_emb_base", 10000.0))


def _modern_rope(kind: str, old: str, theta: float) -> Callable[[Config], Rope]:
    def read(config: Config) -> Rope:
        default = config.number(old, theta)
        if config.section("rope_parameters") is None:
            return Rope(_head(config), default)
        return read_rope(config, _head(config), default)[kind]

    return read


def _modern_windows(config: Config) -> tuple[bool, ...]:
    kinds = config.words(
        "layer_types", config.count("num_hidden_layers"), ("full_attention", "sliding_attention")
    )
    interval = config.count("global_attn_every_n_layers", 3)
    if kinds is not None:
        return tuple(kind == "sliding_attention" for kind in kinds)
    return (False, *[True] * (interval - 1))


def _modern_window(config: Config) -> int:
    return config.count("local_attention", 128) // 2


def _norm_bias(config: Config) -> bool:
    return config.flag("norm_bias", False)


_ROBERTA = EncoderFamily({
    "types": _types, "offset": _after_padding, "kind": "roberta",
    "names": EncoderNames(prefixes=("roberta.",)),
})  # fmt: skip
_NOMIC_FIELDS: dict[str, Any] = {
    "types": _types, "biases": False, "kind": "nomic_bert", "names": _NOMIC,
    "other_names": (_NOMIC_OLD,),
}  # fmt: skip
_OLD_NOMIC = EncoderFamily(
    {**_NOMIC_FIELDS, "rope": _old_rope},
    keys={
        "hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions", "intermediate_size": "n_inner",
        "layer_norm_eps": "layer_norm_epsilon", "hidden_act": "",
    },
    activation="silu",
    plain={
        "activation_function": ("swiglu",), "causal": (False,), "mlp_fc1_bias": (False,),
        "mlp_fc2_bias": (False,), "parallel_block": (False,), "prenorm": (False,),
        "qkv_proj_bias": (False,), "rotary_emb_fraction": (1.0,),
        "rotary_emb_interleaved": (False,), "rotary_emb_scale_base": (),
        "rotary_scaling_factor": (), "scale_attn_by_inverse_layer_idx": (False,),
        "scale_attn_weights": (True,), "use_rms_norm": (False,),
    },
    harmless=(
        "attn_pdrop", "dense_seq_output", "embd_pdrop", "fused_bias_fc", "fused_dropout_add_ln",
        "max_trained_positions", "pad_vocab_size_multiple", "parallel_block_tied_norm",
        "reorder_and_upcast_attn", "resid_pdrop", "summary_activation", "summary_first_dropout",
        "summary_proj_to_labels", "summary_type", "summary_use_proj", "use_flash_attn",
        "use_xentropy",
    ),
)  # fmt: skip

ENCODERS: dict[str, EncoderFamily] = {
    "bert": EncoderFamily({"types": _types}),
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "distilbert": EncoderFamily(
        {"types": 0, "names": _DISTILBERT, "kind": "distilbert"},
        keys={
            "hidden_size": "dim", "num_hidden_layers": "n_layers",
            "num_attention_heads": "n_heads", "intermediate_size": "hidden_dim",
            "hidden_act": "activation",
        },
        # The files have the positions, sinusoidal or not.
        harmless=("sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout"),
    ),
    "modernbert": EncoderFamily(
        {
            "types": 0, "names": _MODERN, "kind": "modernbert", "pre_norm": True, "biases": False,
            "norm_bias": _norm_bias,
            "rope": _modern_rope("full", "global_rope_theta", 160000.0),
            "local": _modern_rope("local", "local_rope_theta", 10000.0),
            "window": _modern_window,
            "windowed": _modern_windows,
        },
        keys={"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"},
        plain={"attention_bias": (False,), "mlp_bias": (False,)},
        harmless=(
            "classifier_activation", "classifier_bias", "classifier_pooling", "cls_token_id",
            "decoder_bias", "deterministic_flash_attn", "embedding_dropout",
            "initializer_cutoff_factor", "layer_norm_eps", "mlp_dropout", "reference_compile",
            "repad_logits_with_grad", "sparse_pred_ignore_index", "sparse_prediction",
        ),
    ),
    "nomic_bert": EncoderFamily(
        {**_NOMIC_FIELDS, "rope": _rope(1000.0)}, activation="silu"
    ),
}  # fmt: skip


def _read(config: Config) -> EncoderConfig:
    family = ENCODERS[config.word("model_type", "bert")]
    if family.fields.get("kind") == "nomic_bert" and "n_embd" in config.entries:
        family = _OLD_NOMIC
    hidden, heads = (config.count(family.key(k)) for k in ("hidden_size", "num_attention_heads"))
    act = family.key("hidden_act")
    sizes: dict[str, Any] = {
        "vocabulary": config.count("vocab_size"),
        "hidden": hidden,
        "layers": config.count(family.key("num_hidden_layers")),
        "heads": heads,
        "intermediate": config.count(family.key("intermediate_size")),
        "positions": config.count(family.key("max_position_embeddings")),
        "eps": config.number(family.key("layer_norm_eps"), 1e-12),
        "activation": read_activation(config, act, family.activation) if act else family.activation,
    }
    # An entry of the language-model head, which an encoder does not have.
    config.flag("tie_word_embeddings", True)
    if hidden % heads:
        raise config.error(f"hidden size {hidden} is not a multiple of {heads} heads")
    if config.word("position_embedding_type", "absolute") != "absolute":
        raise config.error("'position_embedding_type' must be 'absolute'; ark supports no other")
    config.plain("head_dim", hidden // heads)
    for name, value in family.fields.items():
        sizes[name] = value(config) if callable(value) else value
    if sizes.get("rope") is not None and hidden // heads % 2:
        raise config.error(f"the size of a head, {hidden // heads}, is odd")
    for key, values in family.plain.items():
        config.plain(key, *values)
    config.check_known(family.harmless)
    result = EncoderConfig(**sizes)
    if result.most_tokens < 1:
        raise config.error(
            f"{result.positions} positions leave no position after the {result.offset} of padding"
        )
    return result
