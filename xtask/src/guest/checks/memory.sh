# A small memory by a control group of version 2: what does not fit is killed without swap, and goes on with
# zram, zswap and a file.

grep -qw memory /sys/fs/cgroup/cgroup.controllers || wrong "no group of version 2 limits memory here"
cat >memory.toml <<END
format = "assay-study/1"
title = "Small memory"
replicates = 1
seed = 1
aa_control = false
baseline = { swap = "file" }
[factors]
swap = ["none", "file", "zswap", "zram"]
[[workload]]
name = "150-percent"
memory = { memory_limit = "24 MiB", working_set = "150 %", compressibility = "50 %", runtime = "1 s" }
END
cat /proc/swaps >swaps.before
assay run memory.toml . --quiet --json >memory.json 2>memory.txt || wrong "a small memory ends with $?" memory.txt
for swap in file zswap zram; do
    set=$(median memory.json working_set_reached_bytes swap $swap)
    [ "${set%.*}" = 37748736 ] || wrong "with $swap '$set' bytes of 36 MiB are reached" memory.txt
done
killed=$(median memory.json oom_killed_share swap none)
[ "${killed%.*}" = 1 ] || wrong "without swap it is not killed but '$killed'" memory.txt
cat /proc/swaps >swaps.after
cmp -s swaps.before swaps.after || wrong "swap is left" swaps.after
