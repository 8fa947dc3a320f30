"""``ark embed``: computes vectors of texts with an encoder."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError
from ..progress import Progress
from .common import (
    Commands,
    add_command,
    add_compile_options,
    check_model_folder,
    import_models,
    load_model,
    unique,
)

# The lengths of programs are multiples of this number, so that texts of similar lengths use the
# same program in the cache.
_STEP = 32
_BATCH = 8


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "embed",
        "compute vectors of texts",
        'ark embed models/minilm --text "A cat sits outside" --text "A cat is outside"',
        run,
    )
    parser.add_argument(
        "folder", metavar="FOLDER", help="model folder in the format of Hugging Face"
    )
    texts = parser.add_mutually_exclusive_group(required=True)
    texts.add_argument(
        "--text",
        dest="texts",
        metavar="TEXT",
        action="append",
        help="a text; may be repeated. Needs the package tokenizers and the file tokenizer.json in "
        "FOLDER",
    )
    texts.add_argument("--texts", dest="file", metavar="FILE", help="file with a text in each line")
    parser.add_argument(
        "--prompt-name",
        metavar="NAME",
        help="prompt of the model that comes before each text, such as query (default: that of "
        "config_sentence_transformers.json)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT.npy",
        help="write a matrix with a row for each text, instead of printing each as a line of JSON "
        "with `text` and `embedding`",
    )
    parser.add_argument(
        "--bundle",
        metavar="OUT.arkbin",
        help="run the bundle that `ark compile FOLDER -o OUT.arkbin` wrote; needs no compiler",
    )
    add_compile_options(parser)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    import numpy as np

    from ..text import EmbeddingFiles, Tokenizer

    settings = unique(options.settings, "--set")
    if options.bundle is not None:
        given = [f"--set {name}" for name in settings] + ["--target"] * bool(options.target)
        if given:
            raise InvalidUsageError(
                f"{given[0]} cannot be used with a bundle, which is already compiled"
            )
    check_model_folder(options.folder)
    texts = _texts(options)
    files = EmbeddingFiles.read(options.folder)
    prefix = files.prefix(options.prompt_name)
    tokenizer = Tokenizer(options.folder)
    rows = [tokenizer.encode(prefix + text) for text in texts]
    if [] in rows:
        raise InvalidUsageError(
            f"text {rows.index([]) + 1} has no token, so that it has no vector; omit it"
        )
    model = _load(options, settings, max(map(len, rows)), files.length)
    limit = min(model.length, files.length or model.length)
    for number, row in enumerate(rows):
        if len(row) > limit:
            print(
                f"ark: warning: text {number + 1} has {len(row)} tokens; only the first {limit} "
                "count",
                file=sys.stderr,
            )
            rows[number] = tokenizer.encode(prefix + texts[number], length=limit)
    with Progress("embedding"):
        vectors = model.embed(rows)
    if options.output is not None:
        np.save(options.output, vectors)
        return 0
    for text, vector in zip(texts, vectors, strict=True):
        numbers = [float(f"{value:.7g}") for value in vector.tolist()]
        print(json.dumps({"text": text, "embedding": numbers}, ensure_ascii=False))
    return 0


def _texts(options: argparse.Namespace) -> list[str]:
    if options.file is None:
        return options.texts
    try:
        lines = Path(options.file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidUsageError(f"cannot be read: {reason}", location=options.file) from None
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise InvalidUsageError("has no text", location=options.file)
    return texts


def _positions(folder: str, ignore: str) -> int | None:
    """Returns the maximum number of tokens of an encoder's prompt, None for other models."""
    import_models()
    from ..models.config import read_config
    from ..models.encoder_config import ENCODERS, EncoderConfig

    config = replace(read_config(folder), ignored=frozenset(ignore.split(",")))
    if config.word("model_type") not in ENCODERS:
        return None
    return EncoderConfig.read(config).most_tokens


def _load(
    options: argparse.Namespace, settings: dict[str, Any], longest: int, most: int | None
) -> Any:
    """Returns the compiled model, with a length that fits the longest text."""
    chosen: dict[str, Any] = {}
    if options.bundle is not None:
        from ..models import load_compiled

        model: Any = load_compiled(options.folder, options.bundle)
    else:
        positions = _positions(options.folder, str(settings.get("ignore", "")))
        if positions is not None:
            fitting = min(-(-longest // _STEP) * _STEP, positions, most or positions)
            settings.setdefault("length", fitting)
            settings.setdefault("batch", _BATCH)
        model, chosen = load_model(options.folder, settings)
    if not hasattr(model, "embed"):
        raise UnsupportedError(
            "this model is a decoder, which cannot embed text; use `ark generate`",
            location=options.folder,
        )
    if options.bundle is None:
        model.compile(options.target, **chosen)
    return model
