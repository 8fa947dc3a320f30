"""The numbers that compiler, kernel texts and runtime share are the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernel_abi import read_entries

from ark_mlir.bundle.tables import Opcode
from ark_mlir.runtime.cuda import port_channels
from ark_mlir.runtime.drivers import abi

_ROOT = Path(__file__).parents[4]
_LIST = _ROOT / "passes/kernel/KernelAbi.def"
_TEXTS = [path for path in sorted(_ROOT.glob("passes/**/[A-Z]*.mlir")) if path.is_file()]
_FUNCTION = re.compile(r"^(?:llvm|func)\.func (?:private )?@(\w+)\(", re.MULTILINE)

pytestmark = pytest.mark.skipif(not _LIST.exists(), reason="no sources of the compiler here")


@pytest.fixture(scope="module")
def entries() -> dict[str, dict[str, int]]:
    return read_entries(_LIST)


@pytest.fixture(scope="module")
def constants(entries: dict[str, dict[str, int]]) -> dict[str, int]:
    return entries["CONSTANT"]


def test_context(entries: dict[str, dict[str, int]]) -> None:
    names = ["timeout" if name == "timeout_ns" else name for name, *_ in abi.ArkContext._fields_]
    assert entries["CONTEXT_FIELD"] == {f"k{n.title()}": i for i, n in enumerate(names)}
    assert entries["CONSTANT"]["kContextWords"] == len(names)


def test_opcodes(entries: dict[str, dict[str, int]]) -> None:
    assert {name.upper(): value for name, value in entries["OPCODE"].items()} == {
        opcode.name: int(opcode) for opcode in Opcode
    }


def test_records(constants: dict[str, int]) -> None:
    assert constants["kReportWords"] == abi.REPORT_WORDS
    assert constants["kReportQueued"] == abi.REPORT_QUEUED
    assert constants["kAbortNone"] == abi.Abort.NONE
    assert constants["kAbortHang"] == abi.Abort.HANG
    assert constants["kAbortPeers"] == abi.Abort.PEERS
    assert constants["kCodeLate"] == abi.LATE
    assert constants["kStatusWords"] == abi.STATUS_WORDS
    assert constants["kStatusSequenceShift"] == abi.STATUS_SEQUENCE_SHIFT
    assert constants["kErrorNone"] == abi.DataError.NONE
    assert constants["kErrorIndex"] == abi.DataError.INDEX


def test_doorbell(constants: dict[str, int]) -> None:
    assert constants["kDoorbellRings"] == abi.DOORBELL_RINGS
    assert constants["kDoorbellAnswers"] == abi.DOORBELL_ANSWERS
    assert constants["kDoorbellHost"] == abi.DOORBELL_HOST
    assert constants["kDoorbellLanes"] == abi.DOORBELL_LANES
    assert constants["kDoorbellLanes"] < abi.DOORBELL_WORDS
    assert constants["kDoorbellLeave"] % (1 << 64) == abi.DOORBELL_LEAVE


def test_warps(constants: dict[str, int]) -> None:
    assert constants["kCudaWarpSize"] == abi.CUDA_WARP_SIZE


def test_semaphores_and_packets(constants: dict[str, int]) -> None:
    assert 8 * constants["kCounterWords"] == abi.SEMAPHORE_STRIDE
    assert 1 << constants["kRankShift"] == abi.RANK_COUNTERS
    assert 1 << constants["kPacketTagShift"] == abi.PACKET_EPOCHS


def test_ranks_of_other_domains(constants: dict[str, int]) -> None:
    assert constants["kDomainShift"] == abi.DOMAIN_SHIFT
    assert constants["kDomainDistance"] == abi.DOMAIN_DISTANCE
    assert constants["kDomainDistanceEnd"] == abi.DOMAIN_DISTANCE_END
    assert constants["kNetworkWords"] == abi.NETWORK_WORDS
    # A Python table of linked instructions has 32-bit numbers.
    assert abi.DOMAIN_DISTANCE >= -(1 << 31)


def test_port_channels(constants: dict[str, int]) -> None:
    """The host writes the records that the kernel text CudaPortChannels.mlir reads."""
    kind = constants["kTriggerKindShift"]
    assert constants["kTriggerCopy"] << kind == port_channels.COPY
    assert constants["kTriggerSignal"] << kind == port_channels.SIGNAL
    assert constants["kTriggerSemaphoreShift"] == port_channels.SEMAPHORE
    assert constants["kCounterTokens"] == port_channels.TOKENS_WORD
    assert (constants["kTokenBase"], constants["kTokenWords"]) == (1, 2)
    names = ("Triggers", "Head", "Tail", "TailCache", "Size", "Shift", "Laps", "Stride", "Polled")
    assert [constants[f"kPorts{name}"] for name in (*names, "Signal", "Ranks")] == list(range(11))


def test_documentation(entries: dict[str, dict[str, int]]) -> None:
    text = (_ROOT / "docs/bundle.md").read_text()
    fields = dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE))
    opcodes = dict(re.findall(r"^\| (\d+) (\w+) \|", text, re.MULTILINE))
    assert {f"k{name.removesuffix('_ns').title()}": int(n) for n, name in fields.items()} == (
        entries["CONTEXT_FIELD"]
    )
    assert {name.title(): int(n) for n, name in opcodes.items()} == entries["OPCODE"]
    report = text[text.index("`ArkReport` (64-bit fields)") :].split("\n\n")[0]
    words = {f"kReport{n.title()}": int(i) for i, n in re.findall(r"(\d) `(\w+)`", report)}
    words |= {f"kReport{n.title()}": int(i) for i, n in re.findall(r"(\d)\n`(\w+)`", report)}
    assert {name: entries["CONSTANT"][name] for name in words} == words
    assert len(words) == entries["CONSTANT"]["kReportWords"]


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.name)
def test_text_names_fields(path: Path) -> None:
    """A text names the fields of records instead of counting them."""
    text = path.read_text()
    assert not re.findall(r"getelementptr %(?!time\b|begin_field\b)\w+\[-?\d+\]", text)
    assert not re.findall(r"vector\.extract %\w+\[\d+\]", text)
    assert not re.findall(r"^    \d+: \^", text, re.MULTILINE)


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.name)
def test_text_has_a_test(path: Path) -> None:
    name = re.sub(r"(?<!^)([A-Z])", r"-\1", path.stem).lower()
    test = _ROOT / "tests" / path.parent.relative_to(_ROOT) / f"{name}.mlir"
    assert f"{path.relative_to(_ROOT)} |" in test.read_text()


def test_declared_functions_are_defined() -> None:
    """A text or a pass defines each function that a text declares."""
    declared: set[str] = set()
    defined = {"clock_gettime", "nanosleep", "sched_yield"}
    for path in _TEXTS:
        for function in re.split(r"(?m)^(?=(?:llvm|func)\.func )", path.read_text())[1:]:
            header = function.split("\n\n")[0].split("//")[0].rstrip()
            (name,) = _FUNCTION.findall(function)
            (defined if header.endswith("{") or "{\n" in header else declared).add(name)
    sources = "".join(path.read_text() for path in sorted(_ROOT.glob("passes/**/*.[ch]*")))
    # The bitcode of NCCL, which is linked later, defines some functions.
    ours = {name for name in declared - defined if not name.startswith("nccl")}
    undefined = {name for name in ours if f'"{name}"' not in sources}
    assert declared
    assert not undefined
