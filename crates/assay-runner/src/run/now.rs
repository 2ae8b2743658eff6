//! Reads the current settings at the start of a study, for its level `now`.

use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_machine::factors::{self, Factor, View};
use assay_machine::system::site::Site;
use assay_machine::system::{System, resolve};
use assay_study::file::{Study, Target, now, simulated};

/// Replaces the level `now` of each factor by the current level of the targets.
pub(super) fn resolve_levels(
    system: &dyn System,
    mut study: Study,
    targets: &[String],
) -> Outcome<Study> {
    let asked = now::asked(&study);
    if asked.is_empty() {
        return Ok(study);
    }
    let sites = match &study.target {
        // It does not exist yet, so nobody has set anything on it.
        Some(Target::Loop(_)) => Vec::new(),
        Some(Target::Devices(paths)) => sites(system, paths)?,
        _ => sites(system, targets)?,
    };
    for name in asked {
        match factors::find(&name) {
            Some(factor) if !sites.is_empty() => {
                now::put(&mut study, &name, common_level(system, factor, &name, &sites));
            }
            _ => now::remove_current(&mut study, &name),
        }
    }
    Ok(study)
}

/// Reads the levels again under locks; `None` if that fails, or if a setting appeared or disappeared.
pub(super) fn resolve_again(
    system: &dyn System,
    asked: Study,
    targets: &[String],
    before: &Study,
) -> Option<Study> {
    let study = resolve_levels(system, asked, targets).ok()?;
    study.factors.keys().eq(before.factors.keys()).then_some(study)
}

fn sites(system: &dyn System, targets: &[String]) -> Outcome<Vec<Site>> {
    let site = |target: &String| match target.strip_prefix(simulated::PREFIX) {
        Some(_) => Ok(Site::simulated(target)),
        None => resolve::resolve(system, target),
    };
    targets.iter().map(site).collect()
}

/// Returns the level of a factor on all targets; fails if they differ or the study cannot set it.
fn common_level(
    system: &dyn System,
    factor: &dyn Factor,
    name: &str,
    sites: &[Site],
) -> Result<String, String> {
    let mut levels: Vec<String> = Vec::new();
    for site in sites {
        match factor.observe(name, &View { system, site }) {
            Presence::Present(level) if !levels.contains(&level) => levels.push(level),
            Presence::Present(_) => {}
            Presence::Absent(reason) => return Err(reason),
        }
    }
    match levels.as_slice() {
        [level] => factor.judge(level).map(|()| level.clone()),
        levels => Err(format!("the targets differ: {}", levels.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;
    use assay_study::file::presets;

    #[test]
    fn what_is_set_is_the_baseline_and_what_is_not_there_is_left_out() {
        let fake = Fake::sata_ssd().unwrap();
        let tune = presets::find("tune").unwrap().unwrap();
        let own = resolve_levels(&fake, tune.clone(), &["/home/me".to_owned()]).unwrap();
        assert!(now::asked(&own).is_empty());
        for (name, levels) in &own.factors {
            assert!(!levels.iter().any(|level| level == now::NOW), "{name}: {levels:?}");
        }
        assert_eq!(own.factors["scheduler"][0], "mq-deadline");
        assert_eq!(own.factors["nr_requests"][0], "64");
        assert!(own.unavailable.contains_key("wbt_latency"), "{:?}", own.unavailable);
        let told = own.factors.len() + own.unavailable.len();
        assert_eq!(told, tune.factors.len(), "each is there or has its reason");
    }

    #[test]
    fn what_another_study_had_set_until_the_targets_were_held_is_not_what_is_set() {
        const DEPTH: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda\
                             /queue/nr_requests";
        let fake = Fake::sata_ssd().unwrap();
        let tune = presets::find("tune").unwrap().unwrap();
        let targets = ["/home/me".to_owned()];
        fake.put(DEPTH, "32\n");
        let before = resolve_levels(&fake, tune.clone(), &targets).unwrap();
        assert_eq!(before.factors["nr_requests"][0], "32");
        fake.put(DEPTH, "64\n");
        let held = resolve_again(&fake, tune.clone(), &targets, &before).unwrap();
        assert_eq!(held.factors["nr_requests"], ["64", "256"]);
        // A setting that disappeared does not change the study.
        fake.remove(DEPTH);
        assert_eq!(resolve_again(&fake, tune, &targets, &before), None);
    }

    #[test]
    fn on_what_is_made_nothing_is_left_out() {
        let tune = presets::find("tune").unwrap().unwrap().in_lab();
        let own = resolve_levels(&Fake::new(), tune.clone(), &[]).unwrap();
        assert_eq!(own.factors.len(), tune.factors.len());
        assert!(own.unavailable.is_empty() && now::asked(&own).is_empty());
    }
}
