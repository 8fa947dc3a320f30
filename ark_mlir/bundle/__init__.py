"""Bundles: the file that holds one compiled program (docs/bundle.md is the contract).

A bundle holds the kernel, the schedule's tables, and the name, shape and element type of each
buffer; it does not hold the parameters. Reading a bundle imports neither MLIR nor a compiler, and
runs no code of the bundle.

    >>> from ark_mlir.bundle import read_bundle
    >>> bundle = read_bundle("mlp.arkbin")
    >>> [buffer.name for buffer in bundle.manifest.inputs]
    ['x']
"""

from .bundle import Bundle, write_bundle
from .footprints import Expression, Footprint, Operand
from .format import Bytes
from .manifest import Body, Buffer, Manifest, Origin, Section, Semaphore, Target, Task, Value
from .reader import read_bundle, sign_bundle
from .signatures import Signature
from .tables import Opcode, Tables
from .unit import Unit

__all__ = [
    "Body",
    "Buffer",
    "Bundle",
    "Bytes",
    "Expression",
    "Footprint",
    "Manifest",
    "Opcode",
    "Operand",
    "Origin",
    "Section",
    "Semaphore",
    "Signature",
    "Tables",
    "Target",
    "Task",
    "Unit",
    "Value",
    "read_bundle",
    "sign_bundle",
    "write_bundle",
]
