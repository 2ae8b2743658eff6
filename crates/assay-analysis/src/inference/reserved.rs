//! What threads with stacks of several sizes reserve, and what of it they use, in one sentence: the two
//! are often taken for the same.

use assay_core::quantity::units::show;
use assay_study::findings::{Findings, Sentence, SentenceRole, Trust};
use assay_workloads::stacks;

use super::rows::WorkloadTrials;

const TOPIC: &str = "reserved";

/// One size: bytes of a stack, and of all threads what they reserve and use.
struct Size {
    limit_bytes: u64,
    threads: u32,
    reserved: f64,
    used: f64,
    trust: Trust,
}

pub(super) fn sentence(
    workload: &str,
    found: &Findings,
    rows: &[WorkloadTrials<'_>],
) -> Option<Sentence> {
    let own = rows.iter().filter(|row| row.workload.name == workload && !row.workload.control);
    let mut sizes: Vec<Size> = own.filter_map(|row| size(found, row)).collect();
    // The largest first: it is the one that is feared.
    sizes.sort_by_key(|size| std::cmp::Reverse(size.limit_bytes));
    sizes.dedup_by_key(|size| size.limit_bytes);
    let (first, others) = sizes.split_first()?;
    let of_first = format!(
        "{} threads with a stack of {} each reserve {} of address space and use {}",
        show::count(u64::from(first.threads)),
        show::bytes(first.limit_bytes),
        show::bytes(first.reserved as u64),
        first.used(),
    );
    let of_other = |size: &Size| {
        let (limit, reserved) = (show::bytes(size.limit_bytes), show::bytes(size.reserved as u64));
        format!("; with {limit} each, they reserve {reserved} and use {}", size.used())
    };
    let others: String = others.iter().map(of_other).collect();
    let worst = sizes.iter().map(|size| size.trust).max().unwrap_or(Trust::Trusted);
    let text = match worst.doubt() {
        "" => format!("{workload}: {of_first}{others}{}.", first.lesson()),
        doubt => format!("{workload}: {of_first}{others}{doubt}."),
    };
    Some(Sentence::new(SentenceRole::Answer, TOPIC, text))
}

/// What was measured of one size; none where it was not, or is not what it says it is.
fn size(found: &Findings, row: &WorkloadTrials<'_>) -> Option<Size> {
    let planned = stacks::Planned::of(&row.workload.work)?;
    let mean = |metric: &str| {
        let cell = found.cell(&row.workload.name, &row.arm, metric)?;
        let trust = cell.trust.filter(|trust| *trust != Trust::Invalid)?;
        Some((cell.value()?, trust))
    };
    let ((reserved, one), (used, other)) =
        (mean(stacks::VIRTUAL.name)?, mean(stacks::RESIDENT.name)?);
    Some(Size {
        limit_bytes: planned.limit_bytes,
        threads: planned.threads,
        reserved,
        used,
        trust: one.max(other),
    })
}

impl Size {
    /// `2.31 MiB of memory (11.8 KiB a thread, 0.144% of it)`.
    fn used(&self) -> String {
        let each = (self.used / f64::from(self.threads.max(1))) as u64;
        format!(
            "{} ({} per thread, {} of the reservation)",
            show::bytes(self.used as u64),
            show::bytes(each),
            show::share(self.used / self.reserved)
        )
    }

    fn lesson(&self) -> &'static str {
        /// A share that nobody would call using it.
        const SMALL: f64 = 0.05;
        if self.used < SMALL * self.reserved {
            ": reserved stack uses no memory unless the kernel forbids overcommit (vm.overcommit_memory = 2)"
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_study::results::plan::Arm;

    use super::super::tests::Bench;
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Sizes with what their threads reserve and use, bytes.
    fn told(sizes: &[(u64, f64, f64)]) -> Vec<String> {
        let mut bench = Bench::new(&["."]);
        for (at, (limit_bytes, reserved, used)) in sizes.iter().enumerate() {
            bench = bench.row(0, "threads", 4096, &[1000, 1000, 1000]).each(|trial| {
                let Some(measured) = &mut trial.measured else { return };
                let values = [(stacks::VIRTUAL.name, *reserved), (stacks::RESIDENT.name, *used)];
                measured.values = values.map(|(name, value)| (name.to_owned(), value)).into();
                measured.detail = stacks::Detail { held: Vec::new() }.into();
            });
            let arm = Arm::from([("stack-limit".to_owned(), format!("{limit_bytes} B"))]);
            let planned = &mut bench.plan.workloads[at];
            planned.work = stacks::Planned { threads: 200, limit_bytes: *limit_bytes }.into();
            planned.arm = arm;
        }
        bench.plan.design.margin = Some(0.05);
        let found = bench.findings();
        let own = found.summary.iter().filter(|sentence| sentence.topic == TOPIC);
        own.map(|sentence| sentence.text.clone()).collect()
    }

    #[test]
    fn what_is_reserved_and_what_is_used_stand_in_one_sentence() {
        let used = 2.5 * MIB as f64;
        let small = (MIB / 4, 50.0 * MIB as f64, used);
        let large = (8 * MIB, 1600.0 * MIB as f64, used);
        assert_eq!(
            told(&[small, large]),
            [
                "threads: 200 threads with a stack of 8 MiB each reserve 1.56 GiB of address space and use 2.5 MiB \
                 (12.8 KiB per thread, 0.16% of the reservation); with 256 KiB each, they reserve 50 MiB and use 2.5 \
                 MiB (12.8 KiB per thread, 5% of the reservation): reserved stack uses no memory unless the kernel \
                 forbids overcommit (vm.overcommit_memory = 2)."
            ]
        );
    }

    #[test]
    fn the_lesson_is_drawn_where_the_numbers_show_it() {
        let all_used = (8 * MIB, 1600.0 * MIB as f64, 1600.0 * MIB as f64);
        let [told] = told(&[all_used]).try_into().unwrap();
        assert!(told.ends_with("8 MiB per thread, 100% of the reservation)."), "{told}");
        assert!(super::tests::told(&[]).is_empty());
    }
}
