"""A Dask cluster on the loopback address whose workers start fast: they are forks that have all imports.

Usage: nursery.py WORKERS FILE. It writes the scheduler file FILE and prints one line for each process, "scheduler
PID" or "worker PID". A worker that dies is replaced. The end of standard input ends all of them. A FILE that
exists is the scheduler to join, and no other is started.
"""

import asyncio
import contextlib
import os
import select
import signal
import sys
from pathlib import Path

import distributed

import olbench.engine.worker
from olbench.data.load import load_dataset
from olbench.kernels import covariance, diagonal, first_order

PRELOADED = (olbench.engine.worker, load_dataset, covariance, diagonal, first_order)


async def schedule(file):
    async with distributed.Scheduler(host="127.0.0.1", port=0, dashboard_address=None, scheduler_file=file) as s:
        await s.finished()


async def work(file):
    # Without a heartbeat for so long, a worker that is still alive on a loaded machine would be removed.
    async with distributed.Worker(
        scheduler_file=file, nthreads=1, memory_limit=0, host="127.0.0.1", dashboard=False, nanny=None
    ) as w:
        await w.finished()


def fork(role, body, file):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            os.close(0)
            asyncio.run(body(file))
        os._exit(0)
    print(role, pid, flush=True)
    return pid


def main(wanted, file):
    pids = {}
    if not Path(file).exists():
        pids[fork("scheduler", schedule, file)] = "scheduler"
    while not Path(file).exists() or not Path(file).stat().st_size:
        select.select([], [], [], 0.01)
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        while sum(role == "worker" for role in pids.values()) < wanted:
            pids[fork("worker", work, file)] = "worker"
        with contextlib.suppress(ChildProcessError):
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pids.pop(pid, "") == "scheduler":
                break
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
