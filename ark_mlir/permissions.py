"""Checks whether other users can change a file or folder, and creation of private folders."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import pwd
import stat
from collections.abc import Generator
from pathlib import Path

__all__ = ["find_weakness", "is_foreign", "make_private_folder", "others_can_write"]

_MAX_LINKS = 40  # the limit of Linux


def is_foreign(status: os.stat_result) -> bool:
    """Returns True if a file belongs neither to this user nor to root."""
    return status.st_uid not in (0, os.geteuid())


def others_can_write(status: os.stat_result) -> bool:
    """Returns True if the mode lets users other than the owner write.

    Write permission of a group whose only member is this user is ignored: on many systems, each
    user has such a group, and the default mode lets it write.
    """
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)


def find_weakness(path: Path) -> str | None:
    """Returns the reason why another user can replace `path`, or None if no other user can.

    Checks every folder and symbolic link that leads to `path`, but not `path` itself. A folder with
    the sticky bit, such as ``/tmp``, is safe: only the owner of a file can replace it there.

    Example:
        >>> find_weakness(Path("/etc/passwd")) is None
        True
    """
    for step, status in _resolve(path):
        if is_foreign(status):
            return f"{step} belongs to user {status.st_uid}"
        sticky = status.st_mode & stat.S_ISVTX
        if stat.S_ISDIR(status.st_mode) and others_can_write(status) and not sticky:
            return f"{step} can be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    return None


def make_private_folder(path: Path) -> None:
    """Creates a folder, and its missing parents, with mode 0700, for any umask.

    An existing folder is not changed. Raises OSError if a folder cannot be created.
    """
    missing: list[Path] = []
    current = path
    while not current.exists() and current != current.parent:
        missing.append(current)
        current = current.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process created it
            folder.mkdir(mode=0o700)
            # A umask may have removed the owner's bits.
            folder.chmod(0o700)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def _is_private_group(gid: int) -> bool:
    """Returns True if a group has this user's name and no other member."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return (
        user.pw_gid == gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
    )


def _resolve(path: Path) -> Generator[tuple[Path, os.stat_result]]:
    """Yields the folders and symbolic links through which the kernel resolves `path`, in order.

    Ends at the first one that does not exist.
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
