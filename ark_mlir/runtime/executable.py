"""Executable: a loaded program that binds arrays and runs.

Locks of the runtime, in the only order in which a thread may take several of them:

1. the locks of callers, which hold them during whole calls: `GenerativeModel.generate`, compiled
   subgraphs of a PyTorch module, the run barrier of a world;
2. `Executable._load_lock`, which is held while the program is loaded and released before any other
   lock is taken; loading takes none of the locks below;
3. `SharedStates.lock`, which every call that uses the device holds; a thread takes two of them in
   the order of `SharedStates.number`;
4. `Runner._memory_lock`, which is held to read a state during a run, and to free memory.

A forked child has only the thread that forked, so it renews locks 2 to 4, which other threads of
the parent may have held. In the child, an executable refuses calls if another thread used it at the
fork.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..bundle import Buffer, Bundle, Manifest
from ..errors import DeviceError, InvalidUsageError, a_type
from .arrays.binding import read_sources
from .arrays.receiving import refuse
from .diagnosis.profile import Profile, make_profile
from .diagnosis.report import Report, make_report
from .diagnosis.trace import read_trace
from .drivers.table import DriverTable
from .resident import Resident
from .running import Runner
from .runs import Runs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self

    from ..bundle.format import Bytes
    from ..typing import Array, Arrays, Inputs, Path, Sources, Stream
    from .arrays.streams import StreamsByRank


# Functions that a forked child calls, one for each executable: they renew its locks.
_renewals: set[weakref.WeakMethod[Callable[[], None]]] = set()


class Executable(Runs):
    """A compiled program, ready to run; :func:`ark_mlir.load` and ``compile`` return it.

    Parameters are bound once, and states keep their values between runs. Several threads may call
    `run`; one run executes at a time. `close`, or the end of a ``with`` block, frees
    memory and threads. The garbage collection of the executable and the end of the process free
    them, too; errors then go to ``sys.unraisablehook`` or to the log.

    Attributes:
        bundle: the program with its schedule and buffers.

    Example:
        >>> exe = ark.load("mlp.arkbin")
        >>> exe = exe.bind({"w": w})
        >>> y = exe.run(x=x)["y"]
    """

    def __init__(self, bundle: Bundle, drivers: DriverTable | None = None) -> None:
        self.bundle = bundle
        self._drivers = drivers
        self._ready: Runner | None = None
        self._closed = False
        self._load_lock = threading.Lock()
        _renewals.add(weakref.WeakMethod(self._renew_lock, _renewals.discard))

    @classmethod
    def from_parts(
        cls,
        manifest: Manifest | Mapping[str, Any] | bytes | str,
        sections: Mapping[str, Bytes],
        drivers: DriverTable | None = None,
    ) -> Executable:
        """Returns the executable of a program that was just compiled, without a file.

        Any machine can save and inspect it; the first use, or :meth:`prepare`, loads the kernel.

        Args:
            manifest: the manifest as a record, an object or JSON text (docs/bundle.md).
            sections: bytes by section name.
            drivers: functions that create the driver of each backend; tests pass their own.

        Raises:
            BundleError: a reader would reject a file with this manifest and these sections.
        """
        return cls(Bundle.from_parts(manifest, sections), drivers)

    def prepare(self) -> Self:
        """Loads the kernel and allocates its memory; otherwise the first use does so.

        Returns the executable.

        Raises:
            BundleError: the program was made for another machine, or its kernel is malformed.
            UnsupportedError: there is no driver for its backend.
            DeviceError: there is not enough memory; BusyError if a call of the vendor's driver
                waits for other work for too long (10 s; 600 s while NVIDIA's driver assembles PTX).

        >>> exe = ark.load("mlp.arkbin").prepare()
        >>> exe.close()
        """
        _ = self._runner
        return self

    @property
    def _runner(self) -> Runner:
        with self._load_lock:
            if self._closed:
                raise InvalidUsageError(f"the executable {self.name!r} is closed")
            if self._ready is None:
                self._ready = self._make_runner()
            return self._ready

    def _renew_lock(self) -> None:
        # A load that another thread had begun starts again.
        self._load_lock = threading.Lock()

    def _make_runner(self) -> Runner:
        return Runner(self.bundle, self._drivers)

    # -- description -------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The program's name."""
        return self.bundle.manifest.program

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """The arguments of `run`: inputs, then scalars, each with name, shape and dtype."""
        return self.bundle.manifest.inputs

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """The results of `run`, each with name, shape and dtype."""
        return self.bundle.manifest.outputs

    @property
    def parameters(self) -> tuple[Buffer, ...]:
        """The parameters that `bind` takes, each with name, shape and dtype."""
        return self.bundle.manifest.parameters

    @property
    def states(self) -> Mapping[str, NDArray[Any]]:
        """The states by name; each look-up returns a copy of the present value.

        Example:
            >>> counter = ark.compile(count, target="cpu")  # has the state "total": (4,)
            >>> counter.states["total"].shape
            (4,)
        """
        return _States(self._runner)

    def peek(self, state: str) -> NDArray[Any]:
        """Returns a copy of the state `state` without waiting for a run that may be writing it.

        A state that counts steps shows the progress of a long run.

        Raises:
            InvalidUsageError: the program has no such state, it is not loaded yet, or the
                executable, or the one whose states it shares, is closed.

        Example:
            >>> counter = ark.compile(count, target="cpu")  # adds 1 to the state "total": (4,)
            >>> outputs = counter.run(iterations=17)
            >>> counter.peek("total")
            array([17., 17., 17., 17.], dtype=float32)
        """
        buffer = {buffer.name: buffer for buffer in self.bundle.manifest.states}.get(state)
        if buffer is None:
            raise InvalidUsageError(f"the executable {self.name!r} has no state {state!r}")
        # `_runner` would load the program and wait for the lock.
        ready = self._ready
        if ready is None:
            reason = "is closed" if self._closed else "is not loaded: call prepare first"
            raise InvalidUsageError(f"the executable {self.name!r} {reason}")
        return ready.peek(buffer)

    def report(self) -> Report:
        """Returns figures of the program; ``print(exe.report())`` shows them as a table.

        Sizes are in bytes, and times in ns; see :class:`ark_mlir.runtime.Report`.

        >>> report = exe.report()
        >>> report.tasks, report.arena_bytes
        (1, 0)
        """
        if self._ready is None:
            return make_report(self.bundle)
        storage = self._ready.storage
        return make_report(self.bundle, storage.bound_bytes(False), storage.bound_bytes(True))

    def save(self, path: Path) -> None:
        """Writes the program, without its parameters, to a ``.arkbin`` file.

        Equal programs give equal bytes. The file has no signature, even if the program was loaded
        from a signed one. Raises InvalidUsageError if `path` is not a path, and OSError if the file
        cannot be written.

        >>> exe.save("copy.arkbin")
        >>> ark.load("copy.arkbin").name
        'mlp'
        """
        self.bundle.save(path)

    def __repr__(self) -> str:
        target = self.bundle.manifest.target
        return f"<Executable {self.name!r} for {target.backend} ({target.arch})>"

    # -- binding -----------------------------------------------------------------------------

    def bind(self, parameters: Sources, *, strict: bool = True) -> Self:
        """Binds the parameters, and initial values of states.

        An array on the host is used in place if it is C-contiguous and aligned as the kernel
        requires; such an array must not change while the program runs, and its memory must not be
        released while it is bound, as ``resize_`` of torch does. Every other array on the host is
        copied once. `report` has the bytes of arrays used in place and of copies. Later calls may
        replace parameters.

        For a program on a GPU, arrays on that GPU (torch, cupy, any object with ``__dlpack__`` or
        ``__cuda_array_interface__``) are used in place; an array with an unsuitable layout is an
        error. Arrays on the host are copied to the GPU once, without an intermediate copy of a
        ``.safetensors`` file.

        After an error nothing is bound: parameters and states keep their previous values.

        Args:
            parameters: arrays by name (numpy, torch, any object with ``__dlpack__``); or the path
                of a ``.safetensors`` file; or a list of those.
            strict: treats a name that the program does not have as an error.

        Returns:
            The executable, so that calls can be chained.

        Raises:
            InvalidUsageError: a name is missing or unknown, or an array has a wrong shape, dtype,
                device or layout; the error lists all of them.
            DeviceError: there is not enough memory, or a copy failed.

        Example:
            >>> exe = exe.bind("mlp.safetensors")
        """
        values = read_sources(parameters)
        runner = self._runner
        runner.call_open(lambda: runner.bind(values, strict))
        return self

    def share_states(self, owner: Executable, *, parameters: bool = False) -> Self:
        """Replaces the states of this executable by those of `owner`: both then share one memory.

        `owner` must have every state of this program, with the same shape and dtype and on the same
        device. Calls of executables that share states exclude each other: a call waits for the
        call of another thread. Closing the executable that allocated the states waits for a run
        that uses them; afterwards none of the others can run. The memory is freed when the last of
        them is closed.

        Args:
            owner: the executable that has the states.
            parameters: also binds each parameter that `owner` has bound and this program has, too,
                without a copy; `owner` must have allocated the states. A later `bind` of one of
                the two does not change the other. Sharing the states of another executable
                afterwards unbinds these parameters.

        Returns:
            The executable, so that calls can be chained.

        Raises:
            InvalidUsageError: `owner` is not an executable, lacks a state, or has a state or
                parameter with another shape or dtype (the error lists all of them); one of the two
                is closed; this executable is resident; or the two are on different devices.

        Example:
            >>> lender, borrower = (ark.compile(count, target="cpu") for _ in range(2))
            >>> borrower = borrower.share_states(lender)
        """
        if not isinstance(owner, Executable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUsageError(f"owner is {a_type(owner)}; expected an executable")
        self._runner.share(owner._runner, parameters)
        return self

    def reset(self) -> None:
        """Resets every state to its initial value from `bind`, or else from the program.

        The host keeps a copy of all states meanwhile. Raises InvalidUsageError if the executable is
        closed, and DeviceError if the vendor's driver fails; then all states have their previous
        values.

        >>> counter = ark.compile(count, target="cpu:2")
        >>> counter.run(iterations=3)
        {}
        >>> counter.reset()
        >>> counter.states["total"]
        array([0., 0., 0., 0.], dtype=float32)
        """
        runner = self._runner
        runner.call_open(runner.storage.reset)

    # -- running -----------------------------------------------------------------------------

    @property
    def _arguments(self) -> tuple[Buffer, ...]:
        return self.inputs

    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | StreamsByRank | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        runner = self._runner
        return runner.call_open(
            lambda: runner.run(runner.exchange, values, iterations, trace, stream, out)
        )

    def profile(
        self, *inputs: Inputs | Array | int | None, runs: int = 5, **named: Array | int
    ) -> Profile:
        """Measures the times of the tasks; ``print`` shows them as a table by task and by op.

        Args:
            inputs, named: inputs as those of `run`.
            runs: number of measured runs, after one that is not measured; all times are medians.

        Raises InvalidUsageError if the program was compiled without ``trace=True`` or `runs` is
        less than 1, and the errors of `run`.

        Example:
            >>> with ark.compile(program, "cpu:2", trace=True).bind({"w": w}) as traced:
            ...     print(traced.profile(x=x))
            mlp: ...
        """
        if runs < 1:
            raise InvalidUsageError(f"runs is {runs}; it must be at least 1")
        if not self.bundle.manifest.traced:
            raise InvalidUsageError(
                f"a profile of {self.name!r} needs a program that was compiled with trace=True"
            )
        given = self._inputs(inputs, named)
        self.run(given)
        with tempfile.TemporaryDirectory(prefix="ark-") as folder:
            file = os.path.join(folder, "trace.json")

            def measure() -> NDArray[np.int64]:
                self.run(given, trace=file)
                return read_trace(file, self.bundle)

            return make_profile(self.bundle, [measure() for _ in range(runs)])

    def check(self, stream: Stream | None = None) -> None:
        """Raises the error of the last replay of each captured run, if there was one.

        Waits only for work that the stream was given before the call. The method proves nothing:
        ``ark check`` and ``ark.compiler.check`` prove schedules.

        Args:
            stream: the stream on which the graph was launched; None selects torch's current stream
                if torch has initialised CUDA, else the default stream.

        Raises:
            HangError, DataRangeError, DeviceError: a replay failed; see `run`.
            InvalidUsageError: the executable is closed.
            BusyError: another kernel occupies the GPU, so that the replay has not begun yet.

        Example:
            >>> with torch.cuda.graph(graph):
            ...     y = exe.run(x=x)["y"]
            >>> graph.replay()
            >>> exe.check()
        """
        runner = self._runner
        runner.call_open(lambda: runner.recheck(stream))

    @contextmanager
    def resident(self) -> Generator[Resident]:
        """Keeps the kernel on the device between runs: ``with exe.resident() as r``.

        The lanes stay inside the kernel's loop, and a doorbell starts each run. After an error the
        kernel ends, and the next run starts it again. Buffers of inputs and outputs are allocated
        once. Within the block, runs are calls of ``r.run``.

        On a GPU the kernel occupies all SMs, so that other work waits. The kernel ends if no run
        comes for as long as a wait may last (``ARK_TIMEOUT``, by default 2 s), and the next run
        starts it again. Work of other streams that a run depends on must be complete before it.

        Raises:
            InvalidUsageError: a parameter is not bound, or the executable is closed, or
                resident already.
            DeviceError: a lane never ended; raised at the end of the block.

        Example:
            >>> with exe.resident() as resident:
            ...     results = [resident.run(x=each) for each in (x, 2 * x)]
        """
        runner = self._runner

        def begin() -> Resident:
            refuse(runner.storage.unbound_problems(), f"keep {self.name!r} resident")
            resident = Resident(runner)
            runner.stay(resident)
            return resident

        resident = runner.call_open(begin)
        try:
            yield resident
        except BaseException:
            # An error of `leave` must not hide the error of the block, which caused it.
            with suppress(DeviceError):
                runner.leave()
            raise
        runner.leave()

    # -- life --------------------------------------------------------------------------------

    def close(self) -> None:
        """Frees memory and ends threads; may be called again, and from any thread.

        Waits for a current run. Afterwards `run`, `bind` and all other methods that need the device
        raise InvalidUsageError; the description of the program stays available. Outputs that were
        returned stay valid, also those on a GPU.

        Raises:
            DeviceError: a kernel did not end within 10 s. Resources that it may use are freed after
                its end, when ark next allocates or frees memory of that GPU.
            BusyError: the kernel has not begun, since another kernel occupies the GPU; or the
                vendor's driver waits for other work for more than 10 s before it frees memory.

        >>> other = ark.load("mlp.arkbin")
        >>> other.close()
        >>> other.name
        'mlp'
        """
        with self._load_lock:
            ready = self._ready
            self._closed = self._closed or ready is None
        if ready is not None:
            try:
                ready.close()
            finally:
                self._closed = ready.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        # If the block failed, its error is raised, and not the error of `close` that it caused.
        with suppress(DeviceError) if kind else nullcontext():
            self.close()


class _States(Mapping[str, "NDArray[Any]"]):
    """A view of an executable's states that copies a state on look-up."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._buffers = {buffer.name: buffer for buffer in runner.bundle.manifest.states}

    def __getitem__(self, name: str) -> NDArray[Any]:
        buffer = self._buffers[name]
        runner = self._runner
        return runner.access_states(lambda: runner.storage.state(buffer), runner.resident)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)


def _renew_locks() -> None:
    """Renews the locks of all executables in a forked child."""
    for renewal in list(_renewals):
        if renew := renewal():
            renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
