#!/usr/bin/env python3
"""Runs the ark-opt of the installed package, which lies beside the library that it needs."""

import importlib.util
import os
import sys

# The folder of the library. An editable installation keeps it apart from the package's sources.
library = importlib.util.find_spec("ark_mlir._mlir_libs")
if library is None or library.origin is None:
    sys.exit("ark-opt: the package ark_mlir is not installed")
tool = os.path.join(os.path.dirname(library.origin), "ark-opt")
os.execv(tool, ["ark-opt", *sys.argv[1:]])
