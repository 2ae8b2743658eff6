# Five restarts in the lab, the third cut off by the power in the middle of its start-up; then what is left:
#   cargo xtask lab --systemd --cpus 2 --timeout 1500 --script xtask/lab/reboots.sh
# The job is run again after each boot.
count=$(($(cat /lab/count 2>/dev/null || echo 0) + 1))
echo $count >/lab/count
sync
echo "== job, boot $count, $(uname -r), id $(cat /proc/sys/kernel/random/boot_id)"
ls -l /etc/systemd/system/assay-reboots.service /etc/systemd/system/sysinit.target.wants/ 2>&1 | grep -i assay
case $count in
1)
    cat >/etc/systemd/system/cutter.service <<'U'
[Unit]
Description=Power cut in the middle of the third boot of the study
DefaultDependencies=no
After=local-fs.target systemd-modules-load.service assay-reboots.service
[Service]
Type=simple
ExecStart=/bin/sh /lab/cutter
[Install]
WantedBy=sysinit.target
U
    cat >/lab/cutter <<'U'
n=$(($(cat /lab/starts 2>/dev/null || echo 0) + 1))
echo $n >/lab/starts
sync
# The unit of the study has noted the boot by then; its start-up is not over.
if [ $n = 3 ]; then
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q "$(tr -d - </proc/sys/kernel/random/boot_id)" /home/lab/results/*/log.jsonl && break
        sleep 0.2
    done
    systemctl is-system-running >/lab/said 2>&1; sync
    echo cut >/dev/virtio-ports/end
fi
U
    systemctl enable cutter.service 2>&1
    sync
    assay run boot --reboots 5
    echo "exit code $?"
    ls /etc/systemd/system/assay-reboots.service 2>&1
    assay run boot --reboots 5 --yes
    echo "exit code $?"
    sleep 600
    ;;
esac
for i in $(seq 1 300); do
    [ -e /etc/systemd/system/assay-reboots.service ] || break
    sleep 1
done
systemctl status assay-reboots.service --no-pager 2>&1 | tail -5
echo "== over in boot $count; unit:"
ls -l /etc/systemd/system/assay-reboots.service /etc/systemd/system/sysinit.target.wants/assay-reboots.service 2>&1
systemctl is-enabled assay-reboots.service 2>&1
echo "at the cut systemd said: $(cat /lab/said)"; echo "== restore:"; assay restore; echo "exit code $?"
echo "== list:"; assay list results 2>&1 | head; assay show
echo "== log:"; cat /home/lab/results/*/log.jsonl
echo "== boots:"; journalctl --list-boots --no-pager
exit 0
