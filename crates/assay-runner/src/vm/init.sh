#!/bin/busybox sh
# The first process of a guest: mounts what programs expect, loads the modules of the list, runs the job
# with its outputs on ports of the host, hands back its exit code and its results, and turns the machine off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ASSAY_HOME=/home/lab NO_COLOR=1 LC_ALL=C.UTF-8

# The root of a tmpfs is writable by all, and Assay as root acts only on results below directories of root alone.
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for place in /dev/shm /run /tmp; do mount -t tmpfs tmpfs "$place"; done
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
# As systemd does: what is made in the first group can limit memory, too.
echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
ln -s /proc/self/fd /dev/fd
ip link set lo up 2>/dev/null

# Parameters of modules stand on the command line of the kernel: brd.rd_nr=1.
parameters() {
    for word in $(cat /proc/cmdline); do
        case $word in "$1".*) echo "${word#*.}" ;; esac
    done
}

folder=/lib/modules/$(uname -r)
while read -r module; do
    name=$(basename "$module")
    name=$(echo "${name%%.*}" | tr - _)
    insmod "$folder/$module" $(parameters "$name") || echo "lab: $module was not loaded"
done <"$folder/lab.list"

# Names of ports are in sysfs; there is no udev to make links of them.
port() {
    for name in /sys/class/virtio-ports/*/name; do
        [ "$(cat "$name")" = "$1" ] && basename "$(dirname "$name")" && return
    done
    echo "lab: there is no port $1" >&2
    poweroff -f
}
out=/dev/$(port out) err=/dev/$(port err) end=/dev/$(port end) files=/dev/$(port files)

# What studies make lies on a drive where there is one for that: it may be more than the memory.
home=$(cat /lab/home)
if [ -n "$home" ]; then
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$home" &&
        mount -t ext4 "$home" "$ASSAY_HOME" && mkdir "$ASSAY_HOME/results" ||
        echo "lab: $home could not be made the place of results"
fi

cd /root || poweroff -f
echo up >"$end"
/bin/busybox sh /lab/job >"$out" 2>"$err" </dev/null
code=$?

# What the job left of results, as an archive; the host holds its bytes against this count.
bytes=$(tar -c -C "$ASSAY_HOME" results 2>/dev/null | tee "$files" | wc -c)
echo "$code $bytes" >"$end"
sync
poweroff -f
