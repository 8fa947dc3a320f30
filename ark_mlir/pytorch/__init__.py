"""PyTorch modules as programs: ``ark.from_torch`` and ``torch.compile(backend="ark")``.

torch is imported when one of the two is used, not before.
"""

# Where torch is absent, its types are unknown.
from .exporting import TorchProgram, from_torch  # pyright: ignore[reportUnknownVariableType]

__all__ = ["TorchProgram", "from_torch"]
