"""A parser for MLIR text and bytecode from untrusted sources.

MLIR's parser and verifiers are not safe for hostile or damaged input: some inputs crash the
process, and some rejected inputs corrupt its heap. ``ark-opt``, which limits time, memory and
stack of MLIR's parser, therefore parses the input first. This process parses only what ``ark-opt``
accepts.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TypeVar

from .. import _mlir_libs, ir  # noqa: TID251 - the reader lies beside the bindings
from ..errors import ArkError, CompileError
from ..tools import run_tool
from .diagnostics import Message, to_error, to_error_of

__all__ = ["parse_file", "parse_text"]

E = TypeVar("E", bound=ArkError)

# The build installs ark-opt beside the bindings.
_READER = Path(str(_mlir_libs.__file__)).parent / "ark-opt"
_FLAGS = ("--mlir-disable-threading", "--mlir-print-op-on-diagnostic=false", "-o", os.devnull)
_LINE = re.compile(r"(?P<file>.*?):(?P<line>\d+):\d+: (?P<kind>error|note): (?P<text>.*)")
_STDIN = "<stdin>"


def parse_text(text: str, kind: type[E] = CompileError) -> ir.Module:
    """Parses MLIR text and returns its module, whose locations name the file ``-``.

    Raises an error of class `kind` if the text does not parse or verify, or crashes MLIR's parser.

    Example:
        >>> parse_text("module {}").operation.name
        'builtin.module'
    """
    _check_in_child(text.encode("utf-8", errors="surrogatepass"), "-", "MLIR text", kind)
    try:
        with ir.Context():
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise to_error(kind, error, location="MLIR text") from None


def parse_file(path: str | os.PathLike[str], kind: type[E] = CompileError) -> ir.Module:
    """Parses a file with MLIR text or bytecode and returns its module; locations name the file.

    Raises an error of class `kind` if the file cannot be read, or on the errors of
    :func:`parse_text`.
    """
    name = os.fspath(path)
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise kind(f"cannot be read: {error.strerror}", location=name) from None
    _check_in_child(data, name, name, kind)
    try:
        with ir.Context():
            return ir.Module.parseFile(name)
    except ir.MLIRError as error:
        raise to_error(kind, error, location=name) from None


def _check_in_child(data: bytes, name: str, where: str, kind: type[ArkError]) -> None:
    """Raises an error of class `kind` if ``ark-opt`` rejects `data`, the content of file `name`."""
    status, output = _read(data)
    if status < 0:
        raise kind(f"ark-opt ended with {signal.Signals(-status).name}", location=where)
    if status > 0:
        raise to_error_of(kind, _messages(output, name), location=where)


def _read(data: bytes) -> tuple[int, str]:
    """Runs ``ark-opt`` on `data`; returns its exit status and its output on stderr.

    ``ark-opt`` reports a crash of MLIR as an error. A negative status is the number of the signal
    that ended ``ark-opt`` itself. Raises CompileError if ``ark-opt`` does not end in time.
    """
    command = [str(_reader()), *_FLAGS]
    done = run_tool(command, data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.returncode, done.stderr.decode("utf-8", errors="replace")


def _reader() -> Path:
    if not _READER.exists():
        raise CompileError(f"the installation is incomplete: {_READER} is missing; reinstall ark")
    return _READER


def _messages(output: str, name: str) -> list[Message]:
    """Returns the messages in the output of ``ark-opt``, without the source lines."""
    messages: list[Message] = []
    for line in output.splitlines():
        if (match := _LINE.match(line)) is None:
            continue
        file = name if match["file"] == _STDIN else match["file"]
        location = f"{file}:{match['line']}" if int(match["line"]) else file
        if match["kind"] == "error" or not messages:
            messages.append(Message(location, match["text"]))
        else:
            messages[-1].notes.append(Message(location, match["text"]))
    return messages or [
        Message(None, output.strip().splitlines()[0] if output.strip() else "refused")
    ]
