"""The ops of ark as functions on tensors, one module per family."""

# ruff: noqa: F403 - the __all__ of each module lists its public names

from . import (
    channel_norms,
    collectives,
    composed,
    conditions,
    convolution,
    creation,
    elementwise,
    experts,
    indexing,
    linear,
    losses,
    prefixes,
    quantized,
    reductions,
    resampling,
    sampling,
    scattering,
    selection,
    sorting,
    transposed_convolution,
    views,
    windows,
)
from .channel_norms import *
from .collectives import *
from .composed import *
from .conditions import *
from .convolution import *
from .creation import *
from .elementwise import *
from .experts import *
from .indexing import *
from .linear import *
from .losses import *
from .prefixes import *
from .quantized import *
from .reductions import *
from .resampling import *
from .sampling import *
from .scattering import *
from .selection import *
from .sorting import *
from .transposed_convolution import *
from .views import *
from .views import getitem as getitem
from .windows import *

__all__: list[str] = []
__all__ += channel_norms.__all__
__all__ += collectives.__all__
__all__ += composed.__all__
__all__ += conditions.__all__
__all__ += convolution.__all__
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += experts.__all__
__all__ += indexing.__all__
__all__ += linear.__all__
__all__ += losses.__all__
__all__ += prefixes.__all__
__all__ += quantized.__all__
__all__ += reductions.__all__
__all__ += resampling.__all__
__all__ += sampling.__all__
__all__ += scattering.__all__
__all__ += selection.__all__
__all__ += sorting.__all__
__all__ += transposed_convolution.__all__
__all__ += views.__all__
__all__ += windows.__all__
