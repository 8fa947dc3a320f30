"""Makes every new Context know the ark dialect; found by name by the bindings."""

from ._ark import register_dialects as register_dialects
