# The second machine: it keeps what the first one promises while that has no power.
set -u
ip link set eth0 up && ip addr add "$1/24" dev eth0 || exit 9
export ASSAY_PEER_TOKEN=what-both-machines-know
exec assay peer --listen "$1:7710" --duration 2h
