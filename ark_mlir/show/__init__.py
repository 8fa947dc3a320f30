"""The timeline of a schedule, as one HTML file that any browser opens.

>>> from ark_mlir.show import write_timeline
>>> write_timeline(exe, "timeline.html")
"""

from .timeline import Timeline, timeline, write_timeline

__all__ = ["Timeline", "timeline", "write_timeline"]
