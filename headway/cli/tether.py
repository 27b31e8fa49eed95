"""Runs a module as a child that does not outlive its parent: ``python -m headway.cli.tether MODULE [ARGUMENTS]``.

The parent holds the other end of this process's standard input and never writes to it. When the parent dies, by
whatever means, the kernel closes that end, the read below returns, and the process ends itself as if it had been told
to stop: drained first, gone after ``GRACE`` at the latest. This needs nothing run between fork and exec (unsafe beside
the threads of gRPC), works on every POSIX system (Linux's parent-death signal would not), cannot miss a parent that
dies before the child is up, and remembers no process id that could be mistaken for another's.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

GRACE = 15.0
"""Seconds to leave in once the parent is gone; longer than the default drain of a service."""


def main() -> None:
    """Ties the process to its standard input, then becomes the module."""
    module, *arguments = sys.argv[1:]
    line = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the module must not read from the line
    os.close(nothing)
    threading.Thread(target=_leave_with_parent, args=(line,), name="tether", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _leave_with_parent(line: int) -> None:
    while os.read(line, 1):
        pass  # nobody writes; whatever comes is no news
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(137)


if __name__ == "__main__":
    main()
