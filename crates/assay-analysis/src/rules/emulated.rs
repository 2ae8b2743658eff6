//! `emulated`: a program carried out each instruction in the place of a processor.

use assay_core::catalogue::About;

use super::{Case, Rule, RuleCheck, RuleRemark};

pub static RULE: Rule = Rule {
    about: About {
        name: "emulated",
        summary: "an emulator, not a CPU, executes the instructions",
        text: "Assay recognizes an emulator (QEMU without KVM) by its CPUID signature or CPU name. The numbers \
               describe the emulator and its host, not hardware. Use them only to check that a program works and how \
               much memory it uses. Assay gives no verdict and no rank for times and rates, and does not compare them \
               within or across results. Amounts of memory remain comparable.",
    },
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let emulator = case.emulator.filter(|_| !case.trials.is_empty())?;
    Some(RuleRemark::suspect(format!(
        "the machine is emulated ({emulator}): its times and rates do not describe hardware"
    )))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn speaks_of_an_emulator_and_of_none_else() {
        assert_eq!(Bench::read().judge(&RULE), None);
        let remark = Bench::command().emulated("qemu tcg").judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the machine is emulated (qemu tcg): its times and rates do not describe hardware"
        );
    }

    #[test]
    fn takes_no_trial_away() {
        let bench = Bench::read().emulated("qemu tcg");
        assert_eq!(bench.disturbances(&RULE), [None, None, None]);
        assert_eq!(bench.without_trials().judge(&RULE), None);
    }
}
