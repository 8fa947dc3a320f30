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
TIMEOUT = 20


def machine(device: str) -> str:
    """Returns the names of the GPU, NVIDIA's driver and PyTorch."""
    import torch

    if device == "cpu":
        return f"cpu, PyTorch {torch.__version__}"
    driver = _query(["driver_version"]) or "unknown"
    name = torch.cuda.get_device_name()
    return f"{name}, driver {driver}, PyTorch {torch.__version__}"


def clocks(device: str) -> str:
    """Returns the clocks, power and temperature of the GPU at this moment."""
    if device == "cpu":
        return "not measured on a cpu"
    values = _query(list(FIELDS))
    if not values:
        return "not measured: nvidia-smi does not answer"
    return ", ".join(
        f"{name} {value.strip()}"
        for name, value in zip(FIELDS.values(), values.split(","), strict=False)
    )


def _query(fields: list[str]) -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""
