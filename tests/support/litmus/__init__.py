"""Exhaustive exploration of litmus programs in PTX's memory model.

A litmus program has a few threads with a few accesses of shared words. `explore` yields every
execution that the axioms of the model allow. So a test can show that no execution reads stale data,
and that a weaker instruction permits such an execution.

The axioms are those of D. Lustig, S. Sahasrabuddhe and O. Giroux, "A Formal Analysis of the NVIDIA
PTX Memory Consistency Model", ASPLOS 2019 (`Version.PTX_6_0`), and of the chapter "Memory
Consistency Model" of NVIDIA's PTX ISA from version 7.5 on, without proxies (`Version.PTX_7_5`).
"""

from .axioms import Version
from .explorer import Execution, allows, explore, find_races, last_values
from .program import Access, Instruction, Order, Program, Scope, Thread, parse

__all__ = [
    "Access",
    "Execution",
    "Instruction",
    "Order",
    "Program",
    "Scope",
    "Thread",
    "Version",
    "allows",
    "explore",
    "find_races",
    "last_values",
    "parse",
]
