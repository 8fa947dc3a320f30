"""The functions of a vendor by their names, and the identities of GPUs as text."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Names", "format_uuid"]


class Names(NamedTuple):
    """The names of a vendor's functions whose arguments and results are the same for all vendors.

    Attributes:
        allocate: allocates memory of the device.
        allocate_coherent: allocates memory of the device that the host may read and write while a
            kernel uses it; takes `coherent_flags`, too.
        free: frees memory of the device.
        allocate_host: allocates pinned memory of the host.
        free_host: frees pinned memory of the host.
        to_device: queues a copy from the host to the device.
        to_host: queues a copy from the device to the host.
        within_device: queues a copy from the device to the same device.
        set_bytes: queues the assignment of one value to all bytes of memory of the device.
        create_stream: creates a stream.
        destroy_stream: destroys a stream.
        query_stream: returns NOT_READY if a stream has work.
        await_stream: waits for a stream.
        follow_event: lets a stream wait for an event.
        is_capturing: returns the capture status of a stream.
        create_event: creates an event.
        destroy_event: destroys an event.
        query_event: returns NOT_READY if an event has not happened.
        record_event: records an event in a stream.
        load_module: loads a module from an image in memory.
        unload_module: unloads a module.
        find_function: returns the function of a module with a name.
        occupancy: returns the number of CTAs of a function that a multiprocessor holds at once.
        reserve_addresses: reserves addresses of virtual memory.
        free_addresses: frees reserved addresses.
        create_memory: returns a handle of new memory.
        release_memory: releases a handle of memory; mappings keep the memory.
        map_memory: maps memory at reserved addresses.
        unmap_memory: unmaps memory.
        lend: returns the handle by which other processes map an allocation (legacy IPC).
        close_borrowed: unmaps memory of another process.
    """

    allocate: str
    allocate_coherent: str
    free: str
    allocate_host: str
    free_host: str
    to_device: str
    to_host: str
    within_device: str
    set_bytes: str
    create_stream: str
    destroy_stream: str
    query_stream: str
    await_stream: str
    follow_event: str
    is_capturing: str
    create_event: str
    destroy_event: str
    query_event: str
    record_event: str
    load_module: str
    unload_module: str
    find_function: str
    occupancy: str
    reserve_addresses: str
    free_addresses: str
    create_memory: str
    release_memory: str
    map_memory: str
    unmap_memory: str
    lend: str
    close_borrowed: str

    @property
    def waits(self) -> frozenset[str]:
        """The functions that release a handle and may wait for all kernels of the device."""
        return frozenset((self.free, self.free_host, self.unload_module))


def format_uuid(identity: bytes) -> str:
    """Returns the identity of a GPU, of 16 bytes, as text.

    Example:
        >>> format_uuid(bytes(range(16)))
        'GPU-00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    text = identity.hex()
    return f"GPU-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
