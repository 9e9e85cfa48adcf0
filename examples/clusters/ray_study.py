"""A study on Ray: a task for each part, again where its worker was lost, and the merged table.

    pip install ray gyrator
    python ray_study.py STUDY.toml PARTS FOLDER [ADDRESS]

Without the address of a cluster the workers are processes of this machine. FOLDER and the files of the study are on a file system
that all workers share.
"""

import subprocess
import sys
from pathlib import Path

import gyrator
import ray


# Of errors of gyrator, too: a part that is killed goes on where its journal ends.
@ray.remote(num_cpus=1, max_retries=5, retry_exceptions=True)
def make(part: int, study: Path, parts: int, folder: Path) -> int:
    """Makes a part, or goes on with it; returns its number of rows."""
    table = folder / f"part-{part}.csv"
    return len(gyrator.study(study, shard=f"{part}/{parts}", output_file=table, worker_threads=1, accept_divergence=True)["case"])


def main() -> None:
    study, parts, folder = Path(sys.argv[1]).absolute(), int(sys.argv[2]), Path(sys.argv[3]).absolute()
    folder.mkdir(exist_ok=True)
    ray.init(address=sys.argv[4]) if len(sys.argv) > 4 else ray.init(include_dashboard=False)
    tasks = [make.remote(part, study, parts, folder) for part in range(1, parts + 1)]
    print(sum(ray.get(tasks)), "rows")
    subprocess.run(["gyrator", "study", "merge", folder, "-o", study.with_suffix(".csv")], check=True)


if __name__ == "__main__":
    main()
