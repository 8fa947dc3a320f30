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
_ATTENTION = "sync_aligned of attention (programs.py)"
_O_PROJ = "bar_warp_sync of model.layers.0.self_attn.o_proj (decoder_graph.py)"
_STREAMED = ("decode", "decode, counters")

_TABLE = (
    # -- texts of kernels ----------------------------------------------------------------------
    Reason(
        "A barrier comes before each @ark_stop: bodies end with one, and waits for other lanes do.",
        (),
        (f"{_BARRIER} ark_stop (GpuKernel.mlir), number 1: dropped",),
    ),
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
    Reason(
        "The kernel ends after this barrier, and shared memory exists until all threads have "
        "ended. A resident kernel has another barrier before its next launch.",
        (),
        (f"{_BARRIER} ark_stream_end (CudaStreamLane.mlir), number 1: dropped",),
    ),
    Reason(
        "The last barrier of the iteration orders the load after the store. A lane that is an "
        "iteration behind continues with either value.",
        (),
        ("ptx_ld.relaxed.sys of ark_load_stop (CudaPeerRanks.mlir): at the scope of the GPU",),
    ),
    Reason(
        "One lane alone stops the programs, and the host reads its report after the launch.",
        (),
        (
            "ptx_atom_cas.acq_rel.gpu of ark_claim (CudaKernel.mlir): relaxed",
            "ptx_atom_cas.acq_rel.gpu of ark_claim (CudaKernel.mlir): at the scope of the CTA",
        ),
    ),
    # -- products ------------------------------------------------------------------------------
    Reason(
        "The first product copies inputs and parameters, which no thread of the kernel writes.",
        ("boxes",),
        ("fence_proxy_async_global of matmul (programs.py), number 1: dropped",),
    ),
    Reason(
        "No copy to the ring begins after this instruction: the threads have requested all chunks "
        "of the product before. The mutant is detected in the program with long rows.",
        _STREAMED,
        (f"{_O_PROJ}, number 2: dropped",),
    ),
    Reason(
        "Each warp has rows, so the shuffles that add up a row come between the loads of the "
        "ring's state and the stores.",
        _STREAMED,
        (f"{_O_PROJ}, number 3: dropped",),
    ),
    Reason(
        "Each warp has rows, so the shuffles that add up a row come between the loads of the "
        "ring's state and the stores.",
        ("long rows",),
        tuple(f"bar_warp_sync of matmul (programs.py), number {n}: dropped" for n in (3, 7)),
    ),
    Reason(
        "The next instruction is a barrier of the CTA.",
        _STREAMED,
        (f"{_O_PROJ}, number 4: dropped",),
    ),
    Reason(
        "The next instruction is a barrier of the CTA.",
        ("long rows",),
        tuple(f"bar_warp_sync of matmul (programs.py), number {n}: dropped" for n in (4, 8)),
    ),
    # -- attention -----------------------------------------------------------------------------
    Reason(
        "The next product of the same warpgroup follows without a use of the sums, and without a "
        "copy to the stages; the wait for it includes this product.",
        ("attention, deep heads",),
        tuple(
            f"wgmma_{what}_group_{_ATTENTION}, number {number}: {mutation}"
            for number in (2, 6)
            for what, mutation in (
                ("commit", "dropped"),
                ("wait", "dropped"),
                ("wait", "waits for one group fewer"),
            )
        ),
    ),
    Reason(
        "The loop for the last keys has one step, so that its group for the next step has no "
        "copies.",
        ("attention",),
        ("cp_async_commit_group of attention (programs.py), number 4: dropped",),
    ),
    Reason(
        "The loop for the last keys has one step, so that its group for the next step has no "
        "copies.",
        ("ranks: decode",),
        (
            "cp_async_commit_group of model.layers.0.self_attn (decoder_graph.py), number 3: "
            "dropped",
        ),
    ),
    # -- barriers between the ops of a body ------------------------------------------------------
    Reason(
        "Before it, the threads only compute addresses and load numbers that no op of the body "
        "changes. The barrier at the end of the body orders these loads before later stores.",
        ("decode", "decode, sm_80"),
        (f"{_BARRIER} transpose (decoder_graph.py), number 1: dropped",),
    ),
    Reason(
        "Before it, the threads only load numbers that no op of the body changes. The barrier at "
        "the end of the body orders these loads before later stores.",
        ("prompt",),
        (
            f"{_BARRIER} layers.0.key (decoder_graph.py), number 1: dropped",
            f"{_BARRIER} model.layers.0.self_attn (decoder_graph.py), number 1: dropped",
        ),
    ),
    Reason(
        "Only prefetches lie between this barrier and the one before.",
        ("decode", "decode, sm_80"),
        (f"{_BARRIER} transpose (decoder_graph.py), number 2: dropped",),
    ),
    Reason(
        "Only prefetches lie between this barrier and the one before.",
        ("ranks: decode",),
        (f"{_BARRIER} reshape (decoder_graph.py), number 1: dropped",),
    ),
    Reason(
        "The same thread stores and loads each element on both sides.",
        ("prompt",),
        (
            f"{_BARRIER} rope.sin (decoder_graph.py), number 2: dropped",
            f"{_BARRIER} layers.0.value (decoder_graph.py), number 1: dropped",
            f"{_BARRIER} done (decoder_states.py), number 1: dropped",
        ),
    ),
    Reason(
        "The same thread stores and loads each element on both sides.",
        ("ranks: collectives",),
        (f"{_BARRIER} all_reduce (collective_programs.py), number 1: dropped",),
    ),
    Reason(
        "The first thread stores and loads the only element on both sides.",
        ("ranks: decode",),
        tuple(f"{_BARRIER} largest (sharding.py), number {number}: dropped" for number in (1, 2)),
    ),
    Reason(
        "No op reads the packets before the next barrier of the body.",
        ("prompt",),
        (f"{_BARRIER} lm_head (decoder_graph.py), number 1: dropped",),
    ),
    Reason(
        "No op reads the packets, or the number that the first thread stores, before the next "
        "barrier of the body.",
        ("ranks: decode",),
        (
            *(f"{_BARRIER} best (sharding.py), number {number}: dropped" for number in (1, 5)),
            f"{_BARRIER} layers.0.key (decoder_graph.py), number 1: dropped",
            f"{_BARRIER} transpose (decoder_graph.py), number 1: dropped",
        ),
    ),
)

REASONS = {name: reason.why for reason in _TABLE for name in reason.names()}
