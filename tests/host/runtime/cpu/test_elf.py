"""Kernels whose ELF image would run code on load, or mislead the loader, are rejected."""

from __future__ import annotations

import ctypes
import platform
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import host, image
from ark_mlir.runtime.cpu.elf import check_image
from ark_mlir.testing.toy import add_program, compile_c, compile_kernel

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the images are built and altered as those of x86_64"
)

LOAD, DYNAMIC, NOTE, TLS, STACK, RELRO = 1, 2, 4, 7, 0x6474E551, 0x6474E552
ENTRY = "int ark_kernel(const void *c, long lane) { return 0; }\n"


def refused(data: bytes, message: str, arch: str = "x86_64") -> None:
    with pytest.raises(ark.BundleError, match=message) as caught:
        check_image(memoryview(data), arch, "a.arkbin")
    assert len(str(caught.value)) < 400


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., bytes]:
    """Builds a shared object from C text."""

    def compile_text(text: str, *options: str) -> bytes:
        source = tmp_path / "kernel.c"
        source.write_text(text)
        return compile_c(source, "-nostartfiles", *options)

    return compile_text


# -- code that would run on load -------------------------------------------------------------------

# Creates a file by a system call, since a resolver runs too early to call the C library.
RESOLVER = """
static int plain(const void *c, long lane) {{ return 0; }}
static void *resolve(void) {{
  long done;
  __asm__ volatile("syscall" : "=a"(done)
                   : "a"(85L), "D"("{mark}"), "S"(0600L) : "rcx", "r11", "memory");
  return (void *)plain;
}}
"""
KINDS = {
    # The resolver runs for a relocation, for the look-up of the entry, or for both.
    "relocation": (
        'static int hidden(const void *c, long lane) __attribute__((ifunc("resolve")));\n'
        "int ark_kernel(const void *c, long lane) { return hidden(c, lane); }\n",
        "IRELATIVE: an indirect function",
    ),
    "symbol": (
        'int ark_kernel(const void *c, long lane) __attribute__((ifunc("resolve")));\n',
        "symbol 'ark_kernel' is an indirect function",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_indirect_functions(build: Callable[..., bytes], tmp_path: Path, kind: str) -> None:
    mark = tmp_path / "ran"
    text, message = KINDS[kind]
    data = build(RESOLVER.format(mark=mark) + text)
    with pytest.raises(ark.BundleError, match=message):
        Executable.from_parts(*add_program().parts(data)).prepare()
    assert not mark.exists()
    # The loader would run the code: the rejected image is not harmless.
    (tmp_path / "loaded.so").write_bytes(data)
    assert ctypes.CDLL(str(tmp_path / "loaded.so")).ark_kernel is not None
    assert mark.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__attribute__((constructor)) void f(void) {}", "has constructors"),
        ("__attribute__((destructor)) void f(void) {}", "has destructors"),
        ("__thread int v = 3; int g(void) { return v; }", "thread-local variables"),
        ("extern __thread int v; int g(void) { return v; }", "a relocation of type 16"),
        ("extern int environ; int g(void) { return environ; }", None),
    ],
)
def test_code_on_load_that_c_can_request(
    build: Callable[..., bytes], text: str, message: str | None
) -> None:
    data = build(text + "\n" + ENTRY)
    if message is None:
        check_image(memoryview(data), "x86_64", "a.arkbin")
    else:
        refused(data, message)


AARCH64 = """
static int plain(const void *c, long lane) { return 0; }
static void *resolve(void) { return (void *)plain; }
LINKAGE int other(const void *c, long lane) __attribute__((ifunc("resolve")));
int ark_kernel(const void *c, long lane) { return other(c, lane); }
"""


def test_indirect_functions_of_aarch64(tmp_path: Path) -> None:
    clang, linker = shutil.which("clang-22"), shutil.which("ld.lld-22")
    if clang is None or linker is None:
        pytest.skip("needs clang-22 and lld-22, which `make setup` installs")

    def build(text: str) -> bytes:
        (tmp_path / "a.c").write_text(text)
        flags = ["--target=aarch64-linux-gnu", "-shared", "-fPIC", "-nostdlib"]
        command = [clang, *flags, f"-fuse-ld={linker}", "-Wl,-z,noexecstack"]
        subprocess.run([*command, "-o", tmp_path / "a.so", tmp_path / "a.c"], check=True)
        return (tmp_path / "a.so").read_bytes()

    check_image(memoryview(build(ENTRY)), "aarch64", "a.arkbin")
    refused(build(ENTRY), "is an image for machine 183, not for x86_64")
    hidden = AARCH64.replace("LINKAGE", '__attribute__((visibility("hidden")))')
    refused(build(hidden), "R_AARCH64_IRELATIVE: an indirect function", "aarch64")
    shown = AARCH64.replace("LINKAGE", "")
    refused(build(shown), "symbol 'other' is an indirect function", "aarch64")


# -- altered images --------------------------------------------------------------------------------


class Altered:
    """An image whose headers, dynamic entries and tables can be changed."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)

    def headers(self, kind: int) -> list[int]:
        """Returns the offsets of the program headers of a type."""
        (table,) = struct.unpack_from("<Q", self.data, 32)
        (count,) = struct.unpack_from("<H", self.data, 56)
        offsets = [table + 56 * index for index in range(count)]
        return [at for at in offsets if struct.unpack_from("<I", self.data, at)[0] == kind]

    def header(self, which: int, index: int = 0, **fields: int) -> Altered:
        """Changes fields of a program header."""
        at = self.headers(which)[index]
        names = ("kind", "flags", "offset", "address", "physical", "in_file", "in_memory", "align")
        values = dict(zip(names, struct.unpack_from("<IIQQQQQQ", self.data, at), strict=True))
        struct.pack_into("<IIQQQQQQ", self.data, at, *{**values, **fields}.values())
        return self

    def get(self, tag: int) -> tuple[int, int]:
        """Returns the offset of a dynamic entry, and its value."""
        offset, size = struct.unpack_from("<QQQQ", self.data, self.headers(DYNAMIC)[0] + 8)[::3]
        for at in range(offset, offset + size, 16):
            found, value = struct.unpack_from("<qQ", self.data, at)
            if found == tag:
                return at, value
        raise KeyError(tag)

    def entry(self, tag: int, new: int | None = None, value: int | None = None) -> Altered:
        """Changes the tag or the value of a dynamic entry, or both."""
        at, old = self.get(tag)
        struct.pack_into(
            "<qQ", self.data, at, tag if new is None else new, old if value is None else value
        )
        return self

    def put(self, offset: int, form: str, *values: int) -> Altered:
        """Writes numbers at an offset of the file."""
        struct.pack_into(form, self.data, offset, *values)
        return self


PLTRELSZ, PLTGOT, STRTAB, SYMTAB, STRSZ, SYMENT, JMPREL = 2, 3, 5, 6, 10, 11, 23
GNU_HASH, VERSYM, VERNEED, VERNEEDNUM = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF

# SYMENT has only one legal value, so that its entry can be replaced by another one.
ALTERATIONS: dict[str, tuple[Callable[[Altered], Any], str]] = {
    "init-array": (lambda e: e.entry(SYMENT, 27, 8), "constructors"),
    "preinit-array": (lambda e: e.entry(SYMENT, 33, 8), "constructors"),
    "fini-array": (lambda e: e.entry(SYMENT, 28, 8), "destructors"),
    "array-of-unknown-size": (lambda e: e.entry(SYMENT, 25, 8), "without the size of their"),
    # glibc uses the lower 31 bits of such tags, so that this is its DT_AUXILIARY, too.
    "alias": (lambda e: e.entry(SYMENT, 0x1_7FFFFFFD, 1), "dynamic entry 0x17ffffffd"),
    "audit": (lambda e: e.entry(SYMENT, 0x6FFFFEFC, 1), "auditing library"),
    "rel": (lambda e: e.entry(SYMENT, 17, 0), "dynamic entry 0x11"),
    "relr": (lambda e: e.entry(SYMENT, 36, 0), "dynamic entry 0x24"),
    "global": (lambda e: e.entry(SYMENT, 0x6FFFFFFB, 2), "flags 0x2"),
    "static-tls": (lambda e: e.entry(SYMENT, 30, 16), "flags 0x10"),
    "twice": (lambda e: e.entry(SYMENT, STRSZ, 4), "twice"),
    "odd-entries": (lambda e: e.entry(SYMENT, SYMENT, 32), "entries of 32 bytes"),
    "no-hash": (lambda e: e.entry(GNU_HASH, 4), "lacks the dynamic entry 0x6ffffef5"),
    "no-size": (lambda e: e.entry(PLTRELSZ, 16, 0), "their address or their size"),
    "strings-elsewhere": (lambda e: e.entry(STRTAB, value=1 << 33), "no string table"),
    "strings-without-end": (lambda e: e.entry(STRSZ, value=e.get(STRSZ)[1] - 1), "in a zero byte"),
    "symbols-in-data": (lambda e: e.entry(SYMTAB, value=e.get(PLTGOT)[1]), "read-only memory"),
    "hash-elsewhere": (lambda e: e.entry(GNU_HASH, value=1 << 33), "no hash table"),
    "relocations-in-data": (lambda e: e.entry(JMPREL, value=e.get(PLTGOT)[1]), "read-only memory"),
    "got-in-code": (lambda e: e.entry(PLTGOT, value=0x1000), "outside of writable data"),
    "got-in-dynamic": (
        lambda e: e.entry(PLTGOT, value=e.get(PLTGOT)[1] - 32), "outside of writable data",
    ),
    "versions-elsewhere": (lambda e: e.entry(VERNEED, value=1 << 33), "no version table"),
    "versions-many": (lambda e: e.entry(VERNEEDNUM, value=1 << 60), "more libraries"),
    "no-versions": (lambda e: e.entry(VERSYM, 16, 0), "DT_VERNEEDNUM, but not all"),
    "dynamic-elsewhere": (lambda e: e.header(DYNAMIC, address=0x2000), "differ from those that"),
    "note-elsewhere": (lambda e: e.header(NOTE, address=1 << 33), "differ from those that"),
    "stack-unsaid": (lambda e: e.header(STACK, kind=0), "executable stack"),
    "stack-executable": (lambda e: e.header(STACK, flags=7), "executable stack"),
    "threads": (lambda e: e.header(NOTE, kind=TLS), "thread-local variables"),
    "unknown-segment": (lambda e: e.header(NOTE, kind=0x70000001), "segment of type 0x70000001"),
    "code-writable": (lambda e: e.header(LOAD, 1, flags=7), "executable and writable"),
    "pages-overlap": (lambda e: e.header(LOAD, 2, address=0x1800, offset=0x2800), "overlap"),
    "page-offset": (lambda e: e.header(LOAD, 1, address=0x1008), "modulo the page size"),
    "alignment": (lambda e: e.header(LOAD, 0, align=1 << 30), "out of range"),
    "protects-others": (lambda e: e.header(RELRO, in_memory=1 << 30), "leaves the pages"),
    "names": (lambda e: e.put(e.get(STRTAB)[1] + 1, "<B", 0x1B), "cannot be printed"),
    "relocates-dynamic": (
        lambda e: e.put(e.get(JMPREL)[1], "<Q", struct.unpack_from(
            "<Q", e.data, e.headers(DYNAMIC)[0] + 16)[0] + 8), "relocation may change",
    ),
    "relocates-code": (lambda e: e.put(e.get(JMPREL)[1], "<Q", 0x1000), "relocation may change"),
    "relocates-far": (lambda e: e.put(e.get(JMPREL)[1], "<Q", 2**64 - 4), "may change"),
    "relocation-copy": (lambda e: e.put(e.get(JMPREL)[1] + 8, "<I", 5), "R_X86_64_COPY"),
    "relocation-tls": (lambda e: e.put(e.get(JMPREL)[1] + 8, "<I", 36), "relocation of type 36"),
    "relocation-symbol": (lambda e: e.put(e.get(JMPREL)[1] + 12, "<I", 1 << 30), "no symbol table"),
    "symbol-name": (lambda e: e.put(e.get(SYMTAB)[1] + 24, "<I", 1 << 30), "outside of its str"),
    "symbol-kind": (lambda e: e.put(e.get(SYMTAB)[1] + 28, "<B", 0x1A), "an indirect function"),
    "symbol-unique": (lambda e: e.put(e.get(SYMTAB)[1] + 28, "<B", 0xA2), "of a kind"),
    "hash-filter": (lambda e: e.put(e.get(GNU_HASH)[1] + 8, "<I", 3), "malformed hash table"),
    "hash-buckets": (lambda e: e.put(e.get(GNU_HASH)[1], "<I", 1 << 31), "inside its hash table"),
    "hash-first": (lambda e: e.put(e.get(GNU_HASH)[1] + 4, "<I", 1 << 30), "malformed hash table"),
    "version-index": (lambda e: e.put(e.get(VERSYM)[1] + 2, "<H", 0x7FFF), "version table"),
    "version-file": (lambda e: e.put(e.get(VERNEED)[1] + 4, "<I", 1), "which it does not need"),
    "version-loop": (lambda e: e.put(e.get(VERNEED)[1] + 12, "<I", 16), "malformed version table"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALTERATIONS)
def test_altered(name: str) -> None:
    data = compile_kernel()
    check_image(memoryview(data), "x86_64", "a.arkbin")
    alter, message = ALTERATIONS[name]
    altered = Altered(data)
    alter(altered)
    assert bytes(altered.data) != data
    refused(bytes(altered.data), message)


@pytest.mark.parametrize("name", ["libc.so.evil", "libc.so.6/../x", "libm.so.", "/lib/libc.so.6"])
def test_names_of_libraries(build: Callable[..., bytes], tmp_path: Path, name: str) -> None:
    """A prefix of the name of the C library is not its name."""
    (tmp_path / "libother.so").write_bytes(build("int other;", f"-Wl,-soname,{name}"))
    text = "extern int other; int ark_kernel(const void *c, long l) { return other; }"
    data = build(text, f"-L{tmp_path}", "-Wl,--no-as-needed", "-lother")
    refused(data, "needs the library")


def test_messages_of_the_loader_that_are_not_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(data: memoryview) -> Any:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr(image, "_through_memory", fail)
    monkeypatch.setattr(image, "_through_folder", fail)
    with pytest.raises(ark.BundleError, match="cannot be loaded"):
        Executable.from_parts(*add_program().parts(compile_kernel())).prepare()


@settings(max_examples=800)
@given(st.integers(0, 2000) | st.integers(0, 1 << 20), st.binary(min_size=1, max_size=8))
def test_any_bytes(position: int, content: bytes) -> None:
    """Alters bytes of the headers, and anywhere. Only the check runs: accepted code may still be
    invalid, but its file is well-formed."""
    good = compile_kernel()
    data = bytearray(good)
    position %= len(data)
    data[position : position + len(content)] = content
    problem = ""
    try:
        check_image(memoryview(bytes(data)), host.architecture(), "fuzz")
    except ark.BundleError as error:
        problem = str(error)
    assert not problem or (data != good and problem.startswith("fuzz: "))
