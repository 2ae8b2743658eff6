# What the unit of the lab runs: the job, once everything is up, with its outputs on ports of the host. The
# job may reboot the machine, or have the host take its power away, and is run again after that:
#   echo cut >"$LAB"               the host ends the machine, and starts it again
#   echo "off 2020-01-01" >"$LAB"  with a power-off: the host starts it again with this time in its clock
export HOME=/root ASSAY_HOME=/home/lab NO_COLOR=1 LC_ALL=C.UTF-8 LAB=/dev/virtio-ports/end
mkdir -p "$ASSAY_HOME/results"
cd /root || exit 1
systemctl is-system-running --wait >/dev/null 2>&1
echo up >"$LAB"
/bin/sh /lab/job >/dev/virtio-ports/out 2>/dev/virtio-ports/err </dev/null
code=$?
# A machine that goes down has not ended its job.
[ "$(systemctl is-system-running)" = stopping ] && exit 0
bytes=$(tar -c -C "$ASSAY_HOME" results | tee /dev/virtio-ports/files | wc -c)
echo "$code $bytes" >"$LAB"
systemctl poweroff
