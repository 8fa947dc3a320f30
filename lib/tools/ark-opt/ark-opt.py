#!/usr/bin/env python3
"""Runs the ark-opt of the installed package, beside the library that it needs."""

import importlib.util
import os
import sys

package = importlib.util.find_spec("ark_mlir")
if package is None or package.origin is None:
    sys.exit("ark-opt: the package ark_mlir is not installed")
tool = os.path.join(os.path.dirname(package.origin), "_mlir_libs", "ark-opt")
os.execv(tool, ["ark-opt", *sys.argv[1:]])
