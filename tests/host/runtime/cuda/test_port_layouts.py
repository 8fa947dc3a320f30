"""The layouts of port channels of MSCCL++."""

from __future__ import annotations

import pytest

import ark_mlir as ark
from ark_mlir.runtime.cuda.port_layouts import (
    LAYOUTS,
    PortHandle,
    PortLayout,
    find_layout,
    read_handle,
)
from ark_mlir.testing.port_handles import pack_handle

HANDLE = PortHandle(
    semaphore=1023, token=0x7F0000000008, triggers=0x7F0000001000, head=0x7F0000002000,
    tail=0x7F0000003000, tail_cache=0x7F0000004000, size=512, destination=511, source=3,
)  # fmt: skip
EACH_LAYOUT = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)


@EACH_LAYOUT
def test_a_handle_of_each_layout(layout: PortLayout) -> None:
    assert read_handle(pack_handle(HANDLE, layout), layout) == HANDLE


@pytest.mark.parametrize(
    ("version", "nbytes", "name"),
    [
        ("0.9.0", 72, "0.9"),
        ("0.10.0", 80, "0.10"),
        # Commits between the versions.
        ("0.9.0.post42", 80, "0.10"),
        ("0.9.0", 96, "main of August 2026"),
        ("0.10.1.dev3", 96, "main of August 2026"),
    ],
)
def test_version_and_length_choose_a_layout(version: str, nbytes: int, name: str) -> None:
    assert find_layout(version, nbytes).name == name


@pytest.mark.parametrize(
    ("version", "nbytes"),
    [("0.8.0", 72), ("0.7.0", 72), ("0.10.0", 72), ("0.11.0", 96), ("0.9.0", 104), ("1.0.9.0", 96)],
)
def test_any_other_version_is_refused(version: str, nbytes: int) -> None:
    with pytest.raises(ark.UnsupportedError) as caught:
        find_layout(version, nbytes)
    assert str(caught.value) == (
        f"mscclpp {version} has port channels whose handles have {nbytes} bytes, which ark does "
        "not know: install one of the versions 0.9 (72 bytes), 0.10 (80 bytes), "
        "main of August 2026 (96 bytes)"
    )


@EACH_LAYOUT
@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"size": 500},
        {"size": -512},
        {"token": 0},
        {"triggers": 0x7F0000001004},
        {"tail_cache": 0},
    ],
    ids=str,
)
def test_a_handle_that_contradicts_its_layout(layout: PortLayout, wrong: dict[str, int]) -> None:
    raw = pack_handle(HANDLE._replace(**wrong), layout)
    with pytest.raises(ark.UnsupportedError, match="does not have the layout of MSCCL"):
        read_handle(raw, layout)


def test_a_mask_that_is_not_that_of_the_size() -> None:
    layout = LAYOUTS[-1]
    raw = bytearray(pack_handle(HANDLE, layout))
    raw[64] ^= 1
    with pytest.raises(ark.UnsupportedError, match="does not have the layout of MSCCL"):
        read_handle(bytes(raw), layout)
