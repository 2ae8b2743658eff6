# Layers that the kernel of most machines of tests lacks: each is measured and taken down.

layered() {
    cat <<END
format = "assay-study/1"
title = "$1"
replicates = ${5:-2}
seed = 1
aa_control = false
target = { loop = "128 MiB" }
area = { size = "${4:-16 MiB}" }
$2
[[workload]]
name = "work"
io = { pattern = "random", mix = "write", block_size = "$3", engine = "psync", sync = "fdatasync", operations = 50 }
END
}

layered crypt 'baseline = { encryption = "none" }
[factors]
filesystem = ["ext4"]
encryption = ["none", "dm-crypt"]' "4 KiB" >crypt.toml
assay run crypt.toml --quiet --json >crypt.json 2>crypt.txt || wrong "dm-crypt ends with $?" crypt.txt
rate=$(median crypt.json iops encryption dm-crypt)
holds "${rate:-0} > 0" || wrong "dm-crypt was not measured" crypt.txt
rm -r results

layered convert 'baseline = { encryption = "none" }
[factors]
filesystem = ["ext4"]
encryption = ["none", "dm-crypt"]
encryption_conversion = ["in-place"]' "4 KiB" "" 1 >convert.toml
assay run convert.toml --quiet --json >convert.json 2>convert.txt || wrong "an encryption in place ends with $?" convert.txt
grep -q 'Encrypting 128 MiB in place took' convert.json || wrong "it does not tell how long it took" convert.txt
rm -r results

# The area is many times the stripe cache (3 MiB), which would answer for the members.
# Bytes that the members move for one write, by size and chunk (KiB): 16 whatever the chunk for 2 KiB;
# for aligned 384 KiB a whole stripe or, of large chunks, old and new data and parity.
moved() {
    layered "$1" "members = 4
primary_metric = \"device_bytes_per_operation\"
recreate_per = \"replicate\"
[factors]
raid = [\"raid5\"]
raid_chunk = [\"$1\"]" "$2" "96 MiB" 1 >array.toml
    assay run array.toml --quiet --json >array.json 2>array.txt || wrong "raid5 ends with $?" array.txt
    bytes=$(median array.json device_bytes_per_operation raid_chunk "$1")
    holds "${bytes:-0} > 0.95 * 1024 * $3 && $bytes < 1.05 * 1024 * $3" ||
        wrong "$2 at chunks of $1 move '$bytes' bytes, not $3 KiB" array.txt
    rm -r results
}
moved "32 KiB" "2 KiB" 16
moved "1 MiB" "2 KiB" 16
moved "32 KiB" "384 KiB" 512
moved "128 KiB" "384 KiB" 512
moved "1 MiB" "384 KiB" 1536

# Four members of 128 MiB at 4 MB/s: the synchronisation is under way all the time, and yields to work.
layered sync 'members = 4
baseline = { raid_resync = "none" }
probes = ["raid-resync"]
[factors]
raid = ["raid5"]
raid_resync = ["none", "4 MB/s"]' "64 KiB" "16 MiB" 1 | sed 's/operations = 50/runtime = "3 s"/' >sync.toml
assay run sync.toml --quiet --json >sync.json 2>sync.txt || wrong "a synchronisation ends with $?" sync.txt
rate=$(median sync.json resync_bytes_per_s raid_resync "4 MB/s")
holds "${rate:-0} > 0 && $rate < 8e6" || wrong "at 4 MB/s it is '$rate' bytes a second" sync.txt
[ -z "$(median sync.json resync_bytes_per_s raid_resync none)" ] || wrong "equal members are synchronised" sync.txt
rm -r results

for name in f2fs exfat vfat; do
    layered $name "[factors]
filesystem = [\"$name\"]" "4 KiB" >formats.toml
    assay run formats.toml --quiet --json >formats.json 2>formats.txt || wrong "$name ends with $?" formats.txt
    rate=$(median formats.json iops filesystem $name)
    holds "${rate:-0} > 0" || wrong "$name was not measured" formats.txt
    rm -r results
done

# Somebody else's array has the name of the one that is made: it is neither stopped nor wiped.
layered names 'members = 4
[factors]
raid = ["raid5"]' "4 KiB" "16 MiB" | sed 's/operations = 50/runtime = "60 s"/' >names.toml
assay run names.toml >names.txt 2>&1 &
run=$!
for _ in $(seq 200); do
    ours=$(grep -o '^md[0-9]*' /proc/mdstat) && break
    sleep 0.2
done
name=$(mdadm --detail --export "/dev/$ours" | sed -n 's/^MD_NAME=any://p')
others=
for at in 1 2 3; do
    truncate -s 16M other$at
    loop=$(losetup -f)
    losetup "$loop" other$at
    others="$others $loop"
done
mdadm --create /dev/md50 --run --quiet --metadata=1.2 --homehost=any --name="$name" --level=raid5 \
    --raid-devices=3 --assume-clean $others || wrong "there is no second array" names.txt
kill -9 $run
wait $run 2>/dev/null
assay restore >restored.txt 2>&1 || wrong "restore ends with $?" restored.txt
grep -q "^$ours :" /proc/mdstat && wrong "its own array stands" /proc/mdstat
mdadm --detail --export /dev/md50 | grep -q "^MD_NAME=any:$name\$" || wrong "another's array is gone" restored.txt
mdadm --stop --quiet /dev/md50
for loop in $others; do losetup -d "$loop"; done
rm -rf results other1 other2 other3
