//! Trims, syncs and duplicated data in job files.

use assay_workloads::io::WriteSync;

use super::values::{number, percent};
use super::{Job, PortNotes, line_of};

const MOST_WRITES: u64 = 1_000_000;

pub(super) fn is_on_device(job: &Job) -> bool {
    job.settings.get("filename").is_some_and(|file| file.value.starts_with("/dev/"))
}

/// Translates the syncs of a job; refuses more than one of the three keys.
pub(super) fn sync(job: &Job, writes: bool, notes: &mut PortNotes) -> WriteSync {
    let fdatasync_every = number(job, "fdatasync", notes).unwrap_or(0);
    let fsync_every = number(job, "fsync", notes).unwrap_or(0);
    let flag = job.settings.get("sync").map_or("none", |setting| setting.value.as_str());
    let flag = match flag {
        "0" | "none" => None,
        "1" | "sync" => Some(WriteSync::Synced),
        "dsync" => Some(WriteSync::DataSynced),
        other => {
            notes
                .refuse_key(line_of(job, "sync"), format!("sync={other}: use none, sync or dsync"));
            None
        }
    };
    let keys =
        [("fdatasync", fdatasync_every > 0), ("fsync", fsync_every > 0), ("sync", flag.is_some())];
    let mut set_keys = keys.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key);
    let Some(key) = set_keys.next() else { return WriteSync::None };
    if let Some(second) = set_keys.next() {
        let text = format!("{second}: {key} is also set; remove one of the two");
        notes.refuse_key(line_of(job, second), text);
    }
    let every = fdatasync_every.max(fsync_every);
    if !writes {
        return WriteSync::None;
    }
    if let Some(flag) = flag {
        return flag;
    }
    if every > MOST_WRITES {
        notes.refuse_key(
            line_of(job, key),
            format!("{key}: the maximum is {MOST_WRITES} writes per sync; use a smaller number"),
        );
        return WriteSync::None;
    }
    if every > 1 {
        notes.remark(format!(
            "[{}]: Assay counts the {key} as part of its write's latency; fio reports the two separately",
            job.name
        ));
    }
    match (key, u32::try_from(every).unwrap_or(u32::MAX)) {
        ("fsync", every) => WriteSync::Fsync(every),
        (_, 1) => WriteSync::EachWrite,
        (_, every) => WriteSync::EachNth(every),
    }
}

/// Formats the key for a study file; empty without syncs.
pub(super) fn sync_words(sync: WriteSync) -> String {
    if sync == WriteSync::None { String::new() } else { format!(", sync = \"{sync}\"") }
}

/// Percent of the written data that is duplicated; 0 if the job writes no fresh data.
pub(super) fn duplicates(job: &Job, is_fresh: bool, notes: &mut PortNotes) -> u64 {
    let share = percent(job, "dedupe_percentage", notes).unwrap_or(0);
    if share == 0 || !is_fresh {
        return 0;
    }
    notes.remark(format!(
        "[{}]: Assay makes {share}% of the written 4 KiB blocks copies of 256 blocks; fio repeats whole buffers \
         written earlier",
        job.name
    ));
    share
}

#[cfg(test)]
mod tests {
    use super::super::{PortOptions, Translated, translate};

    const DEVICE: &str = "[a]\nfilename=/dev/sdx\nruntime=5\n";
    const FILE: &str = "[a]\nsize=64m\nruntime=5\n";

    fn of(text: &str) -> Result<Translated, String> {
        let way = PortOptions { partly: false, variable: &|_| None };
        translate("jobs.fio", text, way).map_err(|failure| failure.message)
    }

    fn study(text: &str) -> String {
        of(text).unwrap_or_else(|told| panic!("{text}: {told}")).study
    }

    fn refused(text: &str) -> String {
        of(text).unwrap_err()
    }

    #[test]
    fn trims_of_devices_are_trims_and_fio_knows_no_others() {
        for (rw, part) in [
            ("trim", "pattern = \"sequential\", mix = \"trim\""),
            ("randtrim", "pattern = \"random\", mix = \"trim\""),
        ] {
            let found = of(&format!("{DEVICE}rw={rw}\n")).unwrap();
            assert!(found.study.contains(part), "{}", found.study);
            let is_told = |remark: &String| remark.contains("would be overwritten");
            assert!(found.remarks.iter().any(is_told), "{:?}", found.remarks);
            assert!(refused(&format!("{FILE}rw={rw}\n")).contains("trims only block devices"));
        }
        let told = refused(&format!("{DEVICE}rw=trimwrite\n"));
        assert!(told.contains("rw=trimwrite: use read"), "{told}");
    }

    #[test]
    fn syncs_of_so_many_writes_are_those_of_the_study() {
        for (text, part) in [
            (format!("{FILE}rw=write\nfdatasync=1\n"), "sync = \"fdatasync\""),
            (format!("{FILE}rw=randrw\nfdatasync=32\n"), "sync = \"fdatasync:32\""),
            (format!("{DEVICE}rw=write\nfsync=8\n"), "sync = \"fsync:8\""),
            (format!("{FILE}rw=randwrite\nfsync=1\n"), "sync = \"fsync\""),
            (format!("{FILE}rw=write\nsync=1\n"), "sync = \"o_sync\""),
            (format!("{FILE}rw=rw\nsync=sync\n"), "sync = \"o_sync\""),
            (format!("{DEVICE}rw=write\nsync=dsync\n"), "sync = \"o_dsync\""),
        ] {
            assert!(study(&text).contains(part), "{text}");
        }
        for text in [
            format!("{FILE}rw=read\nfdatasync=8\n"),
            format!("{FILE}rw=read\nfsync=8\n"),
            format!("{FILE}rw=write\nfdatasync=0\nfsync=0\n"),
            format!("{DEVICE}rw=trim\nfdatasync=8\n"),
            format!("{FILE}rw=write\nsync=none\n"),
            format!("{FILE}rw=randread\nsync=1\n"),
        ] {
            assert!(!study(&text).contains("sync ="), "{text}");
        }
        let both = refused(&format!("{DEVICE}rw=write\nfsync=1\nfdatasync=2\n"));
        assert!(both.contains("fsync: fdatasync is also set"), "{both}");
        let both = refused(&format!("{FILE}rw=write\nfdatasync=1\nsync=dsync\n"));
        assert!(both.contains("sync: fdatasync is also set"), "{both}");
        let other = refused(&format!("{FILE}rw=write\nsync=2\n"));
        assert!(other.contains("sync=2: use none, sync or dsync"), "{other}");
        let many = refused(&format!("{FILE}rw=write\nfdatasync=2000000\n"));
        assert!(many.contains("fdatasync: the maximum is 1000000 writes"), "{many}");
    }

    #[test]
    fn copies_are_duplicates_where_anything_fresh_is_written() {
        let found = study(&format!("{FILE}rw=randwrite\ndedupe_percentage=30\n"));
        assert!(found.contains("duplicates = \"30%\""), "{found}");
        for more in ["rw=randread", "rw=randwrite\nzero_buffers"] {
            let found = study(&format!("{FILE}{more}\ndedupe_percentage=30\n"));
            assert!(!found.contains("duplicates"), "{more}: {found}");
        }
        assert!(
            refused(&format!("{FILE}rw=write\ndedupe_percentage=130\n")).contains("more than 100")
        );
    }

    /// At most two kinds of work run at once; trims are not part of a read/write mix.
    #[test]
    fn trims_are_not_mixed_with_reads_and_writes() {
        let jobs = "[global]\nfilename=/dev/sdx\nruntime=5\n[a]\nrw=randread\n[b]\nrw=randwrite\n[c]\nrw=randtrim\n";
        let found = study(jobs);
        assert!(found.contains("mix = \"50/50\"") && found.contains("mix = \"trim\""), "{found}");
    }
}
