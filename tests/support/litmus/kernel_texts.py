"""The memory accesses of a kernel's primitives, read from the kernel's texts.

A change of an order or a scope in a text changes the litmus programs of `hand_offs.py`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PASSES = Path(__file__).parents[3] / "passes"
_TEXTS = (
    "target/cuda/CudaKernel.mlir",
    "target/cuda/CudaPeerStores.mlir",
    "target/packets/CudaPacketWords.mlir",
)
_FUNCTION = re.compile(r"^func\.func private @(\w+)\(.*?^}", re.MULTILINE | re.DOTALL)
_ACCESS = re.compile(r'"((?:ld|st|red|atom)\.[^ "]+) ')


@cache
def read_texts() -> dict[str, list[str]]:
    """Returns the accesses in inline PTX of each function of the texts."""
    accesses: dict[str, list[str]] = {}
    for name in _TEXTS:
        text = (_PASSES / name).read_text(encoding="utf-8")
        for function in _FUNCTION.finditer(text):
            if found := _ACCESS.findall(function[0]):
                accesses[function[1]] = found
    return accesses


class Primitives:
    """The accesses that a kernel makes, in the spelling of `program.parse`.

    Args:
        ranks: True for a program of several ranks, whose packets have the scope of the system.
    """

    def __init__(self, ranks: bool) -> None:
        wait = "ark_load_arrivals" if ranks else "ark_load_acquire"
        self._scopes = {"<device>": "gpu", "<system>": "sys", "<ranks>": "sys" if ranks else "gpu"}
        self.signal = self.find("ark_add_release", "red")
        self.signal_peer = self.find("ark_add_remote_arrival", "red")
        self.wait = self.find(wait, "ld")
        self.send = self.find("ark_send_packet", "st")
        self.receive = self.find("ark_load_packets", "ld")

    def find(self, function: str, op: str) -> str:
        """Returns the only access of a function by an op, such as ``red``."""
        [access] = [text for text in read_texts()[function] if text.startswith(f"{op}.")]
        for name, scope in self._scopes.items():
            access = access.replace(name, scope)
        return access
