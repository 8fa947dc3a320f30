"""The search for the fastest schedule of a program, by alternating runs of all candidates."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import InvalidUsageError
from .costs import Costs
from .measuring import measure, measure_seconds, zeros

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords
    from ..runtime import Executable
    from ..targets import Target
    from ..typing import Arrays, Inputs, Source

# A schedule replaces the compiler's choice if it is faster by this fraction; less is noise.
_NOTICEABLE = 0.005
# Schedulers of the candidates besides the compiler's choice, which depends on predicted times.
_SCHEDULERS = ("list", "round-robin", "rounds")
_RESERVED_OPTIONS = ("trace", "profile", "scheduler")

Build = Callable[..., "Executable"]
"""A function that compiles the program with additional options, passed as keywords."""

Prepare = Callable[["Executable"], "Inputs"]
"""A function that binds the parameters of an executable, and returns the inputs of its runs."""

ShowProgress = Callable[[str], AbstractContextManager[object]]
"""A function that shows the progress of a step of the search for the duration of a context."""


@dataclass
class Candidate:
    """A schedule that was tried.

    Attributes:
        name: ``default`` for the compiler's choice, the name of a scheduler, or ``profile N`` for
            the N-th schedule from measured costs.
        executable: the program with this schedule, with its parameters bound.
        inputs: the inputs of its runs, by name.
        seconds: the wall-clock time of each run, in seconds.
    """

    name: str
    executable: Executable
    inputs: Inputs
    seconds: list[float] = field(default_factory=list[float])

    @property
    def median(self) -> float:
        """Returns the median of `seconds`."""
        return statistics.median(self.seconds)


@dataclass
class Tuning:
    """The result of a search; a context manager that closes all executables.

    Attributes:
        best: the fastest candidate, or the first one if no other is faster by at least 0.5 %.
        candidates: all candidates; the first one is the compiler's choice.
        costs: the measured costs of tasks, beside others and alone, for ``profile=``.

    Example:
        >>> first = Candidate("default", exe, {}, [2.0])
        >>> other = Candidate("rounds", exe, {}, [1.5])
        >>> Tuning(other, [first, other], Costs.read("trace.json")).gain
        0.25
    """

    best: Candidate
    candidates: Sequence[Candidate]
    costs: Costs

    def gain_of(self, candidate: Candidate) -> float:
        """Returns the fraction of the first candidate's time that `candidate` saves.

        Example:
            >>> first = Candidate("default", exe, {}, [2.0])
            >>> other = Candidate("rounds", exe, {}, [1.5])
            >>> Tuning(first, [first, other], Costs.read("trace.json")).gain_of(other)
            0.25
        """
        return 1 - candidate.median / self.candidates[0].median

    @property
    def gain(self) -> float:
        """Returns the fraction of the first candidate's time that the best candidate saves."""
        return self.gain_of(self.best)

    def close(self) -> None:
        """Closes the executables of all candidates.

        Example:
            >>> first = Candidate("default", ark.load("mlp.arkbin"), {}, [2.0])
            >>> Tuning(first, [first], Costs.read("trace.json")).close()
        """
        for candidate in self.candidates:
            candidate.executable.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def tune(
    source: Source | Sequence[Source],
    target: str | Target | None = None,
    *,
    parameters: Arrays | None = None,
    inputs: Inputs | None = None,
    runs: int = 10,
    rounds: int = 2,
    **options: Unpack[CompileKeywords],
) -> Tuning:
    """Compiles a program with several schedules and measures them on the device of `target`.

    The search measures the time of each kind of task, both alone and while other tasks run. The
    scheduler ``profile`` makes a schedule from these costs; the search repeats measurement and
    scheduling `rounds` times. Finally, the search compares these schedules with those of other
    schedulers.

    Args:
        source: the program, as for :func:`ark_mlir.compile`.
        target: the target, as for :func:`ark_mlir.compile`; this machine must be able to run it.
        parameters: arrays by name, as for :meth:`ark_mlir.Executable.bind`. Parameters without an
            array are zeros.
        inputs: arrays by name. Inputs without an array are zeros.
        runs: number of runs of each measurement, at least 1.
        rounds: number of times that the program is measured and scheduled, at least 1.
        options: fields of :class:`ark_mlir.CompileOptions` except ``trace``, ``profile`` and
            ``scheduler``.

    Returns:
        All candidates, the best one, and the costs.

    Raises:
        InvalidUsageError: `runs` or `rounds` is less than 1, or `options` has trace, profile or
            scheduler.
        ArkError: the errors of :func:`ark_mlir.compile`, :meth:`ark_mlir.Executable.bind` and
            :meth:`ark_mlir.Executable.run`.

    Example:
        >>> with ark.tuning.tune(program, "cpu:4", parameters={"w": w}) as tuned:
        ...     tuned.best.executable.save("mlp.arkbin")
    """
    from ..compiler import compile as compile_program

    check_options(options)

    def build(**more: Any) -> Executable:
        chosen: dict[str, Any] = {**options, **more}
        return compile_program(source, target, **chosen)

    def prepare(executable: Executable) -> Inputs:
        executable.bind({**zeros(executable.parameters), **(parameters or {})})
        return {**zeros(executable.inputs), **(inputs or {})}

    return search(build, prepare, runs=runs, rounds=rounds)


def check_options(options: Collection[str]) -> None:
    """Raises InvalidUsageError if a search sets one of the compiler's `options` itself.

    Example:
        >>> check_options(["trace"])
        Traceback (most recent call last):
        ...
        ark_mlir.errors.InvalidUsageError: tune sets the option 'trace' itself; remove it
    """
    for name in _RESERVED_OPTIONS:
        if name in options:
            raise InvalidUsageError(f"tune sets the option {name!r} itself; remove it")


def search(
    build: Build,
    prepare: Prepare,
    *,
    runs: int = 10,
    rounds: int = 2,
    progress: ShowProgress = nullcontext,
    on_costs: Callable[[Costs], object] | None = None,
) -> Tuning:
    """Implements :func:`tune` with functions of the caller that compile and bind.

    Args:
        build: compiles the program with the additional options of its keywords.
        prepare: binds the parameters of an executable, and returns inputs for its runs.
        runs: number of runs of each measurement, at least 1.
        rounds: number of times that the program is measured and scheduled, at least 1.
        progress: returns a context manager that shows the current step.
        on_costs: called with the costs as soon as they are measured.

    Raises:
        InvalidUsageError: `runs` or `rounds` is less than 1.

    Example:
        >>> import functools
        >>> build = functools.partial(ark.compile, program, "cpu:2")
        >>> def prepare(executable):
        ...     executable.bind(zeros(executable.parameters))
        ...     return zeros(executable.inputs)
        >>> with search(build, prepare, runs=1, rounds=1) as tuned:
        ...     best = tuned.best.name
    """
    if runs < 1 or rounds < 1:
        raise InvalidUsageError(f"runs is {runs} and rounds is {rounds}; both must be at least 1")

    def measured(**options: Any) -> Costs:
        with build(trace=True, **options) as executable:
            inputs = prepare(executable)
            with progress(f"measuring {executable.name}"):
                return measure(executable, inputs, runs)

    candidates: list[Candidate] = []
    with ExitStack() as closing:

        def add(name: str, **options: Any) -> None:
            executable = closing.enter_context(build(**options))
            candidates.append(Candidate(name, executable, prepare(executable)))

        alone = measured(scheduler="alone")
        add("default")
        for name in _SCHEDULERS:
            add(name, scheduler=name)
        first = costs = measured().beside(alone)
        if on_costs is not None:
            on_costs(costs)
        add("profile 1", profile=costs)
        for number in range(2, rounds + 1):
            costs = measured(profile=costs).beside(alone)
            add(f"profile {number}", profile=costs)
        with progress("comparing schedules"):
            _interleave(candidates, runs)
        # From here on, the result closes the executables.
        closing.pop_all()
    return Tuning(_choose(candidates), candidates, first)


def _interleave(candidates: Sequence[Candidate], runs: int) -> None:
    """Measures all candidates in alternating runs, after a warm-up run of each."""
    for number in range(runs + 1):
        for candidate in candidates:
            executable, inputs = candidate.executable, candidate.inputs
            seconds = measure_seconds(lambda run=executable.run, given=inputs: run(given))
            if number:
                candidate.seconds.append(seconds)


def _choose(candidates: Sequence[Candidate]) -> Candidate:
    """Returns the fastest candidate, or the first one if no other is faster by `_NOTICEABLE`."""
    best, first = min(candidates, key=lambda candidate: candidate.median), candidates[0]
    return best if best.median <= (1 - _NOTICEABLE) * first.median else first
