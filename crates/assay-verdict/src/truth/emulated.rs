//! `emulated`: a program carried out each instruction in the place of a processor.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;
use assay_kinds::work::Judged;

use super::{Case, Remark, SPEED, TruthRule};

pub struct Emulated;

static ABOUT: About = About {
    name: "emulated",
    summary: "a program carries out each instruction in the place of a processor",
    text: "An emulator (QEMU without KVM) shows its signature to the processor's own question (CPUID), \
           or the name of a processor that it makes up. What is measured there is its speed and that of \
           the machine around it: good to see that something works and how much memory it takes, and no \
           statement on hardware. Times and rates get no verdict, no place in an order and no yardstick, \
           neither within a result nor against another one; amounts of memory do.",
};

impl TruthRule for Emulated {
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
        let emulator = case.emulator.filter(|_| !case.trials.is_empty())?;
        Some(Remark::suspect(format!(
            "the machine is emulated ({emulator}): its times and rates say nothing of hardware"
        )))
    }
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn speaks_of_an_emulator_and_of_none_else() {
        assert_eq!(Bench::read().judge(&Emulated), None);
        let remark = Bench::command().emulated("qemu tcg").judge(&Emulated).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the machine is emulated (qemu tcg): its times and rates say nothing of hardware"
        );
    }

    #[test]
    fn takes_no_trial_away() {
        let bench = Bench::read().emulated("qemu tcg");
        assert_eq!(bench.disturbances(&Emulated), [None, None, None]);
        assert_eq!(bench.without_trials().judge(&Emulated), None);
    }
}
