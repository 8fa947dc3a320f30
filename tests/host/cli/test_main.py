"""Properties of all commands: help, exit status, the form of messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ark_mlir import knobs
from ark_mlir.cli.main import COMMANDS, make_parser
from ark_mlir.progress import Progress

Ark = Callable[..., Any]
NAMES = (
    "compile",
    "run",
    "generate",
    "info",
    "embed",
    "serve",
    "check",
    "show",
    "simulate",
    "bench",
    "profile",
    "tune",
    "schedule",
    "sign",
    "train",
    "env",
    "doctor",
)


def test_every_command_has_help(ark: Ark) -> None:
    assert len(COMMANDS) == len(NAMES)
    for name in NAMES:
        result = ark(name, "--help")
        assert result.status == 0
        assert result.out.startswith(f"usage: ark {name}")
        assert "example: ark " + name in result.out
        assert result.err == ""


def test_help_and_version(ark: Ark) -> None:
    result = ark("--help")
    assert result.status == 0
    assert all(name in result.out for name in NAMES)
    assert ark("--version").out.startswith("ark 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("frobnicate",),
        ("run",),
        ("run", "a", "b"),
        ("sign", "a"),
        ("sign", "--key", "k.pem"),
        ("sign", "a", "--generate", "k.pem"),
        ("sign", "a", "--generate", "k.pem", "--key", "k.pem"),
        ("run", "a", "--inp", "x=y"),
        ("run", "a", "--input", "x"),
        ("run", "a", "--input", "=y"),
        ("run", "a", "--iterations", "0"),
        ("run", "a", "--iterations", "many"),
        ("compile", "a.mlir"),
        ("compile", "a.mlir", "-o", "b", "--set", "scheduler"),
        ("generate", "folder"),
        ("generate", "folder", "--prompt-ids", "one,two"),
        ("generate", "folder", "--prompt-ids", "1", "--prompt", "one"),
        ("generate", "folder", "--prompt-ids", "1", "--tensor-parallel", "0"),
        ("generate", "folder", "--prompt-ids", "1", "--devices", "0,-1"),
        ("env", "--yaml"),
    ],
)
def test_wrong_usage_exits_with_2(ark: Ark, arguments: tuple[str, ...]) -> None:
    result = ark(*arguments)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("ark: error: ")
    assert re.search(r"; `ark.* --help` shows the usage\n$", result.err)
    assert len(result.err.splitlines()) == 1


def test_the_reason_for_refused_devices(ark: Ark) -> None:
    arguments = ("generate", "folder", "--prompt-ids", "1", "--devices")
    assert "expected numbers, such as 0,1" in ark(*arguments, "one").err


def test_a_misspelt_command_has_a_suggestion(ark: Ark) -> None:
    assert "there is no command 'compil' (did you mean 'compile'?)" in ark("compil", "a").err


def test_errors_exit_with_1_and_one_message(ark: Ark, tmp_path: Path) -> None:
    (tmp_path / "b.arkbin").write_bytes(b"PK\3\4" * 100)
    for name in ("run", "bench", "show"):
        for file in ("b.arkbin", "missing.arkbin", "."):
            result = ark(name, file)
            assert result.status == 1
            assert result.err.startswith("ark: error: ")
            assert len(result.err.splitlines()) == 1


def test_an_internal_error_is_one_line(ark: Ark, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("ark_mlir.cli.env.collect", broken)
    result = ark("env")
    assert (result.status, len(result.err.splitlines())) == (1, 1)
    assert "internal error, please report it: ZeroDivisionError: oh" in result.err
    with knobs.scope(ARK_LOG_LEVEL="debug"):
        assert "Traceback" in ark("env").err


def test_an_invalid_environment_variable_is_an_error(ark: Ark) -> None:
    with knobs.scope(ARK_LOG_LEVEL="loud"):
        result = ark("env")
    assert result.status == 1
    assert "'loud' is not a value of ARK_LOG_LEVEL" in result.err


def test_ctrl_c(ark: Ark, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ark_mlir.cli.env.collect", interrupted)
    result = ark("env")
    assert (result.status, result.err) == (130, "ark: interrupted\n")


def test_ctrl_c_while_it_loads() -> None:
    script = """
import sys
import ark_mlir.cli

class Interrupts:
    @staticmethod
    def find_spec(name, *_):
        if name == "ark_mlir.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts)
sys.exit(ark_mlir.cli.main(["env"]))
"""
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stderr) == (130, "ark: interrupted\n")


def test_a_closed_pipe_gives_no_traceback() -> None:
    """The pipe is closed early, as in ``ark env | head -1``."""
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "ark_mlir.cli", "env"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert process.stderr == ""


def test_env(ark: Ark) -> None:
    result = ark("env")
    assert result.status == 0
    for word in ("python", "numpy", "cores", "ARK_TIMEOUT", "ARK_TARGET", "processor"):
        assert word in result.out
    with knobs.scope(ARK_TIMEOUT="-1"):
        found = json.loads(ark("env", "--json").out)
    assert "error" in found["variables"]["ARK_TIMEOUT"]
    assert set(found) == {
        "ark", "python", "machine", "gpus", "targets", "assembler", "cache", "variables"
    }  # fmt: skip
    assert set(found["targets"]) == {"cpu", "cuda", "hip"}


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("env --json", 0, '"compiler": "not installed'),
        ("env", 0, "none: the compiler is not installed"),
        ("compile net.mlir -o net.arkbin", 1, "the compiler is not installed here"),
        ("check net.mlir", 1, "the compiler is not installed here"),
        ("schedule net.mlir -o schedule.mlir", 1, "the compiler is not installed here"),
        ("show net.mlir -o net.html", 1, "the compiler is not installed here"),
        ("tune net.mlir", 1, "the compiler is not installed here"),
    ],
)
def test_a_machine_without_the_compiler(
    command: str, status: int, says: str, tmp_path: Path
) -> None:
    """Commands that only read or run bundles work without the compiler."""
    (tmp_path / "net.mlir").write_text("ark.program @net() {}")
    script = (
        "import sys; sys.modules['ark_mlir._mlir_libs'] = None\n"
        "from ark_mlir.cli import main; raise SystemExit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert says in text
    assert "internal error" not in text
    assert done.returncode == status


def test_progress_only_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("waiting"):
        time.sleep(1.2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("quick"):
        pass
    with Progress("in the background", shown=False):
        time.sleep(1.2)
    assert capsys.readouterr().err == ""
    text = ""
    with Progress("waiting", lambda: ", token 3") as progress:
        progress.step("first")
        while not re.search(r"ark: waiting: first … \d+ s, token 3$", text):
            time.sleep(0.05)
            text += capsys.readouterr().err
        progress.step("second")
        text = capsys.readouterr().err
        assert "ark: waiting: second … 1 s" in text, "a step is shown at once"
    text += capsys.readouterr().err
    assert text.endswith("\r\x1b[K"), "the line is cleared"


def test_starting_is_quick_and_light() -> None:
    """``ark --help`` must load neither numpy nor a compiler."""
    script = (
        "import sys; from ark_mlir.cli import main; main(['--help']);"
        "heavy = {'numpy', 'ml_dtypes', 'ark_mlir.ir', 'ark_mlir.compiler', 'ark_mlir.models'};"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_python_runs_the_package() -> None:
    for module in ("ark_mlir", "ark_mlir.cli"):
        result = subprocess.run(
            [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
        )
        assert result.stdout.startswith("ark 0.")


def test_the_parser_can_be_made_many_times() -> None:
    assert make_parser().prog == make_parser().prog == "ark"
