#!/usr/bin/env python3
"""Finds the sources of a part of LLVM and prints the folder they are in.

Distributions install MLIR without its Python bindings, which every project compiles for itself
(part `bindings`, some 200 files). They install LLVM's linker only as a program that needs their
libLLVM.so (part `linker`, some 100 files). The sources come from the first of these origins that
has them:

1. $ARK_MLIR_PYTHON_SOURCES for the bindings, $ARK_LLD_SOURCES for the linker: a
   folder or a tar archive with `mlir/` or `lld/` in it;
2. the cache of an earlier run;
3. the Debian source package of LLVM, from the archives that apt knows;
4. LLVM's own release on GitHub.

Files of any origin must have the pinned digest: they include headers of the installed MLIR and work
with exactly that version.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Part(NamedTuple):
    name: str
    title: str  # its name in messages
    folders: tuple[str, ...]  # folders of LLVM's tree, all below one
    suffixes: tuple[str, ...]
    variable: str  # environment variable that names a copy
    cache: str  # folder in the cache, less the version


class Pin(NamedTuple):
    trees: dict[str, str]  # digest of each part's files, see `tree_digest`
    orig: str  # sha256 of Debian's llvm-toolchain-22_<version>.orig.tar.xz


BINDINGS = Part(
    name="bindings",
    title="the bindings of MLIR",
    folders=("mlir/lib/Bindings/Python/", "mlir/python/mlir/"),
    suffixes=(".cpp", ".h", ".py", ".pyi", ".td", ".typed"),
    variable="ARK_MLIR_PYTHON_SOURCES",
    cache="mlir-python-sources",
)
LINKER = Part(
    name="linker",
    title="the linker of LLVM",
    folders=("lld/Common/", "lld/ELF/", "lld/include/"),
    suffixes=(".cpp", ".def", ".h", ".inc", ".td"),
    variable="ARK_LLD_SOURCES",
    cache="lld-sources",
)
PARTS = {part.name: part for part in (BINDINGS, LINKER)}
PINS = {
    "22.1.8": Pin(
        trees={
            BINDINGS.name: "7adbf9b5ef06dfe8255289d6e36b77ad4323b24aee8b8f0bea63e5d9225a894d",
            LINKER.name: "6eeaafd79538ee7af04d4b425014afeee40c6541a7b54e5e6c8bac08b16eef75",
        },
        orig="b49b9277aef97616320b2da259e1f8174c65b0ce2fbe2e8629644a97693402fe",
    ),
}
RELEASE_URL = (
    "https://github.com/llvm/llvm-project/releases/download/"
    "llvmorg-{version}/llvm-project-{version}.src.tar.xz"
)
CHUNK = 1 << 20


class FetchError(Exception):
    """Raised if one origin has no sources. The text says why in one line."""


def say(text: str) -> None:
    print(f"ark: {text}", file=sys.stderr, flush=True)


class Progress:
    """Prints the bytes so far on stderr: a running line on a terminal, else a line every 10 s."""

    def __init__(self, title: str, total: int | None = None) -> None:
        self.title, self.total = title, total
        self.terminal = sys.stderr.isatty()
        self.last = time.monotonic()

    def show(self, done: int) -> None:
        now = time.monotonic()
        if now - self.last < (0.5 if self.terminal else 10):
            return
        self.last = now
        text = f"ark: {self.title}: {done / 1e6:.0f} MB"
        if self.total:
            text += f" of {self.total / 1e6:.0f}"
        print(text, end="\r" if self.terminal else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.terminal:
            print("\033[K", end="", file=sys.stderr, flush=True)


def is_needed(path: str, part: Part) -> bool:
    """Returns true if a path inside the LLVM tree belongs to a part."""
    return path.startswith(part.folders) and path.endswith(part.suffixes)


def tree_digest(root: Path, part: Part) -> str:
    """Returns the sha256 over the names and contents of the needed files, sorted by name."""
    digest = hashlib.sha256()
    for file in sorted(p for f in part.folders for p in (root / f).rglob("*") if p.is_file()):
        name = file.relative_to(root).as_posix()
        if is_needed(name, part):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def check_tree(root: Path, part: Part, version: str, origin: str) -> Path:
    if tree_digest(root, part) != PINS[version].trees[part.name]:
        raise FetchError(f"{origin} does not hold {part.title} {version}")
    return root


def extract(archive: Path, part: Part, target: Path) -> None:
    """Unpacks the files of a part, and no others, from an archive of LLVM's tree."""
    top = part.folders[0].partition("/")[0]
    progress = Progress(f"reading {archive.name}", archive.stat().st_size)
    with archive.open("rb") as raw, tarfile.open(fileobj=raw, mode="r|*") as tar:
        for member in tar:
            progress.show(raw.tell())
            parts = Path(member.name).parts
            # The tree may lie below a folder named after the release.
            path = "/".join(parts[parts.index(top) :] if top in parts else parts)
            if not is_needed(path, part) or ".." in parts:
                continue
            if source := tar.extractfile(member):
                file = target / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(source.read())
    progress.close()


def cache_folder(part: Part, version: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ark" / f"{part.cache}-{version}"


def unpack_to_cache(archive: Path, part: Part, version: str, origin: str) -> Path:
    """Checks an archive's files and then moves them into the cache in one step."""
    cache = cache_folder(part, version)
    cache.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=cache.parent))
    try:
        extract(archive, part, temporary)
        check_tree(temporary, part, version, origin)
        shutil.rmtree(cache, ignore_errors=True)
        # If another run was faster, its folder is as good as this one.
        with contextlib.suppress(OSError):
            temporary.rename(cache)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return cache


def from_environment(part: Part, version: str) -> Path | None:
    value = os.environ.get(part.variable)
    if not value:
        return None
    path, origin = Path(value).resolve(), f"${part.variable} ({value})"
    if path.is_dir():
        return check_tree(path, part, version, origin)
    if not path.is_file():
        raise FetchError(f"{origin} does not exist")
    with contextlib.suppress(FetchError):
        return from_cache(part, version)
    try:
        return unpack_to_cache(path, part, version, origin)
    except tarfile.TarError as error:
        raise FetchError(f"{origin} is not a tar archive: {error}") from None


def from_cache(part: Part, version: str) -> Path:
    cache = cache_folder(part, version)
    if not cache.is_dir():
        raise FetchError("nothing in the cache")
    return check_tree(cache, part, version, str(cache))


def output_of(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


def debian_urls(version: str) -> Iterator[str]:
    """Yields the addresses at which the source package may lie.

    All suites of an archive share one pool, and security archives often hold the binaries alone. So
    the function yields two addresses for every archive that apt knows: the folder of the binary
    package and the usual folder.
    """
    major = version.split(".")[0]
    source = f"llvm-toolchain-{major}"
    archives = output_of("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
    pools = [f"pool/main/l/{source}"]
    for line in output_of("apt-cache", "show", f"libmlir-{major}-dev").splitlines():
        if line.startswith("Filename: ") and source in line:
            pools.append(line.removeprefix("Filename: ").rpartition("/")[0])
    name = f"{source}_{version}.orig.tar.xz"
    for archive, pool in itertools.product(dict.fromkeys(archives), dict.fromkeys(pools)):
        yield f"{archive.rstrip('/')}/{pool}/{name}"


def apt_download(url: str, target: Path, sha256: str) -> bool:
    """Downloads a file as apt does, with apt's proxies and checks."""
    options = ("APT::Sandbox::User=root", "Acquire::Retries=2")
    command = ["/usr/lib/apt/apt-helper", *(word for o in options for word in ("-o", o))]
    command += ["download-file", url, str(target), f"SHA256:{sha256}"]
    progress = Progress(f"downloading {target.name}")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as process:
        while process.poll() is None:
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                progress.show(target.stat().st_size)
    progress.close()
    return process.returncode == 0 and target.is_file()


def from_debian(part: Part, version: str) -> Path:
    if not Path("/usr/lib/apt/apt-helper").exists():
        raise FetchError("no apt on this machine")
    urls = list(debian_urls(version))
    if not urls:
        raise FetchError("apt knows no archive: run `apt-get update`")
    say(f"fetching the Debian source package of LLVM {version} (197 MB, once)")
    with tempfile.TemporaryDirectory() as folder:
        for url in urls:
            archive = Path(folder) / url.rpartition("/")[2]
            if apt_download(url, archive, PINS[version].orig):
                return unpack_to_cache(archive, part, version, "the Debian source package")
    raise FetchError("no archive that apt knows has the source package")


def from_release(part: Part, version: str) -> Path:
    url = RELEASE_URL.format(version=version)
    say(f"fetching LLVM's release {version} (some 170 MB, once)")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / url.rpartition("/")[2]
        try:
            with urllib.request.urlopen(url, timeout=30) as remote, archive.open("wb") as local:
                progress = Progress(f"downloading {archive.name}")
                while chunk := remote.read(CHUNK):
                    local.write(chunk)
                    progress.show(local.tell())
                progress.close()
        except OSError as error:
            raise FetchError(f"LLVM's release cannot be downloaded ({error})") from None
        return unpack_to_cache(archive, part, version, "LLVM's release")


def find_sources(part: Part, version: str) -> Path:
    if version not in PINS:
        known = ", ".join(PINS)
        raise FetchError(f"no pinned sources for LLVM {version}; known: {known}")
    if given := from_environment(part, version):
        return given
    reasons = []
    for origin in (from_cache, from_debian, from_release):
        try:
            return origin(part, version)
        except (FetchError, OSError, tarfile.TarError, EOFError) as error:
            reasons.append(str(error))
    raise FetchError("; ".join(reasons[1:]) + f"; set {part.variable} to a copy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--version", required=True, help="version of the installed LLVM")
    arguments = parser.parse_args()
    part = PARTS[arguments.part]
    try:
        print(find_sources(part, arguments.version))
    except FetchError as error:
        say(f"sources of {part.title}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
