"""``Trainer``: runs the steps of a training program, feeds them, saves and resumes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import compile as compile_program
from ..errors import DataRangeError, DeviceError, InvalidUsageError, shorten
from ..frontend import Argument, Program
from ..paths import as_path
from ..progress import Progress
from ..runtime.ranks.membership import current
from .curve import write_curve
from .explanation import explain_loss
from .interruption import Interruption
from .loop import Loop
from .queue import Queue
from .saving import HISTORY, StateFiles

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords
    from ..runtime.ranks.membership import Membership
    from ..runtime.runs import Runs
    from ..typing import Sources

__all__ = ["Batch", "Trainer"]

Batch = Callable[[int], Mapping[str, Any]]
"""A function that returns the inputs of a training step, by name, from the index of the step."""

# The duration of a launch: short enough to show progress, and to end soon after Ctrl-C.
_LAUNCH_SECONDS = 1.0


class Trainer:
    """Compiles a training program, runs its steps in launches, and keeps the losses.

    Args:
        program: a closed program with one `loop`, whose weights and moments are states.
        loop: the loop that the program was built with.
        batch: a function of the index of a step that returns the inputs of the step, by the names
            of ``loop.input``. If training resumes, equal indices must give equal batches. Or a
            :class:`Queue`, whose thread makes batches while steps run; :meth:`close` closes it.
        target: the target to compile for, such as ``"cpu"``, ``"cuda"`` or ``"hip"``.
        bind: parameters, and initial values of states, as for ``Executable.bind``.
        save: the ``.safetensors`` file of the states; see :meth:`save`.
        save_every: the number of steps between two saves; None saves at the end of a run only.
        tokens: the number of tokens of a step, for the rate that progress shows.
        explain: True names the op that made the first value that is not finite if a loss is NaN or
            infinite; the float64 interpreter computes this step again.
        resident: True keeps the kernel on the device while :meth:`run` feeds batches to it, as
            :meth:`Executable.resident` does.
        **options: options of ``ark.compile``.

    Attributes:
        step: the number of steps so far.
        losses: the loss of each step since step zero.
        failed: None, or the steps of a launch that failed. The states may then be those within a
            step; :meth:`run` and :meth:`save` refuse them until :meth:`load`.

    Raises InvalidUsageError if the program does not have the loop, a number is not positive, or the
    folder of `save` does not exist, and the errors of ``ark.compile`` and ``bind``.

    Example:
        >>> with ark.Program("fit") as program:
        ...     loop = ark.training.Loop(steps=20)
        ...     w = ark.state("w", (4,), init=1.0)
        ...     loss = ark.reduce_sum(w * loop.input("x", (4,)), keepdims=False) ** 2.0
        ...     ark.optim.SGD([w], lr=0.01).step(ark.gradients(loss, [w]), skip=loop.end(loss))
        >>> batch = lambda step: {"x": np.ones(4, np.float32)}
        >>> trainer = ark.training.Trainer(program, loop, batch, target="cpu:2")
        >>> len(trainer.run(30))
        30
        >>> trainer.close()
    """

    def __init__(
        self,
        program: Program,
        loop: Loop,
        batch: Batch | Queue,
        *,
        target: str | None = None,
        bind: Sources | None = None,
        save: str | os.PathLike[str] | None = None,
        save_every: int | None = None,
        tokens: int | None = None,
        explain: bool = False,
        resident: bool = False,
        **options: Unpack[CompileKeywords],
    ) -> None:
        if f"{loop.name}.losses" not in program.states:
            raise InvalidUsageError(f"program {program.name!r} was built without this loop")
        if not isinstance(batch, Queue) and not callable(batch):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidUsageError(
                "batch must be a function of the index of a step or an ark.training.Queue, not "
                f"{shorten(batch)}"
            )
        self._save_every = None if save_every is None else _positive(save_every, "save_every")
        self._tokens = None if tokens is None else _positive(tokens, "tokens")
        if save is not None and not as_path(save, "save").absolute().parent.is_dir():
            raise InvalidUsageError("the folder does not exist; create it", location=str(save))
        self._loop, self._batch, self._path = loop, batch, save
        self._explained = (program, bind) if explain else None
        self._resident = resident
        self._rank = program.rank
        self._states: dict[str, Argument] = program.states
        self._arguments: dict[str, Argument] = program.inputs
        if unfed := [name for name in self._arguments if name not in loop.inputs]:
            raise InvalidUsageError(
                f"input {unfed[0]!r} was not declared by the loop; declare it with loop.input",
                location=self._arguments[unfed[0]].location,
            )
        # The inputs of a launch, by name: `loop.steps` batches, of which step s uses the one with
        # the index s % loop.steps.
        self._batches = {
            name: np.zeros(argument.shape, argument.dtype.numpy)
            for name, argument in self._arguments.items()
        }
        self.executable = compile_program(program, target=target, **options)
        try:
            if bind is not None:
                self.executable.bind(bind)
        except BaseException:
            self.executable.close()
            raise
        self.losses: list[float] = []
        self._step_seconds: float | None = None
        self._ctrl_c = Interruption()
        self._stops = False
        # The batches of the steps before this one are in the inputs of the launch.
        self._filled = 0
        self.failed: str | None = None

    # ---------------------------------------------------------------- running

    @property
    def step(self) -> int:
        """Returns the number of steps so far."""
        return int(self.executable.states[f"{self._loop.name}.step"])

    def run(self, steps: int) -> NDArray[np.float32]:
        """Runs `steps` steps and returns their losses.

        Shows the loss, the step, tokens per second and the remaining time on stderr, if that is a
        terminal. On Ctrl-C, ends the launch, saves if there is a file to save to, and raises
        KeyboardInterrupt; the states are those after a whole step. A second Ctrl-C does not wait.
        After ``ark.distributed.init``, all ranks run the same steps, and Ctrl-C in one rank ends
        the run in all of them.

        Args:
            steps: the number of steps to run, a positive integer.

        Raises DeviceError if a loss is NaN or infinite; the message names the step. The states are
        then those before that step, if the optimizer skips it, and the saved file is that of the
        last save. Raises InvalidUsageError if a batch has other names, shapes or dtypes than the
        loop's inputs; HangError if a queue had no batch within its time limit; RankFailedError if
        another rank fails; OSError if the file cannot be written; and the errors of
        ``Executable.run``, after which the states have to be loaded again. Saved files are those
        after whole steps.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     trainer.run(6)
        array([0., 1., 2., 3., 4., 5.], dtype=float32)
        """
        self._refuse_failed()
        begin = step = self.step
        end, started = begin + _positive(steps, "steps"), time.monotonic()
        self._stops, self._filled = False, step

        def detail() -> str:
            return self._detail(begin, end, started)

        with self._ctrl_c, Progress("training", detail), self._kernel() as kernel:
            while step < end and not self._stops:
                limit = min(end, self._next_save(step))
                step = self._launch(kernel, step, min(limit, step + self._launch_steps()))
                if step == self._next_save(step - 1) and step < end:
                    self._save_if_named()
            self._save_if_named()
        if self._stops:
            raise KeyboardInterrupt
        return np.array(self.losses[len(self.losses) - (step - begin) :], np.float32)

    def _next_save(self, step: int) -> int:
        every = self._save_every
        return 2**62 if every is None else step - step % every + every

    def _launch_steps(self) -> int:
        """Returns the number of steps of a launch that takes about `_LAUNCH_SECONDS`."""
        if self._step_seconds is None:
            return 1
        return max(1, min(self._loop.steps, int(_LAUNCH_SECONDS / max(self._step_seconds, 1e-9))))

    @contextmanager
    def _kernel(self) -> Generator[Runs]:
        """Yields the executable, or the program that stays on the device."""
        if not self._resident:
            yield self.executable
            return
        with self.executable.resident() as kernel:
            yield kernel

    def _launch(self, kernel: Runs, step: int, end: int) -> int:
        """Runs steps from `step` on, until `end` or until a queue has no further batch, in one
        launch; returns the index of the next step."""
        end = self._agree_on_end(step, end)
        if end == step:
            return step
        began = time.monotonic()
        self.failed = f"step {step}" if end == step + 1 else f"steps {step} to {end - 1}"
        try:
            kernel.run(self._batches, iterations=end - step)
        except DataRangeError as error:
            # An index out of range in a batch, such as a label.
            text = f"{error.message}, in the launch of {self.failed}"
            raise DataRangeError(
                text, location=error.location, op=error.op, notes=error.notes
            ) from None
        except InvalidUsageError:
            self.failed = None  # the launch was refused
            raise
        self.failed = None
        self._step_seconds = (time.monotonic() - began) / (end - step)
        reached = self.step
        recorded = self.executable.states[f"{self._loop.name}.losses"]
        steps = self._loop.steps
        self.losses += [float(recorded[number % steps]) for number in range(step, reached)]
        if reached < end:
            raise self._not_finite(reached, float(recorded[reached % steps]))
        return reached

    def _not_finite(self, step: int, loss: float) -> DeviceError:
        """Returns the error of a step whose loss or norm is not finite."""
        state, text = "losses", f"the loss of step {step} is {loss}"
        if np.isfinite(loss):
            norm = float(self.executable.states[f"{self._loop.name}.norm"])
            state, text = "norm", f"the norm of step {step} is {norm}, and its loss {loss:.4g}"
        return DeviceError(
            f"{text}{self._explanation(state)}; lower the learning rate, or clip the gradients; "
            "the states are those before the step if skip=loop.end(loss)"
        )

    def _explanation(self, state: str) -> str:
        """Returns the op that made the first value that is not finite, for a message."""
        if self._explained is None:
            return ""
        state = f"{self._loop.name}.{state}"
        return explain_loss(*self._explained, self._batches, self.state_arrays(), state)

    def _refuse_failed(self) -> None:
        if self.failed is not None:
            raise InvalidUsageError(
                f"the launch of {self.failed} failed, so that the states may be those within a "
                "step; call load with a saved file first"
            )

    def _agree_on_end(self, step: int, end: int) -> int:
        """Prepares the steps from `step` to at most `end`; returns the first one after the launch.

        Ranks run the steps for which all of them have batches, and stop together.
        """
        member = self._member()
        if member is None:
            end = self._fill_until(step, end)
            self._stops = self._ctrl_c.came
            return end
        # The other ranks get the error of a batch.
        with member.collective_call(f"train {self.executable.name!r}") as call:
            mine: Any = [step, self._fill_until(step, end), self._ctrl_c.came]
            answers: list[Any] = [each.body for each in call.all_gather("batches", mine)]
        for rank, (other, _, _) in enumerate(answers):
            if other != step:
                raise InvalidUsageError(
                    f"rank {member.rank} is at step {step}, and rank {rank} at step {other}; load "
                    "files that were saved after the same step"
                )
        self._stops = any(stops for _, _, stops in answers)
        return min(end for _, end, _ in answers)

    def _fill_until(self, step: int, end: int) -> int:
        """Copies the batches of the steps from `step` to `end` to the inputs of the launch.

        Returns the step after the last one that has a batch: less than `end` if a queue has no
        further one, and `step` if Ctrl-C came while it had none.
        """
        batch = self._batch
        for number in range(self._filled, end):
            if not isinstance(batch, Queue):
                self._fill(number, batch(number))
                continue
            if number > step and not batch.is_ready(number):
                return number
            given = batch.take(number, lambda: self._ctrl_c.came)
            if given is None:
                return number
            self._fill(number, given)
        return end

    def _fill(self, step: int, given: Mapping[str, Any]) -> None:
        """Copies the batch of a step to the inputs of the launch."""
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUsageError(
                f"the batch of step {step} is {shorten(given)}; expected a dict of arrays by name"
            )
        if set(given) != set(self._arguments):
            raise InvalidUsageError(
                f"the batch of step {step} has the inputs {sorted(given)!r}, but loop.input "
                f"declares {sorted(self._arguments)!r}"
            )
        for name, batches in self._batches.items():
            array = np.asarray(given[name])
            if array.shape != batches.shape[1:] or array.dtype != batches.dtype:
                raise InvalidUsageError(
                    f"the batch of step {step}: {name!r} is {array.dtype}{list(array.shape)}, not "
                    f"{batches.dtype}{list(batches.shape[1:])}",
                    location=self._arguments[name].location,
                )
            batches[step % self._loop.steps] = array
        self._filled = step + 1

    def _detail(self, begin: int, end: int, started: float) -> str:
        done = len(self.losses)
        if not done or self._step_seconds is None:
            return ""
        text = f", step {done} of {end}, loss {self.losses[-1]:.4f}"
        if self._tokens is not None:
            text += f", {self._tokens / max(self._step_seconds, 1e-9):,.0f} tokens/s"
        ran = max(done - begin, 1)
        left = (time.monotonic() - started) / ran * max(end - done, 0)
        return f"{text}, {left:.0f} s left"

    # ---------------------------------------------------------------- files

    def _save_if_named(self) -> None:
        # A rank without a file joins the others.
        if self._path is not None or self._member() is not None:
            self.save(self._path)

    def _member(self) -> Membership | None:
        """Returns the membership of a rank of a program of several ranks, or None."""
        return None if self._rank is None else current()

    def _files(self) -> StateFiles:
        step = f"{self._loop.name}.step"
        return StateFiles(self.executable.name, step, self._states, self._member())

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """Returns a copy of every state by name.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     sorted(trainer.state_arrays())
        ['loop.broken', 'loop.losses', 'loop.step']
        """
        return {name: np.array(self.executable.states[name]) for name in self._states}

    def save(self, path: str | os.PathLike[str] | None) -> None:
        """Writes all states and the losses to a ``.safetensors`` file.

        The file is replaced atomically. A training that :meth:`load` resumes from the file gives
        the same bits as one that was not interrupted. After ``ark.distributed.init``, all ranks
        call this method, and replace their files when all of them are written.

        Args:
            path: the file. With several ranks, None in a rank that writes no file.

        Raises OSError if the file cannot be written, such as on a full disk; the old file stays, in
        all ranks. Raises InvalidUsageError after a launch failed, or if ranks are at different
        steps, and RankFailedError if another rank fails.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     losses = trainer.run(3)
        ...     trainer.save("count.safetensors")
        """
        self._refuse_failed()
        history = np.array(self.losses, np.float32)
        self._files().save(path, {**self.state_arrays(), HISTORY: history})

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads the states of a file that :meth:`save` wrote.

        After ``ark.distributed.init``, all ranks call this method, and read the newest step that
        all of them have saved.

        Args:
            path: the file.

        Raises InvalidUsageError if the file cannot be read, or is of a program with other states,
        such as another optimizer or model; the message names the first difference. Raises
        InvalidUsageError if the ranks have no saved step in common, and RankFailedError if another
        rank fails.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     losses = trainer.run(3)
        ...     trainer.save("count.safetensors")
        ...     trainer.load("count.safetensors")
        ...     trainer.step
        3
        """
        arrays = self._files().load(path)
        assert arrays is not None  # a missing file is an error
        self._set_states(arrays)

    def resume(self, path: str | os.PathLike[str]) -> bool:
        """Reads the states of a file as :meth:`load` does, if there is one.

        Returns False, in all ranks, if no rank has saved. A rank must not look for its file itself:
        a rank that was lost in the first save may have left a file in some ranks only.

        Args:
            path: the file.

        Raises the errors of :meth:`load`.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     trainer.resume("none.safetensors")
        False
        """
        arrays = self._files().load(path, missing=True)
        if arrays is None:
            return False
        self._set_states(arrays)
        return True

    def _set_states(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.executable.bind({name: arrays[name] for name in self._states})
        self.losses = [float(loss) for loss in arrays[HISTORY]]
        self.failed = None

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Writes a page with the curve of all losses; see :func:`write_curve`.

        Args:
            path: the page.

        Raises InvalidUsageError if there is no loss yet, and OSError if the file cannot be written.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> with ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2") as trainer:
        ...     losses = trainer.run(3)
        ...     trainer.plot("loss.html")
        """
        write_curve(path, self.losses, title=f"loss of {self.executable.name}")

    def close(self) -> None:
        """Frees the memory of the executable and closes the queue; may be called again.

        >>> with ark.Program("count") as program:
        ...     loop = ark.training.Loop(steps=4)
        ...     broken = loop.end(ark.cast(loop.step, ark.fp32))
        >>> ark.training.Trainer(program, loop, lambda step: {}, target="cpu:2").close()
        """
        if isinstance(self._batch, Queue):
            self._batch.close()
        self.executable.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _positive(value: object, label: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidUsageError(f"{label} must be a positive integer, not {value!r}")
    return value
