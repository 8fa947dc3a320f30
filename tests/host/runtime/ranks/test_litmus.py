"""The explorer of PTX's memory model agrees with known verdicts on small programs.

The verdicts follow from the axioms of the ASPLOS paper of 2019. Programs with the same names and
verdicts are in the suites of Dat3M and of NVIDIA's mixed-proxy model.
"""

from __future__ import annotations

import pytest
from litmus import Program, Thread, Version, allows, explore, find_races, last_values, parse

# The CTA of a thread, by the numbers of its GPU and of the CTA.
Cta = tuple[int, int]
FIRST: Cta = (0, 0)
SECOND: Cta = (0, 1)
OTHER_GPU: Cta = (1, 2)
SAME_CTA = (FIRST,) * 4
SAME_GPU = (FIRST, SECOND, (0, 3), (0, 4))
TWO_GPUS = (FIRST, OTHER_GPU, (0, 3), (1, 4))

each_version = pytest.mark.parametrize("version", list(Version), ids=lambda v: v.value)


def make(ctas: tuple[Cta, ...], *texts: str) -> Program:
    threads = zip(ctas, texts, strict=False)
    return Program(tuple(Thread(gpu, cta, parse(text)) for (gpu, cta), text in threads))


def message_passing(ctas: tuple[Cta, ...], write: str, read: str) -> Program:
    return make(ctas, f"st x, 1; {write}", f"{read}; q = ld x")


# The CTAs of the threads, how the flag is written and read, and whether the data may be stale.
MESSAGE_PASSING = [
    (SAME_GPU, "st.weak f, 1", "r = ld.weak f", True),
    (SAME_GPU, "st.relaxed.gpu f, 1", "r = ld.relaxed.gpu f", True),
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.acquire.gpu f", False),
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.relaxed.gpu f", True),
    (SAME_GPU, "st.relaxed.gpu f, 1", "r = ld.acquire.gpu f", True),
    (SAME_GPU, "st.release.cta f, 1", "r = ld.acquire.gpu f", True),
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.acquire.cta f", True),
    (SAME_CTA, "st.release.cta f, 1", "r = ld.acquire.cta f", False),
    (TWO_GPUS, "st.release.sys f, 1", "r = ld.acquire.sys f", False),
    (TWO_GPUS, "st.release.gpu f, 1", "r = ld.acquire.sys f", True),
    (TWO_GPUS, "st.release.sys f, 1", "r = ld.acquire.gpu f", True),
    # A scope may be wider than that of the other side, if each includes the other thread.
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.acquire.sys f", False),
    (SAME_GPU, "red.release.gpu.add f, 1", "r = ld.acquire.gpu f", False),
    (SAME_GPU, "red.relaxed.gpu.add f, 1", "r = ld.acquire.gpu f", True),
    (SAME_GPU, "fence.acq_rel.gpu; st.relaxed.gpu f, 1", "r = ld.acquire.gpu f", False),
    (SAME_GPU, "fence.acq_rel.gpu; st.weak f, 1", "r = ld.acquire.gpu f", True),
    (SAME_GPU, "fence.acq_rel.cta; st.relaxed.gpu f, 1", "r = ld.acquire.gpu f", True),
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.relaxed.gpu f; fence.acq_rel.gpu", False),
    (SAME_GPU, "st.release.gpu f, 1", "r = ld.relaxed.gpu f; fence.sc.gpu", False),
    (SAME_GPU, "st.release.gpu f, 1", "fence.acq_rel.gpu; r = ld.relaxed.gpu f", True),
    (
        TWO_GPUS,
        "fence.acq_rel.sys; st.volatile f, 1",
        "r = ld.volatile f; fence.acq_rel.sys",
        False,
    ),
]


@each_version
@pytest.mark.parametrize(("ctas", "write", "read", "stale"), MESSAGE_PASSING)
def test_message_passing(
    ctas: tuple[Cta, ...], write: str, read: str, stale: bool, version: Version
) -> None:
    program = message_passing(ctas, write, read)
    assert allows(program, version, r=1, q=0) is stale
    assert allows(program, version, r=1, q=1)


@each_version
@pytest.mark.parametrize(
    ("ctas", "fence", "both_old"),
    [
        (SAME_GPU, "fence.sc.gpu", False),
        (SAME_GPU, "fence.acq_rel.gpu", True),
        (SAME_GPU, "fence.sc.cta", True),
        (SAME_CTA, "fence.sc.cta", False),
        (TWO_GPUS, "fence.sc.sys", False),
        (TWO_GPUS, "fence.sc.gpu", True),
    ],
)
def test_store_buffering(
    ctas: tuple[Cta, ...], fence: str, both_old: bool, version: Version
) -> None:
    program = make(
        ctas,
        f"st.relaxed.sys x, 1; {fence}; r = ld.relaxed.sys y",
        f"st.relaxed.sys y, 1; {fence}; q = ld.relaxed.sys x",
    )
    assert allows(program, version, r=0, q=0) is both_old


@each_version
def test_load_buffering(version: Version) -> None:
    """Relaxed accesses may exchange values in a circle, unless a write depends on the read."""
    plain = make(
        SAME_GPU,
        "r = ld.relaxed.gpu x; st.relaxed.gpu y, 1",
        "q = ld.relaxed.gpu y; st.relaxed.gpu x, 1",
    )
    assert allows(plain, version, r=1, q=1)
    copies = make(
        SAME_GPU,
        "r = ld.relaxed.gpu x; st.relaxed.gpu y, r",
        "q = ld.relaxed.gpu y; st.relaxed.gpu x, q",
    )
    assert {tuple(e.registers.values()) for e in explore(copies, version)} == {(0, 0)}
    polls = make(
        SAME_GPU,
        "ld.relaxed.gpu x until 1; st.relaxed.gpu y, 1",
        "ld.relaxed.gpu y until 1; st.relaxed.gpu x, 1",
    )
    assert not allows(polls, version)
    ordered = make(
        SAME_GPU,
        "r = ld.relaxed.gpu x; st.release.gpu y, 1",
        "q = ld.acquire.gpu y; st.relaxed.gpu x, 1",
    )
    assert not allows(ordered, version, r=1, q=1)


@each_version
@pytest.mark.parametrize(
    ("order", "scope", "disagree"),
    [
        ("relaxed", "gpu", True),
        # PTX is not multi-copy atomic: acquires alone do not order two independent writes.
        ("acquire", "gpu", True),
        ("acquire", "sys", True),
    ],
)
def test_independent_reads_of_independent_writes(
    order: str, scope: str, disagree: bool, version: Version
) -> None:
    load = f"ld.{order}.{scope}"
    program = make(
        SAME_GPU,
        f"st.relaxed.{scope} x, 1",
        f"st.relaxed.{scope} y, 1",
        f"a = {load} x; b = {load} y",
        f"c = {load} y; d = {load} x",
    )
    assert allows(program, version, a=1, b=0, c=1, d=0) is disagree


@each_version
@pytest.mark.parametrize(("fence", "disagree"), [("fence.sc.gpu", False), ("fence.sc.cta", True)])
def test_independent_reads_with_fences(fence: str, disagree: bool, version: Version) -> None:
    program = make(
        SAME_GPU,
        "st.relaxed.gpu x, 1",
        "st.relaxed.gpu y, 1",
        f"a = ld.relaxed.gpu x; {fence}; b = ld.relaxed.gpu y",
        f"c = ld.relaxed.gpu y; {fence}; d = ld.relaxed.gpu x",
    )
    assert allows(program, version, a=1, b=0, c=1, d=0) is disagree


@each_version
@pytest.mark.parametrize(
    ("ctas", "store", "load", "backwards"),
    [
        (SAME_GPU, "st.relaxed.gpu", "ld.relaxed.gpu", False),
        (SAME_GPU, "st.relaxed.gpu", "ld.weak", True),
        (SAME_GPU, "st.weak", "ld.relaxed.gpu", True),
        (TWO_GPUS, "st.relaxed.gpu", "ld.relaxed.gpu", True),
        (TWO_GPUS, "st.relaxed.sys", "ld.relaxed.sys", False),
    ],
)
def test_coherence_of_two_reads(
    ctas: tuple[Cta, ...], store: str, load: str, backwards: bool, version: Version
) -> None:
    program = make(ctas, f"{store} x, 1", f"r = {load} x; q = {load} x")
    assert allows(program, version, r=1, q=0) is backwards


@each_version
def test_coherence_in_a_thread(version: Version) -> None:
    program = make(SAME_GPU, "st x, 1; st x, 2; r = ld x; st x, 3")
    [execution] = explore(program, version)
    assert (execution.registers["r"], last_values(execution, "x")) == (2, {3})


# The order and scope of the first and of the second hand-off, and whether the data may be stale.
CHAINS = [
    ("st.release.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.gpu", False),
    ("st.relaxed.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.gpu", True),
    ("st.release.gpu", "ld.relaxed.gpu", "st.release.gpu", "ld.acquire.gpu", True),
    ("st.release.gpu", "ld.acquire.gpu", "st.relaxed.gpu", "ld.acquire.gpu", True),
    ("st.release.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.relaxed.gpu", True),
    ("st.release.cta", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.gpu", True),
    ("st.release.gpu", "ld.acquire.gpu", "st.release.gpu", "ld.acquire.cta", True),
]


@each_version
@pytest.mark.parametrize(("first", "second", "third", "fourth", "stale"), CHAINS)
def test_a_chain_of_two_hand_offs(
    first: str, second: str, third: str, fourth: str, stale: bool, version: Version
) -> None:
    """The program is known as ISA2."""
    program = make(
        SAME_GPU,
        f"st x, 1; {first} f, 1",
        f"a = {second} f; {third} g, 1",
        f"b = {fourth} g; q = ld x",
    )
    assert allows(program, version, a=1, b=1, q=0) is stale


@each_version
@pytest.mark.parametrize(
    ("release", "acquire", "stale"),
    [("st.release.gpu", "ld.acquire.gpu", False), ("st.relaxed.gpu", "ld.acquire.gpu", True)],
)
def test_a_write_that_another_thread_reads_first(
    release: str, acquire: str, stale: bool, version: Version
) -> None:
    """The program is known as WRC."""
    program = make(
        SAME_GPU,
        "st.relaxed.gpu x, 1",
        f"a = ld.relaxed.gpu x; {release} f, 1",
        f"b = {acquire} f; q = ld.relaxed.gpu x",
    )
    assert allows(program, version, a=1, b=1, q=0) is stale


@each_version
def test_a_chain_with_a_wide_second_scope(version: Version) -> None:
    """Causality is transitive over scopes: the first hand-off has the scope of one GPU only."""
    ctas = (FIRST, SECOND, OTHER_GPU)
    program = make(
        ctas,
        "st x, 1; st.release.gpu f, 1",
        "a = ld.acquire.gpu f; st.release.sys g, 1",
        "b = ld.acquire.sys g; q = ld x",
    )
    assert not allows(program, version, a=1, b=1, q=0)
    assert not find_races(
        make(
            ctas,
            "st x, 1; st.release.gpu f, 1",
            "ld.acquire.gpu f until 1; st.release.sys g, 1",
            "ld.acquire.sys g until 1; q = ld x",
        ),
        version,
    )


@each_version
@pytest.mark.parametrize("second", ["relaxed.sys", "relaxed.gpu", "relaxed.cta"])
def test_an_update_continues_a_release(second: str, version: Version) -> None:
    """A read of the second update observes the first one, if the updates are morally strong."""
    program = make(
        SAME_GPU,
        "st x, 1; red.release.gpu.add c, 1",
        f"red.{second}.add c, 1",
        "ld.acquire.gpu c until 2; q = ld x",
    )
    assert allows(program, version, q=0) is (second == "relaxed.cta")


@each_version
@pytest.mark.parametrize(
    ("ctas", "ours", "theirs", "atomic"),
    [
        (SAME_GPU, "gpu", "gpu", True),
        (SAME_GPU, "gpu", "cta", False),
        (TWO_GPUS, "sys", "sys", True),
        (TWO_GPUS, "gpu", "sys", False),
    ],
)
def test_atomicity_of_updates(
    ctas: tuple[Cta, ...], ours: str, theirs: str, atomic: bool, version: Version
) -> None:
    """An update may be lost if the scopes do not include each other."""
    program = make(ctas, f"red.relaxed.{ours}.add c, 1", f"red.relaxed.{theirs}.add c, 1")
    sums = {
        value for execution in explore(program, version) for value in last_values(execution, "c")
    }
    assert sums == ({2} if atomic else {1, 2})
    assert bool(find_races(program, version)) is not atomic


@each_version
def test_one_of_two_claims_succeeds(version: Version) -> None:
    claim = "{} = atom.relaxed.gpu.cas w, 0, {}"
    program = make(SAME_GPU, claim.format("a", 1), claim.format("b", 2))
    seen = {tuple(execution.registers.values()) for execution in explore(program, version)}
    assert seen == {(0, 1), (2, 0)}


@each_version
def test_exchanges(version: Version) -> None:
    program = make(SAME_GPU, "a = atom.exch.gpu w, 1", "b = atom.exch.gpu w, 2")
    seen = {tuple(execution.registers.values()) for execution in explore(program, version)}
    assert seen == {(0, 1), (2, 0)}


@each_version
@pytest.mark.parametrize(("ctas", "stale"), [(SAME_CTA, False), (SAME_GPU, True)])
def test_a_barrier_orders_the_threads_of_a_cta(
    ctas: tuple[Cta, ...], stale: bool, version: Version
) -> None:
    program = make(ctas, "st x, 1; bar.sync b", "bar.sync b; q = ld x")
    assert allows(program, version, q=0) is stale
    assert bool(find_races(program, version)) is stale


@each_version
def test_a_release_covers_the_stores_before_a_barrier(version: Version) -> None:
    ctas = (FIRST, FIRST, SECOND)
    program = make(
        ctas,
        "st x, 1; bar.sync b; st y, 1",
        "bar.sync b; red.release.gpu.add c, 1",
        "ld.acquire.gpu c until 1; q = ld x; r = ld y",
    )
    assert not allows(program, version, q=0)
    assert allows(program, version, r=0)


@each_version
def test_a_sum_of_registers_and_initial_values(version: Version) -> None:
    thread = Thread(0, 0, parse("r = ld x; st y, r; q = ld y"))
    [execution] = explore(Program((thread,), (("x", 7),)), version)
    assert execution.registers == {"r": 7, "q": 7}


@pytest.mark.parametrize("text", ["mov r, 1", "ld.strange x", "=", "st x y z = 3"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match=r"instruction|Order"):
        parse(text)
