"""Engines: libraries that make the memory of a rank's GPU accessible to the other ranks.

`ark.distributed.init(engine=...)` takes one of them. Without an engine, the ranks share memory by
file descriptors of their own.
"""

from .engine import Engine, PeerRegion
from .mscclpp import MscclppMemory
from .nccl import NcclMemory
from .torch_symmetric import TorchSymmetricMemory

__all__ = ["Engine", "MscclppMemory", "NcclMemory", "PeerRegion", "TorchSymmetricMemory"]
