"""Targets: what is known of a machine, and the last step from its code to a kernel.

    >>> from ark_mlir.targets import resolve
    >>> resolve("cuda:sm_90a").sms
    132

One module per backend. Facts of known machines are stated once, in passes/pipelines.
"""

from .backend import Backend, Code, backend_of
from .target import Target, resolve

__all__ = ["Backend", "Code", "Target", "backend_of", "resolve"]
