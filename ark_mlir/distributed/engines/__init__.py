"""Engines: libraries that make the memory of a rank's GPU accessible to the other ranks.

`ark.distributed.init(engine=...)` takes an engine. Without an engine, the ranks exchange file
descriptors of their memory.
"""

from .engine import Engine, PeerRegion
from .mscclpp import MscclppMemory
from .nccl import NcclMemory
from .torch_symmetric import TorchSymmetricMemory

__all__ = ["Engine", "MscclppMemory", "NcclMemory", "PeerRegion", "TorchSymmetricMemory"]
