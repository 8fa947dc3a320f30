"""Forked children of a process in which other threads use executables.

A child has only the thread that forked, so a lock that another thread held stays held for ever.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# `in_child(call)` prints what a call returns or raises in a forked child, and ends a child that
# hangs. The programs count iterations.
_BEGIN = """
import os, signal, threading
from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import compile_kernel, counting_program

def make():
    return Executable.from_parts(*counting_program().parts(kernel))

def in_child(call):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            print(call(), flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the child ended with status {status}"

kernel = compile_kernel()
"""


def _run(script: str) -> list[str]:
    # Python warns of every fork of a process with threads.
    result = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _BEGIN + script],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_a_fork_during_a_run_of_another_thread() -> None:
    """The child refuses the executable, whose states may be those of an unfinished run. The child
    can close this executable and load another one, and the parent continues."""
    refused = (
        "InvalidUsageError: another thread was in a call of the executable 'toy', or of one that "
        "shares its states, when this process was forked: load or compile it again"
    )
    lines = _run("""
executable, borrower = make().prepare(), make().prepare()
borrower.share_states(executable)
driver = executable._runner.driver
wait, begun, forked = driver.wait, threading.Event(), threading.Event()
def wait_for_lanes():
    begun.set()
    forked.wait(200)
    return wait()
driver.wait = wait_for_lanes
thread = threading.Thread(target=lambda: executable.run(iterations=3))
thread.start()
begun.wait(60)
in_child(lambda: executable.run())
in_child(lambda: executable.reset())
in_child(lambda: borrower.run())
in_child(lambda: executable.peek("n"))
in_child(lambda: executable.close())
in_child(lambda: [make().run(), "runs"][1])
forked.set()
thread.join()
print(executable.peek("n"))
""")
    assert lines == [refused] * 4 + ["None", "runs", "3"]


@pytest.mark.parametrize(
    "lock", ["executable._load_lock", "runner._memory_lock", "lanes._starting"]
)
def test_a_fork_while_another_thread_loads_reads_or_starts_lanes(lock: str) -> None:
    """A child begins work again that another thread of its parent had begun."""
    lines = _run(f"""
from ark_mlir.runtime.cpu import lanes
executable = make()
if {lock!r}.startswith("runner"):
    runner = executable.prepare()._runner
held, forked = threading.Event(), threading.Event()
def hold():
    with {lock}:
        held.set()
        forked.wait(60)
thread = threading.Thread(target=hold)
thread.start()
held.wait(60)
in_child(lambda: [executable.run(), int(executable.peek("n")), executable.close()][1:])
forked.set()
thread.join()
""")
    assert lines == ["[1, None]"]


def test_a_fork_between_calls() -> None:
    """The child has a copy of the states."""
    lines = _run("""
executable = make()
executable.run()
in_child(lambda: [executable.run(), int(executable.peek("n"))][1])
print(executable.peek("n"))
""")
    assert lines == ["2", "1"]
