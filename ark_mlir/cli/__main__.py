"""``python -m ark_mlir.cli`` is ``ark``."""

import sys

from . import main

sys.exit(main())
