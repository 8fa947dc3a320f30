"""Lines of LLVM's IR for litmus tests: accesses of 32 bits by their order, scope and address.

An address is the name of a pointer, without the percent sign.
"""

from __future__ import annotations

BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def load(order: str, to: str, address: str) -> str:
    return (
        f'%{to} = call i32 asm sideeffect "ld.{order}.u32 $0, [$1];", '
        f'"=r,l,~{{memory}}"(ptr %{address})'
    )


def store(order: str, address: str, value: str) -> str:
    return (
        f'call void asm sideeffect "st.{order}.u32 [$0], $1;", '
        f'"l,r,~{{memory}}"(ptr %{address}, i32 {value})'
    )


def add(order: str, address: str) -> str:
    return (
        f'call void asm sideeffect "red.{order}.add.u32 [$0], $1;", '
        f'"l,r,~{{memory}}"(ptr %{address}, i32 1)'
    )


def fence(kind: str) -> str:
    return f'call void asm sideeffect "fence.{kind};", "~{{memory}}"()'


def poll(order: str, address: str = "flag", least: int = 1, name: str = "poll") -> str:
    """Returns a loop that loads the word until its value is at least `least`."""
    return f"""br label %{name}
{name}:
  {load(order, f"{name}.value", address)}
  %{name}.ends = icmp uge i32 %{name}.value, {least}
  br i1 %{name}.ends, label %{name}.end, label %{name}
{name}.end:"""


def weak_store(address: str, value: int) -> str:
    return f"store i32 {value}, ptr %{address}, align 4"
