# What the scripts of the checks have in common; each runs in a directory and a home of its own.
set -u
cd "$ASSAY_HOME"

# A study of the file that is named: its mix, and more lines before the workload.
study() {
    cat <<END
format = "assay-study/1"
title = "$1"
replicates = 2
seed = 1
area = { size = "8 MiB" }
$2
[[workload]]
name = "work"
io = { pattern = "random", mix = "$1", size = "4 KiB", engine = "psync", time = "100 ms" }
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
