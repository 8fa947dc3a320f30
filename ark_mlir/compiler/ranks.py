"""Compilation in a world in which each process has only the program of its rank."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import errors
from ..bundle import Bundle, read_bundle
from ..devices import ONE_PROCESS
from ..distributed import current
from ..distributed.frames import as_file, contents
from ..distributed.links import ControlMessage
from ..errors import ArkError, InvalidUsageError
from ..targets import Target
from .bundles import compile_bundle, warn_unless_proven
from .cache import bundle_options, compiler_build
from .options import CompileOptions
from .source import RankProgram, bytecode, load_rank_programs

if TYPE_CHECKING:
    from ..distributed import Member, RankExecutable
    from ..distributed.communicator import CollectiveCall

__all__ = ["compile_rank"]

_LONGEST_VALUE = 200


def compile_rank(
    program: RankProgram, target: str | Target | None, options: CompileOptions
) -> RankExecutable:
    """Compiles the programs of all ranks together and returns the executable of this rank.

    Rank 0 compiles for all ranks, so that all run the same code.

    Raises the errors of compilation, the same on all ranks. Raises InvalidUsageError if targets or
    options of ranks differ, or this process is not a rank, and RankFailedError if a rank fails
    before the compilation.
    """
    member = current()
    if member is None:
        raise InvalidUsageError("this process is not a rank: call ark.distributed.init() first")
    if options.concurrent:
        raise InvalidUsageError(ONE_PROCESS)
    devices = options.devices
    # `devices` has the GPU of one rank, or a GPU for each rank: no rank has a share of a GPU.
    options = replace(options, devices=None)
    with member.collective_call(f"compile {program.name!r}") as call:
        _check_rank(member, program)
        # Every rank warns: the user of a rank may not see the output of another process.
        warn_unless_proven(program.module, options, stacklevel=3)
        bundle = _exchange(call, member, program, target, options)
        return member.attach(call, bundle, devices)


def _check_rank(member: Member, program: RankProgram) -> None:
    if (program.rank, program.size) != (member.rank, member.world_size):
        raise InvalidUsageError(
            f"program {program.name!r} is for rank {program.rank} of {program.size}, but this "
            f"process is rank {member.rank} of {member.world_size}"
        )


def _exchange(
    call: CollectiveCall,
    member: Member,
    program: RankProgram,
    target: str | Target | None,
    options: CompileOptions,
) -> Bundle:
    request = {"target": str(target), "compiler build": compiler_build()}
    request |= {name: repr(value) for name, value in bundle_options(options).items()}
    file = as_file(bytecode(program.module))
    try:
        messages = call.all_gather("programs", request, file=file)
        try:
            _check_requests(messages)
            if member.rank == 0:
                return _compile_for_all(call, messages, target, options)
        finally:
            for message in messages[: member.rank] + messages[member.rank + 1 :]:
                if message.file is not None:
                    os.close(message.file)
    finally:
        os.close(file)
    # Compilation has no time limit. If rank 0 dies, `all_gather` raises at once.
    answer = call.all_gather("bundle", timeout=None)[0]
    return _read(answer)


def _check_requests(messages: list[ControlMessage]) -> None:
    first = messages[0].body
    for message in messages:
        for key, value in message.body.items():
            if value != first[key]:
                raise InvalidUsageError(
                    f"ranks compile differently: {key} of rank 0 is {_shortened(first[key])}, "
                    f"and of rank {message.sender} {_shortened(value)}"
                )


def _shortened(value: str) -> str:
    """Returns the beginning of a value, for messages: the text of a profile may have megabytes."""
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"


def _compile_for_all(
    call: CollectiveCall,
    messages: list[ControlMessage],
    target: str | Target | None,
    options: CompileOptions,
) -> Bundle:
    try:
        programs = [contents(message.file) for message in messages if message.file is not None]
        bundle = compile_bundle(load_rank_programs(programs), target, options)
    except ArkError as error:
        call.all_gather("bundle", _described(error))
        raise
    file = as_file(b"".join(bytes(block) for block in bundle.encode()))
    try:
        call.all_gather("bundle", file=file)
    finally:
        os.close(file)
    return bundle


def _read(answer: ControlMessage) -> Bundle:
    if answer.file is None:
        raise _as_error(answer.body)
    try:
        return read_bundle(f"/proc/self/fd/{answer.file}", made_here=True)
    finally:
        os.close(answer.file)


def _described(error: ArkError) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "message": error.message,
        "location": error.location,
        "op": error.op,
        "notes": list(error.notes),
    }


def _as_error(body: dict[str, Any]) -> ArkError:
    kind: type[ArkError] = getattr(errors, body["kind"], ArkError)
    return kind(body["message"], location=body["location"], op=body["op"], notes=body["notes"])
