#!/usr/bin/env python3
"""Fuzzes the reader of bundles: any file gives a bundle or a BundleError, and nothing else.

Each case alters a valid bundle in one of several ways and reads it. Most alterations update the
hashes, so that the later checks are reached. The script then uses an accepted bundle as a runtime
does, without running the kernel: its tables, report, text, ELF headers of the kernel, and the
writer.

    tests/soak/fuzz_bundles.py --count 10000 --seed 1
    tests/soak/fuzz_bundles.py --seed 1 --only 1234       # one case again
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from alterations import TEXT_PIECES, alter_bytes, alter_json, odd_integer, odd_value
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fuzzing import check_message, main

from ark_mlir.bundle import Bundle, read_bundle
from ark_mlir.bundle.format import HEADER_SIZE, TRAILER_SIZE, align
from ark_mlir.bundle.signatures import sign
from ark_mlir.errors import BundleError
from ark_mlir.runtime.cpu.elf import check_image
from ark_mlir.runtime.diagnosis.report import make_report
from ark_mlir.testing.toy import (
    ToyProgram,
    add_program,
    compile_kernel,
    counting_program,
    gather_program,
    run,
    signal,
    wait,
)

FULL_COUNT = 1_000_000

Parts = tuple[dict[str, Any], dict[str, bytes]]

# Names of members that objects of a manifest may have.
_KEYS = ("", "x", "offset", "max", "init", "alignment", "stop", "stamps", "ranks", "packets")
_ROWS = {"instructions": 4, "lanes": 3, "tasks": 2, "operands": 2, "timeline": 2}
_WIDTH = {"operands": 8, "timeline": 8}


# -- bundles to alter ------------------------------------------------------------------------------


def _packet_program() -> Parts:
    """Returns a program of two ranks, one of which waits for packets of the other in the arena, and
    a state that ends the launch.
    """
    program = ToyProgram(sms=2, arena=256)
    x = program.buffer("rank0/x", "input", "fp32", [16])
    y = program.buffer("rank1/y", "output", "fp32", [16])
    flag = program.buffer("rank0/end", "state", "int32", [1], init=0, alignment=4, stop=True)
    program.buffer("rank1/n", "scalar", "int32", [], max=7)
    put = program.task("copy", 1, [(0, 0), (x, 0)])
    get = program.task("copy", 1, [(y, 0), (0, 0)])
    program.task("endless", 1, [(flag, 0)])
    told = program.semaphore(1, "told")
    again = program.semaphore(1, "again")
    program.lane(
        0, [run(put, 0, 1), (1, told, 0, 1), run(2, 0, 1), (5, flag, 0, 0), wait(again, 1)]
    )
    # The entries of its packets are the spare ones after the operands of the three tasks.
    program.lane(1, [(2, told, 1, 5), run(get, 0, 1), signal(again)])
    manifest, sections = program.parts()
    manifest["ranks"] = 2
    manifest["semaphores"][0]["handoff"] = "packet"
    return manifest, sections


def _gpu_program() -> Parts:
    manifest, sections = add_program().parts(b"//\n.version 8.0\n", packets=4096)
    manifest["target"].update(backend="cuda", arch="sm_90a", shared_memory=1 << 16)
    manifest["options"].update(assembler="ptxas", clears_queued=True, tile={"a": [1, 2.5, None]})
    manifest["statistics"].update(registers=64, largest_live_set=512)
    sections["mlir"] = b"module {}\n"
    return manifest, sections


def _corpus() -> list[Parts]:
    kernel = compile_kernel()
    corpus = [
        add_program().parts(),
        counting_program().parts(trace=True),
        gather_program().parts(kernel),
        _packet_program(),
        _gpu_program(),
    ]
    for manifest, _ in corpus:
        # Toy programs list the bodies of all toys.
        last = max(task["body"] for task in manifest["tasks"])
        del manifest["bodies"][last + 1 :]
    for parts in corpus:
        Bundle.from_parts(*parts)  # the entry is valid
    return corpus


def sealed(
    manifest: bytes,
    sections: dict[str, bytes],
    move: Callable[[dict[str, dict[str, Any]]], None] = lambda table: None,
) -> bytearray:
    """Returns a bundle's file with valid hashes.

    Args:
        manifest: the text of the manifest, an object without sections.
        sections: the contents of the sections.
        move: may alter the table of sections.
    """
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sections.items()}
    # The offsets depend on the length of the text, and its length on their digits. The estimate is
    # right for most manifests; otherwise the loop finds the length.
    length = len(manifest) + 10 + sum(len(name) + 110 for name in sections)
    for _ in range(8):
        end, table = HEADER_SIZE + length, dict[str, dict[str, Any]]()
        for name, data in sections.items():
            table[name] = {"offset": align(end), "size": len(data), "sha256": digests[name]}
            end = align(end) + len(data)
        move(table)
        cut = manifest.rfind(b"}")
        entry = b',"sections":' + json.dumps(table, separators=(",", ":")).encode()
        text = manifest[:cut] + entry + manifest[cut:] if cut > 1 else manifest
        if len(text) == length:
            break
        length = len(text)
    digest = hashlib.sha256(text).digest()
    data = bytearray(struct.pack("<8sIIQQ32s", *_PREFIX, len(text), 0, digest) + text)
    for content in sections.values():
        data += bytes(-len(data) % 64) + content
    struct.pack_into("<Q", data, 24, len(data))
    return data


def _dump(manifest: Any) -> bytes:
    return json.dumps(manifest, separators=(",", ":")).encode()


CORPUS = _corpus()
_FIRST = Bundle.from_parts(*CORPUS[0])
# Magic, version and flags of an unsigned file as this version writes them.
_PREFIX = struct.unpack("<8sII", b"".join(map(bytes, _FIRST.encode()))[:16])
TEXTS = [_dump(manifest) for manifest, _ in CORPUS]
FILES = [bytes(sealed(text, sections)) for text, (_, sections) in zip(TEXTS, CORPUS, strict=True)]


# Every file has its own key, which is the same in every run.
SIGNED = [
    sign(data, Ed25519PrivateKey.from_private_bytes(bytes([index]) * 32), "corpus")
    for index, data in enumerate(FILES)
]


# -- alterations -----------------------------------------------------------------------------------


def alter_file(random: Random, base: int) -> bytearray:
    """Alters bytes anywhere, and leaves all hashes as they are."""
    data = bytearray(FILES[base])
    alter_bytes(random, data)
    return data


def alter_header(random: Random, base: int) -> bytearray:
    """Alters fields of the header."""
    data = bytearray(FILES[base])
    for _ in range(random.randint(1, 2)):
        offset, size = random.choice(((0, 8), (8, 4), (12, 4), (16, 8), (24, 8), (32, 8)))
        value = (
            odd_integer(random) if random.random() < 0.7 else len(data) + random.randint(-65, 65)
        )
        data[offset : offset + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    if random.random() < 0.3:
        data += bytes(random.randint(1, 130))
    return data


def alter_manifest(random: Random, base: int) -> bytearray:
    """Alters values, keys and their order in the manifest."""
    manifest = json.loads(TEXTS[base])
    alter_json(random, manifest, _KEYS)
    return sealed(_dump(manifest), CORPUS[base][1])


def alter_text(random: Random, base: int) -> bytearray:
    """Alters the manifest's text to invalid JSON, or to JSON that only Python's parser accepts."""
    text = bytearray(TEXTS[base])
    for _ in range(random.randint(1, 2)):
        position = random.randint(0, len(text))
        kind = random.randrange(4)
        if kind < 2:
            text[position : position + random.choice((0, 0, 1, 8))] = random.choice(TEXT_PIECES)
        elif kind == 2:
            end = position + random.randint(0, 300)
            text[position:position] = text[position:end]
        else:
            text[position : position + 1] = bytes([random.randrange(256)])
    return sealed(bytes(text), CORPUS[base][1])


def alter_tables(random: Random, base: int) -> bytearray:
    """Alters fields and entries of the schedule's tables."""
    sections = dict(CORPUS[base][1])
    for _ in range(random.randint(1, 3)):
        name = random.choice(tuple(_ROWS))
        width, data = _WIDTH.get(name, 4), bytearray(sections[name])
        row = width * _ROWS[name]
        kind = random.randrange(8)
        if kind < 6 and len(data) >= width:
            position = random.randrange(len(data) // width) * width
            value = odd_integer(random) % (1 << 8 * width)
            data[position : position + width] = value.to_bytes(width, "little")
        elif kind == 6:
            position = random.randint(0, len(data) // row) * row
            data[position:position] = data[:row] * random.randint(1, 3)
        else:
            position = random.randint(0, len(data))
            del data[position : position + random.choice((1, row, 2 * row, 1 << 20))]
        sections[name] = bytes(data)
    return sealed(TEXTS[base], sections)


def alter_sections(random: Random, base: int) -> bytearray:
    """Alters the sections, their contents, and their table."""
    sections = dict(CORPUS[base][1])
    names = [*sections, "mlir"]
    first, second = random.choice(names), random.choice(names)
    kind = random.randrange(5)
    if kind == 0:
        sections.pop(first, None)
    elif kind == 1:
        sections[first] = sections.get(second, b"")
    elif kind == 2:
        sections[random.choice(["mlir", "x", "", "kernel"])] = random.randbytes(40)
    elif kind == 3:
        sections = dict(random.sample(list(sections.items()), len(sections)))

    def move(table: dict[str, dict[str, Any]]) -> None:
        entry = table.get(first)
        if kind == 4 and entry is not None:
            key = random.choice(["offset", "size", "sha256", "x"])
            entry[key] = odd_value(fixed)

    # The table is laid out more than once, and must not change.
    fixed = Random(random.random())
    state, mine = fixed.getstate(), random.getstate()

    def again(table: dict[str, dict[str, Any]]) -> None:
        fixed.setstate(state)
        random.setstate(mine)
        move(table)

    return sealed(TEXTS[base], sections, again)


def alter_kernel(random: Random, base: int) -> bytearray:
    """Alters bytes of a kernel that is an ELF image."""
    manifest, sections = CORPUS[2]
    del base
    data = bytearray(sections["kernel"])
    if random.random() < 0.6:
        # Program headers and the dynamic section hold the offsets of all other parts.
        table = random.randrange(64, 64 + 56 * 12, 8)
        dynamic = data.find(struct.pack("<qQ", 5, 0)[:8], 0x200)
        position = random.choice(
            (table, random.randrange(0, 64, 2), dynamic + random.randrange(256))
        )
        value = odd_integer(random) % (1 << 64)
        data[position : position + 8] = value.to_bytes(8, "little")
    else:
        alter_bytes(random, data)
    return sealed(_dump(manifest), {**sections, "kernel": bytes(data)})


def alter_signature(random: Random, base: int) -> bytearray:
    """Alters bytes of a signed file, which is then accepted only if it is unchanged."""
    data = bytearray(SIGNED[base])
    kind = random.randrange(4)
    if kind == 0:
        data[len(data) - random.randint(1, TRAILER_SIZE)] ^= 1 << random.randrange(8)
    elif kind == 1:
        other = SIGNED[random.randrange(len(SIGNED))]
        data[-TRAILER_SIZE:] = other[-TRAILER_SIZE:]
    elif kind == 2:
        begin = random.choice((8, 12, 16, 24, 32))
        data[begin : begin + 4] = (odd_integer(random) % (1 << 32)).to_bytes(4, "little")
    else:
        alter_bytes(random, data)
    return data


ALTERATIONS = (
    alter_file, alter_header, alter_manifest, alter_manifest, alter_text, alter_tables,
    alter_tables, alter_sections, alter_kernel, alter_signature,
)  # fmt: skip


# -- a case ----------------------------------------------------------------------------------------


def use(bundle: Bundle) -> str:
    """Uses a bundle as a runtime does before it loads the kernel; returns the last step."""
    str(make_report(bundle))
    assert len(bundle.tables.lane_of) == len(bundle.tables.instructions)
    packets = bundle.tables.packets
    assert sum(map(len, packets.values())) <= len(bundle.tables.instructions)
    for buffer in bundle.manifest.of_kind("constant"):
        assert bundle.constant(buffer).nbytes == buffer.bytes
    check_operands(bundle)
    json.dumps(bundle.manifest.as_json())
    again = b"".join(map(bytes, bundle.encode()))
    assert again == b"".join(map(bytes, bundle.encode()))
    try:
        assert bundle.mlir is None or "mlir" in bundle.sections
        check_image(bundle.sections["kernel"], bundle.manifest.target.arch, "kernel")
    except BundleError as error:
        check_message(error)
        return "read"
    return "read, and its kernel accepted"


def check_operands(bundle: Bundle) -> None:
    """Checks that no operand begins outside of its buffer, independently of the reader."""
    manifest = bundle.manifest
    sizes = [manifest.arena, *(buffer.bytes for buffer in manifest.buffers), manifest.packets]
    for slot, offset in bundle.tables.operands.tolist():
        assert 0 <= offset < max(1, sizes[slot])


_FILE = os.memfd_create("fuzz")
_PATH = Path(f"/proc/self/fd/{_FILE}")


def case(random: Random) -> str:
    """Alters one bundle and reads it."""
    alter = random.choice(ALTERATIONS)
    data = alter(random, random.randrange(len(CORPUS)))
    os.ftruncate(_FILE, 0)
    os.pwrite(_FILE, data, 0)
    kind = alter.__name__.removeprefix("alter_")
    try:
        bundle = read_bundle(_PATH)
    except BundleError as error:
        check_message(error)
        return f"{kind}: refused"
    assert alter is not alter_signature or bytes(data) in SIGNED or bundle.signature is None
    return f"{kind}: {use(bundle)}"


if __name__ == "__main__":
    sys.exit(main("fuzz_bundles", FULL_COUNT, case))
