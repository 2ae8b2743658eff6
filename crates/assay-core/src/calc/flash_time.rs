//! Time to erase an area block by block, and the area for a limited time.

use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Operations of one trial below which its rate is hardly worth its digits.
const FEW_OPERATIONS: f64 = 30.0;

#[derive(Clone, Debug, PartialEq)]
pub struct FlashTimeQuestion {
    pub area_bytes: u64,
    pub block_bytes: u64,
    pub speeds: Vec<Speed>,
    pub trial_s: f64,
    /// Seconds that all trials may take.
    pub budget_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    Iops(f64),
    Rate(f64),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashTime {
    pub area_bytes: u64,
    pub block_bytes: u64,
    pub operations: u64,
    pub trial_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Trials that fit into the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicates: Option<u64>,
    pub speeds: Vec<TimeAtSpeed>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeAtSpeed {
    pub iops: f64,
    pub bytes_per_s: f64,
    pub pass_s: f64,
    pub operations_per_trial: f64,
    /// Share of the area that a trial covers, in percent.
    pub trial_percent: f64,
    /// Seconds of a trial with enough operations, if this one has too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longer_trial_s: Option<f64>,
}

pub fn compute(question: &FlashTimeQuestion) -> Outcome<FlashTime> {
    let FlashTimeQuestion { area_bytes, block_bytes, trial_s, budget_s, .. } = *question;
    let wrong = |what: String| Err(Failure::mistake(what));
    if block_bytes == 0 || area_bytes < block_bytes {
        return wrong(format!(
            "--area {area_bytes} bytes is smaller than one block ({block_bytes} bytes); use a \
             larger --area or a smaller --block"
        ));
    }
    if trial_s <= 0.0 || budget_s.is_some_and(|budget| budget < trial_s) {
        return wrong("--budget is shorter than a trial; increase it or reduce --trial".into());
    }
    let operations = area_bytes / block_bytes;
    Ok(FlashTime {
        area_bytes,
        block_bytes,
        operations,
        trial_s,
        budget_s,
        replicates: budget_s.map(|budget| (budget / trial_s) as u64),
        speeds: question.speeds.iter().map(|speed| time_at(question, operations, *speed)).collect(),
    })
}

/// Computes, for one speed, the time of a pass over the area and the share of it that a trial covers.
fn time_at(question: &FlashTimeQuestion, operations: u64, speed: Speed) -> TimeAtSpeed {
    let block = question.block_bytes as f64;
    let iops = match speed {
        Speed::Iops(iops) => iops,
        Speed::Rate(bytes_per_s) => bytes_per_s / block,
    };
    let per_trial = iops * question.trial_s;
    TimeAtSpeed {
        iops,
        bytes_per_s: iops * block,
        pass_s: operations as f64 / iops,
        operations_per_trial: per_trial,
        trial_percent: (100.0 * per_trial / operations as f64).min(100.0),
        longer_trial_s: (per_trial < FEW_OPERATIONS).then(|| FEW_OPERATIONS / iops),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(speeds: Vec<Speed>) -> FlashTimeQuestion {
        FlashTimeQuestion {
            area_bytes: 512 << 20,
            block_bytes: 4096,
            speeds,
            trial_s: 10.0,
            budget_s: Some(120.0),
        }
    }

    #[test]
    fn the_flash_articles_numbers() {
        let answer = compute(&question([1.0, 19.0, 90.0].map(Speed::Iops).to_vec())).unwrap();
        assert_eq!(answer.operations, 131_072);
        let pass: Vec<f64> = answer.speeds.iter().map(|at| at.pass_s).collect();
        assert_eq!(format!("{:.1} h", pass[0] / 3600.0), "36.4 h");
        assert_eq!(format!("{:.0} min", pass[1] / 60.0), "115 min");
        assert_eq!(format!("{:.0} min", pass[2] / 60.0), "24 min");
        assert_eq!(answer.replicates, Some(12));
        assert_eq!(answer.speeds[0].operations_per_trial, 10.0);
        assert_eq!(answer.speeds[0].longer_trial_s, Some(30.0));
        assert_eq!(answer.speeds[2].longer_trial_s, None);
    }

    #[test]
    fn a_rate_is_operations_of_a_block() {
        let answer = compute(&question(vec![Speed::Rate(4096.0 * 19.0)])).unwrap();
        assert_eq!(answer.speeds[0].iops, 19.0);
        assert_eq!(answer.speeds[0].pass_s, 131_072.0 / 19.0);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let speeds = vec![Speed::Iops(1.0)];
        let told = |question: FlashTimeQuestion| compute(&question).unwrap_err().message;
        assert!(
            told(FlashTimeQuestion { block_bytes: 0, ..question(speeds.clone()) })
                .contains("--block")
        );
        assert!(
            told(FlashTimeQuestion { area_bytes: 1, ..question(speeds.clone()) })
                .contains("--area")
        );
        assert!(
            told(FlashTimeQuestion { trial_s: 0.0, ..question(speeds.clone()) })
                .contains("--trial")
        );
        assert!(
            told(FlashTimeQuestion { budget_s: Some(1.0), ..question(speeds) })
                .contains("--budget")
        );
    }
}
