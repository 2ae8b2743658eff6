# The machine whose plug is pulled: it is run at each start, begins the study at the first one and goes on with it at the
# others. When it is called, it has the host take its power. Words: how its drive is (honest, or older: after the first cut
# it shows what it held before the study), and its address.
set -u
how=$1
disk=/dev/vda kept=/dev/vdb old=/dev/vdc
for name in /sys/class/virtio-ports/*/name; do
    [ "$(cat "$name")" = end ] && end=/dev/$(basename "$(dirname "$name")")
done
ip link set eth0 up && ip addr add "$2/24" dev eth0 || exit 9
mkdir -p /srv /kept
if ! mount -t ext4 "$kept" /kept 2>/dev/null; then
    mkfs.ext4 -q -F "$kept" && mount -t ext4 "$kept" /kept || exit 9
fi
# Its root lies in memory: what a machine keeps of its own lies on the drive that outlives it.
mkdir -p /kept/state /var/lib/assay && mount -o bind /kept/state /var/lib/assay || exit 9
brought=$ASSAY_HOME/results
export ASSAY_HOME=/kept/home ASSAY_PEER_TOKEN=what-both-machines-know
mkdir -p "$ASSAY_HOME"
starts=$(($(cat /kept/starts 2>/dev/null || echo 0) + 1))
echo "$starts" >/kept/starts
sync

if [ "$starts" = 1 ]; then
    mkfs.ext4 -q -F "$disk" && mount -t ext4 "$disk" /srv && mkdir /srv/work && umount /srv || exit 9
    if [ "$how" = older ]; then
        dd if="$disk" of="$old" bs=1M conv=fsync 2>/dev/null || exit 9
    fi
elif [ "$how" = older ] && [ "$starts" = 2 ]; then
    dd if="$old" of="$disk" bs=1M conv=fsync 2>/dev/null || exit 9
fi
mount -t ext4 "$disk" /srv || exit 8

if [ "$starts" = 1 ]; then
    assay run /lab/study.toml /srv/work --quiet --json >/tmp/found 2>/tmp/said &
else
    assay resume --quiet --json >/tmp/found 2>/tmp/said &
fi
own=$!
while kill -0 $own 2>/dev/null; do
    if grep -q 'pull the plug now' /tmp/said; then
        # It goes on writing for a moment that nobody draws.
        usleep $((starts * 137000))
        echo cut >"$end"
        sleep 60
        echo 'the host did not take the power' >&2
        exit 7
    fi
    usleep 100000
done
wait $own
code=$?
cat /tmp/said >&2
cp -r "$ASSAY_HOME"/results/* "$brought" || exit 6
left=$(find /srv/work -mindepth 1)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 6; }
exit $code
