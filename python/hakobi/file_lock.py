"""Advisory locks on whole files, which end with the process that holds them."""

from __future__ import annotations

import errno
import fcntl

#: The answers of file systems without locks; 524 is the kernel's own ENOTSUPP, which NFS and others let
#: through.
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, 524})


def lock(fd: int, *, wait: bool = True) -> bool:
    """Locks the file for this process alone. False where the file system has no locks: then nobody is kept out.

    Raises BlockingIOError if another process has it and `wait` is false, OSError if the storage fails.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True
