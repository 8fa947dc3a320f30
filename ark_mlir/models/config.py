"""``config.json`` of a Hugging Face folder, read with checks."""

from __future__ import annotations

import operator
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from ..dtypes import DType, as_dtype, bf16, fp16, fp32
from ..errors import ArkError, InvalidUsageError, shorten
from ..json_checks import Document, Node, parse_json
from ..paths import as_path

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = ["Config", "as_count", "as_float_dtype", "read_config"]

T = TypeVar("T")

# Entries that do not affect a forward pass. Entries that begin with an underscore are private to
# transformers.
_HARMLESS = frozenset({
    # name, training and task; the loaders read the model type
    "architectures", "auto_map", "attention_dropout", "attention_probs_dropout_prob",
    "classifier_dropout", "dropout", "finetuning_task", "gradient_checkpointing",
    "hidden_dropout_prob", "id2label", "initializer_range", "label2id", "model_max_length",
    "model_type", "problem_type", "pretraining_tp", "task_specific_params", "tokenizer_class",
    "transformers_version", "transformers.js_config",
    # how transformers runs the model
    "chunk_size_feed_forward", "dtype", "output_attentions", "output_hidden_states",
    "return_dict", "torch_dtype", "torchscript", "use_bfloat16", "use_cache", "use_return_dict",
    # special tokens, and sampling
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "pad_token_id",
    "prefix", "remove_invalid_values", "repetition_penalty", "return_dict_in_generate",
    "sep_token_id", "suppress_tokens", "temperature", "top_k", "top_p", "typical_p",
    # BERT's head for pairs of sentences, which an encoder does not have
    "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type",
})  # fmt: skip

# Keys of variants that are not supported; null and these values mean the standard model.
_PLAIN: dict[str, tuple[object, ...]] = {
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (),
    "is_decoder": (False,),
    "is_encoder_decoder": (False,),
    "partial_rotary_factor": (1.0,),
    "pruned_heads": ({},),
    "quantization_config": (),
    "tie_encoder_decoder": (False,),
}


@dataclass(frozen=True)
class Config:
    """The entries of a ``config.json``; errors of getters name the file and the entry.

    Null counts as no entry.

    Attributes:
        node: the JSON object.
        ignored: entries that the caller wants to ignore.
    """

    node: Node
    ignored: frozenset[str] = frozenset()
    _read: set[str] = field(default_factory=set[str], compare=False)

    @property
    def path(self) -> str:
        """Returns the path of the file."""
        return self.node.document.where

    @property
    def entries(self) -> dict[str, Any]:
        """Returns the entries by name, unchecked."""
        return self.node.mapping()

    def error(self, message: str) -> ArkError:
        """Returns an error about this file, for the caller to raise."""
        return self.node.error(message)

    def count(self, key: str, default: int | None = None) -> int:
        """Returns an entry that is a positive integer."""
        return self._get(key, default).integer(1)

    def natural(self, key: str, default: int | None = None) -> int:
        """Returns an entry that is an integer and not negative."""
        return self._get(key, default).integer()

    def number(self, key: str, default: float | None = None) -> float:
        """Returns an entry that is a finite number and not negative."""
        return float(self._get(key, default).number(0))

    def flag(self, key: str, default: bool) -> bool:
        """Returns an entry that is true or false."""
        return self._get(key, default).boolean()

    def word(self, key: str, default: str | None = None) -> str:
        """Returns an entry that is a string."""
        return self._get(key, default).text()

    def counts(self, key: str) -> tuple[int, ...]:
        """Returns an entry that is a natural number or a list of them, as a tuple."""
        node = self._get(key, None)
        return node.each(Node.integer) if isinstance(node.value, list) else (node.integer(),)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Returns an entry that is a list of finite numbers that are not negative, as a tuple."""
        return tuple(float(each) for each in self._get(key, None).each(lambda n: n.number(0)))

    def flags(self, key: str, count: int) -> tuple[bool, ...] | None:
        """Returns an entry that is a list of `count` zeros and ones, as a tuple, or None if it is
        missing or null."""
        self._read.add(key)
        if self.entries.get(key) is None:
            return None
        values = self.node[key].each(lambda node: bool(node.integer(0, 1)))
        return self._counted(key, values, count)

    def words(self, key: str, count: int, allowed: tuple[str, ...]) -> tuple[str, ...] | None:
        """Returns an entry that is a list of `count` words, as a tuple, or None if it is missing or
        null."""
        self._read.add(key)
        if self.entries.get(key) is None:
            return None
        values = self.node[key].each(lambda node: node.word(allowed))
        return self._counted(key, values, count)

    def _counted(self, key: str, values: tuple[T, ...], count: int) -> tuple[T, ...]:
        if len(values) != count:
            raise self.error(f"{key!r} has {len(values)} entries, not {count}")
        return values

    def optional_count(self, key: str) -> int | None:
        """Returns an entry that is a positive integer, or None if it is missing or null."""
        self._read.add(key)
        return None if self.entries.get(key) is None else self.count(key)

    def optional_number(self, key: str) -> float | None:
        """Returns an entry that is a finite number and not negative, or None."""
        self._read.add(key)
        return None if self.entries.get(key) is None else self.number(key)

    def section(self, key: str) -> Config | None:
        """Returns an entry that is an object, None if it is missing or null."""
        self._read.add(key)
        if self.entries.get(key) is None:
            return None
        node = self.node[key]
        node.mapping()
        return Config(node, self.ignored)

    def plain(self, key: str, *values: object) -> None:
        """Raises an error if an entry has another value than `values`: such a value selects a
        variant of the model. A missing entry is accepted."""
        self._read.add(key)
        value = self.entries.get(key)
        if value is not None and value not in values and key not in self.ignored:
            known = ", ".join([*map(repr, values), "no entry"])
            raise self.error(
                f"{key!r} is {shorten(value)}, which this version does not support; supported: "
                f"{known}"
            )

    def relevant(self) -> dict[str, Any]:
        """Returns the entries that may change the results of the model, by name.

        Entries of the text part (``text_config``) are filtered, too. Null counts as no entry.
        """
        kept = {
            key: value
            for key, value in self.entries.items()
            if value is not None
            and key.isprintable()
            and not key.startswith("_")
            and (key not in _HARMLESS or key == "model_type")
        }
        if isinstance(kept.get("text_config"), dict):
            kept["text_config"] = Config(self.node["text_config"]).relevant()
        return kept

    def skip(self, key: str) -> None:
        """Accepts any value of an entry."""
        self._read.add(key)

    def check_known(self, harmless: Collection[str] = ()) -> None:
        """Raises an error if no method has read an entry that may change the model; entries in
        `harmless` do not change it."""
        for key, values in _PLAIN.items():
            if key not in self._read:
                self.plain(key, *values)
        known = self._read | _HARMLESS | self.ignored | set(harmless)
        unknown = [
            key
            for key, value in self.entries.items()
            if value is not None and key not in known and not key.startswith("_")
        ]
        if unknown:
            raise self.error(
                f"unknown entries {', '.join(map(repr, unknown))} may change the model; if they do "
                "not, list them in ignore=, or on the command line in --set ignore=NAME"
            )

    def _get(self, key: str, default: object) -> Node:
        self._read.add(key)
        value = self.entries.get(key)
        if value is None and default is None:
            raise self.error(f"key {key!r} is missing")
        return self.node.child(key, default if value is None else value)


def as_count(value: object, label: str, least: int = 1) -> int:
    """Returns an integer that is at least `least`; raises InvalidUsageError on other values."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidUsageError(f"{label} must be an integer, not {value!r}")
    number = operator.index(value)
    if number < least:
        raise InvalidUsageError(f"{label} must be at least {least}, not {number}")
    return number


def as_float_dtype(dtype: DTypeLike | str) -> DType:
    """Returns fp32, fp16 or bf16; raises InvalidUsageError on any other dtype."""
    result = as_dtype(dtype)
    if result not in (fp32, fp16, bf16):
        raise InvalidUsageError(f"dtype must be fp32, fp16 or bf16, not {result}")
    return result


def read_config(folder: str | os.PathLike[str], name: str = "config.json") -> Config:
    """Reads the file `name` of a model folder, ``config.json`` or a file of the same form.

    Raises InvalidUsageError if the folder or the file cannot be read, or is not a JSON object.
    """
    root = as_path(folder, "the model folder")
    path = root / name
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise InvalidUsageError(f"the model folder {problem}", location=str(root))
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise InvalidUsageError(f"the model folder has no {name}", location=str(root)) from None
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=str(path)) from None
    node = parse_json(text, Document(str(path), "", InvalidUsageError))
    node.mapping()
    return Config(node)
