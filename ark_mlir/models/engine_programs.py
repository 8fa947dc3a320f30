"""The programs of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Model

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords, CompileOptions
    from ..targets import Target

__all__ = ["EnginePrograms"]


class EnginePrograms(Model):
    """The programs of an engine, which share caches and parameters."""

    def compile(
        self,
        target: str | Target | None = None,
        options: CompileOptions | None = None,
        **overrides: Unpack[CompileKeywords],
    ) -> Self:
        """See :meth:`Model.compile`. If an exception interrupts it, no program is compiled: the
        programs of two compilations share no caches."""
        self.executables.clear()
        try:
            return super().compile(target, options, **overrides)
        except BaseException:
            self.executables.clear()
            raise

    def _bind(self, name: str) -> None:
        first = next(iter(self.programs))
        if name == first:
            super()._bind(name)
        else:
            self.executables[name].share_states(self.executables[first], parameters=True)
