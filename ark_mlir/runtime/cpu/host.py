"""The processor of this machine and its instruction-set features."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

from ...bundle import Target
from ...errors import BundleError

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}

# LLVM's name -> Linux's name, for features whose names differ by more than punctuation.
_ALIASES = {
    # x86-64
    "64bit": "lm",
    "bmi": "bmi1",
    "crc32": "sse4_2",
    "evex512": "avx512f",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "prfchw": "3dnowprefetch",
    "rdrnd": "rdrand",
    "sahf": "lahf_lm",
    "sha": "sha_ni",
    "sse3": "pni",
    "x87": "fpu",
    # aarch64
    "complxnum": "fcma",
    "crc": "crc32",
    "dotprod": "asimddp",
    "fp-armv8": "fp",
    "fullfp16": "asimdhp",
    "jsconv": "jscvt",
    "lse": "atomics",
    "neon": "asimd",
    "rcpc": "lrcpc",
    "rdm": "asimdrdm",
}
# Features that compilers never use for ordinary code. Systems may hide or disable them, so that a
# kernel for the native processor may name features that Linux does not list.
_NEVER_GENERATED = {
    "cldemote", "clzero", "enqcmd", "fsgsbase", "hreset", "invpcid", "kl", "lwp", "movdir64b",
    "movdiri", "mwaitx", "pconfig", "pku", "prefetchi", "prefetchwt1", "ptwrite", "rdpru",
    "serialize", "sgx", "shstk", "tsxldtrk", "uintr", "usermsr", "waitpkg", "wbnoinvd",
    "widekl", "xsave", "xsavec", "xsaveopt", "xsaves",
}  # fmt: skip


def architecture() -> str:
    """Returns the architecture of the processor: ``x86_64``, ``aarch64``, …"""
    name = platform.machine().lower()
    return _ARCHITECTURES.get(name, name)


@functools.cache
def features() -> frozenset[str]:
    """Returns the instruction-set features by Linux's names, without punctuation.

    The result is empty if the features are unknown.
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() in ("flags", "features"):
            return frozenset(map(_plain, value.split()))
    return frozenset()


def missing_features(required: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the features of `required`, by LLVM's names, that this processor lacks."""
    return tuple(name for name in required if not _present(name))


def cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def check_target(target: Target, where: str) -> None:
    """Raises BundleError if a kernel for `target` cannot run on this processor."""
    here = architecture()
    if target.arch != here:
        raise BundleError(f"is for {target.arch}; this machine is {here}", location=where)
    if missing := missing_features(target.features):
        raise BundleError(
            f"needs {', '.join(missing)} (of {target.arch}), which this machine's {here} "
            "processor lacks; compile the program here, or for a target with fewer features",
            location=where,
        )


def _present(name: str) -> bool:
    have = features()
    if name in _NEVER_GENERATED:
        return True
    return _plain(name) in have or _plain(_ALIASES.get(name, name)) in have


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(".", "")
