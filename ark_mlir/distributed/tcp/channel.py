"""An authenticated connection of two processes that share a secret.

Anybody on the network can connect to a port, read the traffic and change it. Both processes prove
that they have the secret before either acts on data of the other. A channel sends blocks of bytes.
Every block has an HMAC-SHA256 over its content and its sequence number, with a key of this
connection. A block that another process forges, repeats, drops or reorders is therefore detected.
Blocks are not encrypted.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct

from ..frames import LONGEST_TEXT, DamagedFrameError

__all__ = ["Channel", "connect_channel"]

_MAGIC = b"ark-tcp\x01"
_NONCE = 32
_TAG = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<Q")
# The longest block is the text of a control message with its header. Blocks of files are smaller.
_LONGEST = LONGEST_TEXT + 1024


class Channel:
    """An authenticated connection to a process that has the secret.

    Args:
        link: the connected socket, which the channel owns.
        send_key: the key of blocks of this process.
        receive_key: the key of blocks of the other process.
    """

    def __init__(self, link: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        self.link = link
        self._send_key = send_key
        self._receive_key = receive_key
        self._sent = 0
        self._received = 0

    def send(self, data: bytes) -> None:
        """Sends a block; raises OSError if the connection is lost."""
        length = _LENGTH.pack(len(data))
        tag = _tag(self._send_key, self._sent, length, data)
        self._sent += 1
        self.link.sendall(length + data + tag)

    def receive(self, longest: int = _LONGEST) -> bytes | None:
        """Returns the next block, or None if the other end is closed.

        Raises DamagedFrameError if the block is incomplete, too long or not authentic, and
        OSError if the connection is lost.
        """
        header = _read(self.link, _LENGTH.size)
        if header is None:
            return None
        (length,) = _LENGTH.unpack(header)
        if length > longest:
            raise DamagedFrameError(f"a block of {length} bytes; the limit is {longest}")
        rest = _read(self.link, length + _TAG)
        if rest is None:
            raise DamagedFrameError("the connection ended within a block")
        data, tag = rest[:length], rest[length:]
        expected = _tag(self._receive_key, self._received, header, data)
        if not hmac.compare_digest(tag, expected):
            raise DamagedFrameError("a block that is not authentic")
        self._received += 1
        return data

    def close(self) -> None:
        """Closes the connection."""
        self.link.close()


def connect_channel(link: socket.socket, secret: bytes, *, connects: bool) -> Channel:
    """Agrees on keys with the process at the other end of a connected socket.

    The keys depend on a random number from each process, so that a block of another connection
    does not pass as a block of this one. Only the first authentic block proves that the other
    process has the secret: the caller must receive a block before it trusts the other process.

    Args:
        link: the socket.
        secret: the secret of the job.
        connects: True for the process that connected, False for the process that accepted the
            connection.

    Raises DamagedFrameError if the first bytes of the other process are not those of a rank, and
    OSError if the connection is lost.
    """
    nonce = os.urandom(_NONCE)
    link.sendall(_MAGIC + nonce)
    data = _read(link, len(_MAGIC) + _NONCE)
    if data is None or not data.startswith(_MAGIC):
        raise DamagedFrameError("no greeting of ark")
    other = data[len(_MAGIC) :]
    nonces = nonce + other if connects else other + nonce
    keys = [
        hmac.digest(secret, direction + nonces, "sha256")
        for direction in (b"from the connecting process", b"from the accepting process")
    ]
    return Channel(link, *(keys if connects else reversed(keys)))


def _tag(key: bytes, number: int, length: bytes, data: bytes) -> bytes:
    digest = hmac.new(key, _LENGTH.pack(number), "sha256")
    digest.update(length)
    digest.update(data)
    return digest.digest()


def _read(link: socket.socket, nbytes: int) -> bytes | None:
    """Returns exactly `nbytes` bytes, or None if the other end is closed before the first byte."""
    data = bytearray()
    while len(data) < nbytes:
        block = link.recv(min(nbytes - len(data), 1 << 20))
        if not block:
            if not data:
                return None
            raise DamagedFrameError("the connection ended within a block")
        data += block
    return bytes(data)
