"""Frames: how one message between ranks becomes one packet of a Unix socket.

A packet is a header and the message's text, JSON in UTF-8. A text that does not fit into the packet
is handed over in an anonymous file, so that a message of any size is sent whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DeviceError, UnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "LONGEST_TEXT",
    "DamagedFrameError",
    "Frame",
    "as_file",
    "close_files",
    "contents",
    "parse_text",
    "receive_frame",
]

# Bytes of a message's text; bounds what a rank has to hold for one message.
LONGEST_TEXT = 256 << 20
# Well below the send buffers of Linux, whose default is 208 KiB.
_PACKET = 1 << 16
# Magic number, flags, bytes of the text.
_HEADER = struct.Struct("<4sBQ")
_MAGIC = b"ark\x02"
_TEXT_IN_FILE = 1
_WITH_FILE = 2


class DamagedFrameError(Exception):
    """Raised if a message that arrived is not whole or not well-formed; the text has the reason."""


class Frame:
    """A message ready to be sent to any number of ranks; close it afterwards.

    Args:
        message: as JSON can hold it.
        file: a file descriptor that goes with it; stays the caller's.

    Raises:
        UnsupportedError: the text is longer than `LONGEST_TEXT`.
        DeviceError: there is no memory or no file descriptor for a long text.
    """

    def __init__(self, message: object, file: int | None = None) -> None:
        text = json.dumps(message).encode()
        if len(text) > LONGEST_TEXT:
            raise UnsupportedError(
                f"a message of {len(text)} bytes between ranks; at most {LONGEST_TEXT} are possible"
            )
        self._text_file: int | None = None
        flags = 0 if file is None else _WITH_FILE
        if len(text) > _PACKET - _HEADER.size:
            self._text_file = as_file(text)
            flags |= _TEXT_IN_FILE
        inline = text if self._text_file is None else b""
        self._packet = _HEADER.pack(_MAGIC, flags, len(text)) + inline
        self._files = [each for each in (self._text_file, file) if each is not None]

    def send(self, link: socket.socket) -> None:
        """Sends the message; raises OSError as the socket does."""
        socket.send_fds(link, [self._packet], self._files)

    def close(self) -> None:
        """Closes the file of the text, where there is one."""
        if self._text_file is not None:
            os.close(self._text_file)
            self._text_file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Received:
    """A message that has arrived.

    Attributes:
        message: what JSON made of its text.
        file: a file descriptor that came with it, now the receiver's.
    """

    message: Any
    file: int | None


def receive_frame(link: socket.socket) -> Received | None:
    """Receives one message; None where the other end is closed.

    Closes every file descriptor that came with a message it refuses.

    Raises:
        DamagedFrameError: the packet is truncated, or is no message.
        OSError: as the socket does.
    """
    data, files, flags, _ = socket.recv_fds(link, _PACKET, 2, socket.MSG_CMSG_CLOEXEC)
    if not data:
        close_files(files)
        return None
    try:
        if flags & socket.MSG_TRUNC:
            raise DamagedFrameError(f"a packet of more than {_PACKET} bytes")
        if flags & socket.MSG_CTRUNC:
            raise DamagedFrameError("files that came with it are lost: too many are open")
        return _decode(data, files)
    except BaseException:
        close_files(files)
        raise


def _decode(data: bytes, files: list[int]) -> Received:
    """The message of a packet; on success, closes the file of its text."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise DamagedFrameError(f"{len(data)} bytes that do not begin as a message does")
    _, flags, length = _HEADER.unpack_from(data)
    if flags & ~(_TEXT_IN_FILE | _WITH_FILE):
        raise DamagedFrameError(f"flags {flags:#x} are unknown")
    if len(files) != flags.bit_count():
        raise DamagedFrameError(f"{len(files)} files instead of {flags.bit_count()}")
    if length > LONGEST_TEXT:
        raise DamagedFrameError(f"{length} bytes of text; at most {LONGEST_TEXT} are possible")
    text = data[_HEADER.size :]
    if flags & _TEXT_IN_FILE:
        if text:
            raise DamagedFrameError("text both in the packet and in a file")
        text = _text_of(files[0], length)
    if len(text) != length:
        raise DamagedFrameError(f"{len(text)} bytes of text instead of {length}")
    message = parse_text(text)
    if flags & _TEXT_IN_FILE:
        os.close(files.pop(0))
    return Received(message, files[0] if files else None)


def parse_text(text: bytes) -> Any:
    """What JSON makes of a message's text; raises DamagedFrameError if the text is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFrameError(f"text that is no JSON: {error}") from None


def _text_of(file: int, length: int) -> bytes:
    """The text in a file; raises DamagedFrameError before it reads a file of another length."""
    try:
        size = os.fstat(file).st_size
        if size != length:
            raise DamagedFrameError(f"{size} bytes of text instead of {length}")
        return contents(file)
    except OSError as error:
        raise DamagedFrameError(f"its text cannot be read: {error.strerror}") from None


def close_files(files: list[int]) -> None:
    """Closes file descriptors that came with a message."""
    for file in files:
        with contextlib.suppress(OSError):
            os.close(file)


def as_file(data: bytes | memoryview) -> int:
    """An anonymous file with these bytes; the caller closes it.

    Raises DeviceError if there is no memory or no file descriptor for it.
    """
    view = memoryview(data).cast("B")
    try:
        file = os.memfd_create("ark_message", os.MFD_CLOEXEC)
    except OSError as error:
        raise _no_file(view, error) from None
    try:
        rest = view
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError as error:
        os.close(file)
        raise _no_file(view, error) from None
    except BaseException:
        os.close(file)
        raise
    return file


def _no_file(data: memoryview, error: OSError) -> DeviceError:
    return DeviceError(f"cannot hand {len(data)} bytes to other ranks: {error.strerror}")


def contents(file: int) -> bytes:
    """The bytes of a file that came with a message."""
    # Its offset is that of every rank that has it open.
    size, parts, done = os.fstat(file).st_size, list[bytes](), 0
    while done < size and (part := os.pread(file, size - done, done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)
