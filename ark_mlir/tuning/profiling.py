"""The profile of a program, which is compiled for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidUsageError
from .measuring import zeros

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..compiler.options import CompileKeywords
    from ..runtime.diagnosis.profile import Profile
    from ..targets import Target
    from ..typing import Arrays, Inputs, Source

__all__ = ["profile"]


def profile(
    source: Source,
    target: str | Target | None = None,
    *,
    parameters: Arrays | None = None,
    inputs: Inputs | None = None,
    runs: int = 5,
    **options: Unpack[CompileKeywords],
) -> Profile:
    """Compiles a program with a trace, and measures the times of its tasks on this machine.

    :meth:`ark_mlir.Executable.profile` does the same for a program that is compiled with a trace.

    Args:
        source, target: the program and the target, as for :func:`ark_mlir.compile`; this machine
            must be able to run it.
        parameters, inputs: arrays by name; those without an array are zeros.
        runs: number of measured runs, at least 1; all times are medians.
        options: fields of :class:`ark_mlir.CompileOptions` except ``trace``.

    Returns a table by task and by op, with a roofline. Raises InvalidUsageError if `runs` is less
    than 1 or `options` has trace, and the errors of :func:`ark_mlir.compile`,
    :meth:`ark_mlir.Executable.bind` and :meth:`ark_mlir.Executable.run`.

    Example:
        >>> print(ark.tuning.profile(program, "cpu:2", parameters={"w": w}))
        mlp: ...
    """
    from ..compiler import compile as compile_program

    if "trace" in options:
        raise InvalidUsageError("a profile sets the option trace itself")
    chosen: dict[str, Any] = {**options, "trace": True}
    with compile_program(source, target, **chosen) as executable:
        executable.bind({**zeros(executable.parameters), **(parameters or {})})
        return executable.profile({**zeros(executable.inputs), **(inputs or {})}, runs=runs)
