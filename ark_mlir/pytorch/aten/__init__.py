"""The table of ATen ops; see ``table``. This package does not import torch."""

from . import adjoints as adjoints
from . import convolution as convolution
from . import elementwise as elementwise
from . import indexing as indexing
from . import linear as linear
from . import losses as losses
from . import norms as norms
from . import pooling as pooling
from . import prefixes as prefixes
from . import reductions as reductions
from . import resampling as resampling
from . import rounding as rounding
from . import scattering as scattering
from . import sorting as sorting
from . import transformer as transformer
from . import trigonometry as trigonometry
from . import views as views
from .strided import AS_STRIDED, Layout
from .table import RANDOM, Deferred, Noise, Out, Unavailable, find, is_view, names, unsupported

__all__ = [
    "AS_STRIDED", "RANDOM", "Deferred", "Layout", "Noise", "Out", "Unavailable", "find", "is_view",
    "names", "unsupported",
]  # fmt: skip
