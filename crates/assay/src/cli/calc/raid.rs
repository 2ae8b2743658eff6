//! `assay calc raid`: what an array holds, and what one write moves.

use clap::Args;
use serde::Serialize;

use super::page::{CalcPage, bytes, decimal};
use assay_core::calc::bytes_per_s;
use assay_core::calc::raid::{self, Level, Model, Question, Raid, Source};
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_machine::system::System;
use assay_report::document::{Row, Tone};

/// Compute RAID capacity, rebuild time and bytes moved per write
///
/// Shows each method with its source: published (I/O count stated by an article), as listed (count derived from the
/// steps of the article), computed (a model), measured (disk counters below Linux md). Writes are aligned to a stripe.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay calc raid --level 5 --disks 4 --size 3TB --chunk 128KiB --write 2KiB
      9 TB; 896 KiB (article), 640 KiB (steps), 16.1 KiB (measured on md)
  assay calc raid --level 5 --disks 4 --size 3TB --chunk 1MiB --write 384KiB
      1536 KiB: a partial-stripe write costs four times its size
  assay calc raid --level 5,6,10 --disks 8 --size 4TB --rate 150MB/s
      28, 24 and 16 TB; 7.41 h to rebuild a disk")]
pub struct RaidArguments {
    /// RAID level: 0, 1, 4, 5, 6 or 10; several levels make one table
    #[arg(long, required = true, value_delimiter = ',')]
    level: Vec<Level>,
    /// Number of disks without spares
    #[arg(long)]
    disks: u32,
    /// Size of one disk
    #[arg(long)]
    size: Bytes,
    /// Chunk size, often called stripe size [default: 512KiB]
    #[arg(long)]
    chunk: Option<Bytes>,
    /// Size of one write
    #[arg(long, default_value = "4KiB")]
    write: Bytes,
    /// Sequential rate of one disk, for the rebuild time
    #[arg(long, value_name = "BYTES/S", value_parser = bytes_per_s)]
    rate: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The chunk that mdadm takes where none is given.
const USUAL_CHUNK: Bytes = Bytes(512 << 10);

pub fn run(system: &dyn System, arguments: &RaidArguments) -> Outcome<String> {
    if arguments.chunk.is_some() && !arguments.level.iter().any(|level| level.has_chunks()) {
        return Err(mistake!("--chunk: RAID 1 has no chunks; remove --chunk"));
    }
    let compute = |level: &Level| {
        raid::compute(&Question {
            level: *level,
            disks: arguments.disks,
            disk_bytes: arguments.size.0,
            chunk_bytes: arguments.chunk.unwrap_or(USUAL_CHUNK).0,
            write_bytes: arguments.write.0,
            rate_bytes_per_s: arguments.rate,
        })
    };
    let levels = arguments.level.iter().map(compute).collect::<Outcome<Vec<Raid>>>()?;
    if let [answer] = levels.as_slice() {
        return Ok(page(answer).render(system, arguments.json, "raid", answer));
    }
    let page = levels_page(arguments, &levels);
    Ok(page.render(system, arguments.json, "raid", &RaidLevels { levels: &levels }))
}

#[derive(Serialize)]
struct RaidLevels<'a> {
    levels: &'a [Raid],
}

fn levels_page(arguments: &RaidArguments, levels: &[Raid]) -> CalcPage {
    let disks = format!("{} disks of {}", arguments.disks, bytes(arguments.size.0));
    let mut page = CalcPage::new(format!("assay calc: RAID of {disks}"));
    let rows = levels.iter().map(|answer| {
        let is_linux = |model: &&Model| ["md-pages", "copies"].contains(&model.model);
        let linux = answer.models.iter().find(is_linux).and_then(|model| model.moved.value());
        Row::new([
            u8::from(answer.level).to_string(),
            bytes(answer.usable_bytes),
            tolerated_failures(answer),
            answer.rebuild_s.map_or_else(|| "-".to_owned(), |s| show::duration(s * 1e9)),
            linux.map_or_else(|| "-".to_owned(), |moved| decimal(moved.moved_kib, 1)),
        ])
    });
    let write = show::bytes(arguments.write.0);
    let rebuild = if arguments.rate.is_none() { "; for the rebuild time, give --rate" } else { "" };
    let caption = format!("Capacity, and KiB that Linux md moves per write of {write}{rebuild}");
    let titles = ["level", ">usable", "may fail", ">rebuild", ">moved KiB"];
    page.table(&caption, &titles, rows.collect());
    page
}

fn page(answer: &Raid) -> CalcPage {
    let level = u8::from(answer.level);
    let mut page = CalcPage::new(format!("assay calc: RAID {level} of {} disks", answer.disks));
    page.facts(facts(answer));
    let caption = format!(
        "Bytes moved per write of {}, and as a multiple of the write size",
        show::bytes(answer.write_bytes)
    );
    let titles = ["model", "source", ">read KiB", ">written KiB", ">moved KiB", ">times"];
    let is_linux = |model: &&Model| ["md-pages", "md-measured", "copies"].contains(&model.model);
    let (linux, others): (Vec<_>, Vec<_>) = answer.models.iter().partition(is_linux);
    page.table(&caption, &titles, linux.into_iter().map(model_row).collect());
    if !others.is_empty() {
        let caption = "Not Linux: textbook models, and an article about a hardware controller";
        page.table(caption, &titles, others.into_iter().map(model_row).collect());
    }
    page.list("Advice", answer.advice.clone());
    page
}

fn tolerated_failures(answer: &Raid) -> String {
    match answer.survives_disks {
        0 => "no disk".to_owned(),
        1 => "1 disk".to_owned(),
        more => format!("any {more} disks"),
    }
}

fn facts(answer: &Raid) -> Vec<(&'static str, String)> {
    let rebuild = match answer.rebuild_s {
        Some(seconds) => {
            format!("at least {}, to read one disk end to end", show::duration(seconds * 1e9))
        }
        None if u8::from(answer.level) == 0 => "none; any disk failure loses all data".to_owned(),
        None => "give --rate, such as 100 MB/s".to_owned(),
    };
    let chunk = answer.chunk_bytes.map(|chunk| ("chunk", show::bytes(chunk)));
    let stripe = answer.stripe_data_bytes;
    let stripe = stripe.map(|bytes| ("stripe", format!("{} of data", show::bytes(bytes))));
    let usable_percent = decimal(answer.usable_percent, 1);
    let facts = [
        ("disks", format!("{} of {}", answer.disks, bytes(answer.disk_bytes))),
        ("usable", format!("{}, {usable_percent}%", bytes(answer.usable_bytes))),
        ("may fail", tolerated_failures(answer)),
        ("rebuild", rebuild),
    ];
    facts.into_iter().chain(chunk).chain(stripe).collect()
}

fn model_row(model: &Model) -> Row {
    let moved = match &model.moved {
        Presence::Absent(reason) => return Row::absent(model.model, reason),
        Presence::Present(moved) => moved,
    };
    let kib = |kib: Option<f64>| kib.map_or_else(|| "-".to_owned(), |kib| decimal(kib, 1));
    let cells = vec![
        model.model.to_owned(),
        model.source.word().to_owned(),
        kib(moved.read_kib),
        kib(moved.written_kib),
        kib(Some(moved.moved_kib)),
        show::times(moved.per_kib),
    ];
    let row = Row { notes: vec![model.text.to_owned()], ..Row::new(cells) };
    if model.source == Source::Measured { row.toned(Tone::Good) } else { row }
}
