"""A kernel for NVIDIA GPUs becomes a shared object of the host.

The IR is that of which LLVM would make PTX. What only an NVIDIA GPU has, intrinsics and lines of
PTX, becomes calls of functions of C++; operands and results go through memory, since the calling
conventions of languages differ.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_HERE = Path(__file__).parent
_PARTS = ("simt", "memory", "copies", "warps", "products")
_CALL = re.compile(
    r"call (?:(?:fast|nnan|ninf|nsz|contract|arcp|afn|reassoc|noundef|range\(.*?\)) )*"
    r"(?P<result>\w+|\{[^}]*\}|<[^>]*>) "
    r'(?P<callee>@llvm\.nvvm\.[\w.]+|asm (?:sideeffect )?"(?P<text>[^"]*)", "[^"]*")\((?P<rest>.*)$'
)
_ENTRY = """
declare i32 @simt_run(ptr, ptr, i32, i32)
declare i64 @get_shared_address(ptr)
define i32 @emulated_ark_kernel(ptr %context, i64 %lane) {{
  %cta = trunc i64 %lane to i32
  %code = call i32 @simt_run(ptr @ark_kernel, ptr %context, i32 %cta, i32 {threads})
  ret i32 %code
}}
"""
_WARPGROUPS = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(?P<columns>\d+)k16\.f32\.(?P<type>b?f16)"
)
# On a GPU, shared memory begins at 0.
_SHARED_NUMBER = re.compile(r"ptrtoint (ptr addrspace\(3\) %[\w.]+) to i64")
_SLOT = "[16 x i8]"


def compile_kernel(text: str, threads: int, folder: Path) -> bytes:
    """A shared object with ``emulated_ark_kernel(context, lane)``, of a kernel in LLVM's IR.

    Raises subprocess.CalledProcessError where it has an instruction that is not known.
    """
    source, output = folder / "kernel.ll", folder / "kernel.so"
    source.write_text(lower(text) + _ENTRY.format(threads=threads))
    command = ["clang++-22", "-O1", "-shared", "-fPIC", "-Wl,-z,defs", "-Wno-override-module"]
    subprocess.run([*command, str(source), str(_runtime(folder)), "-o", str(output)], check=True)
    return output.read_bytes()


def _runtime(folder: Path) -> Path:
    """The object of what is the same for all kernels, made once for a folder."""
    output = folder / "runtime.o"
    if not output.exists():
        objects = [folder / f"{name}.o" for name in _PARTS]
        for made in objects:
            command = ["clang++-22", "-std=c++17", "-O2", "-fPIC", "-Wall", "-Werror", "-c"]
            source = _HERE / f"{made.stem}.cpp"
            subprocess.run([*command, str(source), "-o", str(made)], check=True)
        subprocess.run(["ld", "-r", *map(str, objects), "-o", str(output)], check=True)
    return output


def lower(text: str) -> str:
    """The IR for the host: one kind of memory, and calls of functions."""
    text = re.sub(r"^target .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^declare .*@llvm\.nvvm\..*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'"[\w.-]+"="[^"]*"', "", text)
    text = text.replace("ptx_kernel ", "")
    text = _SHARED_NUMBER.sub(r"call i64 @get_shared_address(\1)", text)
    text = re.sub(r"\baddrspacecast\b", "bitcast", text)
    text = re.sub(r" ?addrspace\(\d+\)", "", text)
    text = re.sub(r"(?<=@ark_shared_memory = external) .*global", " thread_local global", text)
    wrappers: dict[tuple[str, ...], str] = {}
    lines = [_replace_call(line, wrappers) for line in text.splitlines()]
    return "\n".join([*lines, *wrappers.values(), ""])


def _replace_call(line: str, wrappers: dict[tuple[str, ...], str]) -> str:
    found = _CALL.search(line)
    if found is None:
        return line
    types = [_type_of(argument) for argument in _split(_arguments(found["rest"]))]
    name, number = _name_of(found["callee"], found["text"])
    key = (name, number, found["result"], *types)
    symbol = f"@simt.{name}.{list(wrappers).index(key) if key in wrappers else len(wrappers)}"
    if key not in wrappers:
        wrappers[key] = _wrapper(symbol, name, number, found["result"], types)
        if not any(other[0] == name for other in wrappers if other != key):
            wrappers[key] += f"declare void @{name}(ptr, ptr)\n"
    return line[: found.start("callee")] + symbol + line[found.end("callee") :]


def _name_of(callee: str, text: str | None) -> tuple[str, str]:
    """What instructions.h calls it: words of PTX, without operands; and a number that is part
    of the name and that it is given, if any."""
    if text is None:
        return re.sub(r"\W+", "_", callee.removeprefix("@llvm.nvvm.")), ""
    if found := _WARPGROUPS.search(text):
        return f"wgmma_{found['type']}", found["columns"]
    if "mbarrier.try_wait" in text:  # with the loop around it
        return "mbarrier_wait_parity_shared_b64", ""
    return re.sub(r"\W+", "_", re.sub(r"\$\d+", "", text)).strip("_"), ""


def _arguments(rest: str) -> str:
    depth = 1
    for place, letter in enumerate(rest):
        depth += (letter in "([{<") - (letter in ")]}>")
        if depth == 0:
            return rest[:place]
    raise ValueError(f"no end of the arguments: {rest}")


def _split(arguments: str) -> list[str]:
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _type_of(argument: str) -> str:
    found = re.match(r"<[^>]*>|\{[^}]*\}|\w+", argument)
    assert found, argument
    return found[0]


def _wrapper(symbol: str, name: str, number: str, result: str, types: list[str]) -> str:
    fields = _split(result[1:-1]) if result.startswith("{") else [result] * (result != "void")
    parameters = ", ".join(f"{kind} %a{index}" for index, kind in enumerate(types))
    lines = [
        f"define internal {result} {symbol}({parameters}) noinline {{",
        f"  %all = alloca [{len(types) + 1} x {_SLOT}], align 16",
        f"  %args = getelementptr {_SLOT}, ptr %all, i64 {int(bool(number))}",
        f"  %results = alloca [{max(len(fields), 1)} x {_SLOT}], align 16",
    ]
    for index, kind in enumerate(types):
        lines.append(f"  %p{index} = getelementptr {_SLOT}, ptr %args, i64 {index}")
        lines.append(f"  store {kind} %a{index}, ptr %p{index}, align 16")
    if number:
        lines.append(f"  store i32 {number}, ptr %all, align 16")
    lines.append(f"  call void @{name}(ptr %all, ptr %results)")
    for index, kind in enumerate(fields):
        lines.append(f"  %q{index} = getelementptr {_SLOT}, ptr %results, i64 {index}")
        lines.append(f"  %r{index} = load {kind}, ptr %q{index}, align 16")
    if result.startswith("{"):
        whole = "poison"
        for index, kind in enumerate(fields):
            lines.append(f"  %s{index} = insertvalue {result} {whole}, {kind} %r{index}, {index}")
            whole = f"%s{index}"
        lines.append(f"  ret {result} {whole}")
    else:
        lines.append(f"  ret {result} %r0" if fields else "  ret void")
    return "\n".join([*lines, "}", ""])
