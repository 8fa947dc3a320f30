"""Targets: descriptions of machines, and the generation of their machine code.

    >>> from ark_mlir.targets import resolve
    >>> resolve("cuda:sm_90a").sms
    132

Each backend is one module. Only dialects/ark/ArkKnownTargets.cpp has the facts of known machines.
"""

from .backend import Backend, Code, backend_of, resolve
from .target import Target

__all__ = ["Backend", "Code", "Target", "backend_of", "resolve"]
