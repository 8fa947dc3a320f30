"""The training loop of a program: the count of steps, a batch for each step, and the losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import frontend as ark
from ..dtypes import fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Tensor
from ..frontend.locations import user_frames
from ..frontend.shapes import as_shape

if TYPE_CHECKING:
    from ..typing import DTypeLike, Shape

__all__ = ["Loop"]

_OP = "ark.training.Loop"


class Loop:
    """The loop of a training program, of which each iteration is one step.

    A launch runs several steps without the host. Its inputs hold a batch for each step, and a state
    keeps the losses until the launch ends. Step s uses the entry ``s % steps`` of the inputs and of
    the losses, so that launches may begin at any step.

    Args:
        steps: the largest number of steps of one launch.
        name: prefix of the names of the states ``<name>.step``, ``<name>.losses`` and
            ``<name>.broken``.

    Attributes:
        step: an int32 scalar, the number of steps before this one.

    Raises InvalidUsageError outside of a program, or if `steps` is not positive.

    Example:
        >>> loop = ark.training.Loop(steps=100)
        >>> rows = loop.input("rows", (4, 64))
        >>> w = ark.state("w", (64,))
        >>> loss = ark.reduce_mean((rows @ w) ** 2.0, keepdims=False)
        >>> broken = loop.end(loss)
        >>> ark.optim.SGD([w], lr=0.1).step(ark.gradients(loss, [w]), skip=broken)
    """

    def __init__(self, steps: int = 100, name: str = "loop") -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid(f"steps must be a positive integer, not {steps!r}")
        self.steps = steps
        self.name = name
        self._count = ark.state(f"{name}.step", (), int32)
        self._losses = ark.state(f"{name}.losses", (steps,), fp32)
        self._broken = ark.state(f"{name}.broken", (), int32)
        self.step = ark.copy(self._count, name=f"{name}.step")
        self._entry = self.step - self.step / steps * steps
        self.inputs: dict[str, tuple[int, ...]] = {}
        self._ended = False

    def input(self, name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
        """Declares an input of the loop, and returns the tensor of this step.

        Args:
            name: the name of the input, and the key in the batch that a Trainer requires.
            shape: the shape of the tensor of one step; the input of the program has the shape
                ``(steps, *shape)``.
            dtype: the element type.

        Raises the errors of ``ark.input``.

        >>> tokens = ark.training.Loop().input("tokens", (8, 65), ark.int32)
        >>> tokens.shape
        (8, 65)
        """
        extents = tuple(as_shape(shape, _OP))
        whole = ark.input(name, (self.steps, *extents), dtype)
        self.inputs[name] = extents
        return ark.gather(whole, self._entry, 0, name=f"{name}.batch")

    def end(self, loss: Tensor) -> Tensor:
        """Records the loss of this step, and ends the launch after this step if it is not finite.

        Returns a bool scalar that is true if the loss is NaN or infinite. Pass it as the argument
        `skip` of an optimizer's ``step``: the weights then stay those before this step.

        Args:
            loss: a tensor of floats with one element.

        Raises InvalidUsageError if `loss` is another object, or the method was called before.

        >>> broken = ark.training.Loop().end(ark.reduce_mean(x, keepdims=False))
        """
        if not isinstance(loss, Tensor) or loss.size != 1 or not loss.dtype.is_float:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _invalid(f"loss must be a tensor of floats with one element, not {loss!r}")
        if self._ended:
            raise _invalid("the loop has a loss already; call end once")
        self._ended = True
        value = ark.reshape(loss if loss.dtype == fp32 else ark.cast(loss, fp32), (1,))
        ark.update(self._losses, value, (self._entry,))
        finite = ark.less_equal(ark.abs(value), float(np.finfo(np.float32).max))
        broken = ark.logical_not(ark.reshape(finite, ()))
        ark.update(self._broken, ark.cast(broken, int32), ())
        ark.stop_when(self._broken)
        ark.update(self._count, ark.where(broken, self.step, self.step + 1), ())
        return broken


def _invalid(message: str) -> InvalidUsageError:
    return InvalidUsageError(message, location=str(user_frames(0)[0]), op=_OP)
