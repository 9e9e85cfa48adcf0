"""A study on Dask: a task for each part, again where its worker was lost, and the merged table.

    pip install dask distributed gyrator
    python dask_study.py STUDY.toml PARTS FOLDER [SCHEDULER]

Without the address of a scheduler the workers are processes of this machine. FOLDER and the files of the study are on a file system
that all workers share.
"""

import subprocess
import sys
from pathlib import Path

from dask.distributed import Client, LocalCluster

import gyrator


def make(part: int, study: Path, parts: int, folder: Path) -> int:
    """Makes a part, or goes on with it; returns its number of rows."""
    table = folder / f"part-{part}.csv"
    return len(gyrator.study(study, shard=f"{part}/{parts}", output_file=table, worker_threads=1, accept_divergence=True)["case"])


def main() -> None:
    study, parts, folder = Path(sys.argv[1]).absolute(), int(sys.argv[2]), Path(sys.argv[3]).absolute()
    folder.mkdir(exist_ok=True)
    with Client(sys.argv[4]) if len(sys.argv) > 4 else Client(LocalCluster(threads_per_worker=1)) as client:
        # Not pure: a task is never answered from an earlier result.
        tasks = client.map(make, range(1, parts + 1), study=study, parts=parts, folder=folder, retries=5, pure=False)
        print(sum(client.gather(tasks)), "rows")
    subprocess.run(["gyrator", "study", "merge", folder, "-o", study.with_suffix(".csv")], check=True)


if __name__ == "__main__":
    main()
