"""``ark train``: trains a decoder on text, or an encoder on pairs of sentences."""

from __future__ import annotations

import argparse
import dataclasses

from .common import Commands, add_command, count


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "train",
        "train a decoder on text or an encoder on pairs, with many steps in one launch",
        "ark train gpt.toml -o trained --plot loss.html; ark generate trained --prompt-ids 72,105",
        run,
    )
    parser.add_argument(
        "config", metavar="CONFIG", help="configuration in TOML or JSON: model, data, train"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        required=True,
        help="folder for the model and the states of the training",
    )
    parser.add_argument("--resume", action="store_true", help="resume the training in FOLDER")
    parser.add_argument(
        "--steps",
        metavar="N",
        type=count,
        help="total number of steps (default: the number in CONFIG)",
    )
    parser.add_argument("--target", metavar="T", help="target (default: the target in CONFIG)")
    parser.add_argument(
        "--explain", action="store_true", help="name the op that made a loss NaN or infinite"
    )
    parser.add_argument("--plot", metavar="OUT.html", help="write the curve of the loss as a page")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    from ..training import read_config, train

    config = read_config(options.config)
    if options.target is not None:
        config = dataclasses.replace(config, target=options.target)
    if options.steps is not None:
        config = dataclasses.replace(
            config, steps=options.steps, warmup=min(config.warmup, options.steps - 1)
        )
    losses = train(
        config, options.output, resume=options.resume, explain=options.explain, plot=options.plot
    )
    print(f"{len(losses)} steps; loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(options.output)
    if options.plot is not None:
        print(options.plot)
    return 0
