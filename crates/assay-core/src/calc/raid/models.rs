//! Models of the disk traffic of one write. A write begins at a stripe boundary; with parity it covers whole stripes
//! first and then the chunks of a last one.

use serde::Serialize;

use super::{Level, Question, data_chunks};
use crate::presence::Presence;
use crate::quantity::units::show;

/// Unit of md's stripe handling, bytes per disk.
const PAGE: u64 = 4096;
/// Measurements on md, with their sources.
const MEASURED: &str = include_str!("../../../reference/md.csv");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Published,
    AsListed,
    Computed,
    Measured,
}

impl Source {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::AsListed => "as listed",
            Self::Computed => "computed",
            Self::Measured => "measured",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    pub model: &'static str,
    pub source: Source,
    pub text: &'static str,
    /// Traffic, or the reason why this model does not apply.
    pub moved: Presence<RaidTraffic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RaidTraffic {
    /// KiB read, if the model distinguishes reads and writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_kib: Option<f64>,
    /// KiB written, if the model distinguishes reads and writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_kib: Option<f64>,
    pub moved_kib: f64,
    /// KiB in all per KiB of the write.
    pub per_kib: f64,
}

/// Units (chunks or pages) read and written.
#[derive(Clone, Copy, Default)]
struct UnitCount {
    read: u64,
    written: u64,
}

impl UnitCount {
    /// Adds another count `times` times.
    fn plus(self, other: Self, times: u64) -> Self {
        Self { read: self.read + other.read * times, written: self.written + other.written * times }
    }

    /// The traffic of these units, absolute and per KiB of the write.
    fn traffic(self, unit_bytes: u64, question: &Question) -> RaidTraffic {
        let kib = |units: u64| units as f64 * unit_bytes as f64 / 1024.0;
        let (read, written) = (kib(self.read), kib(self.written));
        let moved_kib = read + written;
        let per_kib = per_kib(moved_kib, question);
        RaidTraffic { read_kib: Some(read), written_kib: Some(written), moved_kib, per_kib }
    }
}

fn per_kib(moved_kib: f64, question: &Question) -> f64 {
    moved_kib / (question.write_bytes as f64 / 1024.0)
}

/// All models of a level, in the order of the report.
pub fn all(question: &Question) -> Vec<Model> {
    let model = |model, source, text, moved| Model { model, source, text, moved };
    if question.level.parities() == 0 {
        let text = "one write to each disk that has a copy";
        return vec![model("copies", Source::Computed, text, Presence::Present(copies(question)))];
    }
    let in_chunks =
        |count: UnitCount| Presence::Present(count.traffic(question.chunk_bytes, question));
    vec![
        model(
            "md-pages",
            Source::Computed,
            "4 KiB pages, read-modify-write or reconstruct-write, whichever reads less (as Linux md does)",
            Presence::Present(count_md_pages(question).traffic(PAGE, question)),
        ),
        model(
            "md-measured",
            Source::Measured,
            "counters of the member disks (md in Linux 6.1, emulated machine)",
            find_measured(question),
        ),
        model(
            "article-count",
            Source::Published,
            "3 stripe reads and 4 stripe writes, as counted in the RAID article",
            article(question, UnitCount { read: 3, written: 4 }),
        ),
        model(
            "article-steps",
            Source::AsListed,
            "3 reads and 2 writes, the steps listed in the same article",
            article(question, UnitCount { read: 3, written: 2 }),
        ),
        model(
            "chunk-rmw",
            Source::Computed,
            "whole chunks; reads old data and parity first (read-modify-write)",
            in_chunks(count_chunks(question, read_modify_write)),
        ),
        model(
            "chunk-rcw",
            Source::Computed,
            "whole chunks; reads the rest of the stripe first (reconstruct-write)",
            in_chunks(count_chunks(question, reconstruct_write)),
        ),
        model(
            "full-stripe",
            Source::Computed,
            "whole stripes, without reads",
            full_stripe(question),
        ),
    ]
}

fn copies(question: &Question) -> RaidTraffic {
    let copies = match question.level {
        Level::Raid1 => question.disks,
        Level::Raid10 => 2,
        _ => 1,
    };
    UnitCount { read: 0, written: u64::from(copies) }.traffic(question.write_bytes, question)
}

/// The article covers only a change within one chunk on four disks of RAID 5.
fn article(question: &Question, count: UnitCount) -> Presence<RaidTraffic> {
    if question.level != Level::Raid5 || question.disks != 4 {
        return Presence::absent("the article covers only RAID 5 with 4 disks");
    }
    if question.write_bytes > question.chunk_bytes {
        return Presence::absent("the article covers only changes within one chunk");
    }
    Presence::Present(count.traffic(question.chunk_bytes, question))
}

/// Traffic of a stripe with `touched` written chunks, of which `whole` are written completely.
type UpdateMethod = fn(question: &Question, touched: u64, whole: u64) -> UnitCount;

/// Adds up the traffic of all stripes of the write, in chunks.
fn count_chunks(question: &Question, method: UpdateMethod) -> UnitCount {
    let (data, chunk) = (data_chunks(question), question.chunk_bytes);
    let full_stripes = question.write_bytes / (data * chunk);
    let left = question.write_bytes % (data * chunk);
    let count = UnitCount::default().plus(method(question, data, data), full_stripes);
    if left == 0 {
        return count;
    }
    // The last stripe: chunks that the write touches, and those that it fills.
    count.plus(method(question, left.div_ceil(chunk), left / chunk), 1)
}

/// Reads old data and parity, writes new ones.
fn read_modify_write(question: &Question, touched: u64, _: u64) -> UnitCount {
    let units = touched + u64::from(question.level.parities());
    UnitCount { read: units, written: units }
}

/// Reads the chunks that are not written completely, writes new data and parity.
fn reconstruct_write(question: &Question, touched: u64, whole: u64) -> UnitCount {
    let written = touched + u64::from(question.level.parities());
    UnitCount { read: data_chunks(question) - whole, written }
}

/// Writes every disk of each stripe once; absent if the write is not a multiple of a stripe.
fn full_stripe(question: &Question) -> Presence<RaidTraffic> {
    let stripe = data_chunks(question) * question.chunk_bytes;
    if !question.write_bytes.is_multiple_of(stripe) {
        return Presence::absent(format!(
            "a stripe is {}; use a multiple of this size for --write",
            show::bytes(stripe)
        ));
    }
    let units = question.write_bytes / stripe * u64::from(question.disks);
    Presence::Present(UnitCount { read: 0, written: units }.traffic(question.chunk_bytes, question))
}

/// md works on rows of pages, one per disk, and reads old data and parity only if that is less than reading the rest
/// (drivers/md/raid5.c, `handle_stripe_dirtying`).
fn count_md_pages(question: &Question) -> UnitCount {
    let (data, chunk) = (data_chunks(question), question.chunk_bytes);
    // A row in which the write touches so many data pages, the first `whole` of them completely.
    let row = |touched: u64, whole: u64| {
        let modify = read_modify_write(question, touched, whole);
        let reconstruct = reconstruct_write(question, touched, whole);
        if modify.read < reconstruct.read { modify } else { reconstruct }
    };
    let rows_per_stripe = chunk / PAGE;
    let full_stripes = question.write_bytes / (data * chunk);
    let left = question.write_bytes % (data * chunk);
    let count = UnitCount::default().plus(row(data, data), full_stripes * rows_per_stripe);
    // The last stripe has complete chunks and a partial one, whose pages are complete, partial or untouched.
    let (chunks, last_bytes) = (left / chunk, left % chunk);
    let complete = last_bytes / PAGE;
    let partial = u64::from(!last_bytes.is_multiple_of(PAGE));
    let count = count.plus(row(chunks + 1, chunks + 1), complete);
    let count = count.plus(row(chunks + 1, chunks), partial);
    let untouched = rows_per_stripe - complete - partial;
    if chunks == 0 { count } else { count.plus(row(chunks, chunks), untouched) }
}

/// Returns the measurement of this level, number of disks, chunk and write.
fn find_measured(question: &Question) -> Presence<RaidTraffic> {
    // The table has whole KiB; other sizes match no row.
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let level = f64::from(u8::from(question.level));
    let sizes = [kib(question.chunk_bytes), kib(question.write_bytes)];
    let wanted = [level, f64::from(question.disks), sizes[0], sizes[1]];
    let row = parse_rows(MEASURED).find(|row| row[..4] == wanted);
    let moved = row.map(|[.., moved_kib]| {
        let per_kib = per_kib(moved_kib, question);
        RaidTraffic { read_kib: None, written_kib: None, moved_kib, per_kib }
    });
    Presence::from_option(
        moved,
        "not measured; available: RAID 5 with 4 disks, chunks of 32, 128, 1024 KiB, writes of 2, \
         64, 128, 384 KiB",
    )
}

fn parse_rows(table: &str) -> impl Iterator<Item = [f64; 5]> {
    table.lines().filter_map(|line| {
        let numbers: Option<Vec<f64>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        numbers?.try_into().ok()
    })
}
