"""The ark dialect: one class and one builder function per op, and the enums.

All of it is generated from the op definitions in ``dialects/ark``. The import of this module also
registers the builders that turn the enums into attributes.
"""

from ark_mlir.dialects._ark_enum_gen import *
from ark_mlir.dialects._ark_ops_gen import *
