"""Registers the ark dialect in every new Context. The bindings find this module by its name."""

from ._ark import register_dialects as register_dialects

# A pool of threads does not survive a fork of the process: the child would wait for the pool for
# ever. The pool made no program compile faster.
disable_multithreading = True
