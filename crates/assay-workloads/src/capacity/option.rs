//! `assay check --capacity`.

use assay_core::failure::Failure;

use super::{CapacityFacts, CapacityMode, CapacitySpec, Verdict};
use crate::check_option::{CheckOption, OptionExample, OptionGate, Values};

pub(super) static OPTION: CheckOption = CheckOption {
    help: "Detect fake capacity instead of measuring speed: fast takes minutes, full writes every block. Uses a device \
           with --destroy, or the free space of a directory; copy its files first, as a fake drive may overwrite them. \
           Exit code 1: fake; 5: inconclusive",
    values: Some(Values {
        names: "fast|full",
        set: |work, value| {
            if let (Some(own), Some(probe)) =
                (CapacitySpec::of_mut(work), CapacityMode::find(value))
            {
                own.mode = probe;
            }
        },
    }),
    examples: &[
        OptionExample {
            line: "assay check --capacity /media/card",
            does: "detect fake capacity in minutes",
        },
        OptionExample {
            line: "assay check --capacity=full --sustained /dev/sdX --destroy ID",
            does: "check every block; destroys all data",
        },
    ],
    goes_first: false,
    // A smaller capacity than claimed fails the command; if memory may have served the reads, it is inconclusive.
    gates: &[
        OptionGate {
            is_met: |facts| CapacityFacts::of(facts).is_some_and(|own| own.verdict.is_short()),
            failure: |names| Failure::gate(format!("{names} does not have the claimed capacity")),
        },
        OptionGate {
            is_met: |facts| {
                CapacityFacts::of(facts).is_some_and(|own| own.verdict == Verdict::Inconclusive)
            },
            failure: |names| {
                Failure::partial(format!(
                    "inconclusive for {names}: memory may have served the reads"
                ))
            },
        },
    ],
};
