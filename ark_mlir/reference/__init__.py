"""The numpy interpreter of programs, which computes in float64 and is the reference of all tests.

>>> ark.reference.run(program, {"x": x, "w": w})["y"].shape
(4, 256)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np

from .. import ir
from ..errors import InvalidUsageError, RankFailedError, a_type, shorten
from ..frontend import Program
from ..mlir.parsing import parse_file, parse_text
from ..paths import as_path
from . import collectives as collectives
from . import elementwise as elementwise
from . import indexing as indexing
from . import linear as linear
from . import norms as norms
from . import reductions as reductions
from . import sampling as sampling
from . import views as views
from .binding import bind
from .bounded import Array
from .communicator import Communicator, Endpoint
from .interpreter import Machine, find_program, signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import ArraysLike, Source

__all__ = ["Evaluation", "error_bound", "error_spread", "evaluate", "evaluate_ranks", "run"]


@dataclass(frozen=True)
class Evaluation:
    """The result of an interpretation. Arrays of floats are float64; others have their dtype.

    Attributes:
        outputs: arrays by output name.
        states: arrays by state name, after the run.
        bounds: arrays by output name, with the largest error of each element that a correct
            implementation may have; empty if no bounds were requested.
    """

    outputs: dict[str, NDArray[Any]]
    states: dict[str, NDArray[Any]]
    bounds: dict[str, NDArray[Any]]


def evaluate(
    program: Source,
    inputs: ArraysLike,
    state: ArraysLike | None = None,
    *,
    iterations: int = 1,
    bound: bool = False,
    round_to_dtype: bool = False,
    noise: np.random.Generator | None = None,
) -> Evaluation:
    """Interprets a program.

    Args:
        program: an ``ark.Program``, an ``ir.Module`` of the graph level, MLIR text, or the
            path of an ``.mlir`` file.
        inputs: arrays of inputs, parameters and scalars by name.
        state: arrays of states by name; states without an array have their initial values.
        iterations: maximum number of iterations, on the same inputs; ``ark.stop_when`` may end the
            run earlier.
        bound: True computes ``bounds``; only for one iteration.
        round_to_dtype: True rounds each float result to its dtype, as a compiler without fusion
            does.
        noise: a generator; each float result gets a random part of the error bound of its op. Used
            with `bound` by :func:`error_spread`.

    Raises InvalidUsageError if names, shapes or dtypes do not match, if `iterations` is not valid,
    or if an index is out of range; the message then names the op. Raises UnsupportedError on an op
    that is not at the graph level.

    Example:
        >>> ark.reference.evaluate(program, {"x": x, "w": w}, bound=True).bounds["y"].shape
        (4, 256)
    """
    return _evaluate(program, inputs, state, iterations, bound, round_to_dtype, None, noise)


def _evaluate(
    program: Source,
    inputs: ArraysLike,
    state: ArraysLike | None,
    iterations: int,
    bound: bool,
    round_to_dtype: bool,
    rank: Endpoint | None,
    noise: np.random.Generator | None,
) -> Evaluation:
    """Implements :func:`evaluate`; a `rank` exchanges tensors with ranks in other threads."""
    module = _as_module(program)  # the op lives as long as its module does
    op = find_program(module)
    if iterations < 1:
        raise InvalidUsageError(f"cannot interpret {iterations} iterations; pass at least 1")
    if bound and iterations != 1:
        raise InvalidUsageError(f"bound=True needs iterations=1, not {iterations}")
    arguments = signature(op)
    arrays = bind(arguments, inputs, state or {})
    stops = [argument.name for argument in arguments if argument.stops]
    machine = Machine(bound=bound, round_to_dtype=round_to_dtype, rank=rank, noise=noise)
    for _ in range(iterations):
        machine.run(op, arrays, inputs)
        arrays.update({name: value.data for name, value in machine.states.items()})
        if any(machine.states[name].data.any() for name in stops):
            break
    bounds = {n: v.error for n, v in machine.outputs.items() if v.error is not None}
    return Evaluation(
        outputs={name: np.array(value.data) for name, value in machine.outputs.items()},
        states={name: np.array(value.data) for name, value in machine.states.items()},
        bounds=bounds,
    )


def _as_module(program: Source) -> ir.Module:
    if isinstance(program, Program):
        return program.module
    if isinstance(program, ir.Module):
        return program
    path = _path_of(program)
    if path is None:
        return parse_text(str(program), InvalidUsageError)
    return parse_file(path, InvalidUsageError)


def _path_of(program: object) -> Path | None:
    """Returns the path of the file to read, None if `program` is MLIR text."""
    if isinstance(program, str) and ("\n" in program or not program.endswith(".mlir")):
        return None
    if not isinstance(program, str | os.PathLike):
        raise InvalidUsageError(
            f"cannot interpret {a_type(program)}; expected an ark.Program, an ir.Module, "
            "the path of an .mlir file or MLIR text"
        )
    path = as_path(cast("object", program), "the program")
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidUsageError(f"cannot be read: {problem}", location=str(path)) from None
    return path


@overload
def run(
    program: Source,
    inputs: ArraysLike,
    state: ArraysLike | None = None,
    *,
    iterations: int = 1,
    round_to_dtype: bool = False,
    return_states: Literal[False] = False,
) -> dict[str, NDArray[Any]]: ...
@overload
def run(
    program: Source,
    inputs: ArraysLike,
    state: ArraysLike | None = None,
    *,
    iterations: int = 1,
    round_to_dtype: bool = False,
    return_states: Literal[True],
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]: ...
@overload
def run(
    program: Sequence[Program | ir.Module],
    inputs: Sequence[ArraysLike],
    state: Sequence[ArraysLike] | None = None,
    *,
    round_to_dtype: bool = False,
    return_states: Literal[False] = False,
) -> list[dict[str, NDArray[Any]]]: ...
@overload
def run(
    program: Sequence[Program | ir.Module],
    inputs: Sequence[ArraysLike],
    state: Sequence[ArraysLike] | None = None,
    *,
    round_to_dtype: bool = False,
    return_states: Literal[True],
) -> tuple[list[dict[str, NDArray[Any]]], list[dict[str, NDArray[Any]]]]: ...
def run(
    program: Source | Sequence[Program | ir.Module],
    inputs: ArraysLike | Sequence[ArraysLike],
    state: ArraysLike | Sequence[ArraysLike] | None = None,
    *,
    iterations: int = 1,
    round_to_dtype: bool = False,
    return_states: bool = False,
) -> Any:
    """Interprets a program and returns its outputs by name.

    Args:
        program: a program, or a list with the program of each rank. With a list, `inputs`, `state`
            and the results are lists by rank, too.
        return_states: True returns a tuple of the outputs and the states after the run.

    Other arguments are those of :func:`evaluate`. Raises InvalidUsageError if `iterations` is not 1
    for a list of programs, and the errors of :func:`evaluate`.

    Example:
        >>> with ark.Program("count") as count:
        ...     total = ark.state("total", (4,))
        ...     total = ark.update(total, total + 1, (0,))
        >>> outputs, states = ark.reference.run(count, {}, return_states=True)
        >>> outputs, states = ark.reference.run(count, {}, states, return_states=True)
        >>> states["total"]
        array([2., 2., 2., 2.])
    """
    if isinstance(program, (list, tuple)):
        if iterations != 1:
            raise InvalidUsageError(
                f"iterations must be 1 for the programs of several ranks, not {iterations}"
            )
        results = evaluate_ranks(program, inputs, state, round_to_dtype=round_to_dtype)  # type: ignore[arg-type]
        outputs = [result.outputs for result in results]
        return (outputs, [result.states for result in results]) if return_states else outputs
    result = evaluate(
        program,  # type: ignore[arg-type]
        inputs,  # type: ignore[arg-type]
        state,  # type: ignore[arg-type]
        iterations=iterations,
        round_to_dtype=round_to_dtype,
    )
    return (result.outputs, result.states) if return_states else result.outputs


def evaluate_ranks(
    programs: Sequence[Program | ir.Module],
    inputs: Sequence[ArraysLike],
    states: Sequence[ArraysLike] | None = None,
    *,
    bound: bool = False,
    round_to_dtype: bool = False,
) -> list[Evaluation]:
    """Interprets the programs of all ranks concurrently and returns an evaluation for each rank.

    Args:
        programs: the program of each rank.
        inputs: a dict of inputs and parameters for each rank.
        states: a dict of the states' values for each rank; by default the initial values.

    Other arguments are those of :func:`evaluate`. Raises InvalidUsageError if `inputs` or `states`
    is not a list of one dict per rank, and the errors of :func:`evaluate`.

    Example:
        >>> given = [{"x": x0, "w": w0}, {"x": x1, "w": w1}]
        >>> ark.reference.evaluate_ranks([p0, p1], given, bound=True)[1].bounds["y"].shape
        (4,)
    """
    for label, arrays in (("inputs", inputs), ("states", states)):
        if arrays is not None and (
            not isinstance(arrays, (list, tuple)) or len(arrays) != len(programs)
        ):
            raise InvalidUsageError(
                f"{label} must be a list of {len(programs)} dicts, one per rank, not "
                f"{shorten(arrays)}"
            )
    communicator = Communicator(len(programs))
    outcomes: list[Evaluation | BaseException] = [Evaluation({}, {}, {}) for _ in programs]

    def work(number: int) -> None:
        try:
            given = None if states is None else states[number]
            rank = Endpoint(number, communicator)
            outcomes[number] = _evaluate(
                programs[number], inputs[number], given, 1, bound, round_to_dtype, rank, None
            )
        except BaseException as error:  # the caller raises it below
            outcomes[number] = error
            communicator.barrier.abort()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors = [o for o in outcomes if isinstance(o, BaseException)]
    # The error of the rank that failed first precedes the errors of ranks that waited for it.
    for error in sorted(errors, key=lambda e: isinstance(e, RankFailedError)):
        raise error
    return [o for o in outcomes if isinstance(o, Evaluation)]


def error_spread(
    program: Source,
    inputs: ArraysLike,
    state: ArraysLike | None = None,
    *,
    samples: int = 8,
    deviations: float = 8.0,
    seed: int = 0,
) -> Evaluation:
    """Evaluates a program with error bounds that are estimated from samples.

    The bounds of :func:`error_bound` assume that all errors add up, and are infinite after two
    layers of a model. This function interprets the program `samples` more times. Each time it adds
    random noise to each op's float results, up to the largest error of that op alone. The noise
    propagates through the program as rounding errors do. The bound of an element is `deviations`
    times the root mean square of the samples' distances to the exact value, or of those distances
    in the element's row if that is larger. The bound is infinite if an op may have any result.
    Errors of an implementation beyond rounding exceed the bound.

    Args:
        samples: number of noisy evaluations, at least 2.
        deviations: factor of the bounds.
        seed: seed of the noise; equal seeds give equal bounds.

    Other arguments and errors are those of :func:`evaluate`.

    Example:
        >>> y = exe.run(x=x)["y"]
        >>> wanted = ark.reference.error_spread(program, {"x": x, "w": w})
        >>> assert (abs(y - wanted.outputs["y"]) <= wanted.bounds["y"]).all()
    """
    # Without bounds: with them, an index may depend on rounding although no sample changes it.
    exact = evaluate(program, inputs, state)
    rng = np.random.default_rng(seed)
    moved = [
        evaluate(program, inputs, state, bound=True, noise=rng) for _ in range(max(samples, 2))
    ]
    bounds = {
        name: deviations
        * _deviation(exact.outputs[name], [sample.outputs[name] for sample in moved])
        + np.max([sample.bounds[name] for sample in moved], axis=0)
        for name in moved[0].bounds
    }
    return Evaluation(exact.outputs, exact.states, bounds)


def _deviation(exact: Array, samples: Sequence[Array]) -> Array:
    """Returns the root mean square deviation of each element, or of its row along the last
    dimension if that is larger."""
    with np.errstate(invalid="ignore"):
        squares = [np.square(sample - np.asarray(exact, np.float64)) for sample in samples]
    # The distance of an infinity or NaN to itself is NaN, and counts as zero.
    squares = [np.nan_to_num(square, nan=0.0, posinf=np.inf) for square in squares]
    variance = np.mean(squares, axis=0)
    row = variance.mean(axis=-1, keepdims=True) if variance.ndim else variance
    return np.sqrt(np.maximum(variance, row))


def error_bound(
    program: Source, inputs: ArraysLike, state: ArraysLike | None = None
) -> dict[str, NDArray[Any]]:
    """Returns by output name the largest error of each element that a correct implementation has.

    A correct implementation computes each op in fp32, adds in any order, and stores results in the
    op's dtype. The bound is infinite if a result may be discontinuous (a comparison of equal
    values) or overflow, and after several layers of a model. Use :func:`error_spread` for whole
    models. Arguments and errors are those of :func:`evaluate`.

    Example:
        >>> y, given = exe.run(x=x)["y"], {"x": x, "w": w}
        >>> difference = abs(y - ark.reference.run(program, given)["y"])
        >>> assert (difference <= ark.reference.error_bound(program, given)["y"]).all()
    """
    return evaluate(program, inputs, state, bound=True).bounds
