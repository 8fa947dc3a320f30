"""``Model``, the base class of loaded models."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from .weights import Arrays

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords, CompileOptions
    from ..frontend import Program
    from ..runtime import Executable
    from ..targets import Target
    from ..typing import HostInputs

__all__ = ["Model"]


class Model:
    """The programs of a model, and the arrays of their parameters.

    Attributes:
        name: the model's folder.
        programs: programs by name, such as ``embed``, or ``prefill`` and ``decode``.
        parameters: arrays by parameter name, mapped from the model's files if the dtype is equal.
        ranks: if several ranks share the model, the list of the programs of the ranks by name. If
            each rank is a process, a list has only the program of this rank. `programs` has
            equivalent programs for one device.
        executables: the compiled programs, after :meth:`compile`.

    Example:
        >>> model = ark.models.load(folder, length=12).compile("cpu")
        >>> list(model.executables), isinstance(model, ark.models.Model)
        (['embed'], True)
    """

    def __init__(self, name: str, programs: Mapping[str, Program], parameters: Arrays) -> None:
        self.name = name
        self.programs = dict(programs)
        self.parameters = parameters
        self.ranks: dict[str, list[Program]] = {}
        self.executables: dict[str, Executable] = {}

    def compile(
        self,
        target: str | Target | None = None,
        options: CompileOptions | None = None,
        **overrides: Unpack[CompileKeywords],
    ) -> Self:
        """Compiles every program and binds its parameters; returns the model.

        Args:
            target, options, overrides: arguments of ``ark.compile``.

        Raises the errors of ``ark.compile``, and InvalidUsageError if the model comes from bundles.

        Example:
            >>> model = ark.models.load(folder, length=12).compile("cpu")
        """
        if not self.programs:
            raise InvalidUsageError("the model comes from bundles, which are compiled already")
        chosen: dict[str, Any] = {"target": target, "options": options, **overrides}
        for name in self.programs:
            self.executables[name] = self._compile(name, chosen)
            self._bind(name)
        return self

    def _compile(self, name: str, chosen: Mapping[str, Any]) -> Executable:
        """Compiles one program, for all ranks of this process."""
        from ..compiler import compile as compile_program
        from .replicas import Replicas

        programs = self.ranks.get(name, [self.programs[name]])
        if len(programs) > 1:
            return Replicas.of(compile_program(programs, **chosen))
        return compile_program(programs[0], **chosen)

    def _bind(self, name: str) -> None:
        """Binds the parameters of a program that was compiled."""
        from .replicas import Replicas
        from .sharding import Shard

        executable = self.executables[name]
        parts: list[Arrays] = [
            Shard.of(program).parts(self.parameters, program)
            for program in self.ranks.get(name, [self.programs[name]])
        ]
        if isinstance(executable, Replicas):
            executable.bind(parts)
        else:
            executable.bind(parts[0])

    def parameters_of(self, name: str) -> dict[str, NDArray[Any]]:
        """Returns the arrays of the parameters of program `name`, by parameter name.

        >>> model = ark.models.load(folder, length=4)
        >>> name = next(iter(model.programs))
        >>> set(model.parameters_of(name)) == set(model.programs[name].parameters)
        True
        """
        return {n: self.parameters[n] for n in self.programs[name].parameters}

    def run(
        self, name: str, inputs: HostInputs, *, reference: bool = False
    ) -> dict[str, NDArray[Any]]:
        """Runs the program `name` once and returns its outputs by name.

        Args:
            name: the name of a program in ``programs``.
            inputs: an array for each input, and an int for each scalar, by name.
            reference: True runs the program in the float64 interpreter, with the initial states.

        Raises InvalidUsageError if inputs do not fit, or the model is not compiled.

        >>> model = ark.models.load(folder, length=4)
        >>> [name] = model.programs
        >>> inputs = {
        ...     key: np.ones(each.shape, each.dtype.numpy)
        ...     for key, each in model.programs[name].inputs.items()
        ... }
        >>> outputs = model.run(name, inputs, reference=True)
        >>> set(outputs) == set(model.programs[name].outputs)
        True
        """
        if reference:
            if not self.programs:
                raise InvalidUsageError("the model comes from bundles, which cannot be interpreted")
            from ..reference import run

            return run(self.programs[name], {**self.parameters_of(name), **inputs})
        return self.executable(name).run(dict(inputs))

    def executable(self, name: str) -> Executable:
        """Returns the compiled program `name`; raises InvalidUsageError before :meth:`compile`.

        >>> model = ark.models.load(folder, length=4).compile("cpu:2")
        >>> [model.executable(name).name for name in model.programs]
        ['bert']
        """
        if name not in self.executables:
            raise InvalidUsageError("the model is not compiled; call compile(target) first")
        return self.executables[name]

    def __repr__(self) -> str:
        size = sum(a.nbytes for a in self.parameters.values())
        programs = ", ".join(self.programs or self.executables)
        return f"<{type(self).__name__} {self.name!r}: {programs}; {size / 1e6:.0f} MB>"


def as_rows(values: object, label: str) -> list[NDArray[np.int64]]:
    """Returns integers as a list of rows, one for each prompt, from a matrix or from rows.

    Raises InvalidUsageError, which calls the values `label`, if a value is not an integer.
    """
    try:
        rows = [np.asarray(row) for row in values]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidUsageError(f"{label} must be rows of integers") from None
    for number, row in enumerate(rows):
        if row.ndim != 1 or (row.size and row.dtype.kind not in "iu"):
            raise InvalidUsageError(f"{label}[{number}] must be a row of integers")
    return [row.astype(np.int64) for row in rows]


def as_tokens(ids: object, vocabulary: int, label: str = "ids") -> list[NDArray[np.int32]]:
    """Returns token ids as :func:`as_rows` does; raises InvalidUsageError also if an id is not in
    the vocabulary."""
    rows = as_rows(ids, label)
    for number, row in enumerate(rows):
        outside = row[(row < 0) | (row >= vocabulary)]
        if outside.size:
            raise InvalidUsageError(
                f"{label}[{number}] has token {outside[0]}, but the vocabulary has {vocabulary} "
                "entries"
            )
    return [row.astype(np.int32) for row in rows]
