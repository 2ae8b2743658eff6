//! `packet-loss`: many latency probes of a link were not answered.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;
use assay_core::quantity::units::show;

use super::{NetworkDetail, PhaseDetail};
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

/// Share of the probes of a phase that may be lost.
const MOST_LOST: f64 = 0.1;

pub(super) const LOSSY: OwnRule = OwnRule {
    about: About {
        name: "packet-loss",
        summary: "many latency probes were lost",
        text: "The number is suspect. The latency and grade of a link use only the returned datagrams. A short queue \
               that drops 10% or more has low latency but does not make a good link, because TCP resends dropped \
               data. Use a lower rate or a larger queue.",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed],
    doubt,
};

fn doubt(_: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let details = trials.iter().filter_map(|measured| NetworkDetail::of(measured));
    let lossy: Vec<&PhaseDetail> = details.filter_map(find_lossy_phase).collect();
    let worst = lossy.iter().max_by(|one, other| lost_share(one).total_cmp(&lost_share(other)))?;
    Some(Doubt {
        what: format!(
            "up to {} of the datagrams in phase {} were lost",
            show::percent(100.0 * lost_share(worst)),
            worst.run.job.load.name()
        ),
        trials: lossy.len(),
        why: "latency covers only returned datagrams".to_owned(),
        invalid: false,
    })
}

/// The phase of a trial with the highest loss; `None` if all losses are acceptable.
fn find_lossy_phase(detail: &NetworkDetail) -> Option<&PhaseDetail> {
    let lossy = detail.phases.iter().filter(|phase| lost_share(phase) >= MOST_LOST);
    lossy.max_by(|one, other| lost_share(one).total_cmp(&lost_share(other)))
}

fn lost_share(phase: &PhaseDetail) -> f64 {
    phase.lost as f64 / phase.sent.max(1) as f64
}

#[cfg(test)]
mod tests {
    use assay_machine::system::network::{Load, PhaseJob, PhaseRun};

    use super::*;
    use crate::network::NetworkSpec;

    /// The doubt on trials that each lost this many of 200 datagrams under upload.
    fn lost(each: &[u64]) -> Option<Doubt> {
        let trial = |lost: &u64| {
            let phase = |load, lost| PhaseDetail {
                run: PhaseRun {
                    job: PhaseJob { load, ramp_ns: 0, time_ns: 1 },
                    began_ns: 0,
                    probes: Vec::new(),
                    up_bytes: Vec::new(),
                    down_bytes: Vec::new(),
                },
                sent: 200,
                lost,
                up: None,
                down: None,
            };
            let phases = vec![phase(Load::Idle, 0), phase(Load::Up, *lost)];
            super::super::planned::measured(NetworkDetail { phases, ..Default::default() }, 1, 1)
        };
        let trials: Vec<Measured> = each.iter().map(trial).collect();
        let trials: Vec<&Measured> = trials.iter().collect();
        doubt(&NetworkSpec::default().planned().into(), &trials)
    }

    #[test]
    fn what_a_loaded_link_loses_at_times_is_no_remark() {
        assert_eq!(lost(&[0, 10, 19]), None);
        assert_eq!(lost(&[]), None);
    }

    #[test]
    fn what_did_not_come_back_is_told() {
        let found = lost(&[0, 47, 20]).unwrap();
        assert_eq!(found.what, "up to 24% of the datagrams in phase up were lost");
        assert_eq!(
            (found.trials, found.why.as_str()),
            (2, "latency covers only returned datagrams")
        );
    }
}
