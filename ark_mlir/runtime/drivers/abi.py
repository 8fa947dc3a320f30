"""The records that kernel and host share (docs/bundle.md, "The kernel").

Every field has 64 bits. The order of the fields is part of the format.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

# Threads of a warp of the targets `cuda` and `hip`.
CUDA_WARP_SIZE = 32
HIP_WARP_SIZE = 64
# One counter per cache line: lanes poll one while others write the next.
SEMAPHORE_STRIDE = 64
# The number of counters of each GPU in a program of several ranks. The index of a counter on the
# next GPU is larger by this number. The last counter holds the iteration that ends a launch. The
# counters before the last one have a word for each rank; the word records that the kernel of the
# rank has begun. The kernel text is GpuPeerRanks.mlir.
RANK_COUNTERS = 1 << 15
MOST_RANKS = 256
BEGUN_WORD = (RANK_COUNTERS - 1) * SEMAPHORE_STRIDE // 8 - MOST_RANKS
# The counters that programs can use.
FREE_COUNTERS = BEGUN_WORD * 8 // SEMAPHORE_STRIDE
# Ranks of other domains: see the kernel text CudaDomains.mlir. An address has the number of the
# rank plus one from this bit on. Field B of a signal or a stop is DOMAIN_DISTANCE or more, and less
# than DOMAIN_DISTANCE_END.
DOMAIN_SHIFT = 48
DOMAIN_DISTANCE = -(1 << 31)
DOMAIN_DISTANCE_END = DOMAIN_DISTANCE + MOST_RANKS
# The words of the record of a network: communicator, window, address of the window, offset of the
# counters in it, number of ranks, and rank.
NETWORK_WORDS = 6
# The limit of the wait for the kernels of the other ranks to begin, as a multiple of the limit of a
# wait.
BEGIN_LIMIT_FACTOR = 5
# A task packet carries the epoch of its iteration modulo this number.
PACKET_EPOCHS = 1 << 16


class Abort(IntEnum):
    """Reasons for the early end of a run; values of ``ArkReport.abort``.

    With PEERS, the kernel of rank ``ArkReport.seen`` had not begun in time.
    """

    NONE = 0
    HANG = 1
    HOST = 2
    PEERS = 3


# The code of a lane that began after a wait of another lane had timed out.
LATE = 4


class DataError(IntEnum):
    """Kinds of bad data; values of ``status[0]``."""

    NONE = 0
    INDEX = 1


class ArkContext(ctypes.Structure):
    """The arguments of every lane of a launch."""

    _fields_ = [
        ("buffers", ctypes.c_void_p),
        ("instructions", ctypes.c_void_p),
        ("lanes", ctypes.c_void_p),
        ("tasks", ctypes.c_void_p),
        ("operands", ctypes.c_void_p),
        ("semaphores", ctypes.c_void_p),
        ("report", ctypes.c_void_p),
        ("epoch", ctypes.c_uint64),
        ("iterations", ctypes.c_uint64),
        ("timeout_ns", ctypes.c_uint64),
        ("trace", ctypes.c_void_p),
        ("status", ctypes.c_void_p),
        ("codes", ctypes.c_void_p),
        ("doorbell", ctypes.c_void_p),
        ("ranks", ctypes.c_uint64),
        ("begun", ctypes.c_void_p),
        ("network", ctypes.c_void_p),
    ]


REPORT_WORDS = 8
# The word of the report that the host sets before a launch, and the kernel clears when it begins.
REPORT_QUEUED = 7
STATUS_WORDS = 4
# The word of the task in the record of data errors has the number of the sequence plus one above
# these bits.
STATUS_SEQUENCE_SHIFT = 32
# Indices of the doorbell's words. The counters of started runs and of answers are in separate cache
# lines. The doorbell of a GPU also has the address of the host's words and the number of lanes.
DOORBELL_RINGS = 0
DOORBELL_ANSWERS = 8
DOORBELL_HOST = 16
DOORBELL_LANES = 17
DOORBELL_WORDS = 24
# The value of the counter of started runs by which lane 0 makes the other lanes leave the kernel.
DOORBELL_LEAVE = (1 << 64) - 1
