//! Fitness for etcd: on a separate filesystem, next to fio's sync latencies, and on a throttled device.

mod in_full {
    use std::io::Write as _;

    use assay_core::stats::{Sample, t_quantile};
    use assay_testkit::call;
    use assay_testkit::slow::SlowLane;
    use assay_testkit::volume::{Filesystem, Volume};
    use serde_json::Value;

    use crate::findings::processors_taken;
    use crate::turn::{LIMIT, Need, assay, has, skip, word};

    /// Rounds in which both measure, one after the other.
    const ROUNDS: usize = 6;
    /// Permitted difference beyond the CIs: fio's percentiles are the middle of buckets, 64 per power of two, and six
    /// rounds in the same bucket have a CI of width zero.
    const APART: f64 = 1.0 / 64.0;

    /// One trial of the bundled study, 4 s.
    const ETCD: &str = include_str!("../../../../studies/fitness/etcd.toml");

    fn once() -> String {
        let one = ETCD
            .replace("replicates     = 6", "replicates = 1")
            .replace("runtime = \"10 s\"", "runtime = \"4 s\"");
        assert!(one.contains("replicates = 1") && one.contains("runtime = \"4 s\""));
        one
    }

    /// Returns Assay's median and p99 of syncs, and whether CPUs were busy.
    fn ours(volume: &Volume, study: &str) -> ([f64; 2], Option<String>) {
        let target = word(volume.directory());
        let ended =
            assay(volume).run(&["check", "--for", study, &target, "--json"], LIMIT).unwrap();
        assert_eq!(ended.code, 5, "of one trial nobody can tell: {}", ended.stderr);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        let both = ["fdatasync_p50_ns", "fdatasync_p99_ns"].map(|metric| {
            let cell = document["measurements"]
                .as_array()
                .unwrap()
                .iter()
                .find(|cell| cell["metric"] == metric);
            cell.and_then(|cell| cell["geometric_mean"].as_f64()).unwrap()
        });
        (both, processors_taken(&document))
    }

    fn of_fio(volume: &Volume) -> [f64; 2] {
        let file = format!("--filename={}", word(&volume.directory().join("fio")));
        let words = [
            "--name=etcd",
            &file,
            "--size=22m",
            "--overwrite=1",
            "--rw=write",
            "--bs=2300",
            "--ioengine=psync",
            "--fdatasync=1",
            "--ramp_time=1",
            "--runtime=4",
            "--time_based",
            "--output-format=json",
        ];
        let said = call("fio", &words).unwrap();
        let start = said.find('{').unwrap();
        let document: Value = serde_json::from_str(&said[start..]).unwrap();
        let syncs = &document["jobs"][0]["sync"]["lat_ns"]["percentile"];
        ["50.000000", "99.000000"].map(|name| syncs[name].as_f64().unwrap())
    }

    /// Returns the 95% CI of the mean of logarithms.
    fn interval(values: &[f64]) -> [f64; 2] {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let sample = Sample::of(&logs).unwrap();
        let error = sample.sd.unwrap() / (sample.n as f64).sqrt();
        let half = t_quantile(0.975, (sample.n - 1) as f64).unwrap() * error;
        [sample.mean - half, sample.mean + half]
    }

    /// Bypasses the harness's capture to put the numbers in the log.
    fn tell(text: &str) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Rounds alternate, which exposes both programs to the same disturbances.
    #[test]
    #[ignore = "nightly: 100 s"]
    fn the_syncs_are_those_that_fio_sees() {
        if !has(&[Need::Volume(Filesystem::Ext4), Need::Program("fio")]) {
            return;
        }
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let study = volume.scratch().path().join("once.toml");
        std::fs::write(&study, once()).unwrap();
        let study = word(&study);
        let (mut own, mut others, mut taken) = (Vec::new(), Vec::new(), None);
        for _ in 0..ROUNDS {
            let (both, by_others) = ours(&volume, &study);
            own.push(both);
            taken = taken.or(by_others);
            others.push(of_fio(&volume));
        }
        for (at, name) in ["p50", "p99"].into_iter().enumerate() {
            let of =
                |all: &[[f64; 2]]| interval(&all.iter().map(|one| one[at]).collect::<Vec<_>>());
            let ([low, high], [fio_low, fio_high]) = (of(&own), of(&others));
            let told = [low, high, fio_low, fio_high].map(|log| log.exp() / 1e3);
            tell(&format!("{name} in us, ours and fio's: {told:.1?}"));
            let agree = low <= fio_high + APART && fio_low <= high + APART;
            match &taken {
                // The difference may then come from other load.
                Some(taken) if !agree => tell(&format!("{name}: nothing can be said: {taken}")),
                _ => assert!(agree, "{name}: {told:?} us"),
            }
        }
    }

    /// Twenty writes a second: each sync takes 50 ms, too few for a p99.
    #[test]
    #[ignore = "nightly: 80 s"]
    fn a_device_that_is_held_back_fails() {
        if !has(&[Need::Volume(Filesystem::Ext4)]) {
            return;
        }
        let volume = Volume::new(Filesystem::Ext4, 256).unwrap();
        let number = volume.device().unwrap().number().unwrap();
        let lane = match SlowLane::new(&number, 20) {
            Ok(lane) => lane,
            Err(reason) => return skip(&reason),
        };
        let through = lane.through();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let words = ["check", "--for", "etcd", &word(volume.directory()), "--json"];
        let ended = assay(&volume).through(&through).run(&words, LIMIT).unwrap();
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(
            (ended.code, &document["requirements"]["outcome"]),
            (1, &"fail".into()),
            "{}",
            ended.stderr
        );
        assert!(volume.names().unwrap().is_empty(), "left: {:?}", volume.names());
    }
}
