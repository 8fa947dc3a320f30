"""Checks of who else could change a file or a folder, and files that nobody else can change."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Generator
from pathlib import Path

__all__ = ["make_private_folder", "others_can_write", "stranger", "weakness"]

_MAX_LINKS = 40  # as the kernel has it


def stranger(status: os.stat_result) -> bool:
    """Returns True if a file belongs neither to this user nor to root."""
    return status.st_uid not in (0, os.geteuid())


def others_can_write(status: os.stat_result) -> bool:
    """Returns True if the mode lets users other than the owner write.

    A group that has no member but this user is no other user: many systems give every user one,
    and let it write by default.
    """
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def weakness(path: Path) -> str | None:
    """Returns why somebody else could put another file or folder in the place of `path`; None if
    nobody can.

    Looks at every folder on the way and at symbolic links, but not at `path` itself. In a folder
    with the sticky bit, such as ``/tmp``, only owners replace what they own.

    Example:
        >>> weakness(Path("/etc/passwd")) is None
        True
    """
    for place, status in _on_the_way(path):
        if stranger(status):
            return f"{place} belongs to user {status.st_uid}"
        sticky = status.st_mode & stat.S_ISVTX
        if stat.S_ISDIR(status.st_mode) and others_can_write(status) and not sticky:
            return f"{place} can be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    return None


def make_private_folder(path: Path) -> None:
    """Makes a folder, and its parents, that only this user can use, independent of the umask.

    A folder that is there stays as it is. Raises OSError where one cannot be made.
    """
    missing: list[Path] = []
    current = path
    while not current.exists() and current != current.parent:
        missing.append(current)
        current = current.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            folder.mkdir(mode=0o700)
            # A umask can take away the owner's own bits.
            folder.chmod(0o700)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def _is_own_group(gid: int) -> bool:
    """Returns True if a group is this user's alone, by its name and its members."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return (
        user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    )


def _on_the_way(path: Path) -> Generator[tuple[Path, os.stat_result]]:
    """The folders and symbolic links that the kernel passes before it comes to `path`.

    Ends where something is missing.
    """
    pending = list(Path(os.getcwd(), path).parts[1:])
    current, links = Path("/"), 0
    while pending:
        yield current, current.lstat()
        part = pending.pop(0)
        if part == "..":
            current = current.parent
            continue
        following = current / part
        try:
            is_link = stat.S_ISLNK(following.lstat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return
        if not is_link:
            current = following
            continue
        yield following, following.lstat()
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = Path(os.readlink(following))
        if target.is_absolute():
            current, pending = Path("/"), [*target.parts[1:], *pending]
        else:
            pending = [*target.parts, *pending]
