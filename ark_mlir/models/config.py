"""``config.json`` of a Hugging Face folder, read with checks."""

from __future__ import annotations

import json
import math
import operator
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from ..dtypes import DType, as_dtype, bf16, fp16, fp32
from ..errors import InvalidUsageError
from ..paths import as_path

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = ["Config", "as_count", "as_float_dtype", "read_config"]


# Entries that change no number of a forward pass. What begins with an underscore is
# transformers' own.
_HARMLESS = frozenset({
    # what the model is called, how it was trained, what it is for; the type is for who reads it
    "architectures", "auto_map", "attention_dropout", "attention_probs_dropout_prob",
    "classifier_dropout", "dropout", "finetuning_task", "gradient_checkpointing",
    "hidden_dropout_prob", "id2label", "initializer_range", "label2id", "model_max_length",
    "model_type", "problem_type", "pretraining_tp", "task_specific_params", "tokenizer_class",
    "transformers_version", "transformers.js_config",
    # how transformers runs it
    "chunk_size_feed_forward", "dtype", "output_attentions", "output_hidden_states",
    "return_dict", "torch_dtype", "torchscript", "use_bfloat16", "use_cache", "use_return_dict",
    # what surrounds a text, and how tokens are chosen
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "eos_token_id", "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores", "pad_token_id",
    "prefix", "remove_invalid_values", "repetition_penalty", "return_dict_in_generate",
    "sep_token_id", "suppress_tokens", "temperature", "top_k", "top_p", "typical_p",
    # BERT's head for pairs of sentences, which an encoder leaves out
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
    """The entries of a ``config.json``; every getter names the file where one is wrong.

    Attributes:
        ignored: entries that the caller knows to be of no importance.
    """

    path: str
    entries: dict[str, Any]
    ignored: frozenset[str] = frozenset()
    _read: set[str] = field(default_factory=set[str], compare=False)

    def error(self, message: str) -> InvalidUsageError:
        """An error about this file, to be raised by the caller."""
        return InvalidUsageError(message, location=self.path)

    def count(self, key: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(f"{key!r} must be a positive integer, not {value!r}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number from zero on."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"{key!r} must be a number, not {value!r}")
        if not (math.isfinite(value) and value >= 0):
            raise self.error(f"{key!r} must be a number from zero on, not {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, not {value!r}")
        return value

    def word(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be a string, not {value!r}")
        return value

    def counts(self, key: str) -> tuple[int, ...]:
        """One integer from zero on, or a list of them."""
        value = self._get(key, None)
        numbers = cast("list[object]", value if isinstance(value, list) else [value])
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise self.error(f"{key!r} must be integers from zero on, not {value!r}")
        return tuple(cast("list[int]", numbers))

    def section(self, key: str) -> Config | None:
        """A nested object, or None where there is none."""
        self._read.add(key)
        value = self.entries.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(f"{key!r} must be an object, not {value!r}")
        return Config(self.path, cast("dict[str, Any]", value), self.ignored)

    def plain(self, key: str, *values: object) -> None:
        """Refuses any value but `values`, and nothing: others stand for a variant of the model."""
        self._read.add(key)
        value = self.entries.get(key)
        if value is not None and value not in values and key not in self.ignored:
            raise self.error(f"{key!r} is {value!r}, which this version does not build")

    def check_known(self) -> None:
        """Refuses entries that nothing has read, and that may mean another model."""
        for key, values in _PLAIN.items():
            self.plain(key, *values)
        known = self._read | _HARMLESS | self.ignored
        unknown = [
            key
            for key, value in self.entries.items()
            if value is not None and key not in known and not key.startswith("_")
        ]
        if unknown:
            raise self.error(
                f"{', '.join(map(repr, unknown))} may change what the model computes, and this "
                "version does not know how; name what does not in ignore="
            )

    def _get(self, key: str, default: object) -> object:
        self._read.add(key)
        value = self.entries.get(key)
        if value is not None:
            return value
        if default is None:
            raise self.error(f"{key!r} is missing")
        return default


def as_count(value: object, what: str, least: int = 1) -> int:
    """An option that is an integer from `least` on."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidUsageError(f"{what} must be an integer, not {value!r}")
    number = operator.index(value)
    if number < least:
        raise InvalidUsageError(f"{what} must be at least {least}, not {number}")
    return number


def as_float_dtype(dtype: DTypeLike | str) -> DType:
    """A dtype that models compute in."""
    result = as_dtype(dtype)
    if result not in (fp32, fp16, bf16):
        raise InvalidUsageError(f"dtype must be fp32, fp16 or bf16, not {result}")
    return result


def read_config(folder: str | os.PathLike[str], name: str = "config.json") -> Config:
    """The configuration of a model folder, or what else is there in its form.

    Raises InvalidUsageError where the folder or the file cannot be read, or is no JSON object.
    """
    root = as_path(folder, "the model folder")
    path = root / name
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise InvalidUsageError(f"the model folder {problem}", location=str(root))
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidUsageError(f"the model folder has no {name}", location=str(root)) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidUsageError(f"cannot be read: {reason}", location=str(path)) from None
    if not isinstance(entries, dict):
        raise InvalidUsageError("must hold a JSON object", location=str(path))
    return Config(str(path), cast("dict[str, Any]", entries))
