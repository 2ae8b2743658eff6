# A drive that QEMU throttles with a bucket: 200 operations a second, 800 for as long as 20 s of them last, so
# that 16,000 are in the bucket. Size, what remains and what comes back are found within 15 %.

cat >burst.toml <<'END'
format = "assay-study/1"
title = "burst"
replicates = 1
seed = 1
warmup_trial = "none"
repeat_disturbed = false
[[workload]]
name = "burst"
burst = { mix = "write", block_size = "4 KiB", queue_depth = 16, runtime = "150 s" }
END
assay run burst.toml /dev/vdc --destroy virtual2 --quiet --json >burst.json 2>burst.txt ||
    wrong "a throttled drive ends with $?" burst.txt
near() {
    value=$(median burst.json "$1")
    holds "${value:-0} > 0.85 * $2 && ${value:-0} < 1.15 * $2" ||
        wrong "$1 is '$value', and the drive has $2" burst.txt
}
near burst_credits 16000
near burst_baseline_iops 200
near burst_refill_iops 200
# A guest that waits for its processor does fewer than 800 a second, and empties the bucket so much later.
first=$(median burst.json burst_iops)
if holds "${first:-0} > 300 && $first < 0.85 * 800"; then
    echo "lab: burst: this guest does $first operations a second where it may do 800"
    near burst_duration_s "(16000 / ($first - 200))"
else
    near burst_duration_s 26.7
fi

# Of a drive that is throttled to one rate nothing is said to fall.
sed 's/150 s/1 min/' burst.toml >even.toml
assay run even.toml /dev/vdd --destroy virtual3 --quiet --json >even.json 2>even.txt ||
    wrong "a drive without a bucket ends with $?" even.txt
[ -z "$(median even.json burst_duration_s)" ] || wrong "a drive without a bucket has one" even.txt
grep -q 'the burst credits did not run out' even.json || wrong "it is not said that nothing fell" even.txt
