"""Targets: descriptions of machines, and the last step from a machine's code to a kernel.

    >>> from ark_mlir.targets import resolve
    >>> resolve("cuda:sm_90a").sms
    132

One module per backend. Facts of known machines are stated once, in lib/target.
"""

from .backend import Backend, Code, backend_of, resolve
from .target import Target

__all__ = ["Backend", "Code", "Target", "backend_of", "resolve"]
