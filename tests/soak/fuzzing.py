"""Runs numbered cases in a child process, which the parent watches for crashes and hangs.

A case is a function of a seed and an index, so that each case can be repeated alone. The child
writes its progress to shared memory, which the parent reads. If a child dies or hangs, its present
case has failed, and another child continues with the next case.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

# One case: takes a source of random numbers, and returns its outcome in one or two words. An
# exception is a failure.
Case = Callable[[Random], str]

_HANG_SECONDS = 5.0
_MEMORY_LIMIT = 1 << 30
_POLL_SECONDS = 0.1
_MAX_SHOWN = 20
# Words of the shared memory: the index of the case, the failures of the child so far, and the start
# of the case in ns. Each word is written atomically, so that the parent reads no mixed value.
_CASE, _FAILURES, _BEGAN = range(3)


@dataclass
class _Tally:
    """The counts of a run so far."""

    count: int = 0
    failures: int = 0
    crashes: int = 0
    hangs: int = 0
    endings: Counter[str] = field(default_factory=Counter[str])
    slowest_ms: float = 0.0
    # The largest peak of memory of a child, and the largest final value, relative to its start.
    peak_mb: float = 0.0
    growth_mb: float = 0.0


def main(name: str, full_count: int, case: Case) -> int:
    """Parses the arguments, runs the cases, prints the result as JSON; returns the exit status.

    Args:
        name: the name in the result.
        full_count: the number of cases of the long run.
        case: runs one of them.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--count", type=int, default=full_count, help="cases to run")
    parser.add_argument("--seed", type=int, default=0, help="chooses the cases")
    parser.add_argument("--seconds", type=float, help="stop after so long, whatever the count")
    parser.add_argument("--only", type=int, metavar="K", help="run case K alone, in this process")
    options = parser.parse_args()
    if options.only is not None:
        print(case(_source(options.seed, options.only)))
        return 0
    start = time.monotonic()
    limit = float("inf") if options.seconds is None else start + options.seconds
    tally = _run(options.seed, options.count, limit, case)
    result = {
        "name": name,
        "count": tally.count,
        "failures": tally.failures,
        "seconds": round(time.monotonic() - start, 1),
        "seed": options.seed,
        "crashes": tally.crashes,
        "hangs": tally.hangs,
        "slowest_ms": round(tally.slowest_ms, 1),
        "memory_peak_mb": round(tally.peak_mb, 1),
        "memory_growth_mb": round(tally.growth_mb, 1),
        "endings": dict(tally.endings.most_common()),
    }
    print(json.dumps(result))
    return 1 if tally.failures else 0


def check_message(error: Exception) -> None:
    """Raises AssertionError unless an error's text is one line of limited length."""
    text = str(error)
    assert "\n" not in text, text
    assert len(text) < 1000, text


def _source(seed: int, number: int) -> Random:
    return Random(f"{seed}:{number}")


def _run(seed: int, count: int, limit: float, case: Case) -> _Tally:
    """Runs all cases, or as many as fit before `limit` on the monotonic clock."""
    tally = _Tally()
    while tally.count < count and time.monotonic() < limit:
        _run_child(seed, count, limit, case, tally)
    return tally


def _run_child(seed: int, count: int, limit: float, case: Case, tally: _Tally) -> None:
    """Runs cases in a child process, from the case after the last one."""
    begin = tally.count
    shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("q")
    shared[_CASE], shared[_BEGAN] = begin, time.monotonic_ns()
    results, results_end = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(results)
            _work(seed, range(begin, count), limit, case, shared, results_end)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(results_end)
    status, hung = _watch(child, shared)
    with os.fdopen(results, "rb") as file:
        text = file.read()
    at = shared[_CASE]
    if text and status == 0:
        _add(tally, json.loads(text))
        return
    # The counts of the child are lost with it, except its failures.
    tally.failures += shared[_FAILURES] + 1
    tally.hangs += hung
    tally.crashes += not hung
    kind = f"stood still for {_HANG_SECONDS:g} s" if hung else f"ended with status {status}"
    print(f"case {at}: the process {kind}; --seed {seed} --only {at}", flush=True)
    tally.count = at + 1


def _add(tally: _Tally, result: dict[str, object]) -> None:
    counts = result["endings"]
    assert isinstance(counts, dict)
    tally.endings.update(counts)
    tally.count = int(str(result["end"]))
    tally.failures += int(str(result["failures"]))
    tally.slowest_ms = max(tally.slowest_ms, float(str(result["slowest_ms"])))
    tally.peak_mb = max(tally.peak_mb, float(str(result["peak_mb"])))
    tally.growth_mb = max(tally.growth_mb, float(str(result["growth_mb"])))


def _watch(child: int, shared: memoryview) -> tuple[int, bool]:
    """Waits for the child; returns its status, and whether it was killed for hanging."""
    at, since = -1, _cpu_seconds(child)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), False
        if shared[_CASE] != at:
            at, since = shared[_CASE], _cpu_seconds(child)
        seconds = (time.monotonic_ns() - shared[_BEGAN]) / 1e9
        # A process hangs if one case is busy for too long, or idle for much longer, as in a read.
        busy = _cpu_seconds(child) - since > _HANG_SECONDS
        if busy or seconds > 24 * _HANG_SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGKILL, True
        time.sleep(_POLL_SECONDS)


def _cpu_seconds(process: int) -> float:
    """Returns the processor time of a process, since waiting for a busy core is not a hang."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(
    seed: int, numbers: range, limit: float, case: Case, shared: memoryview, results_end: int
) -> None:
    """Runs cases in the child."""
    gc.collect()
    _limit_memory()
    before = _resident_mb()
    endings: Counter[str] = Counter()
    failures, slowest, end = 0, 0.0, numbers.stop
    for number in numbers:
        if time.monotonic() > limit:
            end = number
            break
        shared[_CASE], shared[_BEGAN] = number, time.monotonic_ns()
        start = time.process_time()
        try:
            endings[case(_source(seed, number))] += 1
        except Exception as error:
            failures += 1
            shared[_FAILURES] = failures
            endings["failed"] += 1
            if failures <= _MAX_SHOWN:
                print(f"case {number}: {type(error).__name__}: {str(error)[:300]}; "
                      f"--seed {seed} --only {number}", flush=True)  # fmt: skip
        slowest = max(slowest, time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gc.collect()
    answer = {
        "endings": endings,
        "end": end,
        "failures": failures,
        "slowest_ms": 1000 * slowest,
        "peak_mb": peak - before,
        "growth_mb": _resident_mb() - before,
    }
    with os.fdopen(results_end, "wb") as file:
        file.write(json.dumps(answer).encode())


def _pages(field: int) -> int:
    """Returns a field of this process's /proc/self/statm: 0 is the address space, 1 the resident
    memory.
    """
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[field])


def _resident_mb() -> float:
    return _pages(1) * mmap.PAGESIZE / (1 << 20)


def _limit_memory() -> None:
    """Limits the memory of a case to a gigabyte more than the process has."""
    limit = _pages(0) * mmap.PAGESIZE + _MEMORY_LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
