"""Functions in LLVM IR for loads and stores. The functions have a fast path, and call C++
otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# The numbers are those of layout.h.
WINDOW = 0x1C0000000000
_ARENA, _ARENA_BYTES, _SHADOW = 0x100000000000, 0x30000000000, 0x180000000000
_SIZES = {
    "i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8,
    "ptr": 8,
}  # fmt: skip
_SEQUENCE = re.compile(r"[\[<](\d+) x (.*)[\]>]$")

_LOAD = """
define internal {kind} {symbol}(ptr %p, i32 %site) alwaysinline {{
  %slot = alloca {kind}, align 16
{shared}
direct:
  %near = load {kind}, ptr %p, align {alignment}
  ret {kind} %near
global:
{arena}
call:
  call void @simt_load(ptr %slot, ptr %p, i32 {size}, i32 {alignment}, i32 %site)
  %far = load {kind}, ptr %slot, align 16
  ret {kind} %far
}}
"""
_CALL = """
define internal {result} {symbol}({parameters}ptr %p, i32 %site) {{
  %slot = alloca {kind}, align 16
{before}  call void {function}({order}, i32 {size}, i32 {alignment}, i32 %site)
{after}
}}
"""
_STORE = """
define internal void {symbol}({kind} %value, ptr %p, i32 %site) alwaysinline {{
  %slot = alloca {kind}, align 16
{shared}
direct:
  store {kind} %value, ptr %p, align {alignment}
  ret void
global:
  store {kind} %value, ptr %slot, align 16
  call void @simt_store(ptr %p, ptr %slot, i32 {size}, i32 {alignment}, i32 %site)
  ret void
}}
"""
# Checks that the access is in shared memory and aligned.
_SHARED = """  %a = ptrtoint ptr %p to i64
  %low = and i64 %a, {mask}
  %aligned = icmp eq i64 %low, 0
  %offset = sub i64 %a, {window}
  %room = load i64, ptr @simt_shared_bytes, align 8
  %end = add i64 %offset, {size}
  %begins = icmp ult i64 %offset, %room
  %ends = icmp ule i64 %end, %room
  %fits = and i1 %begins, %ends
  %near.0 = and i1 %fits, %aligned
  br i1 %near.0, label %direct, label %global"""
# Checks that the access is in one buffer to which no thread has stored in this launch.
_ARENA_CHECK = """  %distance = sub i64 %a, {arena}
  %within = icmp ult i64 %distance, {arena_bytes}
  %known = and i1 %within, %aligned
  br i1 %known, label %look, label %call
look:
  %word = and i64 %distance, -4
  %number = add i64 %word, {shadow}
  %shadow = inttoptr i64 %number to ptr
  %states = load <{words} x i32>, ptr %shadow, align 4
  %whole = icmp eq <{words} x i32> %states, splat (i32 1)
  %bits = bitcast <{words} x i1> %whole to i{words}
  %quick = icmp eq i{words} %bits, -1
  br i1 %quick, label %direct, label %call"""
_DECLARATIONS = """
declare void @simt_load(ptr, ptr, i32, i32, i32)
declare void @simt_store(ptr, ptr, i32, i32, i32)
declare void @simt_load_volatile(ptr, ptr, i32, i32, i32)
declare void @simt_store_volatile(ptr, ptr, i32, i32, i32)
"""


def size_of(kind: str) -> int:
    """Returns the bytes of a type.

    Example:
        >>> size_of("<4 x bfloat>"), size_of("[2 x [3 x i64]]")
        (8, 48)
    """
    if found := _SEQUENCE.match(kind):
        return int(found[1]) * size_of(found[2])
    return _SIZES[kind]


@dataclass
class AccessFunctions:
    """Collects the functions for loads and stores that a kernel needs.

    Args:
        tracks_loads: True if every load from shared memory is a call, which looks for races.
        tracks_stores: the same for stores. Also needed if asynchronous copies or wgmma read shared
            memory, since they see only fenced stores.
    """

    tracks_loads: bool
    tracks_stores: bool
    _symbols: dict[tuple[str, str, int, bool], str] = field(
        default_factory=dict[tuple[str, str, int, bool], str]
    )
    _texts: list[str] = field(default_factory=list[str])

    def get(self, access: str, kind: str, alignment: int, volatile: bool) -> str:
        """Returns the name of the function that loads or stores a type."""
        key = (access, kind, alignment, volatile)
        if key not in self._symbols:
            symbol = self._symbols[key] = f"@simt.{access}.{len(self._symbols)}"
            tracks = self.tracks_loads if access == "load" else self.tracks_stores
            self._texts.append(_define(access, symbol, kind, alignment, volatile, tracks))
        return self._symbols[key]

    def text(self) -> str:
        """Returns the definitions of the functions."""
        return "\n".join([_DECLARATIONS, *self._texts])


def _define(
    access: str, symbol: str, kind: str, alignment: int, volatile: bool, tracks: bool
) -> str:
    size = size_of(kind)
    fields = {"symbol": symbol, "kind": kind, "alignment": alignment, "size": size}
    if volatile:
        return _define_call(
            fields, kind if access == "load" else "void", f"@simt_{access}_volatile"
        )
    shared = _SHARED.format(mask=alignment - 1, window=WINDOW, size=size)
    if tracks:
        return _define_call(fields, kind if access == "load" else "void", f"@simt_{access}")
    if access == "store":
        return _STORE.format(shared=shared, **fields)
    if alignment < min(size, 4):
        arena = "  br label %call"
    else:
        arena = _ARENA_CHECK.format(
            arena=_ARENA, arena_bytes=_ARENA_BYTES, shadow=_SHADOW, words=max(size // 4, 1)
        )
    return _LOAD.format(shared=shared, arena=arena, **fields)


def _define_call(fields: Mapping[str, object], result: object, function: str) -> str:
    kind = fields["kind"]
    if result == "void":
        before = f"  store {kind} %value, ptr %slot, align 16\n"
        parts = (f"{kind} %value, ", before, "ptr %p, ptr %slot", "  ret void")
    else:
        after = f"  %far = load {kind}, ptr %slot, align 16\n  ret {kind} %far"
        parts = ("", "", "ptr %slot, ptr %p", after)
    parameters, before, order, after = parts
    return _CALL.format(
        result=result,
        function=function,
        parameters=parameters,
        before=before,
        order=order,
        after=after,
        **fields,
    )
