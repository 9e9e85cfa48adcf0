#!/usr/bin/env bash
# Runs FMUs that other tools made: one exported by pythonfmu, one container of fmu-manipulation-toolbox.
# usage: tests/importers/foreign.sh PYTHON GYRATOR FMU_FOLDER
#   PYTHON has the packages pythonfmu and fmu-manipulation-toolbox; FMU_FOLDER holds the two oscillators.
set -euo pipefail

if [ $# -ne 3 ]; then
    sed -n '3,4s/^# //p' "$0" >&2
    exit 2
fi
python=$1
gyrator=$(realpath "$2")
fmus=$(realpath "$3")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== pythonfmu: a slave in Python, its interpreter found and loaded first"
"$python" -m pythonfmu build -f "$here/pythonfmu_slave.py" -d "$work"
cat > "$work/decay.toml" <<TOML
[experiment]
start_time = 0.0
stop_time = 2.0
step_size = 0.01

[components.decay]
fmu = "Decay.fmu"
TOML
export PATH="$(dirname "$("$python" -c 'import sys; print(sys.executable)')"):$PATH"
"$gyrator" run "$work/decay.toml" --output-file "$work/decay.csv"
"$python" "$here/check_foreign.py" decay "$work/decay.csv"

echo "== pythonfmu: runs on two threads share no interpreter"
cat > "$work/study.toml" <<TOML
system = "decay.toml"
[[vary]]
grid = { "decay.k" = { from = 0.5, to = 4.0, count = 24 } }
[[metrics]]
final = ["decay.x"]
TOML
"$gyrator" study "$work/study.toml" --worker-threads 2 --output-file "$work/two.csv"
"$gyrator" study "$work/study.toml" --worker-threads 1 --output-file "$work/one.csv"
cmp "$work/one.csv" "$work/two.csv"
test "$(grep -c stop-time "$work/one.csv")" = 24

echo "== pythonfmu: error bars of two coupled slaves, with a start value, from an empty folder"
cat > "$work/pair.toml" <<TOML
[experiment]
start_time = 0.0
stop_time = 2.0
step_size = 0.01

[components.one]
fmu = "Decay.fmu"

[components.two]
fmu = "Decay.fmu"

[[connections]]
from = "one.x"
to = "two.u"

[[connections]]
from = "two.x"
to = "one.u"
TOML
sed 's/^step_size = .*/step_size = 5e-4/' "$work/pair.toml" > "$work/finer.toml"
mkdir "$work/empty"
(
    cd "$work/empty"
    "$gyrator" run "$work/pair.toml" --start-value one.k=5 --error-bars --output-file pair.csv --summary pair.json
    "$gyrator" run "$work/finer.toml" --start-value one.k=5 --output-interval 0.01 --output-file finer.csv
)
"$python" "$here/check_foreign.py" bars "$work/empty/pair.csv" "$work/empty/finer.csv" "$work/empty/pair.json"

echo "== fmu-manipulation-toolbox: both oscillators in one container"
cp "$fmus/OscillatorForce.fmu" "$fmus/OscillatorMotion.fmu" "$here/container.json" "$work"
"$python" -m fmu_manipulation_toolbox.cli.fmucontainer \
    -container container.json -fmu-directory "$work" \
    -no-auto-input -no-auto-output -no-auto-link
cat > "$work/container.toml" <<TOML
[experiment]
start_time = 0.0
stop_time = 1.0
step_size = 1e-3

[components.pair]
fmu = "OscillatorPair.fmu"
TOML
sed "s|\"../../target/fmus/|\"$fmus/|" "$here/oscillators.toml" > "$work/direct.toml"
"$gyrator" run "$work/container.toml" --output-file "$work/container.csv"
"$gyrator" run "$work/direct.toml" --output-file "$work/direct.csv"
"$python" "$here/check_foreign.py" container "$work/container.csv" "$work/direct.csv"
