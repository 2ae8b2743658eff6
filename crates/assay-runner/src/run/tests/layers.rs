//! Studies on each layer, in a lab on the fake machine: from the target to the records, with nothing left.

use super::*;
use assay_machine::factors::example_levels;
use assay_machine::factors::layers::{LAYERS, Layer};
use assay_study::file::Target;

const MOUNTS: &str = "/proc/self/mountinfo";

fn lab(factors: &[(&str, &[String])], start: bool) -> Request<'static> {
    let mut request = Request { targets: Vec::new(), ..request("") };
    request.study.target = Some(Target::Loop(Bytes(1 << 30)));
    let named = factors.iter().map(|(name, levels)| ((*name).to_owned(), levels.to_vec()));
    request.study.factors = named.collect();
    request.study.area.size = Some(Bytes(8 << 20));
    request.study.area.offset = start.then_some(assay_study::file::Start::At(Bytes(512 << 20)));
    request.study.replicates = 2;
    // Required by an array with parity.
    request.study.members = Some(4);
    request
}

/// The factor that selects a layer, with its levels.
fn choice(layer: &dyn Layer) -> Option<(&'static str, Vec<String>)> {
    let factor = layer.factors().first()?;
    Some((factor.about().name, example_levels(*factor).into_iter().take(2).collect()))
}

fn bare() -> Fake {
    let fake = machine();
    fake.with_file_systems().with_encryption().with_arrays();
    fake
}

fn condition(fake: &Fake) -> (String, Vec<String>) {
    let devices = fake.list(Path::new("/sys/class/block")).unwrap();
    (fake.read_text(Path::new(MOUNTS)).unwrap(), devices)
}

fn runs(factors: &[(&str, &[String])], start: bool) {
    let fake = bare();
    let before = condition(&fake);
    let mut warnings = Vec::new();
    let mut tell = |event| {
        if let Event::Warning(text) = event {
            warnings.push(text);
        }
    };
    let finished = run(&fake, lab(factors, start), &AtomicBool::new(false), &mut tell).unwrap();
    // There is no production work.
    assert!(warnings.iter().all(|text| !text.contains("rolled back")), "{warnings:?}");
    assert!(finished.plan.absent.is_empty(), "{:?}", finished.plan.absent);
    let arms: usize = factors.iter().map(|(_, levels)| levels.len()).product();
    let counted = finished.trials.iter().filter(|trial| trial.replicate > 0);
    assert!(counted.count() >= arms * 2 * 2, "{factors:?}");
    for trial in &finished.trials {
        assert_ne!(trial.status, Status::Failed, "{factors:?}: {:?}", trial.reason);
    }
    assert_eq!(condition(&fake), before, "{factors:?}");
    assert!(fake.list(Path::new("/var/lib/assay/journal")).unwrap().is_empty());
}

#[test]
#[ignore = "nightly: 18 s"]
fn a_study_of_each_layer_alone_and_of_all_together_runs_and_leaves_nothing() {
    let all: Vec<(&str, Vec<String>)> = LAYERS.iter().filter_map(|layer| choice(*layer)).collect();
    for (at, layer) in (0..).zip(LAYERS) {
        let Some((name, levels)) = choice(*layer) else { continue };
        // A layer next to a directory needs a file system below it.
        let ground: Vec<(String, Vec<String>)> =
            layer.ground().into_iter().map(|(name, level)| (name, vec![level])).collect();
        let ground = ground.iter().map(|(name, levels)| (name.as_str(), levels.as_slice()));
        let factors: Vec<(&str, &[String])> = ground.chain([(name, levels.as_slice())]).collect();
        for (way, start) in [(0, false), (2, true)] {
            if is_sampled(at + way, 4) {
                runs(&factors, start);
            }
        }
    }
    let all: Vec<(&str, &[String])> =
        all.iter().map(|(name, own)| (*name, own.as_slice())).collect();
    runs(&all, true);
}

#[test]
fn what_was_taken_down_behind_ones_back_is_seen_before_the_next_trial() {
    let fake = bare();
    let levels = ["ext4".to_owned()];
    let before = fake.read_text(Path::new(MOUNTS)).unwrap();
    let request = lab(&[("filesystem", &levels)], false);
    let mut ended = 0;
    let finished = run(&fake, request, &AtomicBool::new(false), &mut |event| {
        if matches!(event, Event::TrialEnded { .. }) {
            ended += 1;
            if ended == 1 {
                fake.put(MOUNTS, &before);
            }
        }
    });
    let finished = finished.unwrap();
    let mut failed = finished.trials.iter().filter(|one| one.status == Status::Failed);
    let reason = failed.next().and_then(|trial| trial.reason.as_deref()).unwrap();
    assert!(reason.starts_with("nothing is mounted there"), "before it, not after: {reason}");
}
