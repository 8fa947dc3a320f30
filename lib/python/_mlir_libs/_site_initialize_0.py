"""Makes every new Context know the ark dialect; found by name by the bindings."""

from ._ark import register_dialects as register_dialects

# A pool of threads does not survive a fork of the process: the child would wait for it for ever.
# It made no program compile faster.
disable_multithreading = True
