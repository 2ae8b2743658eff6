# Layers that the kernel of most machines of tests lacks: each is measured and taken down.

layered() {
    cat <<END
format = "assay-study/1"
title = "$1"
replicates = 2
seed = 1
control = false
target = { loop = "128 MiB" }
area = { size = "${4:-16 MiB}" }
$2
[[workload]]
name = "work"
io = { pattern = "random", mix = "write", size = "$3", engine = "psync", sync = "each-write", operations = 50 }
END
}

layered crypt 'baseline = { encryption = "none" }
[factors]
filesystem = ["ext4"]
encryption = ["none", "dm-crypt"]' "4 KiB" >crypt.toml
assay run crypt.toml --quiet --json >crypt.json 2>crypt.txt || wrong "dm-crypt ends with $?" crypt.txt
grep -q '"encryption": *"dm-crypt"' crypt.json || wrong "dm-crypt was not measured" crypt.txt
rm -r results

# The area is many times the stripe cache (3 MiB), which would answer for the members.
# Bytes that the members move for one write, by size and chunk (KiB): 16 whatever the chunk for 2 KiB;
# for aligned 384 KiB a whole stripe or, of large chunks, old and new data and parity.
moved() {
    layered "$1" "members = 4
primary = \"device_bytes_per_operation\"
fresh = \"replicate\"
[factors]
raid = [\"raid5\"]
raid-chunk = [\"$1\"]" "$2" "192 MiB" >array.toml
    assay run array.toml --quiet --json >array.json 2>array.txt || wrong "raid5 ends with $?" array.txt
    bytes=$(tr ',{}' '\n\n\n' <array.json | awk -F: '
        /"metric":/ { own = ($2 ~ /"device_bytes_per_operation"/) }
        /"median":/ { if (own && $2 + 0 > 0) { print $2 + 0; exit } }')
    awk "BEGIN { share = ${bytes:-0} / 1024 / $3; exit !(share > 0.95 && share < 1.05) }" ||
        wrong "$2 at chunks of $1 move '$bytes' bytes, not $3 KiB" array.txt
    rm -r results
}
moved "32 KiB" "2 KiB" 16
moved "1 MiB" "2 KiB" 16
moved "128 KiB" "384 KiB" 512
moved "1 MiB" "384 KiB" 1536

for name in f2fs exfat vfat; do
    layered $name "[factors]
filesystem = [\"$name\"]" "4 KiB" >formats.toml
    assay run formats.toml --quiet --json >formats.json 2>formats.txt || wrong "$name ends with $?" formats.txt
    grep -q "\"filesystem\": *\"$name\"" formats.json || wrong "$name was not measured" formats.txt
    rm -r results
done
