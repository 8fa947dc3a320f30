"""``ark generate``: tokens from a decoder."""

from __future__ import annotations

import argparse

from ..errors import UnsupportedError
from .common import Commands, add_command, add_compile_options, count, progress, the_models, unique


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "generate",
        "continue a prompt with a model from a folder",
        "ark generate models/llama --prompt-ids 1,2,3 --max-new-tokens 16",
        run,
    )
    parser.add_argument("folder", metavar="FOLDER", help="a model folder of Hugging Face's layout")
    parser.add_argument(
        "--prompt-ids", metavar="1,2,3", type=token_ids, required=True, help="the prompt's tokens"
    )
    parser.add_argument("--max-new-tokens", metavar="N", type=count, default=16, help="default 16")
    parser.add_argument("--stop", metavar="ID", type=int, help="a token that ends the text")
    add_compile_options(parser)


def token_ids(text: str) -> list[int]:
    """Tokens separated by commas, for argparse."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers and commas, got {text!r}") from None


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    with progress(f"reading {options.folder}"):
        model = the_models().load(options.folder, **unique(options.settings, "--set"))
    if not hasattr(model, "generate"):
        raise UnsupportedError("this model has no text to generate", location=options.folder)
    model.compile(options.target)
    with progress("generating"):
        tokens = model.generate(options.prompt_ids, options.max_new_tokens, stop=options.stop)
    print(",".join(map(str, tokens)))
    return 0
