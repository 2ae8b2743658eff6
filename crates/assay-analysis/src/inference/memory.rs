//! Sentences on memory: the working set in a limit per kind of swap, and what threads reserve and use per stack size.

use assay_core::quantity::{Metric, units::show};
use assay_study::findings::{Findings, Measurement, Sentence, SentenceRole, Trust};
use assay_workloads::memory::{self, EXPECTED, HELD, KILLED, RATE, REACHED};
use assay_workloads::stacks;

use super::rows::RowTrials;

/// Smaller savings of a compressor are not worth a sentence.
const SMALL: f64 = 0.1;

struct MemoryRow {
    name: String,
    set_bytes: u64,
    reached_bytes: f64,
    killed_trials: usize,
    trials: usize,
    rate: Option<f64>,
    /// Bytes of the working set per byte of memory.
    per_memory: Option<f64>,
    compresses: bool,
    trust: Trust,
}

pub(super) fn swap_sentence(
    workload: &str,
    found: &Findings,
    rows: &[RowTrials<'_>],
) -> Option<Sentence> {
    let rows = rows.iter().filter(|row| row.workload.name == workload && !row.workload.control);
    let rows: Vec<MemoryRow> = rows.filter_map(|row| memory_row(found, row)).collect();
    if !rows.iter().any(|row| row.killed_trials > 0 || row.compresses) {
        return None;
    }
    let mut clauses: Vec<String> = rows.iter().filter_map(MemoryRow::kills_clause).collect();
    clauses.extend(rows.iter().filter_map(MemoryRow::fit_clause));
    let worst = rows.iter().map(|row| row.trust).max().unwrap_or(Trust::Trusted);
    let text = format!("{workload}: {}{}.", clauses.join("; "), worst.doubt());
    Some(Sentence::finding("memory", text))
}

impl MemoryRow {
    fn kills_clause(&self) -> Option<String> {
        let Self { name, killed_trials: killed, trials, .. } = self;
        let [reached, set] = [self.reached_bytes as u64, self.set_bytes].map(show::bytes);
        (*killed > 0).then(|| {
            format!(
                "{name} ran out of memory in {killed} of {trials} trials, after filling {reached} of {set}"
            )
        })
    }

    fn fit_clause(&self) -> Option<String> {
        let rate = show::per_second(self.rate?);
        let memory = self.per_memory.filter(|_| self.compresses).map(|per| self.memory_clause(per));
        let memory = memory.unwrap_or_default();
        // If some trials were killed, the data fits in the others only.
        let scope = match self.killed_trials {
            0 => String::new(),
            killed => format!(" in the other {} trials", self.trials - killed),
        };
        let name = &self.name;
        Some(format!("{name}: the data fits{scope}, with {rate} accesses per second{memory}"))
    }

    /// Memory used by the working set, including compressed pages outside the limit.
    fn memory_clause(&self, per: f64) -> String {
        let memory = show::bytes((self.set_bytes as f64 / per) as u64);
        if per < 1.0 + SMALL {
            format!(
                ", but uses {memory} of memory including compressed pages outside the limit (no saving)"
            )
        } else {
            format!(", using {memory} of memory ({} bytes of data per byte)", show::ratio(per))
        }
    }
}

/// The numbers of a row of memory work; `None` for other work, and if no valid number says how much it filled.
fn memory_row(found: &Findings, row: &RowTrials<'_>) -> Option<MemoryRow> {
    let planned = memory::MemoryPlan::of(&row.workload.work)?;
    let cell = |metric: &Metric| {
        let cell = found.cell(&row.workload.name, &row.workload.arm, metric.name);
        cell.filter(|cell| cell.trust != Some(Trust::Invalid))
    };
    let mean = |metric| cell(metric).and_then(Measurement::value);
    let kills = cell(&KILLED).map(Measurement::values).unwrap_or_default();
    let trusts = [&REACHED, &RATE, &HELD, &KILLED].into_iter().filter_map(|one| cell(one)?.trust);
    Some(MemoryRow {
        name: found.arm_words(&row.workload.arm),
        set_bytes: planned.set_bytes,
        reached_bytes: mean(&REACHED)?,
        killed_trials: kills.iter().filter(|killed| **killed > 0.0).count(),
        trials: kills.len(),
        rate: mean(&RATE),
        per_memory: mean(&HELD),
        compresses: cell(&EXPECTED).is_some(),
        trust: trusts.max()?,
    })
}

/// One stack size, and the bytes that all threads reserve and use.
struct StackSizeRow {
    limit_bytes: u64,
    threads: u32,
    reserved: f64,
    used: f64,
    trust: Trust,
}

/// What threads reserve and use for their stacks, by the limit of the stack size.
pub(super) fn stacks_sentence(
    workload: &str,
    found: &Findings,
    rows: &[RowTrials<'_>],
) -> Option<Sentence> {
    let rows = rows.iter().filter(|row| row.workload.name == workload && !row.workload.control);
    let mut sizes: Vec<StackSizeRow> = rows.filter_map(|row| stack_size_row(found, row)).collect();
    // The largest first: users worry about it most.
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
    let of_other = |size: &StackSizeRow| {
        let (limit, reserved) = (show::bytes(size.limit_bytes), show::bytes(size.reserved as u64));
        format!("; with {limit} each, they reserve {reserved} and use {}", size.used())
    };
    let others: String = others.iter().map(of_other).collect();
    let worst = sizes.iter().map(|size| size.trust).max().unwrap_or(Trust::Trusted);
    let text = match worst.doubt() {
        "" => format!("{workload}: {of_first}{others}{}.", first.lesson()),
        doubt => format!("{workload}: {of_first}{others}{doubt}."),
    };
    Some(Sentence::new(SentenceRole::Answer, "reserved", text))
}

/// Address space and memory of a row's thread stacks, in bytes; `None` for other work and invalid numbers.
fn stack_size_row(found: &Findings, row: &RowTrials<'_>) -> Option<StackSizeRow> {
    let planned = stacks::StacksPlan::of(&row.workload.work)?;
    let mean = |metric: &str| {
        let cell = found.cell(&row.workload.name, &row.arm, metric)?;
        let trust = cell.trust.filter(|trust| *trust != Trust::Invalid)?;
        Some((cell.value()?, trust))
    };
    let (reserved, reserved_trust) = mean(stacks::VIRTUAL.name)?;
    let (used, used_trust) = mean(stacks::RESIDENT.name)?;
    let trust = reserved_trust.max(used_trust);
    let (limit_bytes, threads) = (planned.limit_bytes, planned.threads);
    Some(StackSizeRow { limit_bytes, threads, reserved, used, trust })
}

impl StackSizeRow {
    /// `2.31 MiB (11.8 KiB per thread, 0.144% of the reservation)`.
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

    /// Stack sizes with the bytes that their threads reserve and use.
    fn told(sizes: &[(u64, f64, f64)]) -> Vec<String> {
        let mut bench = Bench::new(&["."]);
        for (at, (limit_bytes, reserved, used)) in sizes.iter().enumerate() {
            bench = bench.row(0, "threads", 4096, &[1000, 1000, 1000]).each(|trial| {
                let Some(measured) = &mut trial.measured else { return };
                let values = [(stacks::VIRTUAL.name, *reserved), (stacks::RESIDENT.name, *used)];
                measured.values = values.map(|(name, value)| (name.to_owned(), value)).into();
                measured.detail = stacks::StacksDetail { held: Vec::new() }.into();
            });
            let arm = Arm::from([("stack-limit".to_owned(), format!("{limit_bytes} B"))]);
            let planned = &mut bench.plan.workloads[at];
            planned.work = stacks::StacksPlan { threads: 200, limit_bytes: *limit_bytes }.into();
            planned.arm = arm;
        }
        bench.plan.design.margin = Some(0.05);
        let found = bench.findings();
        let own = found.summary.iter().filter(|sentence| sentence.topic == "reserved");
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
