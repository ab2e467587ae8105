"""A Dask cluster on the loopback address whose workers start fast: forks of a process that has all imports.

Usage: nursery.py WORKERS FILE ALGORITHMS. It writes the scheduler file FILE and prints one line for each
process, "scheduler PID" or "worker PID"; a worker that dies is replaced. A FILE that exists is the scheduler
to join, and no other is started. The end of standard input ends all processes.
"""

import asyncio
import contextlib
import os
import select
import signal
import sys
from pathlib import Path

import distributed

import olbench.engine.worker  # noqa: F401 - for the workers
from olbench.algorithms.algorithm import make_algorithm
from olbench.learners.start import start


async def schedule(file):
    async with distributed.Scheduler(
        host="127.0.0.1", port=0, dashboard=False, scheduler_file=file
    ) as scheduler:
        await scheduler.finished()


async def work(file):
    async with distributed.Worker(
        scheduler_file=file, nthreads=1, memory_limit=0, host="127.0.0.1", dashboard=False
    ) as worker:
        await worker.finished()


def fork(role, body, file):
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(0)
            asyncio.run(body(file))
        os._exit(0)
    print(role, pid, flush=True)
    return pid


def main(wanted, file, algorithms):
    for id in filter(None, algorithms.split(",")):
        start(make_algorithm(id), 2).warm_up()
    pids = {}
    if not file.exists():
        pids[fork("scheduler", schedule, str(file))] = "scheduler"
    while not file.exists() or not file.read_text().endswith("}"):
        select.select([], [], [], 0.01)
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        while sum(role == "worker" for role in pids.values()) < wanted:
            pids[fork("worker", work, str(file))] = "worker"
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pids.pop(pid, "") == "scheduler":
            break
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
