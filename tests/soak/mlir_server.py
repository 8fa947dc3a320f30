"""Runs ark-opt many times through a server process that forks for every input."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import Self

__all__ = ["Outcome", "Server"]

# The limit of a run's processor time, and the limit that ark-opt gets for reading. Sanitizers
# multiply processor time.
_CPU_SECONDS = 5.0
_SANITIZED_CPU_SECONDS = 15.0
# The limit for a run that waits without end. A run of low priority takes minutes on a busy machine.
_WALL_SECONDS = 600.0
_MEMORY_BYTES = 4 << 30
# The path is relative to the server's folder: bytecode holds the name of its file, and an input
# must be the same in every folder.
_INPUT = "input.mlir"
_SANITIZER_STATUS = 99
_POLL_SECONDS = 0.1  # a run allocates less than a gigabyte between two looks at its memory
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ENVIRONMENT = {
    # Allocations of MLIR and LLVM are not instrumented, so containers passed between them and ark
    # look corrupt. Their code lacks frame pointers, which the fast unwinder needs.
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:detect_odr_violation=0:"
    "allow_user_poisoning=0"
    f":exitcode={_SANITIZER_STATUS}:symbolize=0:allocator_may_return_null=0"
    ":fast_unwind_on_fatal=0:max_allocation_size_mb=4096:handle_abort=1",
    "UBSAN_OPTIONS": f"halt_on_error=1:print_stacktrace=1:symbolize=0:exitcode={_SANITIZER_STATUS}",
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of ark-opt.

    Attributes:
        status: the exit status, or None if a signal ended the run.
        signal: the signal that ended the run, or None.
        hung: True if the run was stopped because it took too long.
        result: the standard output.
        stderr: the standard error.
    """

    status: int | None
    signal: int | None
    hung: bool
    stderr: str
    result: bytes

    @property
    def sanitized(self) -> bool:
        """True if a sanitizer ended the run."""
        return self.status == _SANITIZER_STATUS


class Server:
    """A server of a build tree; a context manager.

    Args:
        program: ``ark-opt-server``.
        scratch: a folder for inputs and outputs.
    """

    def __init__(self, program: Path, scratch: Path) -> None:
        self._input = scratch / _INPUT
        self._stderr, self._result = scratch / "stderr", scratch / "result"
        self._cpu_seconds = _SANITIZED_CPU_SECONDS if _is_sanitized(program) else _CPU_SECONDS
        self._process = subprocess.Popen(
            [str(program.absolute())],
            cwd=scratch,  # some passes write files
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ENVIRONMENT},
            preexec_fn=lambda: _limit(program),
        )
        self._answers = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(self, data: bytes, arguments: Sequence[str], *, guarded: bool = False) -> Outcome:
        """Runs ark-opt on a file with `data`.

        Without a guard, a crash of MLIR ends the run, and its stack is in the outcome. With the
        guard that ark-opt has by default, a crash is an error.
        """
        guard = f"--ark-read-seconds={int(self._cpu_seconds)}" if guarded else "--ark-guard=false"
        self._input.write_bytes(data)
        words = [str(self._result), str(self._stderr), _INPUT, guard, *arguments]
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(words).encode() + b"\n")
        self._process.stdin.flush()
        process = int(self._answer())
        hung = not (self._wait_for_guard if guarded else self._wait)(process)
        status = int(self._answer())
        exited = os.WIFEXITED(status)
        return Outcome(
            os.WEXITSTATUS(status) if exited else None,
            None if exited else os.WTERMSIG(status),
            hung,
            self._stderr.read_bytes().decode("utf-8", errors="replace"),
            self._result.read_bytes(),
        )

    def _wait(self, process: int) -> bool:
        """Returns True if a run ends in time; stops a run that exceeds its time or its memory."""
        deadline = time.monotonic() + _WALL_SECONDS
        while not self._has_answer(_POLL_SECONDS):
            if _resident_bytes(process) > _MEMORY_BYTES:
                self._stop(process)
                return True  # a crash, as a failed allocation is
            if time.monotonic() > deadline or _cpu_seconds(process) > self._cpu_seconds:
                self._stop(process)
                return False
        return True

    def _wait_for_guard(self, process: int) -> bool:
        """Returns True if a run whose limits ark-opt applies ends; stops one that does not.

        Ends a worker that exceeds its memory, as the kernel does.
        """
        deadline = time.monotonic() + _WALL_SECONDS
        while not self._has_answer(_POLL_SECONDS):
            for worker in _children(process):
                if _resident_bytes(worker) > _MEMORY_BYTES:
                    os.kill(worker, signal.SIGKILL)
            if time.monotonic() > deadline:
                self._stop(process)
                return False
        return True

    def _stop(self, process: int) -> None:
        """Ends a run, which prints its stack if it can."""
        os.kill(process, signal.SIGABRT)
        if not self._has_answer(_WALL_SECONDS):
            os.kill(process, signal.SIGKILL)

    def _has_answer(self, seconds: float) -> bool:
        assert self._process.stdout is not None
        return b"\n" in self._answers or bool(
            select.select([self._process.stdout], [], [], seconds)[0]
        )

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._answers:
            more = os.read(self._process.stdout.fileno(), 4096)
            if not more:
                raise RuntimeError("ark-opt-server ended")
            self._answers += more
        line, self._answers = self._answers.split(b"\n", 1)
        return line


def _is_sanitized(program: Path) -> bool:
    return "asan" in str(program)


def _limit(program: Path) -> None:
    """Limits the addresses, except with a sanitizer, which reserves terabytes of them.

    The limit on resident memory (``Server._wait``) holds for sanitizers, too. AddressSanitizer's
    own limit would not: the thread that applies it does not survive the fork of a run.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not _is_sanitized(program):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []
    return [int(child) for child in text.split()]


def _resident_bytes(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0
    return int(pages) * _PAGE_BYTES
