"""Versions of optional libraries on whose binary layouts ark depends."""

from __future__ import annotations

__all__ = ["NCCL4PY_VERSION", "NCCL_VERSION"]

# The versions that the extra `nccl` installs. Windows, device communicators and device functions
# change with releases.
NCCL_VERSION = "2.32.3"
NCCL4PY_VERSION = "0.6.0"
