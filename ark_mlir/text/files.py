"""Files of sentence-transformers that define how an encoder computes vectors of sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InvalidUsageError, UnsupportedError
from ..json_checks import Document, Node, parse_json
from ..typing import Pooling

__all__ = ["EmbeddingFiles"]

# Poolings by their names in 1_Pooling/config.json; all others are refused.
_POOLINGS: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
}
_KNOWN: dict[str, Pooling] = {"mean": "mean", "cls": "cls"}


@dataclass(frozen=True)
class EmbeddingFiles:
    """The settings of the files of sentence-transformers; the defaults hold without files.

    Attributes:
        pooling: ``mean`` or ``cls``.
        normalize: True if vectors have length one.
        length: maximum number of tokens of a prompt, or None.
        prompts: texts by name that come before a text, such as ``query:``.
        default_prompt: the name of the prompt that is used unless another one is chosen, or None.

    Example:
        >>> from ark_mlir.text import EmbeddingFiles
        >>> EmbeddingFiles.read(text_folder).pooling
        'mean'
    """

    pooling: Pooling = "mean"
    normalize: bool = True
    length: int | None = None
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    default_prompt: str | None = None

    @classmethod
    def read(cls, folder: str) -> EmbeddingFiles:
        """Reads the files of a model `folder`.

        Raises InvalidUsageError if a file is malformed, and UnsupportedError if it names a pooling
        or a layer that ark does not have.
        """
        root = Path(folder)
        modules = _read(root / "modules.json")
        if modules is None:
            return cls()
        kinds = {item["type"].text().split(".")[-1]: item for item in modules.items()}
        extra = set(kinds) - {"Transformer", "Pooling", "Normalize"}
        if extra:
            raise UnsupportedError(
                f"modules.json has {', '.join(sorted(extra))} after the encoder, which ark does "
                "not support",
                location=folder,
            )
        pooling: Pooling = "mean"
        if "Pooling" in kinds:
            path = root / kinds["Pooling"]["path"].text()
            pooling = _pooling(_read(path / "config.json"), str(path))
        length = _read(root / "sentence_bert_config.json")
        named = _read(root / "config_sentence_transformers.json")
        prompts, default = _prompts(named)
        return cls(pooling, "Normalize" in kinds, _length(length), prompts, default)

    def prefix(self, name: str | None) -> str:
        """Returns the text before a text, of the prompt `name` or of the default one.

        Raises InvalidUsageError if there is no prompt of this name.

        Example:
            >>> EmbeddingFiles.read(text_folder).prefix("query")
            'query: '
        """
        chosen = self.default_prompt if name is None else name
        if chosen is None:
            return ""
        if chosen not in self.prompts:
            known = ", ".join(self.prompts) or "none"
            raise InvalidUsageError(f"the model has no prompt {chosen!r}; it has {known}")
        return self.prompts[chosen]


def _read(path: Path) -> Node | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=str(path)) from None
    return parse_json(content, Document(str(path), "", InvalidUsageError))


def _pooling(config: Node | None, where: str) -> Pooling:
    if config is None:
        raise InvalidUsageError("has no config.json, which modules.json needs", location=where)
    entries = config.mapping()
    if isinstance(entries.get("pooling_mode"), str):  # newer files
        chosen = [config["pooling_mode"].text()]
        poolings = _KNOWN
    else:
        modes = [key for key in entries if key.startswith("pooling_mode_")]
        chosen = [key for key in modes if entries[key] is True]
        poolings = _POOLINGS
    if len(chosen) != 1 or chosen[0] not in poolings:
        raise UnsupportedError(
            f"pooling {', '.join(chosen) or 'none'} is not supported; known are mean and cls",
            location=where,
        )
    return poolings[chosen[0]]


def _length(config: Node | None) -> int | None:
    if config is None or config.mapping().get("max_seq_length") is None:
        return None
    return config["max_seq_length"].integer(1)


def _prompts(config: Node | None) -> tuple[dict[str, str], str | None]:
    if config is None:
        return {}, None
    entries = config.mapping()
    prompts: dict[str, str] = {}
    if entries.get("prompts") is not None:
        section = config["prompts"]
        prompts = {name: section[name].text(empty=True) for name in section.names()}
    default = entries.get("default_prompt_name")
    return prompts, None if default is None else config["default_prompt_name"].text()
