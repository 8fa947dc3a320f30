"""The PTX that compilations pass to ptxas."""

from __future__ import annotations

from typing import Any

import pytest

from ark_mlir.targets.cuda_assembler import Ptxas


def record_ptx(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list to which each later compilation appends its PTX."""
    texts: list[str] = []
    assemble = Ptxas.assemble

    def keep(self: Ptxas, ptx: str, arch: str, opt_level: int) -> Any:
        texts.append(ptx)
        return assemble(self, ptx, arch, opt_level)

    monkeypatch.setattr(Ptxas, "assemble", keep)
    return texts
