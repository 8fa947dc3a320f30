"""Predicts the time of a schedule on a machine that need not be present.

>>> from ark_mlir.simulation import simulate
>>> simulate(exe, "h200").total_ns > 0
True
"""

from .bubble import bubble
from .report import LinkUse, Prediction, Step
from .simulate import simulate
from .topology import Measurement, Topology, topologies
from .validation import Comparison, validate

__all__ = [
    "Comparison",
    "LinkUse",
    "Measurement",
    "Prediction",
    "Step",
    "Topology",
    "bubble",
    "simulate",
    "topologies",
    "validate",
]
