# A device that fails in the middle is a failed trial with the device's own error; one that waits is seen
# in the times; one without space is refused, and no small area is taken instead.

sectors=131072

study read >failing.toml
device failing "0 $sectors flakey /dev/vdb 0 1000 0"
(
    trials 1
    dmsetup reload failing --table "0 $sectors flakey /dev/vdb 0 0 1000"
    dmsetup suspend --noflush failing
    dmsetup resume --noudevsync failing
) &
assay run failing.toml /dev/mapper/failing --destroy dm-0:64MiB --json >failing.json 2>failing.txt
code=$?
wait
dmsetup remove --noudevsync failing
[ $code = 5 ] || wrong "a device that fails ends with $code" failing.txt
grep -qE 'trial [0-9]+ failed: read at offset [0-9]+ failed: (I/O|Input/output) error' failing.txt ||
    wrong "no trial failed with the device's error" failing.txt
rm -r results

study read >slow.toml
device slow "0 $sectors delay /dev/vdb 0 40"
assay run slow.toml /dev/mapper/slow --destroy dm-0:64MiB --quiet --json >slow.json 2>slow.txt ||
    wrong "a slow device ends with $?" slow.txt
dmsetup remove --noudevsync slow
# Operations a second, one after the other: each takes 40 ms and more.
rate=$(median slow.json iops)
holds "${rate:-0} > 1 && $rate <= 25" || wrong "with 40 ms each it does '$rate' operations a second" slow.txt
rm -r results

study write >thin.toml
dd if=/dev/zero of=/dev/vdb bs=1M count=1 2>/dev/null
device pool-meta "0 8192 linear /dev/vdb 0"
device pool-data "0 16384 linear /dev/vdb 8192"
device pool "0 16384 thin-pool /dev/mapper/pool-meta /dev/mapper/pool-data 128 0 1 error_if_no_space"
dmsetup message pool 0 "create_thin 0"
device thin "0 $sectors thin /dev/mapper/pool 0"
assay run thin.toml /dev/mapper/thin --destroy dm-3:64MiB --quiet >thin.out 2>thin.txt
code=$?
for name in thin pool pool-data pool-meta; do dmsetup remove --noudevsync $name; done
[ $code = 3 ] || wrong "a device without space ends with $code" thin.txt
grep -q 'No space left on device' thin.txt || wrong "it does not say what is missing" thin.txt
[ -z "$(ls results 2>/dev/null)" ] || wrong "a device without space has a result" thin.txt
