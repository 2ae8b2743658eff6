# Shapers that most kernels of tests lack: behind a deep buffer a full upload makes everything else wait, and
# cake as well as fq_codel at 80 % of its rate end that.

link() {
    cat <<END
format = "assay-study/1"
title = "A link"
replicates = 1
seed = 1
aa_control = false
warmup_trial = "none"
[factors]
shaper = ["none", "cake:80%", "fq_codel:80%"]
[[workload]]
name = "link"
network = { peer = "local", interface = "to-router", phases = ["idle", "up"], phase_time = "$2", probe_interval = "$1" }
END
}
ls /sys/class/net >interfaces.before
# A guest that others keep from the processors cannot send a datagram each 15 ms, and then the study has no number, as
# it should: with a slower probe, twice, the same is shown in more time.
for pace in "15 ms:1500 ms" "80 ms:8 s" "240 ms:24 s"; do
    link "${pace%:*}" "${pace#*:}" >link.toml
    assay run link.toml --quiet --json >link.json 2>link.txt
    code=$?
    grep -q 'the probe stalled' link.json || break
    echo "lab: links: a probe each ${pace%:*} stalled"
    rm -r results
done
grep -o '"reason": *"[^"]*"' link.json | sort -u >>link.txt
[ $code = 0 ] || wrong "a link ends with $code" link.txt
deep=$(median link.json up_rtt_p50_ns shaper none)
holds "${deep:-0} > 1e8" || wrong "a deep buffer makes others wait '$deep' ns" link.txt
for shaper in cake fq_codel; do
    short=$(median link.json up_rtt_p50_ns shaper "$shaper:80%")
    holds "${short:-0} > 0 && $short < $deep / 4" || wrong "with $shaper others wait '$short' ns, not '$deep'" link.txt
done
ls /sys/class/net >interfaces.after
cmp -s interfaces.before interfaces.after || wrong "an interface is left" interfaces.after
[ -z "$(ls /run/netns 2>/dev/null)" ] || wrong "a name space is left"
# The place of name spaces is the program ip's own.
umount /run/netns 2>/dev/null
