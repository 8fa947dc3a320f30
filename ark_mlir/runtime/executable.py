"""Executable: a loaded program that binds arrays and runs.

Locks of the runtime, in the only order in which a thread may take several of them:

1. those of callers, which are held over whole calls: of `GenerativeModel.generate`, of a compiled
   part of a PyTorch module, of a rank's turn in its world;
2. `Executable._making`, to load the program once. It is released before any other is taken, and
   loading takes none of the following;
3. `SharedStates.lock`, held by every call that uses the device; two of them in the order of
   `SharedStates.number`;
4. `Runner._looking`, to look at a state beside a run, and to give memory back.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from ..bundle import Buffer, Bundle, Manifest
from ..errors import DeviceError, InvalidUsageError
from .arrays.binding import read_sources, refuse
from .drivers import DRIVERS, DriverTable
from .report import Report, make_report
from .running import Runner

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from ..bundle.format import Bytes
    from ..typing import Array, Arrays, HostInput, HostInputs, Inputs, Path, Sources, Stream


class _Runs(ABC):
    """The interface of objects that run a program."""

    @overload
    def run(
        self,
        inputs: HostInputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Mapping[str, NDArray[Any]] | None = None,
        **named: HostInput,
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def run(
        self,
        inputs: Inputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]: ...
    def run(
        self,
        inputs: Inputs | None = None,
        /,
        *,
        iterations: int = 1,
        trace: Path | None = None,
        stream: Stream | None = None,
        out: Arrays | None = None,
        **named: Array | int,
    ) -> dict[str, Any]:
        """Runs the program, and waits for its end.

        On a GPU, arrays that lie there are used where they are: they must be dense, row-major
        and aligned as the kernel needs it (16 bytes). Arrays of the host are copied.

        While a stream is being captured in a CUDA graph (``torch.cuda.graph``), a run becomes
        part of the graph, and nothing is computed until that is replayed. All arrays must then
        lie on the device; Python ints are frozen. The executable keeps the memory of each
        captured run until it is closed, and must stay open as long as the graph is replayed.
        One other run has to come before each capture. Replays and runs share states and
        intermediates, so that they must follow each other; `check` raises what a replay met.

        Args:
            inputs: inputs by name, for names that are no Python identifiers; others may be
                given as keywords. Arrays have the shape and dtype of their buffer; a scalar
                is an int in ``[0, max]``, or an array of one element. One that lies on the
                device is not looked at: it must be in that range.
            iterations: how often the program runs in this one launch.
            trace: where to write when each instruction of the last iteration ran, for
                https://ui.perfetto.dev; only where the program was compiled with ``trace=True``.
            stream: the stream of the GPU that it runs on, in order with other work: a handle,
                or a stream of torch, cupy or cuda.core. None is torch's current stream where
                any of its tensors on the GPU is given, else one of the executable's own. Work
                of other streams on the arrays comes first, as DLPack has it.
            out: arrays by the names of outputs, to be written in place of new ones.

        Returns:
            The outputs of the last iteration by name, as arrays of the framework that the
            inputs came in (numpy, torch …): on the device where any input lies there, else on
            the host; and those of `out` as they were given.

        Raises:
            InvalidUsageError: lists every missing or unknown input, wrong shape, dtype, device
                or layout; or parameters are not bound; or an index in the data is out of range.
            HangError: a wait lasted longer than ``ARK_TIMEOUT`` allows; names waiter,
                semaphore and producer. After it the next run starts afresh; states may hold
                part of what this one wrote.
            BusyError: another kernel kept the GPU, so that this run did not begin within five
                times as long as a wait may last; it never will, and may be tried again.
            DeviceError: a lane never ended, or there is not enough memory.

        Example:
            >>> exe.run(x=x)["y"].shape  # x: (4, 64)
            (4, 256)
        """
        return self._run({**(inputs or {}), **named}, iterations, trace, stream, out)

    @abstractmethod
    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        """As `run`, with all inputs by name."""


class Executable(_Runs):
    """A compiled program, ready to run; :func:`ark_mlir.load` and ``compile`` make them.

    Parameters are bound once and states live on between runs. Two threads may call `run` on
    one executable; the runs follow each other. Closing gives memory and threads back; a
    ``with`` block does so at its end. An executable that is dropped, or left at the end of the
    process, gives them back, too; what fails then goes to ``sys.unraisablehook``, or to the log.

    Attributes:
        bundle: the program, its schedule and names.

    Example:
        >>> exe = ark.load("mlp.arkbin")
        >>> exe = exe.bind({"w": w})
        >>> y = exe.run(x=x)["y"]
    """

    def __init__(self, bundle: Bundle, drivers: DriverTable = DRIVERS) -> None:
        self.bundle = bundle
        self._drivers = drivers
        self._ready: Runner | None = None
        self._closed = False
        self._making = threading.Lock()

    @classmethod
    def from_parts(
        cls,
        manifest: Manifest | Mapping[str, Any] | bytes | str,
        sections: Mapping[str, Bytes],
        drivers: DriverTable = DRIVERS,
    ) -> Executable:
        """The executable of a program that was just compiled, without a file.

        It can be saved and looked at on any machine; the kernel is loaded on first use, or by
        :meth:`prepare`.

        Args:
            manifest: the manifest as a record, an object or JSON text (docs/bundle.md).
            sections: bytes by section name.
            drivers: how a backend's driver is made; tests pass their own.

        Raises:
            BundleError: manifest or sections are not ones that a file may hold.
        """
        return cls(Bundle.from_parts(manifest, sections), drivers)

    def prepare(self) -> Self:
        """Loads the kernel and allocates its memory, which the first use does otherwise.

        Raises:
            BundleError: the program was made for another machine, or its kernel is malformed.
            UnsupportedError: there is no driver for its backend.
            DeviceError: there is not enough memory; BusyError if a call of the GPU's driver waits
                for other work for too long (10 s; 600 s while the driver assembles PTX).
        """
        _ = self._runner
        return self

    @property
    def _runner(self) -> Runner:
        with self._making:
            if self._closed:
                raise InvalidUsageError(f"the executable {self.name!r} is closed")
            if self._ready is None:
                self._ready = self._make_runner()
            return self._ready

    def _make_runner(self) -> Runner:
        return Runner(self.bundle, self._drivers)

    # -- what it is --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The program's name."""
        return self.bundle.manifest.program

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        """The arguments of `run`: inputs, then scalars; each has name, shape and dtype."""
        return self.bundle.manifest.inputs

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """The results of `run`."""
        return self.bundle.manifest.outputs

    @property
    def parameters(self) -> tuple[Buffer, ...]:
        """The arguments of `bind`."""
        return self.bundle.manifest.parameters

    @property
    def states(self) -> Mapping[str, NDArray[Any]]:
        """The states by name; looking one up copies its present value.

        Example:
            >>> counter = ark.compile(count, target="cpu")  # has the state "total": (4,)
            >>> counter.states["total"].shape
            (4,)
        """
        return _States(self._runner)

    def glance(self, state: str) -> NDArray[Any]:
        """A copy of a state's value, while a run may be under way and write to it.

        For words that tell how far a long run has come.

        Raises:
            InvalidUsageError: the program has no such state, nothing was loaded yet, or the
                executable, or the one whose states it shares, is closed.

        Example:
            >>> counter = ark.compile(count, target="cpu")  # adds 1 to the state "total": (4,)
            >>> outputs = counter.run(iterations=17)
            >>> counter.glance("total")
            array([17., 17., 17., 17.], dtype=float32)
        """
        buffer = {buffer.name: buffer for buffer in self.bundle.manifest.states}.get(state)
        if buffer is None:
            raise InvalidUsageError(f"the executable {self.name!r} has no state {state!r}")
        # Not by `_runner`: a look at a state is to load nothing, and to wait for nothing.
        ready = self._ready
        if ready is None:
            reason = "is closed" if self._closed else "is not loaded: call prepare first"
            raise InvalidUsageError(f"the executable {self.name!r} {reason}")
        return ready.glance(buffer)

    def report(self) -> Report:
        """Figures of the program: ``print(exe.report())`` shows a table."""
        if self._ready is None:
            return make_report(self.bundle)
        storage = self._ready.storage
        return make_report(self.bundle, storage.bound_bytes(False), storage.bound_bytes(True))

    def save(self, path: Path) -> None:
        """Writes the program, without its parameters, to a ``.arkbin`` file.

        Equal programs give equal bytes; the file has no signature, whatever the program was
        loaded from. Raises InvalidUsageError where `path` is none, and OSError when the file
        cannot be written.
        """
        self.bundle.save(path)

    def __repr__(self) -> str:
        target = self.bundle.manifest.target
        return f"<Executable {self.name!r} for {target.backend} ({target.arch})>"

    # -- binding -----------------------------------------------------------------------------

    def bind(self, parameters: Sources, *, strict: bool = True) -> Self:
        """Binds the parameters, and initial values of states.

        An array is used in place when it is C-contiguous and aligned as the kernel needs it,
        and must then not change while the program runs; else it is copied, once. `report`
        says how many bytes were. A later call may replace some of the parameters.

        For a GPU, arrays that lie on it (torch, cupy, anything with ``__dlpack__`` or
        ``__cuda_array_interface__``) are used in place, and refused where they cannot be. Arrays
        of the host go there once, those of a ``.safetensors`` file straight from its pages.

        Args:
            parameters: arrays by name (numpy, torch, anything that speaks DLPack); or the
                path of a ``.safetensors`` file; or a list of those.
            strict: whether a name that the program has not is an error.

        Returns:
            The executable, so that calls can be chained.

        Raises:
            InvalidUsageError: lists every missing or unknown name, wrong shape, dtype, device
                or layout.
            DeviceError: there is not enough memory, or a copy failed.

        After an error nothing is bound: parameters and states are those from before.

        Example:
            >>> exe = exe.bind("mlp.safetensors")
        """
        values = read_sources(parameters)
        runner = self._runner
        with runner.opened():
            runner.bind(values, strict)
        return self

    def share_states(self, owner: Executable) -> Self:
        """Uses the states of another executable in place of its own: both read what either writes.

        All states that this program has must be ones of `owner`, of the same shape and dtype and
        on the same device. Executables that share states take turns: a call of one that comes from
        another thread waits for the call of the other. When the executable that the states were
        made for is closed, which waits for a run that uses them, the others cannot run any more;
        the memory goes with the last of them.

        Returns:
            The executable, so that calls can be chained.

        Raises:
            InvalidUsageError: lists every state that `owner` lacks or has in another form; or one
                of the two is closed, or this one is resident.

        Example:
            >>> owner, sharer = (ark.compile(count, target="cpu") for _ in range(2))
            >>> sharer = sharer.share_states(owner)
        """
        self._runner.share(owner._runner)
        return self

    def reset(self) -> None:
        """Resets every state to its initial value: that of `bind`, else of the program."""
        runner = self._runner
        with runner.opened():
            runner.storage.reset()

    # -- running -----------------------------------------------------------------------------

    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        runner = self._runner
        with runner.opened():
            return runner.run(runner.exchange, values, iterations, trace, stream, out)

    def check(self, stream: Stream | None = None) -> None:
        """Raises what the last replay of a captured run met: see `run`.

        Waits for the work that the stream was given before, and no longer. A graph in which
        several runs of this program were captured has each of them checked.

        Args:
            stream: where the graph was launched; None is torch's current stream where torch has
                started CUDA, else the default stream.

        Raises:
            HangError, InvalidUsageError, DeviceError: as `run` does.
            BusyError: another kernel keeps the GPU; the replay is still to come.

        Example:
            >>> with torch.cuda.graph(graph):
            ...     y = exe.run(x=x)["y"]
            >>> graph.replay()
            >>> exe.check()
        """
        runner = self._runner
        with runner.opened():
            runner.recheck(stream)

    @contextmanager
    def resident(self) -> Generator[Resident]:
        """Keeps the kernel on the device between runs: ``with exe.resident() as r``.

        Its lanes stay inside of the kernel's loop, where a doorbell starts each run; an error
        ends the kernel, and the next run starts it again. Buffers of inputs and outputs are
        made once. Until the block ends, runs go through `r`.

        On a GPU the kernel has all SMs, so that other work there waits. It ends by itself when
        no run comes for as long as a wait may last (``ARK_TIMEOUT``, else 2 s), and the next
        run starts it again. What a run needs of other streams has to be computed before.

        Raises:
            InvalidUsageError: a parameter is not bound, or the executable is closed, or
                resident already.
            DeviceError: at the end of the block, where a lane never ended.

        Example:
            >>> with exe.resident() as resident:
            ...     results = [resident.run(x=each) for each in (x, 2 * x)]
        """
        runner = self._runner
        with runner.opened():
            refuse(runner.storage.unbound_problems(), f"keep {self.name!r} resident")
            resident = Resident(runner)
            runner.stay(resident)
        try:
            yield resident
        except BaseException:
            # What the block raised is not to be hidden by what comes of it.
            with suppress(DeviceError):
                runner.leave()
            raise
        runner.leave()

    # -- life --------------------------------------------------------------------------------

    def close(self) -> None:
        """Frees memory and ends threads; may be called again, and from any thread.

        Waits for a run that is under way. Afterwards `run`, `bind` and all else that needs the
        device raise InvalidUsageError; what describes the program still works. Outputs that were
        returned stay, also those on a GPU.

        Raises:
            DeviceError: a kernel did not end in time (10 s). What it may use is given back when it
                has ended and ark next takes or gives back memory of that GPU; BusyError where the
                kernel has not even begun, since another one keeps the GPU, or where the GPU's
                driver waits for other work for more than 10 s before it frees anything.
        """
        with self._making:
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
        # After a kernel that failed nothing can be given back alone: what failed comes out.
        with suppress(DeviceError) if kind else nullcontext():
            self.close()


class Resident(_Runs):
    """A program that stays on the device; :meth:`Executable.resident` makes it.

    A run is a ring of the doorbell, into buffers that stay; it raises InvalidUsageError after the
    end of the block.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._exchange = runner.driver.exchange(stays=True)

    def _run(
        self,
        values: Inputs,
        iterations: int,
        trace: Path | None,
        stream: Stream | None,
        out: Arrays | None,
    ) -> dict[str, Any]:
        if stream is not None:
            raise InvalidUsageError("a kernel that stays has a stream of its own")
        runner = self._runner
        with runner.opened(self):
            return runner.run(self._exchange, values, iterations, trace, None, out)

    def reset(self) -> None:
        """As :meth:`Executable.reset`."""
        with self._runner.opened(self):
            self._runner.storage.reset()


class _States(Mapping[str, "NDArray[Any]"]):
    """A view of an executable's states that copies a state on look-up."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._buffers = {buffer.name: buffer for buffer in runner.bundle.manifest.states}

    def __getitem__(self, name: str) -> NDArray[Any]:
        buffer = self._buffers[name]
        with self._runner.opened(self._runner.resident):
            return self._runner.storage.state(buffer)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)
