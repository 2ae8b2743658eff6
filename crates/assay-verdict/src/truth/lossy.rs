//! `lossy`: much of what the latency of a link is told from did not come back.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;
use assay_base::quantity::units::show;
use assay_kinds::work::Judged;
use assay_kinds::work::network::{Detail, PhaseDetail};

use super::evidence::in_trials;
use super::{Case, Remark, SPEED, TruthRule};

/// Share of the probes of a phase that may be lost.
const MOST_LOST: f64 = 0.1;

/// The rule.
pub struct Lossy;

static ABOUT: About = About {
    name: "lossy",
    summary: "much of what the latency of a link is told from did not come back",
    text: "Latency and grade of a link are of the datagrams that came back. A short queue that drops a tenth \
           or more of them has a low latency and is no good link: who waits for what was dropped waits for \
           it to be sent again. Say a lower rate, or give the queue more bytes.",
};

impl TruthRule for Lossy {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn looks_at(&self) -> Judged {
        Judged::Machine
    }

    fn changes(&self) -> &'static [Nature] {
        SPEED
    }

    fn judge(&self, case: &Case<'_>) -> Option<Remark> {
        let details = case.trials.iter().filter_map(|trial| Detail::of(trial.measured.as_ref()?));
        let lost: Vec<&PhaseDetail> = details.filter_map(worst).collect();
        let worst = lost.iter().max_by(|one, other| share(one).total_cmp(&share(other)))?;
        Some(Remark::suspect(format!(
            "up to {} of the datagrams were lost in phase {}{}: latency is of those that came back",
            show::percent(100.0 * share(worst)),
            worst.run.job.load.name(),
            in_trials(lost.len(), case)
        )))
    }
}

/// The phase of a trial that lost most, where that is too much.
fn worst(detail: &Detail) -> Option<&PhaseDetail> {
    let much = detail.phases.iter().filter(|phase| share(phase) >= MOST_LOST);
    much.max_by(|one, other| share(one).total_cmp(&share(other)))
}

fn share(phase: &PhaseDetail) -> f64 {
    phase.lost as f64 / phase.sent.max(1) as f64
}

#[cfg(test)]
mod tests {
    use assay_kinds::work::Kind as _;
    use assay_kinds::work::network::Asked;
    use assay_system::system::network::{Load, PhaseJob, PhaseRun};

    use super::super::testing::Bench;
    use super::*;

    /// Three trials, of which each lost so many of 200 datagrams loaded up.
    fn lost(each: [u64; 3]) -> Option<Remark> {
        let mut bench = Bench::command();
        bench.workload.work = Asked::sample().planned().into();
        for (trial, lost) in bench.trials.iter_mut().zip(each) {
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
            let phases = vec![phase(Load::Idle, 0), phase(Load::Up, lost)];
            let detail = Detail { phases, ..Detail::default() };
            trial.measured.as_mut()?.detail = detail.into();
        }
        bench.judge(&Lossy)
    }

    #[test]
    fn what_a_loaded_link_loses_at_times_is_no_remark() {
        assert_eq!(lost([0, 10, 19]), None);
        assert_eq!(Bench::command().judge(&Lossy), None);
    }

    #[test]
    fn what_did_not_come_back_is_told() {
        assert_eq!(
            lost([0, 47, 20]).unwrap().text,
            "up to 24 % of the datagrams were lost in phase up, in 2 of 3 trials: latency is of those \
             that came back"
        );
    }
}
