//! Trims, zeroing, duplicates and synced writes: their constraints, and what they require of a target.

use assay_load::Class;

use super::{Content, Duplicates, IoSpec, Mix, WriteSync};
use crate::place::Offer;
use crate::workload::{Complaints, InStudy};

const SECTOR: u64 = 512;

/// Rejects duplicates if no arm writes any blocks.
pub(super) fn complain(io: &IoSpec, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
    let varies = |key: &str| study.factors.contains_key(key);
    let is_wrong = |key: &str| to.is_wrong(&format!("{path}/{key}"));
    let has_some = io.duplicates != Duplicates::NONE && !varies("duplicates");
    if !has_some || ["mix", "compressibility", "duplicates"].into_iter().any(is_wrong) {
        return;
    }
    let has_writes = varies("mix") || io.mix.percent(Class::Write) > 0;
    let is_zero = io.compressibility == Content::Zero && !varies("compressibility");
    let message = if !has_writes {
        format!("duplicates has no effect on {}", io.mix.words())
    } else if is_zero {
        "duplicates has no effect on blocks of zeros".to_owned()
    } else {
        return;
    };
    to.key(&format!("{path}/duplicates"), message, Some("remove duplicates".to_owned()));
}

/// Explains why the target cannot perform the trims or zeroing of the mix, if it cannot.
pub(super) fn obstacle(io: &IoSpec, offer: &Offer<'_>) -> Option<String> {
    if !io.mix.clears() {
        return None;
    }
    let reasons = [(Class::Trim, &offer.clears.no_trim), (Class::Zero, &offer.clears.no_zeroing)];
    for (class, reason) in reasons {
        if io.mix.percent(class) > 0 && reason.is_some() {
            return reason.clone();
        }
    }
    if io.block_size.is_multiple_of(SECTOR) {
        return None;
    }
    Some(format!("trims and zeroing need multiples of 512 B; block_size is {}", io.block_size))
}

/// Words for the operations: `reads`, `70% reads and 30% writes`.
pub(super) fn planned_words(mix: Mix) -> String {
    match mix {
        Mix::Shares { read_percent: reads @ 1..=99 } => {
            format!("{reads}% reads and {}% writes", 100 - reads)
        }
        _ => mix.words(),
    }
}

/// Words for syncs in a list of workloads; empty without syncs.
pub(super) fn sync_words(sync: WriteSync, before: &str) -> String {
    match sync {
        WriteSync::None => String::new(),
        WriteSync::EachWrite => format!("{before} an fdatasync after each"),
        WriteSync::EachNth(every) => format!("{before} an fdatasync after every {every} writes"),
        WriteSync::Fsync(1) => format!("{before} an fsync after each"),
        WriteSync::Fsync(every) => format!("{before} an fsync after every {every} writes"),
        WriteSync::DataSynced => format!("{before} O_DSYNC"),
        WriteSync::Synced => format!("{before} O_SYNC"),
    }
}

/// Whether it writes duplicates, which later reads must not find.
pub(super) fn copies(io: &IoSpec) -> bool {
    io.duplicates != Duplicates::NONE && io.mix.percent(Class::Write) > 0
}

pub(super) fn describe(io: &IoSpec) -> Option<String> {
    (io.duplicates != Duplicates::NONE).then(|| format!("{} duplicates", io.duplicates))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_core::presence::Presence;
    use assay_core::quantity::Bytes;
    use assay_machine::system::clears::Clears;

    use super::*;
    use crate::io::Engine;
    use crate::place::EngineUse;
    use crate::workload::WorkloadSpec as _;

    fn io(mix: &str) -> IoSpec {
        IoSpec { mix: mix.parse().unwrap(), ..IoSpec::default() }
    }

    fn planned(io: &IoSpec, written: bool, clears: &Clears) -> Result<(), String> {
        let area = crate::testing::area(1 << 30, written);
        let direct = Presence::absent("none");
        let engine = EngineUse { name: Engine::Psync, note: None };
        let offer = Offer { area, direct: &direct, engine: &engine, between: None, clears };
        io.plan(&offer).map(drop)
    }

    #[test]
    fn what_a_target_cannot_do_is_told_before_anything_is_run() {
        let open = Clears::default();
        let lacking = Clears {
            no_trim: Some("no trims here".to_owned()),
            no_zeroing: Some("no zeroing here".to_owned()),
            no_polling: None,
        };
        for (mix, told) in [
            ("trim", "no trims here"),
            ("read/90:trim/10", "no trims here"),
            ("write/90:zero/10", "no zeroing here"),
        ] {
            assert_eq!(planned(&io(mix), true, &lacking), Err(told.to_owned()));
            assert_eq!(planned(&io(mix), true, &open), Ok(()));
            let odd = IoSpec { block_size: Bytes(1000).into(), ..io(mix) };
            assert!(planned(&odd, true, &open).unwrap_err().contains("multiples of 512 B"));
        }
        for mix in ["read", "70/30", "rewrite"] {
            assert_eq!(planned(&io(mix), true, &lacking), Ok(()));
            assert_eq!(
                planned(&IoSpec { block_size: Bytes(1000).into(), ..io(mix) }, true, &open),
                Ok(())
            );
        }
    }

    /// Trims and zeroing have the requirements of writes: a writable area, and consent.
    #[test]
    fn what_takes_away_is_never_done_to_what_is_only_read() {
        for mix in ["trim", "zero", "read/99:trim/1", "read/99:zero/1"] {
            let told = planned(&io(mix), false, &Clears::default()).unwrap_err();
            assert!(told.contains("no consent given"), "{mix}: {told}");
            let touch = io(mix).touches();
            assert!(touch.writes.is_some() && touch.clears, "{mix}");
            // Trims need existing data in every trial.
            assert_eq!(touch.finds, Some(Content::Random), "{mix}");
        }
        assert_eq!(planned(&io("read"), false, &Clears::default()), Ok(()));
        assert!(!io("70/30").touches().clears);
    }

    /// A trial never reads duplicates of another trial.
    #[test]
    fn copies_do_not_stay_for_what_reads() {
        let duplicates = "30%".parse().unwrap();
        assert!(IoSpec { duplicates, ..io("70/30") }.touches().clears);
        assert!(IoSpec { duplicates, ..io("write") }.touches().clears);
        assert!(!IoSpec { duplicates, ..io("read") }.touches().clears);
        assert!(!io("write").touches().clears);
    }

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Complaints for Heard {
        fn value(&mut self, path: &str, message: String, _: Option<String>) {
            self.0.push(format!("{path}: {message}"));
        }

        fn key(&mut self, path: &str, message: String, hint: Option<String>) {
            self.value(path, message, hint);
        }

        fn is_wrong(&self, _: &str) -> bool {
            false
        }
    }

    fn heard(io: &IoSpec, factor: &str) -> Vec<String> {
        let factors = BTreeMap::from([(factor.to_owned(), vec!["write".to_owned()])]);
        let mut heard = Heard::default();
        complain(io, "io", &InStudy::new(&factors), &mut heard);
        heard.0
    }

    #[test]
    fn copies_need_fresh_blocks_beside_them() {
        let duplicates = "30%".parse().unwrap();
        for mix in ["read", "rewrite", "trim"] {
            let own = IoSpec { duplicates, ..io(mix) };
            assert!(heard(&own, "queue_depth")[0].contains("has no effect"), "{mix}");
            assert!(heard(&own, "mix").is_empty(), "{mix}");
            assert!(heard(&io(mix), "queue_depth").is_empty(), "{mix}");
        }
        let zeros = IoSpec { duplicates, compressibility: Content::Zero, ..io("write") };
        assert!(heard(&zeros, "queue_depth")[0].contains("blocks of zeros"));
        assert!(heard(&zeros, "compressibility").is_empty());
        assert!(heard(&IoSpec { duplicates, ..io("70/30") }, "queue_depth").is_empty());
    }
}
