"""Models behind HTTP, with the endpoints of OpenAI's API.

The packages fastapi and uvicorn (``ark-mlir[serve]``) are imported when a server is made.
"""

from .worker import Job, Worker

__all__ = ["Job", "Worker"]
