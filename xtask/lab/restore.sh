# `assay restore` between two of four restarts in the lab: nothing restarts afterwards.
#   cargo xtask lab --systemd --cpus 2 --timeout 1500 --script xtask/lab/restore.sh
count=$(($(cat /lab/count 2>/dev/null || echo 0) + 1))
echo $count >/lab/count
sync
echo "== job, boot $count"
case $count in
1) assay run boot --reboots 4 --yes; echo "exit code $?"; sleep 600 ;;
2)  # It goes on by itself.
    sleep 600 ;;
3)
    echo "== restore while the unit waits:"; assay restore; echo "exit code $?"
    ls /etc/systemd/system/assay-reboots.service 2>&1
    for i in $(seq 1 40); do sleep 1; done
    systemctl status assay-reboots.service --no-pager 2>&1 | tail -4
    assay show; echo "exit code $?"
    assay resume; echo "exit code $?"
    exit 0 ;;
esac
exit 0
