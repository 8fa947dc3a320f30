"""The public namespaces of the package."""

from __future__ import annotations

# Modules whose ``__all__`` has the public names, relative to ark_mlir.
NAMESPACES = (
    "", ".bundle", ".compiler", ".distributed", ".dtypes", ".knobs", ".models", ".optim",
    ".pytorch", ".reference", ".runtime", ".show", ".simulation", ".targets", ".text", ".training",
    ".tuning",
)  # fmt: skip
