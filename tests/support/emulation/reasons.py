"""The reasons why some mutants cannot be detected: the instruction has no effect in the program.

A mutant has the name of mutants.py. A list of programs means that each of them has the mutant.
Without programs, the instruction is in a text that all kernels share.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A reason, and the mutants for which it holds.

    Attributes:
        why: why the instruction has no effect.
        programs: the programs; none for texts that all kernels share.
        mutants: the mutants of each program.
    """

    why: str
    programs: tuple[str, ...]
    mutants: tuple[str, ...]

    def names(self) -> list[str]:
        """Returns the names by which survivors are reported."""
        if not self.programs:
            return list(self.mutants)
        return [f"{program}: {mutant}" for program in self.programs for mutant in self.mutants]


_BARRIER = "barrier_cta_sync_aligned_all of"
_COMMIT = "cp_async_commit_group"
_ATTENTION = "sync_aligned of attention (programs.py)"
_O_PROJ = "bar_warp_sync of model.layers.0.self_attn.o_proj (decoder_graph.py)"
_STREAMED = ("decode", "decode, counters")

_TABLE = (
    # -- texts of kernels ----------------------------------------------------------------------
    Reason(
        "The barriers of the first iteration come between the acquire of the maps and the copies. "
        "No warp writes to the scratch maps of other warps.",
        (),
        (f"{_BARRIER} ark_make_tensor_maps (CudaTensorMaps.mlir), number 1: dropped",),
    ),
    Reason(
        "The barriers of the first iteration come between the stores of the first thread and the "
        "loads of its warp.",
        (),
        ("bar_warp_sync of ark_stream_begin (CudaStreamLane.mlir), number 1: dropped",),
    ),
    # -- products ------------------------------------------------------------------------------
    Reason(
        "The first product copies inputs and parameters, which no thread of the kernel writes.",
        ("boxes",),
        ("fence_proxy_async_global of matmul (programs.py), number 1: dropped",),
    ),
    Reason(
        "A barrier of the CTA comes between the stores of the ring's state and the loads.",
        ("decode",),
        (f"{_O_PROJ}, number 1: dropped",),
    ),
    Reason(
        "A barrier of the CTA comes between the stores of the ring's state and the loads.",
        ("long rows",),
        ("bar_warp_sync of matmul (programs.py), number 4: dropped",),
    ),
    Reason(
        "No copy to the ring begins after this instruction: the threads have requested all chunks "
        "of the product before. The mutant is detected in the program with long rows.",
        _STREAMED,
        (f"{_O_PROJ}, number 3: dropped",),
    ),
    Reason(
        "The group is empty, and no wait of the tile follows. Groups of the next tile are younger.",
        ("stages of warpgroups",),
        tuple(f"{_COMMIT} of matmul (programs.py), number {n}: dropped" for n in (13, 31)),
    ),
    Reason(
        "The first stages of the next tile were copied before, and the barrier of its first step "
        "precedes the copies to the memory of the accumulators.",
        ("stages of warpgroups",),
        (f"{_BARRIER} matmul (programs.py), number 11: dropped",),
    ),
    # -- attention -----------------------------------------------------------------------------
    Reason(
        "The accumulators are constants. The emulation does not model when a register receives a "
        "constant, so it sees no access that the fence orders.",
        ("attention, deep heads",),
        tuple(f"wgmma_fence_{_ATTENTION}, number {number}: dropped" for number in (3, 7)),
    ),
    # -- barriers between the ops of a body ------------------------------------------------------
    Reason(
        "The same thread stores and loads each element on both sides.",
        ("prompt",),
        (
            f"{_BARRIER} rope.sin (decoder_graph.py), number 2: dropped",
            f"{_BARRIER} layers.0.key (decoder_graph.py), number 1: dropped",
        ),
    ),
    Reason(
        "The same thread stores and loads each element on both sides.",
        ("ranks: decode",),
        (f"{_BARRIER} largest (sharding.py), number 1: dropped",),
    ),
)

REASONS = {name: reason.why for reason in _TABLE for name in reason.names()}
