# A server of NFS and its client in one guest: a check of the mount, with the bytes that crossed as its witness.
# Wants the full kernel and, of the package nfs-kernel-server, the programs that it carries:
#   cargo xtask lab --modules nfsd,nfsv4,nfs,lockd,sunrpc --carry rpc.nfsd,rpc.mountd,exportfs,ip --script xtask/lab/nfs.sh
set -u
cat >/etc/netconfig <<END
tcp  tpi_cots_ord v inet tcp - -
udp  tpi_clts v inet udp - -
END
echo 'nfs 2049/tcp' >/etc/services
echo 'nfs 2049/udp' >>/etc/services
: >/etc/exports
mkdir -p /export /mnt/nfs /var/lib/nfs/v4recovery /run
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
ip link set lo up
mount -t tmpfs tmpfs /export
mount -t nfsd nfsd /proc/fs/nfsd
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 127.0.0.1:/export || echo "exportfs: $?"
rpc.mountd -N 2 -N 3 || echo "rpc.mountd: $?"
rpc.nfsd -N 3 2 || echo "rpc.nfsd: $?"
mount -i -t nfs4 -o addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2 127.0.0.1:/ /mnt/nfs || echo "mount: $?"
grep nfs4 /proc/self/mountinfo
assay check --quick --quiet --area "32 MiB" /mnt/nfs
echo "exit code $?"
assay show --json >found.json
tr ',{}' '\n\n\n' <found.json | grep -c '"rule": *"device-bytes"'
echo "left: $(ls -A /mnt/nfs)"
grep -A3 'fstype nfs4' /proc/self/mountstats; grep 'bytes:' /proc/self/mountstats
