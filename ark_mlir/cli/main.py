"""``ark``: the parser of the command line, and the conversion of errors to exit statuses."""

from __future__ import annotations

import argparse
import difflib
import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import NoReturn

from .. import knobs
from ..errors import ArkError, UnprovenWarning
from . import (
    bench,
    check,
    compile_,
    doctor,
    embed,
    env,
    generate,
    info,
    profile,
    run,
    schedule,
    serve,
    show,
    sign,
    simulate,
    train,
    tune,
)

COMMANDS = (
    compile_,
    run,
    generate,
    embed,
    info,
    serve,
    check,
    schedule,
    show,
    simulate,
    sign,
    bench,
    profile,
    tune,
    train,
    env,
    doctor,
)

EPILOG = """\
exit status: 0 on success, 1 on an error, 2 on wrong usage.
`ark env` lists the environment variables, such as ARK_TARGET and ARK_TIMEOUT.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status.

    Example:
        >>> main(["check", "schedule.mlir"])
        mlp on cpu:2: proven; 1 task, ...
        0
    """
    parser = make_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as error:  # argparse has printed the help, the version or the error
        return int(error.code or 0)
    try:
        logging.basicConfig(format="ark: %(levelname)s: %(message)s")
        logging.getLogger("ark").setLevel(knobs.LOG_LEVEL.get().upper())
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnprovenWarning)
            warnings.showwarning = show_warning
            return options.run(options)
    except SystemExit as error:  # a command has reported wrong usage
        return int(error.code or 0)
    except ArkError as error:
        return fail(str(error))
    except BrokenPipeError:
        # The reader closed the pipe. The flush at exit must not fail on the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        print("ark: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return bug(error)


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands."""
    parser = _Parser(
        prog="ark",
        description="Compile tensor programs into persistent kernels and run them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=env.version_line())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser whose errors have the same form as all other errors; subparsers inherit it."""

    def error(self, message: str) -> NoReturn:
        # One line: the usage of a command has up to ten lines, in which the error is lost.
        if found := _WRONG_COMMAND.match(message):
            message = f"there is no command {found[1]!r}"
            if close := difflib.get_close_matches(found[1], _names()):
                message += f" (did you mean {close[0]!r}?)"
        self.exit(2, f"ark: error: {message}; `{self.prog} --help` shows the usage\n")


_WRONG_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*?)' \(")


def _names() -> list[str]:
    """Returns the names of all commands."""
    return [command.__name__.rpartition(".")[2].rstrip("_") for command in COMMANDS]


def fail(message: str) -> int:
    """Prints an error message and returns the exit status."""
    print(f"ark: error: {message}", file=sys.stderr)
    return 1


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning on one line."""
    print(f"ark: warning: {message}", file=sys.stderr)


def bug(error: Exception) -> int:
    """Prints the message of an unexpected exception, and returns the exit status.

    The traceback is printed at the log level debug.
    """
    if os.environ.get("ARK_LOG_LEVEL", "").lower() == "debug":
        traceback.print_exception(error)
    return fail(
        f"internal error, please report it: {type(error).__name__}: {error} "
        "(ARK_LOG_LEVEL=debug shows the traceback)"
    )
