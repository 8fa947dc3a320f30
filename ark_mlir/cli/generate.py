"""``ark generate``: generates tokens with a decoder."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from ..errors import DeviceError, InvalidUsageError, UnsupportedError
from ..progress import Progress
from .common import (
    Commands,
    add_command,
    add_compile_options,
    add_devices_option,
    count,
    load_model,
    unique,
)
from .tokenizer import Tokenizer


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "generate",
        "generate tokens that continue a prompt",
        "ark generate models/llama --prompt-ids 1,2,3 --max-new-tokens 16",
        run,
    )
    parser.add_argument(
        "folder", metavar="FOLDER", help="model folder in the format of Hugging Face"
    )
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt-ids", metavar="1,2,3", type=token_ids, help="prompt as token ids")
    prompt.add_argument(
        "--prompt",
        metavar="TEXT",
        help="prompt as text, and the output as text, too; needs the package tokenizers and the "
        "file tokenizer.json in FOLDER",
    )
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=count,
        default=16,
        help="maximum number of tokens to generate (default: 16)",
    )
    parser.add_argument(
        "--stop",
        metavar="1,2",
        type=token_ids,
        help="end-of-text token ids (default: those of the model)",
    )
    parser.add_argument(
        "--temperature",
        metavar="T",
        type=float,
        default=0.0,
        help="sampling temperature; 0 is greedy decoding (default: 0)",
    )
    parser.add_argument(
        "--top-k", metavar="K", type=int, help="top-k sampling: keep the K most probable tokens"
    )
    parser.add_argument(
        "--top-p",
        metavar="P",
        type=float,
        help="nucleus sampling: keep the most probable tokens up to cumulative probability P",
    )
    parser.add_argument("--seed", metavar="S", type=int, help="random seed (default: 0)")
    parser.add_argument(
        "--tensor-parallel",
        metavar="N",
        type=count,
        help="number of ranks that share the model: GPUs of this process, or processes that "
        "torchrun or mpirun has started (default: 1)",
    )
    add_devices_option(parser)
    parser.add_argument(
        "--report",
        action="store_true",
        help="print tokens per second to stderr even if it is not a terminal",
    )
    add_compile_options(parser)


def token_ids(text: str) -> list[int]:
    """Parses token ids separated by commas, for argparse."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers and commas, got {text!r}") from None


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..distributed import init
    from ..distributed.launcher import is_launched

    settings = unique(options.settings, "--set")
    if options.temperature:
        settings.setdefault("sampling", True)
    elif chance := [
        name for name in ("top_k", "top_p", "seed") if getattr(options, name) is not None
    ]:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in chance)
        raise InvalidUsageError(f"{flags}: sampling needs --temperature")
    if options.tensor_parallel is not None:
        if "tensor_parallel" in settings:
            raise InvalidUsageError("--tensor-parallel and --set tensor_parallel are both given")
        settings["tensor_parallel"] = options.tensor_parallel
    if settings.get("tensor_parallel", 1) == 1 or not is_launched():
        _generate(options, settings)
        return 0
    with init() as world:
        _generate(options, settings, prints=world.rank == 0)
    return 0


def _generate(
    options: argparse.Namespace, settings: dict[str, Any], *, prints: bool = True
) -> None:
    tokenizer, prompt = None, options.prompt_ids
    if options.prompt is not None:
        tokenizer = Tokenizer(options.folder)
        prompt = tokenizer.encode(options.prompt)
    model, chosen = load_model(options.folder, settings)
    if not hasattr(model, "generate"):
        raise UnsupportedError("this model cannot generate text", location=options.folder)
    if options.devices is not None:
        chosen["devices"] = options.devices
    model.compile(options.target, **chosen)

    def reached() -> str:
        # Some devices cannot be queried by another thread while a kernel runs.
        with contextlib.suppress(DeviceError):
            return f", token {model.reached}"
        return ""

    with Progress("generating", reached):
        tokens = model.generate(
            prompt,
            options.max_new_tokens,
            stop=options.stop,
            temperature=options.temperature,
            top_k=options.top_k or 0,
            top_p=1.0 if options.top_p is None else options.top_p,
            seed=options.seed or 0,
        )
    if not prints:  # all ranks have the same tokens
        return
    if options.report or sys.stderr.isatty():
        print(f"ark: {model.timing}", file=sys.stderr)
    print(",".join(map(str, tokens)) if tokenizer is None else tokenizer.decode(tokens))
