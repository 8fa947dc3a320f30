"""PyTorch modules as programs: ``ark.from_torch`` and ``torch.compile(backend="ark")``.

torch is imported when one of the two is used, not before.
"""

from .exporting import TorchProgram, from_torch

__all__ = ["TorchProgram", "from_torch"]
