"""Worlds whose ranks are compiled as one have the schedule of worlds that are compiled whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import check_bundle, compile_schedule, schedule
from ark_mlir.compiler.replication import replicate
from ark_mlir.compiler.symmetry import NotSymmetricError
from ark_mlir.models.decoder import DecoderConfig, build_decode, divide
from ark_mlir.simulation import simulate
from ark_mlir.simulation.exchanges import find_sends

TARGET = "cuda:sm_90a"
CONFIG = DecoderConfig(
    vocabulary=1024, hidden=512, layers=2, heads=16, kv_heads=8, head=64, intermediate=2048
)


def sums(ranks: int, elements: int = 1024, *, deviating: int | None = None) -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("sums", rank=rank, world_size=ranks) as program:
            x = ark.input("x", (elements,), ark.bf16)
            for _ in range(2):
                x = ark.all_reduce(x) * 0.5
            ark.output("y", ark.relu(x) if rank == deviating else x)
        programs.append(program)
    return programs


def chain(ranks: int, shape: tuple[int, ...]) -> list[ark.Program]:
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("chain", rank=rank, world_size=ranks) as program:
            ark.output("y", ark.all_reduce(ark.input("x", shape, ark.bf16)))
        programs.append(program)
    return programs


def gathers(ranks: int) -> list[ark.Program]:
    """Programs that exchange by counters, and reuse memory."""
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("gathers", rank=rank, world_size=ranks) as program:
            x = ark.input("x", (ranks, 1 << 15), ark.bf16)
            for _ in range(3):
                x = ark.all_gather(ark.reduce_scatter(x * 2, 0), 0)
            ark.output("y", x)
        programs.append(program)
    return programs


def decoder(ranks: int, layers: int = 2) -> list[ark.Program]:
    config = replace(CONFIG, layers=layers)
    return [build_decode(each, max_length=64) for each in divide(config, ranks)]


WORLDS = {
    "sums": lambda ranks: sums(ranks),
    "large sums": lambda ranks: sums(ranks, 1 << 18),
    "gathers": gathers,
    "decoder": decoder,
}


def merged(programs: list[ark.Program], **options: object) -> Bundle:
    bundle = compile_schedule(programs, TARGET, merge_ranks=True, **options)  # type: ignore[arg-type]
    assert bundle.manifest.options.get("merged_ranks") == len(programs)
    return bundle


def opcodes(bundle: Bundle) -> Counter[int]:
    return Counter(bundle.tables.instructions[:, 0].tolist())


@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize("world", WORLDS)
def test_merged_ranks_have_the_schedule_of_the_whole_world(world: str, ranks: int) -> None:
    programs = WORLDS[world](ranks)
    one = merged(programs)
    whole = compile_schedule(programs, TARGET, merge_ranks=False)
    assert "merged_ranks" not in whole.manifest.options
    assert opcodes(one)[Opcode.RUN] == opcodes(whole)[Opcode.RUN]
    assert one.manifest.ranks == whole.manifest.ranks == ranks
    ours, theirs = (simulate(each, "h200") for each in (one, whole))
    # Ranks at both ends of a sum have slightly different tasks, which merged ranks have not.
    assert ours.sent_bytes == pytest.approx(theirs.sent_bytes, rel=0.02)
    assert ours.total_ns == pytest.approx(theirs.total_ns, rel=0.06)


def test_merged_ranks_have_the_packets_of_the_whole_world() -> None:
    """A copy stands for many ranks, of which only one wrote what a task reads before."""
    programs = decoder(16, layers=1)
    ours, theirs = (
        simulate(compile_schedule(programs, TARGET, merge_ranks=merge), "h200x8")
        for merge in (True, False)
    )
    assert ours.note == "of one rank, which stands for all ranks"
    assert theirs.note is None
    assert ours.sent_bytes == pytest.approx(theirs.sent_bytes, rel=0.01)
    assert ours.total_ns == pytest.approx(theirs.total_ns, rel=0.03)


@pytest.mark.parametrize("world", WORLDS)
def test_the_tables_of_merged_ranks_are_proven(world: str) -> None:
    bundle = merged(WORLDS[world](4))
    assert check_bundle(bundle).runs == opcodes(bundle)[Opcode.RUN]


def test_each_rank_sends_to_the_ranks_that_its_tasks_name() -> None:
    """Rank r sends the parts of an all-reduce to all ranks but itself, equally many bytes."""
    bundle = merged(sums(4, 1 << 18))
    lanes = bundle.tables.lane_of
    sms = bundle.manifest.target.sms // 4
    sent = np.zeros((4, 4), np.int64)
    for index, sends in find_sends(bundle).items():
        rank = int(bundle.tables.lanes[lanes[index], 0]) // sms
        name = bundle.manifest.tasks[int(bundle.tables.instructions[index, 1])].name
        assert name.startswith(f"rank{rank}/")
        for target, size in sends.items():
            assert f"to{target}" in name
            sent[rank, target] += size
    assert (np.diag(sent) == 0).all()
    assert len(np.unique(sent[~np.eye(4, dtype=bool)])) == 1


def test_a_lost_wait_for_another_rank_fails_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof covers all ranks: it does not rely on their symmetry."""
    bundle = merged(gathers(4))
    instructions = bundle.tables.instructions.copy()
    lanes = bundle.tables.lane_of
    ranks = (bundle.tables.lanes[lanes, 0] // (bundle.manifest.target.sms // 4)).tolist()
    senders: dict[int, set[int]] = {}
    for rank, (code, number, _, _) in zip(ranks, instructions.tolist(), strict=True):
        if code == Opcode.SIGNAL:
            senders.setdefault(number, set()).add(rank)
    lost_waits = 0
    for index, (code, number, _, _) in enumerate(instructions.tolist()):
        if code != Opcode.WAIT or ranks[index] or len(senders[number]) > 1:
            continue
        (sender,) = senders[number]
        # The lane of rank 0 waits for the same semaphore of its own rank.
        instructions[index, 1] = number - sender
        lost_waits += sender > 0
    assert lost_waits
    sections = {**bundle.sections, "instructions": memoryview(instructions.tobytes())}
    with pytest.raises(ark.VerificationError, match="hazard"):
        check_bundle(replace(bundle, sections=sections))

    def lost(world: Bundle) -> None:
        raise ark.VerificationError("a race")

    monkeypatch.setattr(schedule, "prove", lost)
    whole = compile_schedule(gathers(4), TARGET, merge_ranks=True)
    assert whole.manifest.options["separate_ranks"] == "the proof of all ranks failed: a race"


def test_ranks_beyond_one_host_are_merged_by_default() -> None:
    assert compile_schedule(sums(9), TARGET).manifest.options["merged_ranks"] == 9
    assert "merged_ranks" not in compile_schedule(sums(8), TARGET).manifest.options


@pytest.mark.parametrize(
    ("ranks", "shape"),
    [(9, (1 << 20,)), (10, (1 << 20,)), (12, (4096, 4096)), (16, ((1 << 20) + 8,))],
)
def test_a_sum_with_parts_of_two_sizes_is_compiled_whole(ranks: int, shape: tuple[int]) -> None:
    bundle = compile_schedule(chain(ranks, shape), TARGET)
    assert bundle.manifest.ranks == ranks
    assert "merged_ranks" not in bundle.manifest.options
    reason = bundle.manifest.options["separate_ranks"]
    assert reason.startswith("one rank alone does not compile: takes 'tensor<")
    whole = compile_schedule(chain(ranks, shape), TARGET, merge_ranks=False)
    assert opcodes(bundle) == opcodes(whole)


@pytest.mark.parametrize("ranks", [9, 11, 12])
@pytest.mark.parametrize("collective", [ark.all_gather, ark.reduce_scatter, ark.all_to_all])
def test_worlds_of_no_power_of_two_are_merged(
    ranks: int, collective: Callable[[ark.Tensor, int], ark.Tensor]
) -> None:
    programs: list[ark.Program] = []
    for rank in range(ranks):
        with ark.Program("exchange", rank=rank, world_size=ranks) as program:
            ark.output("y", collective(ark.input("x", (ranks, 1024), ark.bf16), 0))
        programs.append(program)
    one = compile_schedule(programs, TARGET)
    assert one.manifest.options["merged_ranks"] == ranks
    whole = compile_schedule(programs, TARGET, merge_ranks=False)
    assert len(one.manifest.tasks) == len(whole.manifest.tasks)
    ours, theirs = (simulate(each, "h200x8") for each in (one, whole))
    assert ours.sent_bytes == theirs.sent_bytes
    assert ours.total_ns == pytest.approx(theirs.total_ns, rel=0.02)


def test_an_error_of_the_program_is_that_of_the_whole_world() -> None:
    with pytest.raises(ark.MemoryLimitError) as whole:
        compile_schedule(gathers(9), TARGET, merge_ranks=False, memory=1024)
    with pytest.raises(ark.MemoryLimitError) as merge:
        compile_schedule(gathers(9), TARGET, memory=1024)
    assert str(merge.value) == str(whole.value)


def test_ranks_are_not_merged_without_the_proof() -> None:
    bundle = compile_schedule(sums(9), TARGET, verify=False)
    assert "merged_ranks" not in bundle.manifest.options
    reason = bundle.manifest.options["separate_ranks"]
    assert reason == "verify=False omits the proof of all ranks"


def test_a_task_that_is_named_like_a_put_is_compiled_whole() -> None:
    programs: list[ark.Program] = []
    for rank in range(4):
        with ark.Program("names", rank=rank, world_size=4) as program:
            x = ark.relu(ark.input("x", (1024,), ark.bf16), name="to3")
            ark.output("y", ark.all_reduce(x))
        programs.append(program)
    bundle = compile_schedule(programs, TARGET, merge_ranks=True)
    assert "does not list its puts" in bundle.manifest.options["separate_ranks"]


@pytest.mark.parametrize("compile_source", [ark.compile, compile_schedule])
def test_a_module_that_stands_for_all_ranks_is_refused(
    compile_source: Callable[[str, str], object],
) -> None:
    program = str(chain(2, (1024,))[1].module)
    marked = program.replace("module {", "module attributes {ark.representative} {", 1)
    assert marked != program
    with pytest.raises(ark.InvalidUsageError, match="compile the programs of all ranks"):
        compile_source(marked, "cpu:2")


def test_a_deviating_rank_is_compiled_with_the_whole_world() -> None:
    bundle = compile_schedule(sums(9, deviating=5), TARGET)
    assert "merged_ranks" not in bundle.manifest.options
    reason = "the program of rank 5 differs from that of rank 1"
    assert bundle.manifest.options["separate_ranks"] == reason
    assert reason in str(simulate(bundle, "h200x8"))
    assert any("relu" in task.ops for task in bundle.manifest.tasks)


def test_the_stages_of_a_pipeline_are_compiled_whole() -> None:
    programs: list[ark.Program] = []
    for rank in range(4):
        with ark.Program("stages", rank=rank, world_size=4) as program:
            x = ark.input("x", (256,))
            x = x * 2 if rank == 0 else ark.recv((256,), ark.fp32, rank - 1)
            ark.output("y", x if rank == 3 else ark.send(ark.relu(x), rank + 1))
        programs.append(program)
    bundle = compile_schedule(programs, TARGET, merge_ranks=True)
    assert "differs from that of rank 1" in bundle.manifest.options["separate_ranks"]


@pytest.mark.parametrize(
    ("target", "options", "reason"),
    [
        ("cpu:1", {}, "the target is cpu"),
        (TARGET, {"collectives": "ring"}, "collectives are rings"),
        (TARGET, {"scheduler": "round-robin"}, "measured costs or on a named scheduler"),
    ],
)
def test_worlds_that_are_compiled_whole(target: str, options: dict[str, str], reason: str) -> None:
    bundle = compile_schedule(sums(4), target, merge_ranks=True, **options)  # type: ignore[arg-type]
    assert reason in bundle.manifest.options["separate_ranks"]


def test_a_broadcast_names_a_rank() -> None:
    programs: list[ark.Program] = []
    for rank in range(4):
        with ark.Program("roots", rank=rank, world_size=4) as program:
            ark.output("y", ark.broadcast(ark.input("x", (256,)), root=0))
        programs.append(program)
    bundle = compile_schedule(programs, TARGET, merge_ranks=True)
    assert bundle.manifest.options["separate_ranks"] == "ark.broadcast names a rank"


def test_copies_that_differ_are_not_replicated() -> None:
    """Two ranks of a whole world are no copies of each other: each names the other in its puts."""
    pair = compile_schedule(sums(2), TARGET)
    with pytest.raises(NotSymmetricError):
        replicate(pair, 4, 1)
