"""``python -m ark_mlir`` is the command ``ark``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
