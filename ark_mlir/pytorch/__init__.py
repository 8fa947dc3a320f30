"""PyTorch modules as programs: ``ark.from_torch`` and ``torch.compile(backend="ark")``.

torch is imported on the first use of either.
"""

from .background import wait_for_programs

# Without torch, its types are unknown.
from .exporting import TorchProgram, from_torch  # pyright: ignore[reportUnknownVariableType]

__all__ = ["TorchProgram", "from_torch", "wait_for_programs"]
