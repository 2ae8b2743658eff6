//! Reads and compares the data of a trial after its measured time.

use std::sync::atomic::AtomicBool;

use assay_core::{quantity::Bytes, quantity::units::show};
use assay_load::{Fault, Job, Stood, WrongData};
pub use assay_load::{Verified, Written};

use super::fits::{Unfit, unfit};
use super::{Content, Duplicates, IoDetail, IoPlan, IoSpec};
use crate::measured::Measured;
use crate::place::TestMedium;

/// Bytes with a separate stamp.
pub const SECTOR_BYTES: u64 = 512;

/// Why such work cannot be verified: other operations change its blocks.
pub(super) fn obstacle(io: &IoSpec) -> Option<Unfit> {
    let unfit_because = |key, message, hint| Some(unfit(key, message, Some(hint)));
    if io.compressibility != Content::Random {
        let text = format!(
            "verification requires random data (compressibility 0%), not {}",
            io.compressibility
        );
        return unfit_because("compressibility", text, "remove compressibility");
    }
    if io.duplicates != Duplicates::NONE {
        let text = "verification does not support duplicate blocks".to_owned();
        return unfit_because("duplicates", text, "remove duplicates");
    }
    if io.mix.clears() {
        let text = "verification does not support trims or zeroing".to_owned();
        return unfit_because("mix", text, "use mix = \"write\"");
    }
    let Some(size) = io.block_size.one() else {
        let text = "verification requires a single block size".to_owned();
        return unfit_because("block_size", text, "use block_size = \"4 KiB\"");
    };
    if !size.0.is_multiple_of(SECTOR_BYTES) {
        let sector = Bytes(SECTOR_BYTES);
        let text =
            format!("verification requires whole sectors of {sector}, but block_size is {size}");
        return unfit_because("block_size", text, "use block_size = \"4 KiB\"");
    }
    let steps = [("align", io.align, "remove align"), ("stride", io.stride, "remove stride")];
    let overlaps = |step: Option<Bytes>| step.is_some_and(|step| !step.0.is_multiple_of(size.0));
    let (key, _, hint) = steps.into_iter().find(|(_, step, _)| overlaps(*step))?;
    let text = format!(
        "verification requires blocks that do not overlap, but {key} is not a multiple of {size}"
    );
    unfit_because(key, text, hint)
}

pub fn stamps(io: &IoSpec) -> bool {
    io.verify && io.mix.carries()
}

/// Reads and checks what a trial wrote, if its work is verified.
pub fn verify_trial(
    work: &crate::WorkPlan,
    medium: &TestMedium<'_>,
    measured: &mut Measured,
    stop: &AtomicBool,
) {
    let Some(planned) = IoPlan::of(work) else { return };
    let Some(detail) = IoDetail::of_mut(measured) else { return };
    let Some(written) = &detail.written else { return };
    match read_back(planned, medium, written, stop) {
        Ok(verified) => detail.verified = Some(verified),
        Err(reason) => detail.unverified = Some(reason),
    }
}

/// Reads what a trial wrote and compares it, outside its measured time.
pub fn read_back(
    planned: &IoPlan,
    medium: &TestMedium<'_>,
    written: &Written,
    stop: &AtomicBool,
) -> Result<Verified, String> {
    let job = Job { verify: Some(written.run), ..planned.job(&medium.area, 0, 0, written.seed) };
    Ok(assay_load::verify(&job, written, &medium.target(), stop)?)
}

/// The wrong blocks in words: `3 torn, 1 stale`.
pub fn faults(found: &Verified) -> String {
    let faults = Fault::ALL.iter().filter(|fault| found.corrupt.count_of(**fault) > 0);
    let words = faults
        .map(|fault| format!("{} {}", show::count(found.corrupt.count_of(*fault)), fault.name()));
    words.collect::<Vec<_>>().join(", ")
}

/// A wrong block in words: its offset, the error, the expected and the found data.
pub fn example(wrong: &WrongData) -> String {
    let fault = match (wrong.fault, wrong.bits) {
        (Fault::Flipped, Some(1)) => "1 bit is flipped".to_owned(),
        (Fault::Flipped, Some(bits)) => format!("{bits} bits are flipped"),
        (fault, _) => fault_words(fault).to_owned(),
    };
    // Numbers from 1. Those on the medium may have any value.
    let words = |write: &Stood| {
        let (number, thread) = (write.operation.saturating_add(1), write.thread.saturating_add(1));
        format!("operation {} of thread {thread}", show::count(number))
    };
    let mut text = format!("at byte {}, {fault}", show::count(wrong.at_bytes));
    if let Some(write) = &wrong.expected {
        text = format!("{text}; expected {}", words(write));
    }
    if let Some(write) = &wrong.found {
        text = format!("{text}; found {}", words(write));
        if write.of_bytes != wrong.at_bytes {
            text = format!("{text} for byte {}", show::count(write.of_bytes));
        }
    }
    text
}

const fn fault_words(fault: Fault) -> &'static str {
    match fault {
        Fault::Torn => "the block contains parts of different writes",
        Fault::Stale => "the block contains an older write, and the last write is lost",
        Fault::Misplaced => "the block contains data for another place",
        Fault::Zeroed => "the block contains zeros",
        Fault::Flipped => "bits are flipped",
        Fault::Foreign => "the block contains data that this run did not write",
        Fault::Unreadable => "the block is unreadable",
    }
}

/// What a verification could not check, as clauses.
pub fn limitations(found: &Verified, is_direct: bool) -> Vec<String> {
    let mut reasons = Vec::new();
    if found.cut_short {
        reasons.push(format!("the verification stopped after {} blocks", show::count(found.read)));
    }
    if found.ambiguous > 0 {
        reasons.push(format!(
            "for {} blocks with overlapping writes, the last write is unknown, so Assay accepted any of these writes",
            show::count(found.ambiguous)
        ));
    }
    if let Some(settled) = found.settled {
        reasons.push(format!(
            "the run was killed: {} operations are known to have completed; later operations, which affected {} \
             blocks, may or may not have completed; after a power loss, cached data may be missing",
            show::count(settled),
            show::count(found.unconfirmed)
        ));
    }
    if !is_direct {
        reasons.push(
            "the page cache may have served the reads although Assay dropped it; the data on the medium is unknown"
                .to_owned(),
        );
    }
    reasons
}

#[cfg(test)]
mod tests {
    use assay_load::FaultCounts;

    use super::*;

    fn wrong(fault: Fault) -> WrongData {
        let stood = |operation, of_bytes| Some(Stood { thread: 0, operation, of_bytes });
        WrongData {
            at_bytes: 8192,
            fault,
            expected: stood(4_999, 8192),
            found: stood(11, 8192),
            bits: (fault == Fault::Flipped).then_some(3),
        }
    }

    #[test]
    fn a_wrong_block_is_one_sentence() {
        assert_eq!(
            example(&wrong(Fault::Stale)),
            "at byte 8,192, the block contains an older write, and the last write is lost; expected operation 5,000 of \
             thread 1; found operation 12 of thread 1"
        );
        let found = Some(Stood { thread: 1, operation: 0, of_bytes: 4096 });
        let told = example(&WrongData { found, ..wrong(Fault::Misplaced) });
        assert!(told.ends_with("found operation 1 of thread 2 for byte 4,096"), "{told}");
        let bare = WrongData { expected: None, found: None, ..wrong(Fault::Flipped) };
        assert_eq!(example(&bare), "at byte 8,192, 3 bits are flipped");
        let one = WrongData { bits: Some(1), ..bare };
        assert_eq!(example(&one), "at byte 8,192, 1 bit is flipped");
        let (thread, operation) = (u32::MAX, u64::MAX);
        let found = Some(Stood { thread, operation, of_bytes: 0 });
        assert!(example(&WrongData { found, ..bare }).ends_with("for byte 0"));
    }

    #[test]
    fn faults_are_counted_by_name_and_what_is_not_there_is_not_told() {
        let mut found = Verified::default();
        assert_eq!(faults(&found), "");
        found.corrupt = FaultCounts { torn: 3, zeroed: 1, ..FaultCounts::default() };
        assert_eq!(faults(&found), "3 torn, 1 zeroed");
        assert_eq!(limitations(&found, true), Vec::<String>::new());
        assert_eq!(limitations(&found, false).len(), 1);
        let found = Verified { ambiguous: 2, settled: Some(7), cut_short: true, ..found };
        assert_eq!(limitations(&found, true).len(), 3);
    }

    #[test]
    fn a_run_and_its_seed_are_kept_whole_in_a_record_of_json() {
        let (run, seed) = (1_795_000_000_123_456_789, u64::MAX - 1);
        let written = Written { run, seed, ended: true, threads: Vec::new() };
        let text = serde_json::to_string(&written).unwrap();
        assert!(text.contains(r#""seed":"fffffffffffffffe""#), "{text}");
        assert_eq!(serde_json::from_str::<Written>(&text).unwrap(), written);
        for strange in [r#""x""#, "7"] {
            let text = text.replace(r#""fffffffffffffffe""#, strange);
            assert!(serde_json::from_str::<Written>(&text).is_err(), "{strange}");
        }
    }
}
