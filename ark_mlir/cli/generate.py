"""``ark generate``: generates tokens or text with a decoder."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import DeviceError, InvalidUsageError, UnsupportedError
from ..progress import Progress
from .common import (
    Commands,
    add_command,
    add_compile_options,
    add_devices_option,
    check_model_folder,
    count,
    device_options,
    import_compiler,
    load_model,
    unique,
)

# Number of rows of a batch unless --batch is given: more rows take more memory for the caches.
_MOST_ROWS = 8


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "generate",
        "generate tokens or text that continue a prompt",
        'ark generate models/llama --chat --prompt "Why is the sky blue?" --max-new-tokens 64',
        run,
    )
    parser.add_argument(
        "folder", metavar="FOLDER", help="model folder in the format of Hugging Face"
    )
    # A prompt in this place is an error that names the option.
    parser.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)
    _add_prompts(parser)
    parser.add_argument(
        "--bundle",
        metavar="OUT.arkbin",
        help="run the bundles that `ark compile FOLDER -o OUT.arkbin` wrote; needs no compiler",
    )
    _add_choices(parser)
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
        help="print the time to the first token and the tokens per second to stderr even if it is "
        "not a terminal",
    )
    add_compile_options(parser)


def _add_prompts(parser: argparse.ArgumentParser) -> None:
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt-ids", metavar="1,2,3", type=token_ids, help="prompt as token ids")
    prompt.add_argument(
        "--prompt",
        metavar="TEXT",
        help="prompt as text; the new text is printed while it is generated. Needs the package "
        "tokenizers and the file tokenizer.json in FOLDER",
    )
    prompt.add_argument(
        "--prompts",
        metavar="FILE",
        help="file with a prompt in each line; the prompts run in batches, and each result is a "
        "line of JSON with `prompt` and `text`",
    )
    parser.add_argument(
        "--batch",
        metavar="N",
        type=count,
        help="number of prompts of --prompts that run at once (default: all, up to 8; with "
        "--bundle, that of the bundle)",
    )
    parser.add_argument(
        "--chat",
        action="store_true",
        help="pass the prompt as a user's message through the chat template of FOLDER; needs the "
        "package jinja2",
    )
    parser.add_argument("--system", metavar="TEXT", help="system message before the prompt")


def _add_choices(parser: argparse.ArgumentParser) -> None:
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
        "--stop-text",
        metavar="TEXT",
        type=stop_text,
        action="append",
        default=[],
        help="text before which the new text ends; may be repeated",
    )
    parser.add_argument(
        "--temperature",
        metavar="T",
        type=temperature,
        default=0.0,
        help="sampling temperature from 0 to 2; 0 is greedy decoding (default: 0)",
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


def token_ids(text: str) -> list[int]:
    """Parses token ids separated by commas, for argparse."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers and commas, got {text!r}") from None


def temperature(text: str) -> float:
    """Parses a sampling temperature, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 2, got {text!r}")
    return value


def stop_text(text: str) -> str:
    """Returns a stop string, for argparse; an empty one would end every text at its start."""
    if not text:
        raise argparse.ArgumentTypeError("expected a text, got an empty one")
    return text


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..distributed import init
    from ..distributed.launcher import is_launched

    settings = unique(options.settings, "--set")
    if (status := _check_prompt(options)) is not None:
        return status
    _check_options(options, settings)
    if settings.get("tensor_parallel", 1) == 1 or not is_launched():
        _generate(options, settings)
        return 0
    with init() as world:
        _generate(options, settings, prints=world.rank == 0)
    return 0


def _check_prompt(options: argparse.Namespace) -> int | None:
    """Prints an error and returns the exit status of wrong usage unless there is one prompt."""
    if options.words:
        words = " ".join(options.words)
        problem = f"{words!r} is no option; a prompt is text, --prompt {shlex.quote(words)}, or ids"
    elif (options.prompt_ids, options.prompt, options.prompts) == (None, None, None):
        problem = "there is no prompt"
    else:
        return None
    print(
        f"ark: error: {problem}; give one of --prompt TEXT, --prompt-ids 1,2,3 and --prompts FILE; "
        "`ark generate --help` shows the usage",
        file=sys.stderr,
    )
    return 2


def _check_options(options: argparse.Namespace, settings: dict[str, Any]) -> None:
    """Completes the settings; raises InvalidUsageError if options contradict each other."""
    if options.temperature:
        if options.bundle is None:
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
    if options.prompt_ids is not None:
        for flag, value in (("--chat", options.chat), ("--stop-text", options.stop_text)):
            if value:
                raise InvalidUsageError(f"{flag} needs a prompt as text")
    if options.batch is not None:
        _check_batch(options, settings)
    if options.system is not None and not options.chat:
        raise InvalidUsageError("--system needs --chat")
    if options.bundle is not None:
        given = [f"--set {name}" for name in settings] + ["--target"] * bool(options.target)
        if given:
            raise InvalidUsageError(
                f"{given[0]} cannot be used with a bundle, which is already compiled"
            )


def _check_batch(options: argparse.Namespace, settings: dict[str, Any]) -> None:
    if options.prompts is None:
        raise InvalidUsageError("--batch needs the prompts of a file, --prompts FILE")
    if options.bundle is not None:
        raise InvalidUsageError(
            "--batch cannot be used with a bundle, which is already compiled: compile it with "
            f"--set batch={options.batch}"
        )
    if "batch" in settings:
        raise InvalidUsageError("--batch and --set batch are both given")


def _generate(
    options: argparse.Namespace, settings: dict[str, Any], *, prints: bool = True
) -> None:
    prompts = _prompts(options)  # before the model, which takes longer
    check_model_folder(options.folder)
    if options.prompt_ids is None:
        _check_packages(options)
    if options.prompts is not None and options.bundle is None:
        settings.setdefault("batch", options.batch or min(len(prompts), _MOST_ROWS))
    model = _load(options, settings)
    choice = _choice(options)
    reports = prints and (options.report or sys.stderr.isatty())

    def finish() -> None:
        if reports:
            print(f"ark: {model.timing}", file=sys.stderr)

    if options.prompt_ids is not None:
        with Progress("generating", lambda: _reached(model)):
            tokens = model.generate(options.prompt_ids, options.max_new_tokens, **choice)
        finish()
        if prints:  # all ranks have the same tokens
            print(",".join(map(str, tokens)))
        return
    if options.prompts is not None:
        _run_file(model, prompts, options, choice, prints)
    else:
        deltas = model.stream(_messages(prompts[0], options), options.max_new_tokens, **choice)
        _print_deltas(deltas, prints)
    finish()


def _run_file(
    model: Any,
    prompts: list[str],
    options: argparse.Namespace,
    choice: dict[str, Any],
    prints: bool,
) -> None:
    """Prints a line of JSON for each prompt of a file, after each batch."""
    messages = [_messages(prompt, options) for prompt in prompts]
    answers = model.stream_batch(messages, options.max_new_tokens, **choice)
    for prompt, text in zip(prompts, answers, strict=True):
        if prints:
            print(json.dumps({"prompt": prompt, "text": text}, ensure_ascii=False), flush=True)


def _print_deltas(deltas: Iterator[str], prints: bool) -> None:
    for delta in deltas:
        if prints:
            print(delta, end="", flush=True)
    if prints:
        print()


def _prompts(options: argparse.Namespace) -> list[str]:
    """Returns the prompts that are texts."""
    if options.prompt is not None:
        return [options.prompt]
    if options.prompts is None:
        return []
    try:
        lines = Path(options.prompts).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidUsageError(f"cannot be read: {reason}", location=options.prompts) from None
    prompts = [line for line in lines if line.strip()]
    if not prompts:
        raise InvalidUsageError("has no prompt", location=options.prompts)
    return prompts


def _check_packages(options: argparse.Namespace) -> None:
    """Raises an error if text cannot be read, before the model is loaded and compiled."""
    from ..text import ChatTemplate, Tokenizer

    Tokenizer(options.folder)
    if options.chat:
        ChatTemplate(options.folder)


def _messages(prompt: str, options: argparse.Namespace) -> Any:
    if not options.chat:
        return prompt
    system = [] if options.system is None else [{"role": "system", "content": options.system}]
    return [*system, {"role": "user", "content": prompt}]


def _choice(options: argparse.Namespace) -> dict[str, Any]:
    """Returns the keywords of `generate`."""
    stop: list[Any] | None = options.stop
    if options.stop_text:
        stop = [*(stop or ()), *options.stop_text]
    return {
        "stop": stop,
        "temperature": options.temperature,
        "top_k": options.top_k or 0,
        "top_p": 1.0 if options.top_p is None else options.top_p,
        "seed": options.seed or 0,
    }


def _load(options: argparse.Namespace, settings: dict[str, Any]) -> Any:
    """Returns the compiled model."""
    chosen: dict[str, Any] = {}
    placement = device_options(options)
    if options.bundle is not None:
        with Progress(f"reading {options.bundle}"):
            from ..models import load_compiled

            model: Any = load_compiled(options.folder, options.bundle, **placement)
    else:
        _refuse_encoder(options.folder)
        model, chosen = load_model(options.folder, settings)
        chosen |= placement
    if not hasattr(model, "generate"):
        raise _encoder_error(options.folder)
    if options.bundle is None:
        model.compile(options.target, **chosen)
    return model


def _refuse_encoder(folder: str) -> None:
    """Raises UnsupportedError for the folder of an encoder, before its weights are read."""
    try:
        config = json.loads((Path(folder) / "config.json").read_bytes())
    except (OSError, ValueError):  # the loader raises the error
        return
    if isinstance(config, dict) and "model_type" in config:
        import_compiler()  # raises a clear error where it is not installed
        from ..models.encoder_config import ENCODERS

        if config["model_type"] in ENCODERS:
            raise _encoder_error(folder)


def _encoder_error(folder: str) -> UnsupportedError:
    return UnsupportedError(
        "this model is an encoder, which cannot generate text; use `ark embed`", location=folder
    )


def _reached(model: Any) -> str:
    # Some devices cannot be queried by another thread while a kernel runs.
    with contextlib.suppress(DeviceError):
        return f", token {model.reached}"
    return ""
