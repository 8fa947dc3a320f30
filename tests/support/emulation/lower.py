"""The lowering of a kernel for NVIDIA GPUs to IR for the host.

The input is the IR that LLVM would translate to PTX. Intrinsics and inline PTX become calls of C++
functions. Loads and stores become calls, too, except for a fast path. Operands and results pass
through memory, since the calling conventions of LLVM IR and C++ differ.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ark_mlir.targets.cuda_lines import SourceLine

from .accesses import WINDOW, AccessFunctions, size_of
from .text import arguments, split, type_of

_CALL = re.compile(
    r"call (?:(?:fast|nnan|ninf|nsz|contract|arcp|afn|reassoc|noundef|range\(.*?\)) )*"
    r"(?P<result>\w+|\{[^}]*\}|<[^>]*>) "
    r'(?P<callee>@llvm\.nvvm\.[\w.]+|asm (?:sideeffect )?"(?P<text>[^"]*)", "[^"]*")\((?P<rest>.*)$'
)
_LOAD = re.compile(r"^\s*(?P<name>%[\w.$-]+) = load (?P<volatile>volatile )?(?P<rest>.*)$")
_STORE = re.compile(r"^\s*store (?P<volatile>volatile )?(?P<rest>.*)$")
# LLVM's backend for PTX drops the order and scope of these accesses, so ark must not emit them.
_LOST = re.compile(
    r"\b(?:atomicrmw|cmpxchg|fence|(?:load|store) atomic)\b|@llvm\.mem(?:cpy|move|set)"
)
_RESULT = re.compile(r"^\s*(%[\w.$-]+) = (.*)$")
_PLACE = re.compile(r", !dbg !(\d+)")
_LOCATION = re.compile(r"^!(\d+) = .*!DILocation\(line: (\d+)", re.MULTILINE)
_VARIABLE = re.compile(r"^(?P<name>@[\w.]+) = .*?\b(?P<kind>constant|global) (?P<rest>.*)$")
_WARPGROUPS = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(?P<columns>\d+)k16\.f32\.(?P<type>b?f16)"
)
# The operands of a product with the left operand in registers, which follow the accumulators. The
# last number is 1 if the right operand is transposed.
_REGISTER_OPERAND = re.compile(r"\}, \{.*\}, \$\d+, p, 1, 1, (?P<transposed>[01]);")
_STRONG = re.compile(
    r"(?P<op>ld|st|red|atom|fence)\.(?P<order>relaxed|acquire|release|acq_rel|sc)"
    r"\.(?P<scope>cta|gpu|sys)(?:\.global)?(?:\.(?P<change>add|cas))?"
    r"(?:\.v(?P<count>[24]))?(?:\.[bus](?P<bits>32|64))?\b"
)
# The numbers are those of instructions.cpp.
_ORDERS = {"relaxed": 0, "acquire": 1, "release": 2, "acq_rel": 3, "sc": 3}
_SCOPES = {"cta": 0, "gpu": 1, "sys": 2}
# On a GPU, shared memory begins at 0.
_SHARED_NUMBER = re.compile(r"ptrtoint (ptr addrspace\(3\) %[\w.$-]+) to i64")
# Shared memory of AMD GPUs has addresses of 32 bits.
_SHARED_POINTER = re.compile(r"inttoptr (i32 %[\w.$-]+) to ptr addrspace\(3\)")
_SHARED_CONSTANT = re.compile(
    r"ptrtoint \(ptr addrspace\(3\) (?:getelementptr (?:[a-z]+ )*\(i8, ptr addrspace\(3\) )?"
    r"@ark_shared_memory(?:, i64 (\d+)\))? to i64\)"
)
# Instructions that access shared memory through the async proxy.
_ASYNC = re.compile(r"wgmma|cp\.async\.bulk")
# The code after the last instruction of a task's body, or of one vCTA. A body that several
# tasks share is a function.
_EXIT = re.compile(
    r"\s*(?:%[\w.$-]+ = add [^\n]*\n\s*%[\w.$-]+ = icmp [^\n]*\n\s*br i1 [^\n]*label|br label)"
    r" %(?P<label>[\w.$-]+)"
)
_RETURN = re.compile(r"\s*ret void\b")
_BODY = re.compile(r"define .*@body_\w+\(")
# The label after a body that LLVM has inlined.
_END_OF_BODY = re.compile(r"(?:ark_execute_work_item|body_\w+)\.exit")
_SLOT_BYTES = 16
_SLOT = f"[{_SLOT_BYTES} x i8]"
_DECLARATIONS = """
@simt_shared_bytes = external global i64
declare void @simt_enter(i32)
declare i64 @get_shared_address(ptr)
declare ptr @get_shared_pointer(i32)
declare float @simt_resolve(float, i32)
"""


@dataclass(frozen=True)
class Site:
    """An instruction of a kernel that calls the emulator.

    Attributes:
        number: the number of the instruction in the kernel.
        name: the C++ function, or ``load`` or ``store``.
        order: the memory order of an atomic access: relaxed, acquire, release, acq_rel; else empty.
        scope: the scope of an atomic access: cta, gpu, sys; else empty.
        line: the line of the kernel's text, from 0 on.
        origin: the function of the kernel's text, or the op, to which the instruction belongs.
        closes: True for the last instruction of a task's body.
    """

    number: int
    name: str
    order: str = ""
    scope: str = ""
    line: int = 0
    origin: str = ""
    closes: bool = False


@dataclass
class Lowered:
    """IR for the host.

    Attributes:
        text: the IR.
        sites: its instructions.
    """

    text: str = ""
    sites: list[Site] = field(default_factory=list[Site])


@dataclass
class _State:
    origins: dict[int, str]
    accesses: AccessFunctions
    sites: list[Site] = field(default_factory=list[Site])
    functions: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])
    line: int = 0
    origin: str = ""
    closes: bool = False

    def new_site(self, name: str, order: str = "", scope: str = "") -> int:
        site = Site(len(self.sites), name, order, scope, self.line, self.origin, self.closes)
        self.sites.append(site)
        return site.number


def lower(text: str, origins: Sequence[SourceLine] = (), races: bool = True) -> Lowered:
    """Returns the IR for the host.

    Args:
        text: the LLVM IR of the kernel.
        origins: the functions and ops for which lines of the debug information stand.
        races: True to look for accesses to shared memory that nothing orders, which takes time.

    Raises ValueError if LLVM's translation to PTX would drop the order of an access to memory.
    """
    locations = _find_locations(text, origins)
    text = re.sub(r"^target .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^declare .*@llvm\.nvvm\..*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^!llvm\.dbg\.cu = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'"[\w.-]+"="[^"]*"', "", text)
    # An attribute group may not be empty.
    text = re.sub(r"^(attributes #\d+ = \{)\s*\}", r"\1 nounwind }", text, flags=re.MULTILINE)
    text = text.replace("ptx_kernel ", "")
    # Structures are passed by their addresses to the stand-ins for functions of libraries.
    text = re.sub(r" byval\((?:[^()]|\([^()]*\))*\)", "", text)
    text = _SHARED_CONSTANT.sub(lambda found: found[1] or "0", text)
    text = _SHARED_NUMBER.sub(r"call i64 @get_shared_address(\1)", text)
    text = _SHARED_POINTER.sub(r"call ptr @get_shared_pointer(\1)", text)
    text = re.sub(r"\baddrspacecast\b", "bitcast", text)
    text = re.sub(r" ?addrspace\(\d+\)", "", text)
    text = re.sub(r"^@ark_shared_memory = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"@ark_shared_memory\b", f"inttoptr (i64 {WINDOW} to ptr)", text)
    lines = text.splitlines()
    state = _State(locations, AccessFunctions(races, races or _ASYNC.search(text) is not None))
    made: list[str] = []
    is_body, sums = False, set[str]()
    for state.line, line in enumerate(lines):
        if line.lstrip().startswith("#dbg_"):
            continue
        state.origin = _origin_of(line, state.origins)
        if line.startswith("define "):
            is_body = _BODY.match(line) is not None
            sums = _find_sums(lines[state.line : lines.index("}", state.line)])
        state.closes = _closes(lines, state.line, is_body)
        line = re.sub(r",? !dbg !\d+", "", line)
        made += _resolve_sums(line, sums, state)
    variables = _list_variables(lines)
    parts = [*made, variables, _DECLARATIONS, state.accesses.text(), *state.functions.values(), ""]
    return Lowered("\n".join(parts), state.sites)


def _find_locations(text: str, origins: Sequence[SourceLine]) -> dict[int, str]:
    """Returns the debug locations by their numbers."""
    locations = {int(found[1]): int(found[2]) for found in _LOCATION.finditer(text)}
    return {
        n: _describe(origins[line - 1]) for n, line in locations.items() if 0 < line <= len(origins)
    }


def _describe(origin: SourceLine) -> str:
    return f"{origin.name} ({origin.file}:{origin.line})" if origin.file else origin.name


def _origin_of(line: str, origins: dict[int, str]) -> str:
    found = _PLACE.search(line)
    return origins.get(int(found[1]), "") if found else ""


def _closes(lines: list[str], number: int, is_body: bool) -> bool:
    """Returns true if a task's body, or one of its vCTAs, ends after a line."""
    after = "\n".join(lines[number + 1 : number + 4])
    if is_body and _RETURN.match(after):
        return True
    found = _EXIT.match(after)
    if not found or not is_body:
        return found is not None and _END_OF_BODY.match(found["label"]) is not None
    rest = lines[number : lines.index("}", number)]
    target = f"{found['label']}:"
    return any(
        line.startswith(target) and _RETURN.match(after) is not None
        for line, after in itertools.pairwise(rest)
    )


def _list_variables(lines: list[str]) -> str:
    """Returns a table of the kernel's variables: addresses, bytes, and whether they are
    constant."""
    entries: list[str] = []
    for found in filter(None, map(_VARIABLE.match, lines)):
        nbytes = size_of(type_of(found["rest"]))
        constant = int(found["kind"] == "constant")
        entries.append(
            f"{{ ptr, i64, i64 }} {{ ptr {found['name']}, i64 {nbytes}, i64 {constant} }}"
        )
    kind = f"[{len(entries)} x {{ ptr, i64, i64 }}]"
    table = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
    return (
        f"@simt_variables = constant {kind} {table}\n"
        f"@simt_num_variables = constant i32 {len(entries)}"
    )


# -- accumulators of wgmma ---------------------------------------------------------------------


def _find_sums(lines: list[str]) -> set[str]:
    """Returns the names of values of a function that may be results of wgmma: tokens until their
    first use."""
    if not any(_WARPGROUPS.search(line) for line in lines):
        return set()
    results = [found for found in map(_RESULT.match, lines) if found]
    sums = {found[1] for found in results if _WARPGROUPS.search(found[2])}
    moves = [(found[1], found[2]) for found in results if _only_moves(found[2])]
    while True:
        more = {name for name, expression in moves if name not in sums and _uses(expression, sums)}
        if not more:
            return sums
        sums |= more


def _only_moves(expression: str) -> bool:
    return re.match(r"(?:phi|extractvalue|insertvalue|freeze) ", expression) is not None


def _uses(expression: str, names: set[str]) -> list[str]:
    return [name for name in re.findall(r"%[\w.$-]+", expression) if name in names]


def _resolve_sums(line: str, sums: set[str], state: _State) -> list[str]:
    """Returns the line, preceded by the reads of wgmma accumulators that it uses as numbers."""
    found = _RESULT.match(line)
    expression = found[2] if found else line
    before: list[str] = []
    is_use = not _only_moves(expression) and not _WARPGROUPS.search(expression)
    for name in dict.fromkeys(_uses(expression, sums)) if is_use else ():
        number = state.new_site("use_of_sum")
        resolved = f"%simt.sum.{number}"
        before.append(f"  {resolved} = call float @simt_resolve(float {name}, i32 {number})")
        line = re.sub(rf"{re.escape(name)}(?![\w.$-])", resolved, line)
    return [*before, _replace(line, state)]


# -- instructions ------------------------------------------------------------------------------


def _replace(line: str, state: _State) -> str:
    if line.lstrip().startswith(("call void asm", "tail call", "call")) or " call " in line:
        found = _CALL.search(line)
        if found is not None:
            return _replace_call(line, found, state)
    if _LOST.search(line) and not line.startswith(("declare", "!", "attributes")):
        raise ValueError(f"LLVM would drop the order of this access: {line.strip()}")
    if found := _LOAD.match(line):
        kind, pointer, alignment = _operands(found["rest"])
        symbol = state.accesses.get("load", kind, alignment, bool(found["volatile"]))
        number = state.new_site("load")
        return f"  {found['name']} = call {kind} {symbol}({pointer}, i32 {number})"
    if found := _STORE.match(line):
        value, pointer, alignment = _operands(found["rest"])
        kind = type_of(value)
        symbol = state.accesses.get("store", kind, alignment, bool(found["volatile"]))
        return f"  call void {symbol}({value}, {pointer}, i32 {state.new_site('store')})"
    return line


def _operands(rest: str) -> tuple[str, str, int]:
    """Returns the text before the pointer of a load or store, the pointer, and the alignment."""
    parts = split(rest)
    alignment = next(int(part[6:]) for part in parts if part.startswith("align "))
    return parts[0], parts[1], alignment


def _replace_call(line: str, found: re.Match[str], state: _State) -> str:
    parts = split(arguments(found["rest"]))
    types = [type_of(argument) for argument in parts]
    name, numbers, order, scope = _name_of(found["callee"], found["text"])
    key = (name, numbers, found["result"], *types)
    if key not in state.functions:
        symbol = f"@simt.{name}.{len(state.functions)}"
        made = _wrapper(symbol, name, numbers, found["result"], types)
        if not any(other[0] == name for other in state.functions):
            made += f"declare void @{name}(ptr, ptr)\n"
        state.functions[key] = made
    symbol = re.search(r"(@simt\.[\w.]+)\(", state.functions[key])
    assert symbol
    number = state.new_site(name, order, scope)
    call = f"{symbol[1]}({', '.join([f'i32 {number}', *parts])})"
    rest = found["rest"][len(arguments(found["rest"])) + 1 :]
    return line[: found.start("callee")] + call + rest


def _name_of(callee: str, text: str | None) -> tuple[str, tuple[int, ...], str, str]:
    """Returns the C++ function, its leading integer arguments, and the order and scope."""
    if text is None:
        return re.sub(r"\W+", "_", callee.removeprefix("@llvm.nvvm.")), (), "", ""
    if found := _WARPGROUPS.search(text):
        if registers := _REGISTER_OPERAND.search(text):
            numbers = (int(found["columns"]), int(registers["transposed"]))
            return f"wgmma_registers_{found['type']}", numbers, "", ""
        return f"wgmma_{found['type']}", (int(found["columns"]),), "", ""
    if found := _STRONG.match(text):
        return _strong(found)
    if "mbarrier.try_wait" in text:  # including the loop around it
        return "mbarrier_wait_parity_shared_b64", (), "", ""
    return re.sub(r"\W+", "_", re.sub(r"\$\d+", "", text)).strip("_"), (), "", ""


def _strong(found: re.Match[str]) -> tuple[str, tuple[int, ...], str, str]:
    order, scope = found["order"], found["scope"]
    name = "_".join(filter(None, ("ptx", found["op"], found["change"])))
    size = int(found["bits"] or 0) // 8
    return name, (_ORDERS[order], _SCOPES[scope], size, int(found["count"] or 1)), order, scope


def _slots_of(kind: str) -> int:
    return -(-size_of(kind) // _SLOT_BYTES)


def _first_slots(kinds: Iterable[str]) -> list[int]:
    """Returns the first slot of each value; wide vectors take several slots."""
    counts = [_slots_of(kind) for kind in kinds]
    return [sum(counts[:index]) for index in range(len(counts))]


def _wrapper(
    symbol: str, name: str, numbers: tuple[int, ...], result: str, types: list[str]
) -> str:
    fields = split(result[1:-1]) if result.startswith("{") else [result] * (result != "void")
    parameters = ", ".join(["i32 %site", *(f"{kind} %a{n}" for n, kind in enumerate(types))])
    lines = [
        f"define internal {result} {symbol}({parameters}) noinline {{",
        "  call void @simt_enter(i32 %site)",
        f"  %args = alloca [{len(numbers) + sum(map(_slots_of, types)) + 1} x {_SLOT}], align 16",
        f"  %results = alloca [{sum(map(_slots_of, fields)) + 1} x {_SLOT}], align 16",
    ]
    values = [("i32", str(number)) for number in numbers]
    values += [(kind, f"%a{index}") for index, kind in enumerate(types)]
    slots = _first_slots(kind for kind, _ in values)
    for index, (slot, (kind, value)) in enumerate(zip(slots, values, strict=True)):
        lines.append(f"  %p{index} = getelementptr {_SLOT}, ptr %args, i64 {slot}")
        lines.append(f"  store {kind} {value}, ptr %p{index}, align 16")
    lines.append(f"  call void @{name}(ptr %args, ptr %results)")
    for index, (slot, kind) in enumerate(zip(_first_slots(fields), fields, strict=True)):
        lines.append(f"  %q{index} = getelementptr {_SLOT}, ptr %results, i64 {slot}")
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
