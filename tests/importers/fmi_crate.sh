#!/usr/bin/env bash
# Runs the two oscillators in gyrator and in the importer of the `fmi` crate and compares them bit for bit.
# usage: tests/importers/fmi_crate.sh GYRATOR FMU_FOLDER
set -euo pipefail

if [ $# -ne 2 ]; then
    sed -n '3s/^# //p' "$0" >&2
    exit 2
fi
gyrator=$(realpath "$1")
fmus=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed "s|\"../../target/fmus/|\"$fmus/|" "$here/oscillators.toml" > "$work/oscillators.toml"
"$gyrator" run "$work/oscillators.toml" --output-file "$work/oscillators.csv"
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../target}")/fmi-crate
cargo run --quiet --locked --manifest-path "$here/fmi-crate/Cargo.toml" --target-dir "$target" \
    -- "$fmus" "$work/oscillators.csv"
