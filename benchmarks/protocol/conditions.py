"""The machine of a run: its name, versions, clocks, power and temperature."""

from __future__ import annotations

import shutil
import subprocess

FIELDS = {
    "clocks.sm": "SM clock",
    "clocks.max.sm": "of at most",
    "clocks.mem": "memory clock",
    "power.draw": "power",
    "power.limit": "of at most",
    "temperature.gpu": "temperature in C",
    "clocks_event_reasons.active": "throttle reasons",
}
# Options of rocm-smi: the clocks, power and temperature of the first GPU, as CSV.
ROCM_QUERY = ("-d", "0", "--showclocks", "--showpower", "--showmaxpower", "--showtemp", "--csv")
TIMEOUT = 20


def machine(device: str) -> str:
    """Returns the names of the GPU, the vendor's driver and PyTorch."""
    import torch

    if device == "cpu":
        return f"cpu, PyTorch {torch.__version__}"
    name = torch.cuda.get_device_name()
    if torch.version.hip is not None:
        return f"{name}, ROCm {torch.version.hip}, PyTorch {torch.__version__}"
    driver = _query(["driver_version"]) or "unknown"
    return f"{name}, driver {driver}, PyTorch {torch.__version__}"


def clocks(device: str) -> str:
    """Returns the clocks, power and temperature of the GPU at this moment."""
    import torch

    if device == "cpu":
        return "not measured on a cpu"
    if torch.version.hip is not None:
        return _rocm_clocks() or "not measured: rocm-smi does not answer"
    values = _query(list(FIELDS))
    if not values:
        return "not measured: nvidia-smi does not answer"
    return ", ".join(
        f"{name} {value.strip()}"
        for name, value in zip(FIELDS.values(), values.split(","), strict=False)
    )


def _query(fields: list[str]) -> str:
    """Returns the values of the first GPU that nvidia-smi prints, "" if it does not answer."""
    lines = _lines("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    return lines[0].strip() if lines else ""


def _rocm_clocks() -> str:
    """Returns the names and values in the table of rocm-smi, "" if it does not answer."""
    lines = [line for line in _lines("rocm-smi", *ROCM_QUERY) if "," in line]
    if len(lines) < 2:
        return ""
    names, values = (line.split(",")[1:] for line in lines[:2])
    return ", ".join(
        f"{name.strip()} {value.strip()}" for name, value in zip(names, values, strict=False)
    )


def _lines(name: str, *options: str) -> list[str]:
    """Returns the lines that a program prints, none if it is missing, fails or takes too long."""
    program = shutil.which(name)
    if program is None:
        return []
    command = [program, *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
