# What the scripts of the checks have in common; each runs in a directory and a home of its own.
set -u

# A study of the mix that is named.
study() {
    cat <<END
format = "assay-study/1"
title = "$1"
replicates = 4
seed = 1
aa_control = false
area = { size = "16 MiB" }
[[workload]]
name = "work"
io = { pattern = "random", mix = "$1", block_size = "4 KiB", engine = "psync", runtime = "500 ms" }
END
}

# A device of the device mapper; there is no udev to wait for, or to make its file.
device() {
    dmsetup create --noudevsync "$1" --table "$2" && dmsetup mknodes "$1"
}

# Waits until a study has so many finished trials.
trials() {
    while [ "$(cat results/*/trials.jsonl 2>/dev/null | wc -l)" -lt "$1" ]; do sleep 0.1; done
}

# Median of a metric in an arm, of a result in JSON: FILE METRIC [FACTOR LEVEL].
median() {
    tr ',{}' '\n\n\n' <"$1" | sed 's/^ *//; s/": */":/; s/ *$//' | awk -v metric="$2" -v factor="${3:-}" -v level="${4:-}" '
        BEGIN { arm = (factor == "") }
        index($0, "\"" factor "\":") == 1 { arm = ($0 == "\"" factor "\":\"" level "\"") }
        index($0, "\"metric\":") == 1 { own = arm && ($0 == "\"metric\":\"" metric "\"") }
        index($0, "\"median\":") == 1 { value = substr($0, 10); if (own && value != "null") { print value; exit } }'
}

# Whether a comparison of two numbers holds; what is no number fails.
holds() { awk "BEGIN { exit !($1) }" 2>/dev/null; }

# Says what is wrong, with what was printed; what is left is looked at in any case.
faults=0
wrong() {
    echo "$1"
    [ -s "${2:-}" ] && sed 's/^/    /' "$2"
    faults=$((faults + 1))
}

# What may not be left: devices, arrays, mounts, loop devices.
left() {
    dmsetup ls
    grep '^md' /proc/mdstat
    cat /sys/block/loop*/loop/backing_file 2>/dev/null
    awk '{ print $1, $2 }' /proc/mounts
}
