#!/bin/sh
# A study on Slurm: a job array that makes its parts, and a job that merges them when all are finished.
#
#   sh slurm.sh STUDY.toml PARTS FOLDER [OPTIONS OF sbatch…]
#   sh slurm.sh study.toml 50 parts --cpus-per-task=8 --time=4:00:00
#
# FOLDER and the files of the study are on a file system that all nodes share; `gyrator` is on the path. A task that is
# requeued, or that is killed by a signal (memory, time, a lost node), goes on where its journal ends. The table has the
# name of the study with the ending .csv. `gyrator study status FOLDER` says how far all have come.
set -eu
study=$1 parts=$2 folder=$3

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    shift 3
    mkdir -p "$folder"
    array=$(sbatch --parsable --job-name=study --array="1-$parts" --requeue --open-mode=append --output="$folder/part-%a.log" \
        "$@" "$0" "$study" "$parts" "$folder")
    merge=$(sbatch --parsable --job-name=merge --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$folder/merge.log" \
        --wrap "gyrator study merge '$folder' -o '${study%.toml}.csv'")
    echo "$array $merge"
    exit
fi

# Not `exec`: the shell is there to see that the program was killed.
code=0
gyrator study "$study" --shard "$SLURM_ARRAY_TASK_ID/$parts" -o "$folder/part-$SLURM_ARRAY_TASK_ID.csv" \
    --worker-threads "${SLURM_CPUS_PER_TASK:-1}" --accept-divergence || code=$?
if [ "$code" -gt 128 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 5 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
