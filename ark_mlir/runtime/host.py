"""What this machine's processor is and can do, by LLVM's names."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

from ..bundle import Target
from ..errors import BundleError

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}

# LLVM's name -> Linux's, where they differ by more than punctuation.
_ALIASES = {
    "64bit": "lm",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "pku": "ospke",
    "prfchw": "3dnowprefetch",
    "rdrnd": "rdrand",
    "sahf": "lahf_lm",
    "sha": "sha_ni",
    "shstk": "user_shstk",
    "x87": "fpu",
    "neon": "asimd",
    "fullfp16": "asimdhp",
    "dotprod": "asimddp",
    "lse": "atomics",
    "rdm": "asimdrdm",
    "i8mm": "i8mm",
    "fp-armv8": "fp",
    "crc": "crc32",
}
# Features that the kernel does not list but that every processor with another one has.
_IMPLIED = {"crc32": "sse4_2", "evex512": "avx512f"}


def architecture() -> str:
    """The processor's architecture: ``x86_64``, ``aarch64`` …"""
    name = platform.machine().lower()
    return _ARCHITECTURES.get(name, name)


@functools.cache
def features() -> frozenset[str]:
    """Instruction-set features by Linux's names, without punctuation; empty where unknown."""
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
    """Those of `required` (LLVM's names) that this processor lacks."""
    return tuple(name for name in required if not _present(name))


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def check_target(target: Target, where: str) -> None:
    """Raises BundleError when a kernel for `target` cannot run on this processor."""
    here = architecture()
    if target.arch != here:
        raise BundleError(f"is for {target.arch}; this machine is {here}", location=where)
    if missing := missing_features(target.features):
        raise BundleError(
            f"needs {', '.join(missing)} (of {target.arch}), which this machine's {here} "
            "processor lacks; compile it here, or for a plainer target",
            location=where,
        )


def _present(name: str) -> bool:
    have = features()
    aliases = (name, _ALIASES.get(name, name), _IMPLIED.get(name, name))
    return any(_plain(alias) in have for alias in aliases)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(".", "")
