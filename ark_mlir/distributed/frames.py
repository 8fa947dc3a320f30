"""Frames: the encoding of a control message between ranks as one datagram of a Unix socket.

A datagram is a header and the text of the control message, JSON in UTF-8. A text that does not fit
into a datagram is passed in an anonymous file, so that a control message of any size is sent whole
or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..errors import DeviceError, UnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "LONGEST_TEXT",
    "DamagedFrameError",
    "Frame",
    "Received",
    "append",
    "as_file",
    "close_files",
    "contents",
    "parse_object",
    "parse_text",
    "receive_frame",
]

# Limit of a control message's text, in bytes, which bounds the memory that a receiver needs for it.
LONGEST_TEXT = 256 << 20
# Well below the send buffers of Linux, whose default is 208 KiB.
_DATAGRAM = 1 << 16
# Magic number, flags, bytes of the text.
_HEADER = struct.Struct("<4sBQ")
_MAGIC = b"ark\x02"
_TEXT_IN_FILE = 1
_WITH_FILE = 2


class DamagedFrameError(Exception):
    """Raised if a received control message is incomplete or malformed; the text has the reason."""


class Frame:
    """An encoded control message, which can be sent to any number of ranks; the caller closes it.

    Args:
        message: a value that JSON can hold.
        file: a file descriptor that is sent with the control message; the caller keeps owning it.

    Raises:
        UnsupportedError: the text is longer than `LONGEST_TEXT`.
        DeviceError: there is no memory or no file descriptor for a long text.
    """

    def __init__(self, message: object, file: int | None = None) -> None:
        text = json.dumps(message).encode()
        if len(text) > LONGEST_TEXT:
            raise UnsupportedError(
                f"a control message has {len(text)} bytes; the limit is {LONGEST_TEXT}"
            )
        self._text_file: int | None = None
        flags = 0 if file is None else _WITH_FILE
        if len(text) > _DATAGRAM - _HEADER.size:
            self._text_file = as_file(text)
            flags |= _TEXT_IN_FILE
        inline = text if self._text_file is None else b""
        self._packet = _HEADER.pack(_MAGIC, flags, len(text)) + inline
        self._files = [each for each in (self._text_file, file) if each is not None]

    def send(self, link: socket.socket) -> None:
        """Sends the control message; raises the OSError of the socket if it cannot be sent."""
        socket.send_fds(link, [self._packet], self._files)

    def close(self) -> None:
        """Closes the file of the text, if there is one."""
        if self._text_file is not None:
            os.close(self._text_file)
            self._text_file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Received:
    """A received control message.

    Attributes:
        message: the decoded JSON value.
        file: a file descriptor that came with the control message, owned by the receiver; or None.
    """

    message: Any
    file: int | None


def receive_frame(link: socket.socket) -> Received | None:
    """Receives one control message, or returns None if the other end is closed.

    Closes every file descriptor that came with a control message which it rejects.

    Raises:
        DamagedFrameError: the datagram is truncated or is not a control message.
        OSError: the socket cannot be read.
    """
    data, files, flags, _ = socket.recv_fds(link, _DATAGRAM, 2, socket.MSG_CMSG_CLOEXEC)
    if not data:
        close_files(files)
        return None
    try:
        if flags & socket.MSG_TRUNC:
            raise DamagedFrameError(f"a datagram of more than {_DATAGRAM} bytes")
        if flags & socket.MSG_CTRUNC:
            raise DamagedFrameError("its file descriptors are lost: too many files are open")
        return _decode(data, files)
    except BaseException:
        close_files(files)
        raise


def _decode(data: bytes, files: list[int]) -> Received:
    """Returns the control message of a datagram; on success, closes the file of its text."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise DamagedFrameError(f"{len(data)} bytes without the header of a frame")
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
            raise DamagedFrameError("text both in the datagram and in a file")
        text = _text_of(files[0], length)
    if len(text) != length:
        raise DamagedFrameError(f"{len(text)} bytes of text instead of {length}")
    message = parse_text(text)
    if flags & _TEXT_IN_FILE:
        os.close(files.pop(0))
    return Received(message, files[0] if files else None)


def parse_text(text: bytes) -> Any:
    """Returns the JSON value in a control message's text.

    Raises DamagedFrameError if the text is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFrameError(f"text that is not JSON: {error}") from None


def parse_object(text: bytes) -> dict[str, Any]:
    """Returns the JSON object in a control message's text.

    Raises DamagedFrameError if the text is not a JSON object.
    """
    message = parse_text(text)
    if not isinstance(message, dict):
        raise DamagedFrameError("text that is not a JSON object")
    return cast("dict[str, Any]", message)


def _text_of(file: int, length: int) -> bytes:
    """Returns the text in a file.

    Raises DamagedFrameError, before it reads the file, if the file has another length.
    """
    try:
        size = os.fstat(file).st_size
        if size != length:
            raise DamagedFrameError(f"{size} bytes of text instead of {length}")
        return contents(file)
    except OSError as error:
        raise DamagedFrameError(f"its text cannot be read: {error.strerror}") from None


def close_files(files: list[int]) -> None:
    """Closes file descriptors that came with a control message."""
    for file in files:
        with contextlib.suppress(OSError):
            os.close(file)


def as_file(data: bytes | memoryview) -> int:
    """Returns an anonymous file with these bytes; the caller closes it.

    Raises DeviceError if there is no memory or no file descriptor for it.
    """
    view = memoryview(data).cast("B")
    try:
        file = os.memfd_create("ark_message", os.MFD_CLOEXEC)
    except OSError as error:
        raise _no_file(view, error) from None
    try:
        append(file, view)
    except BaseException:
        os.close(file)
        raise
    return file


def append(file: int, data: bytes | memoryview) -> None:
    """Appends bytes to a file of :func:`as_file`; raises DeviceError if there is no memory."""
    rest = view = memoryview(data).cast("B")
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError as error:
        raise _no_file(view, error) from None


def _no_file(data: memoryview, error: OSError) -> DeviceError:
    return DeviceError(f"cannot pass {len(data)} bytes to other ranks: {error.strerror}")


def contents(file: int) -> bytes:
    """Returns the bytes of a file that came with a control message."""
    # The ranks share the offset of the open file, so each read passes an explicit offset.
    size, blocks, done = os.fstat(file).st_size, list[bytes](), 0
    while done < size and (block := os.pread(file, size - done, done)):
        blocks.append(block)
        done += len(block)
    return b"".join(blocks)
