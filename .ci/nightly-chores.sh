#!/usr/bin/env bash
# Nightly steps that run standard tools: `.ci/nightly-chores.sh STEP`, or source this file and call the functions.
# The last line of a step is its result; a step whose tool cannot be installed prints SKIP and the reason.

# Installs a cargo tool at a pinned version unless that version is there: cargo_tool NAME VERSION [OPTION...]
cargo_tool() {
    local name=$1 version=$2
    shift 2
    if ! cargo install --list | grep -q "^$name v$version:"; then
        cargo install --locked --quiet "$name@$version" "$@" >&2
    fi
}

# Mutation tests of the files that protect a disk. The shard is fixed: the same commit gets the same mutants.
mutants() {
    cargo_tool cargo-mutants 27.1.0 || { echo "SKIP mutants: cannot install cargo-mutants"; return 0; }
    local code=0 name count line=""
    rm -rf target/mutants.out
    cargo mutants --output target --no-shuffle --shard 3/16 --sharding round-robin \
        --file crates/assay-machine/src/factors/guard.rs \
        --file crates/assay-machine/src/factors/guard/builder.rs \
        --file crates/assay-system/src/system/identity.rs \
        --file crates/assay-system/src/system/identity/consent.rs \
        --file crates/assay-system/src/system/journal.rs \
        --file crates/assay-system/src/system/journal/restore.rs || code=$?
    for name in caught missed timeout unviable; do
        count=$(wc -l < "target/mutants.out/$name.txt" 2>/dev/null) || count=0
        line+=" $count $name,"
    done
    echo "mutants:${line%,}"
    # 2: mutants were missed, 3: tests timed out. Both are results; the others are failures of the run.
    [[ $code =~ ^[023]$ ]]
}

# The documentation as a book in target/book. The tests check the links; mdbook does not.
site() {
    cargo_tool mdbook 0.5.4 --no-default-features --features search ||
        { echo "SKIP site: cannot install mdbook"; return 0; }
    rm -rf target/book
    mdbook build docs || return 1
    echo "site: $(find target/book -name '*.html' | wc -l) pages in target/book"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    set -euo pipefail
    cd "$(dirname "$0")/.."
    "$@"
fi
