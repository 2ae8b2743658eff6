//! A changed number in a copy of a table changes the verdict: nothing is typed in.

use assay_claims::articles::Library;

/// A table, what is replaced in it, the claim, and its verdict afterwards.
struct Change {
    file: &'static str,
    replaced: &'static [(&'static str, &'static str)],
    claim: &'static str,
    verdict: &'static str,
}

const fn change(
    file: &'static str,
    replaced: &'static [(&'static str, &'static str)],
    claim: &'static str,
    verdict: &'static str,
) -> Change {
    Change { file, replaced, claim, verdict }
}

const CHANGES: &[Change] = &[
    change(
        "virtualisation.csv",
        &[("1316.984", "1116.984")],
        "every hypervisor costs at least a fifth of bare metal",
        "contradicted",
    ),
    change(
        "claims.csv",
        &[("percent<80", "percent<79")],
        "every hypervisor costs at least a fifth of bare metal",
        "contradicted",
    ),
    change(
        "virtualisation.csv",
        &[("19.06", "11.74")],
        "the published percentages follow from the seconds",
        "supported",
    ),
    change(
        "virtualisation.csv",
        &[("1316.984", "1318.984")],
        "bare metal is 26.32 % as fast again as the best hypervisor",
        "contradicted",
    ),
    change(
        "claims.csv",
        &[("0.2632", "0.2634")],
        "bare metal is 26.32 % as fast again as the best hypervisor",
        "contradicted",
    ),
    change(
        "anchors.csv",
        &[(
            "1,IOPS,\"prose, 'e.g. 1 IOPS'\"",
            "1,IOPS,measured\nanother card,random write 4K,2,IOPS,measured",
        )],
        "a 5400 rpm laptop disk does 90 random IOPS and most cards far fewer writes",
        "supported",
    ),
    change(
        "anchors.csv",
        &[(
            "1,IOPS,\"prose, 'e.g. 1 IOPS'\"",
            "101,IOPS,measured\nanother card,random write 4K,200,IOPS,measured",
        )],
        "a 5400 rpm laptop disk does 90 random IOPS and most cards far fewer writes",
        "contradicted",
    ),
    change(
        "anchors.csv",
        &[("random write 4K,19,", "random write 4K,18,")],
        "19 write IOPS is two thirds of the vendor's 30",
        "contradicted",
    ),
    change(
        "anchors.csv",
        &[("random write 4K,19,", "random write 4K,24,")],
        "19 write IOPS is two thirds of the vendor's 30",
        "contradicted",
    ),
    change(
        "memory.csv",
        &[("stack soft limit,256,KB,,", "stack soft limit,256,KB,12,")],
        "a 256 KB stack limit saves a rather substantial amount of memory",
        "not shown",
    ),
    change(
        "modelines.csv",
        &[("31,105,12,60", "31,105,12,17.2")],
        "17.1 Hz is the limit on one single link",
        "supported",
    ),
    change(
        "modelines.csv",
        &[("30,90,30,60", "30,80,30,60")],
        "the mode fits the driver's limits",
        "contradicted",
    ),
    change(
        "raid.csv",
        &[
            ("as-listed,128,3,2,", "as-listed,128,3,4,"),
            ("as-listed,1024,3,2,", "as-listed,1024,3,4,"),
            ("md,128,,,16.1", "md,128,,,896"),
            ("md,1024,,,16.1", "md,1024,,,7168"),
        ],
        "a 2 KB change moves almost 1 MB at 128K and 7 MB at 1M stripes",
        "supported",
    ),
    change(
        "encryption.csv",
        &[("40.052954", "41.052954")],
        "reads take a 5.5 % hit and writes 8.1 %",
        "contradicted",
    ),
    change(
        "encryption.csv",
        &[("one run", "mean of 5"), ("4.033", "1.033")],
        "CPU was about the same with and without encryption",
        "contradicted",
    ),
    change(
        "anchors.csv",
        &[("upload bufferbloat,20,", "upload bufferbloat,700,")],
        "a cap of 4 on a 5 Mbit/s link brings 600 ms to 20 ms",
        "contradicted",
    ),
    change(
        "ssd520.csv",
        &[("boot,7.9,25.8", "boot,7.9,35.8")],
        "boot improves by a factor of about 3.2",
        "contradicted",
    ),
    change(
        "ssd520.csv",
        &[("mean of 5", "one run")],
        "boot improves by a factor of about 3.2",
        "not shown",
    ),
    change(
        "schedulers.csv",
        &[("551009", "521009")],
        "noop is a clear winner for ext4",
        "contradicted",
    ),
    change(
        "schedulers.csv",
        &[("514367,514815", "514367,514315")],
        "deadline performs best for xfs",
        "contradicted",
    ),
    change(
        "schedulers.csv",
        &[
            ("506046,513349,509893", "206046,513349,209893"),
            ("213714,231265,217430", "113714,231265,117430"),
            ("523525,551009,508774", "223525,551009,208774"),
        ],
        "noop is a clear winner for ext4",
        "supported",
    ),
    // A cell that looks copied takes its row out, also where it lies against the claim.
    change(
        "schedulers.csv",
        &[("511799,431700", "253656,431700"), ("430780", "253656")],
        "noop is marginally better for btrfs writes and re-writes",
        "not shown",
    ),
    change(
        "schedulers.csv",
        &[("511799", "411799")],
        "noop is marginally better for btrfs writes and re-writes",
        "not shown",
    ),
    change(
        "schedulers.csv",
        &[("523525", "503525"), ("511799", "411799"), ("rewrite,252210", "rewrite,242210")],
        "CFQ is the least optimal choice",
        "not shown",
    ),
    change(
        "schedulers.csv",
        &[("629640", "529640"), ("655361", "555361"), ("659538", "559538")],
        "the rates are the drive's",
        "not shown",
    ),
    change(
        "zfs_summary.csv",
        &[("3,flush,22,25081,32016", "3,flush,22,25081,22016")],
        "flush latency dropped considerably",
        "supported",
    ),
    change(
        "zfs_summary.csv",
        &[("7747,15904", "11000,15904"), ("14255,27405", "10200,27405")],
        "starvation of reads is partially ameliorated",
        "not shown",
    ),
    change(
        "zfs_summary.csv",
        &[("7747,15904", "11000,1590"), ("14255,27405", "10200,2740")],
        "starvation of reads is partially ameliorated",
        "supported",
    ),
    change(
        "zfs_histograms.csv",
        &[("3,read,64,128,18", "3,read,64,128,19")],
        "starvation of reads is partially ameliorated",
        "not shown",
    ),
    change(
        "virtualisation.csv",
        &[("1361.321", "1371.721")],
        "VMware ESXi is 24 % lower than bare metal",
        "supported",
    ),
    change(
        "prose.csv",
        &[("time,50,min", "time,40,min")],
        "the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s",
        "not shown",
    ),
    change(
        "prose.csv",
        &[("time,8,h", "time,9,h")],
        "the initial sync took 8 hours at 100 MB/s a disk",
        "contradicted",
    ),
    change(
        "prose.csv",
        &[("rate,1,IOPS", "rate,2,IOPS")],
        "a card of 1 IOPS takes over 24 hours to test",
        "contradicted",
    ),
    change(
        "prose.csv",
        &[("by rate,5,", "by rate,1,")],
        "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
        "not shown",
    ),
    change(
        "prose.csv",
        &[("memory,,,", "memory,50,%,")],
        "Midori takes half of the memory of other browsers",
        "not shown",
    ),
    change(
        "prose.csv",
        &[("experience,,,", "experience,1,page,")],
        "zswap makes 384 MB a full Web experience",
        "not shown",
    ),
    change(
        "schedulers.csv",
        &[("629640", "529640"), ("655361", "565361"), ("659538", "559538")],
        "deadline is best for btrfs reads",
        "contradicted",
    ),
    change(
        "ssd520.csv",
        &[
            ("speedup,4.5", "speedup,0.5"),
            ("speedup,5.3", "speedup,0.9"),
            ("speedup,5.6", "speedup,0.9"),
            ("speedup,7.6", "speedup,0.9"),
        ],
        "a job took the SSD 1/3 to 1/4 of the power of the disk",
        "not shown",
    ),
];

/// The shipped tables with one replaced; each text that is replaced stands there exactly once.
fn changed(change: &Change) -> Library {
    let library = Library::shipped();
    let mut text = library.text(change.file).unwrap().to_owned();
    for (from, to) in change.replaced {
        assert_eq!(text.matches(from).count(), 1, "{} in {}", from, change.file);
        text = text.replace(from, to);
    }
    library.with(change.file, text)
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_changed_number_changes_the_verdict() {
    let before = super::told(&Library::shipped());
    for change in CHANGES {
        let (verdict, because) = &super::told(&changed(change))[change.claim];
        assert_eq!(verdict, change.verdict, "{} {:?}: {because}", change.file, change.replaced);
        assert_ne!(before[change.claim].0, *verdict, "{}", change.claim);
    }
}

#[test]
fn every_claim_is_changed_by_some_number() {
    for claim in super::told(&Library::shipped()).keys() {
        assert!(CHANGES.iter().any(|change| change.claim == claim), "{claim}");
    }
}

/// The reasons follow the numbers, too.
#[test]
fn a_changed_number_changes_the_reason() {
    let library = Library::shipped();
    let text = library.text("zfs_summary.csv").unwrap().replace("42742,37072", "42742,37999");
    let told = super::told(&library.with("zfs_summary.csv", text));
    let because = &told["flush latency dropped considerably"].1;
    assert!(because.contains("p = 0.06") && !because.contains("0.059"), "{because}");
}
