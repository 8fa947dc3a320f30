"""Registers the ark dialect in every new Context. The bindings find this module by its name."""

from ._ark import register_dialects as register_dialects

# A pool of threads does not survive a fork of the process: the child would wait for the pool for
# ever. The pool makes no program of one rank compile faster. Programs of several ranks have a pool
# while a stage runs (ark_mlir/compiler/stages.py).
disable_multithreading = True
