//! `link-ceiling`: the rate exceeds the link to the drive.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::site::{Link, Site};
use assay_workloads::{Basis, Measured, io};

use super::evidence::{in_trials, is_simulated, seconds};
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Measured rates may exceed the ceiling by this factor: clocks and windows are not exact.
const TOLERANCE: f64 = 1.01;

pub static RULE: Rule = Rule {
    about: About {
        name: "link-ceiling",
        summary: "the rate exceeds what the link to the drive can carry",
        text: "The number is invalid. The kernel reports the speed of SATA, USB and PCIe links. The link's speed after \
               line coding is the ceiling per direction. Data at a rate more than 1% above the ceiling did not come \
               from the drive. For several drives, Assay adds the ceilings; the rule does not apply if the link of any \
               drive is unknown. The tolerance of 1% allows for inexact clocks and windows; no real drive reaches the \
               ceiling.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let (link, ceiling) = link_capacity(case.site).filter(|_| !is_simulated(case))?;
    let rates: Vec<f64> = case.measured().map(fastest_direction).collect();
    let hit = rates.iter().filter(|rate| **rate > ceiling * TOLERANCE).count();
    let fastest = rates.into_iter().fold(0.0, f64::max);
    (hit > 0).then(|| {
        RuleRemark::invalid(format!(
            "{} exceeds what {} can carry ({}){}",
            show::rate(fastest),
            link,
            show::rate(ceiling),
            in_trials(hit, case)
        ))
    })
}

/// Links are full duplex, so each direction has the whole ceiling.
fn fastest_direction(measured: &Measured) -> f64 {
    if measured.window_ns == 0 {
        return 0.0;
    }
    let classes = io::IoDetail::of(measured).into_iter().flat_map(|counted| &counted.classes);
    // Trims and zeroing transfer no data.
    let crossing = classes.filter(|(name, _)| !["trim", "zero"].contains(&name.as_str()));
    crossing.map(|(_, count)| count.bytes).max().unwrap_or(0) as f64 / seconds(measured.window_ns)
}

/// The links of a target's drives and their ceiling, bytes per second; `None` if one is unknown.
pub(crate) fn link_capacity(site: &Site) -> Option<(String, f64)> {
    let links: Option<Vec<&Link>> = site.drives.iter().map(|drive| drive.link.value()).collect();
    let links = links?;
    let name = match links.as_slice() {
        [] => return None,
        [link] => link.name.clone(),
        links => format!("the links of {} drives", links.len()),
    };
    Some((name, links.iter().map(|link| link.ceiling_bytes_per_s).sum()))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;
    use assay_workloads::Count;

    use super::super::testing::{Bench, counted, drive, measured};
    use super::*;

    fn at(bytes_per_s: u64) -> Bench {
        Bench::read().each(move |trial| {
            measured(trial).window_ns = 1_000_000_000;
            counted(trial).classes.get_mut("read").unwrap().bytes = bytes_per_s;
        })
    }

    #[test]
    fn what_is_trimmed_crosses_no_link() {
        let fast = |class: &'static str| {
            Bench::read().each(move |trial| {
                let count = Count { operations: 1, bytes: 10_000_000_000 };
                counted(trial).classes.insert(class.to_owned(), count);
            })
        };
        assert!(fast("write").judge(&RULE).is_some());
        assert_eq!(fast("trim").judge(&RULE), None);
    }

    #[test]
    fn speaks_above_the_ceiling() {
        let remark = at(1_200_000_000).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(remark.text, "1.12 GiB/s exceeds what SATA 6.0 Gbit/s can carry (572 MiB/s)");
    }

    #[test]
    fn silent_below_it_and_within_the_tolerance() {
        assert_eq!(at(560_000_000).judge(&RULE), None);
        assert_eq!(at(605_000_000).judge(&RULE), None);
    }

    #[test]
    fn several_drives_carry_their_sum_and_an_unknown_link_silences() {
        let two = at(1_100_000_000).site(|site| site.drives.push(drive()));
        assert_eq!(two.judge(&RULE), None);
        let too_much = at(1_300_000_000).site(|site| site.drives.push(drive()));
        assert!(too_much.judge(&RULE).unwrap().text.contains("the links of 2 drives"));
        let unknown = at(9_000_000_000).site(|s| s.drives[0].link = Presence::absent("virtio"));
        assert_eq!(unknown.judge(&RULE), None);
        assert_eq!(at(9_000_000_000).site(|site| site.drives.clear()).judge(&RULE), None);
    }
}
