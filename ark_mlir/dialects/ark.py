"""The ark dialect: one class and one builder function per op, and the enums.

Everything is generated from the op definitions in ``dialects/ark``; importing
this module also teaches the bindings to turn the enums into attributes.
"""

from ark_mlir.dialects._ark_enum_gen import *
from ark_mlir.dialects._ark_ops_gen import *
