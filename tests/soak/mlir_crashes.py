"""Groups crashes by their cause: the innermost frames of a stack."""

from __future__ import annotations

import functools
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlir_server import Outcome

__all__ = ["Causes", "Crash", "find_crash", "is_contained"]

_KNOWN = Path(__file__).with_name("upstream_crashes.txt")
_FRAME = re.compile(r"#\d+ 0x[0-9a-f]+ (?:in )?.*?\((\S*?/\S+?)\+0x([0-9a-f]+)\)")
_SIGNAL_FRAMES = ("PrintStackTrace", "RunSignalHandlers", "SignalHandler")
_SYSTEM = re.compile(r"lib(c|m|stdc\+\+|gcc_s|pthread|clang_rt\S*)[.-]|ld-linux")
_MESSAGE = re.compile(
    r"(LLVM ERROR: [^\n]*|runtime error: [^\n]*|ERROR: AddressSanitizer: [\w-]+"
    r"|terminate called[^\n]*|malloc\(\): [^\n]*|free\(\): [^\n]*|corrupted [^\n]*)"
)
# The error of ark-opt's guard, which names the file.
_GUARD = re.compile(r"^input\.mlir:0:0: error: (?:MLIR cannot|the compiler has a defect)", re.M)
_SYMBOLIZER = "/usr/lib/llvm-22/bin/llvm-symbolizer"
# Frames of our program that are not the cause: its entry, frames of the sanitizer, and the parsers,
# printers and bytecode readers of ops, which call MLIR. Some templates of MLIR are compiled into
# our program.
_INNOCENT = re.compile(
    r"arkOptMain|\bmain\b|runCommand|_start|::parse\w*\(|::print\(|::readProperties\(|\?\?"
    r"|::printAssembly\(|UniqueFunctionBase<void, mlir::Operation\*, mlir::OpAsmPrinter"
    r"|DialectBytecodeReader::|[Ii]nterceptor|__asan|__sanitizer|operator new|operator delete"
)
_FRAMES_OF_CAUSE = 4
_FRAMES_OF_HANG = 2
_RECURSION = 16

Frame = tuple[str, str]  # file, offset


@dataclass(frozen=True)
class Crash:
    """A failure; failures of the same cause are equal.

    Attributes:
        upstream: True if the only code of ark on the stack is parsers, printers and readers of ops.
            A run whose heap is corrupt may die without a stack; the crash of such a run is
            upstream if the run dies the same way when it only reads the module.
    """

    kind: str
    frames: tuple[Frame, ...]
    message: str
    upstream: bool = field(default=False, compare=False)

    @property
    def lacks_stack(self) -> bool:
        """True if the run died and printed no stack; a sanitizer may crash in its report."""
        return not self.kind.startswith("hang") and not self.frames


def find_crash(outcome: Outcome) -> Crash | None:
    """Returns the crash of a run, or None."""
    match = _MESSAGE.search(outcome.stderr)
    message = re.sub(r"0x[0-9a-f]+|\d{3,}", "N", match[1]) if match else ""
    if (
        not outcome.hung
        and outcome.signal is None
        and not outcome.sanitized
        and not message.startswith("LLVM ERROR")
    ):
        return None
    frames = _frames(outcome.stderr)
    own = [frame for frame in frames if "libMLIR" not in frame[0] and "libLLVM" not in frame[0]]
    guilty = [frame for frame in own if not _INNOCENT.search(_name(frame))]
    upstream = bool(frames) and not guilty
    if outcome.hung:
        # The innermost frames are random; the outermost frames of ark's code are not.
        kind = "hang of MLIR" if upstream else "hang"
        return Crash(kind, tuple(guilty[-_FRAMES_OF_HANG:]), "", upstream)
    kind = f"signal {outcome.signal}" if outcome.signal is not None else "error"
    return Crash(kind, _cause(frames), message, upstream)


def is_contained(outcome: Outcome) -> bool:
    """Returns True if a guarded run ended with errors, at most one of them of the guard.

    There is no error of the guard if a crash does not repeat: damaged input can make MLIR read
    memory of other contents, and then it refuses the input.
    """
    ends = _GUARD.findall(outcome.stderr)
    errors = "error: " in outcome.stderr and find_crash(outcome) is None
    return outcome.status == 1 and errors and len(ends) <= 1


def _frames(text: str) -> list[Frame]:
    """Returns the frames of a stack, innermost first, without those of the system and of signal
    handlers."""
    lines = [line for line in text.splitlines() if _FRAME.search(line)]
    handlers = [i for i, line in enumerate(lines) if any(n in line for n in _SIGNAL_FRAMES)]
    # The frames behind LLVM's signal handlers: one without a name, and its caller.
    lines = lines[handlers[-1] + 2 if handlers else 0 :]
    frames = [_FRAME.search(line) for line in lines]
    return [(f[1], f[2]) for f in frames if f and not _SYSTEM.match(Path(f[1]).name)]


def _cause(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    repeated = sorted(frame for frame, n in Counter(frames).items() if n > _RECURSION)
    return tuple(repeated[:_FRAMES_OF_CAUSE] or frames[:_FRAMES_OF_CAUSE])


class Causes:
    """All causes of a run, with one input each.

    Args:
        keep: a folder for these inputs, or None.
    """

    def __init__(self, keep: Path | None) -> None:
        self._keep = keep
        self._counts: Counter[Crash] = Counter()
        self._first: dict[Crash, tuple[str, str, Sequence[str]]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def add(
        self, crash: Crash, number: str, data: bytes, arguments: Sequence[str], seed: str
    ) -> None:
        self._counts[crash] += 1
        if crash in self._first:
            return
        self._first[crash] = (number, seed, arguments)
        if self._keep is not None:
            self._keep.mkdir(parents=True, exist_ok=True)
            name = f"{len(self._first):03}-{number.replace(':', '-')}"
            (self._keep / f"{name}.mlir").write_bytes(data)
            (self._keep / f"{name}.txt").write_text(
                f"{crash.kind} {crash.message}\n{seed}\n{' '.join(arguments)}\n"
                + "\n".join(map(_name, crash.frames))
            )

    def report(self) -> int:
        """Prints all causes; returns the number of inputs that failed for an unknown cause."""
        known = _read_known()
        strange = unknown = 0
        for crash, count in self._counts.most_common():
            number, seed, arguments = self._first[crash]
            names = [_name(frame) for frame in crash.frames]
            text = "\n".join([crash.kind, crash.message, *names])
            reason = next((reason for pattern, reason in known if pattern.search(text)), None)
            if reason is None and crash.upstream:
                reason = "no code of ark runs but parsers, printers and readers of ops"
            strange += 0 if reason else count
            unknown += reason is None
            title = f"upstream: {reason}" if reason else "NOT KNOWN"
            print(f"{count} x {crash.kind} {crash.message} [{title}]")
            print(f"    first: input {number} of {seed}: ark-opt {' '.join(arguments)}")
            for name in names:
                print(f"    {name}")
        print(f"{len(self._counts)} causes, {unknown} of them not known")
        return strange


def _read_known() -> list[tuple[re.Pattern[str], str]]:
    """Reads lines with a pattern of the report and a reason, separated by ` :: `."""
    known: list[tuple[re.Pattern[str], str]] = []
    for line in _KNOWN.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, reason = line.split(" :: ", 1)
            known.append((re.compile(pattern), reason))
    return known


@functools.cache
def _name(frame: Frame) -> str:
    """Returns the function of a frame, if its file has symbols."""
    file, offset = frame
    # A return address belongs to the call before it.
    command = [_SYMBOLIZER, f"--obj={file}", "--inlines", hex(int(offset, 16) - 1)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = [line for line in done.stdout.splitlines()[::2] if line.strip()]
    return f"{' < '.join(words) or '??'} ({Path(file).name}+0x{offset})"
