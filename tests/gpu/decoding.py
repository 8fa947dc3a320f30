"""Generates tokens with the programs of a decoder, as `ark.models` does on machines with the
compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import ark_mlir as ark

ENDS = 8
CHOICES = {
    "temperature": np.float32, "top_p": np.float32, "top_k": np.int32, "seed": np.int64
}  # fmt: skip


class Decoder:
    """Both programs of a decoder on one set of states.

    Args:
        prefill, decode: the executables of the two programs.
        rank: the prefix of the names of states: empty, or ``rank0/`` for a world.
    """

    def __init__(self, prefill: ark.Executable, decode: ark.Executable, rank: str = "") -> None:
        self.prefill, self.decode = prefill, decode
        self.decode.share_states(self.prefill)
        self.rank = rank
        (ids,) = (buffer for buffer in prefill.inputs if buffer.name == f"{rank}ids")
        self.chunk = ids.shape[1]

    def state(self, name: str) -> Any:
        """Returns the value of a state."""
        return self.decode.states[self.rank + name]

    def generate(
        self, prompt: list[int], count: int, ends: list[int], choice: Mapping[str, Any]
    ) -> list[int]:
        """Returns the tokens that continue a prompt."""
        common: dict[str, Any] = {"ends": np.array((ends + [-1] * ENDS)[:ENDS], np.int32)}
        common |= {name: np.array(value, CHOICES[name]) for name, value in choice.items()}
        begin = 0
        while begin < len(prompt):
            begin = max(0, min(begin, len(prompt) - self.chunk))
            part = prompt[begin : begin + self.chunk]
            row = np.zeros((1, self.chunk), np.int32)
            row[0, : len(part)] = part
            self.prefill.run(common, ids=row, begin=begin, last=len(part) - 1)
            begin += self.chunk
        if count > 1 and not self.state("done"):
            self.decode.run(common, iterations=count - 1)
        made = int(self.state("position")) - len(prompt)
        tokens = np.array(self.state("tokens"))
        return tokens[0, len(prompt) - 1 : len(prompt) + made].tolist()
