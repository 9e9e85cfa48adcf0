"""A study on HyperQueue: a task for each part, again where one was killed, and the merged table.

    pip install hyperqueue
    python hyperqueue_study.py STUDY.toml PARTS FOLDER [SERVER_DIRECTORY]

Without the directory of a running server (`hq server start --server-dir …`) the tasks run on this machine. FOLDER and the files of
the study are on a file system that all workers share, and `gyrator` is on their path.
"""

import os
import subprocess
import sys
from pathlib import Path

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

#: Attempts at a part. Each goes on where the journal of the last one ends.
ATTEMPTS = 5


def make(client: Client, study: Path, parts: int, folder: Path) -> None:
    """Makes the parts, with as many jobs as attempts are needed."""
    missing = list(range(1, parts + 1))
    for _ in range(ATTEMPTS):
        job = Job(default_workdir=Path.cwd(), max_fails=None, default_env={"PATH": os.environ["PATH"]})
        for part in missing:
            table = folder / f"part-{part}.csv"
            command = ["gyrator", "study", str(study), "--shard", f"{part}/{parts}", "-o", str(table), "--worker-threads", "1", "--accept-divergence"]
            # A task whose worker is lost is given to another one; one that fails is in the next job.
            job.program(command, stdout=folder / f"part-{part}.log", stderr=folder / f"part-{part}.log", crash_limit=ATTEMPTS)
        submitted = client.submit(job)
        if client.wait_for_jobs([submitted], raise_on_error=False):
            return
        missing = [missing[task] for task in sorted(client.get_failed_tasks(submitted))]
    sys.exit(f"parts {missing} have failed {ATTEMPTS} times: their messages are in {folder}")


def main() -> None:
    study, parts, folder = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    folder = folder.absolute()
    folder.mkdir(exist_ok=True)
    if len(sys.argv) > 4:
        make(Client(sys.argv[4]), study, parts, folder)
    else:
        with LocalCluster() as cluster:
            cluster.start_worker(WorkerConfig(cores=os.cpu_count() or 1))
            make(cluster.client(), study, parts, folder)
    subprocess.run(["gyrator", "study", "merge", folder, "-o", study.with_suffix(".csv")], check=True)


if __name__ == "__main__":
    main()
