"""Requests to an engine: more than it has slots, of unequal lengths."""

from __future__ import annotations

PROMPTS = [
    [(7 * i + 3) % 37 for i in range(11)],
    [5, 9],
    [30],
    [1, 20, 3, 8, 8, 2, 6],
    [4],
    [17, 9],
]
COUNTS = [9, 3, 12, 1, 5, 7]
