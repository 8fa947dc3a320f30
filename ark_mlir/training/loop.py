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
        name: prefix of the names of the states ``<name>.step``, ``<name>.losses``,
            ``<name>.broken`` and, if :meth:`end` gets a norm, ``<name>.norm``.

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

    def end(self, loss: Tensor, norm: Tensor | None = None) -> Tensor:
        """Records the loss of this step, and ends the launch after this step if it is not finite.

        Returns a bool scalar that is true if the loss is NaN or infinite. Pass it as the argument
        `skip` of an optimizer's ``step``: the weights then stay those before this step.

        Args:
            loss: a tensor of floats with one element.
            norm: a tensor like `loss` that has to be finite too, such as the global norm of the
                gradients: the gradients of a finite loss may be infinite.

        Raises InvalidUsageError if an argument is another object, or the method was called before.

        >>> broken = ark.training.Loop().end(ark.reduce_mean(x, keepdims=False))
        """
        value = _scalar(loss, "loss")
        if self._ended:
            raise _invalid("the loop has a loss already; call end once")
        self._ended = True
        ark.update(self._losses, ark.reshape(value, (1,)), (self._entry,))
        broken = _is_broken(value)
        if norm is not None:
            measured = _scalar(norm, "norm")
            ark.update(ark.state(f"{self.name}.norm", (), fp32), measured, ())
            broken = ark.logical_or(broken, _is_broken(measured))
        ark.update(self._broken, ark.cast(broken, int32), ())
        ark.stop_when(self._broken)
        ark.update(self._count, ark.where(broken, self.step, self.step + 1), ())
        return broken


def _scalar(x: Tensor, label: str) -> Tensor:
    """Returns a tensor of one element as an fp32 scalar."""
    if not isinstance(x, Tensor) or x.size != 1 or not x.dtype.is_float:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _invalid(f"{label} must be a tensor of floats with one element, not {x!r}")
    return ark.reshape(x if x.dtype == fp32 else ark.cast(x, fp32), ())


def _is_broken(x: Tensor) -> Tensor:
    """Returns True, as a bool scalar, if an fp32 scalar is NaN or infinite."""
    return ark.logical_not(ark.less_equal(ark.abs(x), float(np.finfo(np.float32).max)))


def _invalid(message: str) -> InvalidUsageError:
    return InvalidUsageError(message, location=str(user_frames(0)[0]), op=_OP)
