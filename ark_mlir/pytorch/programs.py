"""The compiled programs of a graph.

The first program of a graph is compiled at once, unless TorchDynamo compiled the same code before:
for other sizes, another dtype or mode, or a module of the same class with other layers. The program
of further sizes is compiled by a background thread, and the caller uses another program or PyTorch
until then.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import torch

from . import background
from .background import Job

__all__ = ["Compiled", "Make", "Programs", "is_capturing"]

# A limit of memory: each program keeps its intermediates, and threads on cpu.
_MAX_PROGRAMS = 32

Compiled: TypeAlias = Callable[..., Any]
# Compiles a program; None if the graph turns out to need another kind of program.
Make: TypeAlias = Callable[[], Compiled | None]


class Programs:
    """The compiled programs by key; the least recently used ones are dropped.

    Args:
        waits: True if each program is compiled when it is requested. PyTorch's deterministic
            algorithms have the same effect, as the results of a call then never depend on time.
        first_waits: True if the first program is compiled when it is requested.
    """

    def __init__(self, waits: bool, first_waits: bool = True) -> None:
        self._waits = waits
        self._first_waits = first_waits
        self._known: OrderedDict[Hashable, Compiled] = OrderedDict()
        self._called: set[Hashable] = set()
        self._jobs: dict[Hashable, Job] = {}
        self._requested: list[Job] = []
        self._failed: set[Hashable] = set()
        self.renew_locks()
        _all.add(self)

    def renew_locks(self) -> None:
        """Makes new locks, for a forked child: a thread of the parent may hold the old ones."""
        self._lock = threading.Lock()  # of the fields, for short steps
        self._making = threading.RLock()  # held while a caller compiles

    def get(
        self, key: Hashable, name: str, prepare: Callable[[], Make], capturing: bool
    ) -> Compiled | None:
        """Returns the program of a key, or None if it is not ready.

        Args:
            key: the sizes.
            name: the sizes, for the log.
            prepare: returns the function that compiles the program; called if no program is known.
            capturing: True while a CUDA graph is recorded. Then only a program that has run before
                is returned, and no compilation begins.

        A compilation in the background begins at the next call of `begin_requested`. Raises the
        error of such a compilation, once. Later calls compile at once.
        """
        program = self._find(key, capturing)
        if program is not None or capturing:
            return program
        if self._must_wait(key):
            return self._make(key, prepare)
        self._request(key, name, prepare)
        return None

    def begin_requested(self) -> None:
        """Begins the requested compilations.

        A caller first runs what it uses instead of the program, so that it does not share Python's
        global lock with the compilation.
        """
        while self._requested:
            with self._lock:
                jobs, self._requested = self._requested, []
            for job in jobs:
                background.start(job)

    def substitute(
        self, cost: Callable[[Hashable], float | None], capturing: bool
    ) -> Compiled | None:
        """Returns the program with the lowest cost, or None; programs of cost None do not fit."""
        with self._lock:
            self._collect()
            keys = self._called if capturing else self._known
            costs = {key: cost(key) for key in keys if key in self._known}
            fitting = {key: value for key, value in costs.items() if value is not None}
            if not fitting:
                return None
            return self._use(min(fitting, key=fitting.__getitem__))

    def _must_wait(self, key: Hashable) -> bool:
        if self._waits or torch.are_deterministic_algorithms_enabled():
            return True
        if self._first_waits and not self._known:
            return True
        return key in self._failed or not background.can_start()

    def _find(self, key: Hashable, capturing: bool) -> Compiled | None:
        with self._lock:
            self._collect()
            job = self._jobs.get(key)
            if job is not None and job.error is not None and not capturing:
                del self._jobs[key]
                self._failed.add(key)
                raise job.error
            if key not in self._known or (capturing and key not in self._called):
                return None
            return self._use(key)

    def _collect(self) -> None:
        """Stores the programs of jobs that have ended, and forgets jobs that were dropped."""
        for key, job in list(self._jobs.items()):
            if not job.running and job.error is None:
                del self._jobs[key]
                if job.result is not None:
                    self._store(key, job.result)

    def _store(self, key: Hashable, program: Compiled) -> None:
        self._known[key] = program
        self._failed.discard(key)
        if len(self._known) > _MAX_PROGRAMS:
            oldest, _ = self._known.popitem(last=False)
            self._called.discard(oldest)

    def _use(self, key: Hashable) -> Compiled:
        self._known.move_to_end(key)
        self._called.add(key)
        return self._known[key]

    def _make(self, key: Hashable, prepare: Callable[[], Make]) -> Compiled | None:
        with self._making:
            self.begin_requested()
            job = self._jobs.get(key)
            if job is not None:
                job.wait()
            program = self._find(key, capturing=False)
            if program is None:
                program = prepare()()
                if program is not None:
                    with self._lock:
                        self._store(key, program)
                        self._use(key)
            return program

    def _request(self, key: Hashable, name: str, prepare: Callable[[], Make]) -> None:
        with self._lock:
            if key not in self._jobs:
                job = self._jobs[key] = Job(name, prepare())
                self._requested.append(job)


_all: weakref.WeakSet[Programs] = weakref.WeakSet()


def _renew_locks() -> None:
    for programs in list(_all):
        programs.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def is_capturing(on_gpu: bool) -> bool:
    """Returns True while the current stream is recorded in a CUDA graph."""
    return on_gpu and torch.cuda.is_current_stream_capturing()
