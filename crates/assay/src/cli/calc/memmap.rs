//! `assay calc memmap`: frame buffers and memory regions.

use clap::Args;

use super::page::{CalcPage, decimal};
use assay_core::calc::memmap::{self, FrameBuffer, Memmap, Region};
use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_machine::system::System;
use assay_report::document::{Row, Tone};

/// Add up memory regions and frame buffers; find gaps and overlaps
///
/// Regions use the kernel command-line syntax mem=SIZE@START. /proc/iomem shows the regions in use.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay calc memmap mem=448M@0M mem=48M@464M --before 448M
      496 MiB, 10.71% more than 448 MiB; a gap of 16 MiB at 448 MiB
  assay calc memmap --frame-buffer 1920x1080@32 --frame-buffer 1280x720@32
      8100 + 3600 = 11700 KiB
  assay calc memmap mem=448M@0M mem=62M@450M --frame-buffer 1280x720@16
      510 MiB, and the frame buffer fits into a gap of 2 MiB")]
pub struct MemmapArguments {
    /// Regions, mem=SIZE@START; START defaults to 0
    #[arg(value_name = "REGION")]
    regions: Vec<String>,
    /// Add a frame buffer: pixels, lines, bits per pixel (repeatable)
    #[arg(long, value_name = "WIDTHxHEIGHT@BITS", value_parser = memmap::frame_buffer)]
    frame_buffer: Vec<FrameBuffer>,
    /// Memory of the machine; memory after the last region is a gap
    #[arg(long)]
    memory: Option<Bytes>,
    /// Memory used before, to show the gain
    #[arg(long)]
    before: Option<Bytes>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &MemmapArguments) -> Outcome<String> {
    let regions: Vec<Vec<Region>> =
        arguments.regions.iter().map(|text| memmap::regions(text)).collect::<Outcome<_>>()?;
    let bytes = |amount: Option<Bytes>| amount.map(|Bytes(bytes)| bytes);
    let answer = memmap::compute(
        arguments.frame_buffer.clone(),
        regions.concat(),
        bytes(arguments.memory),
        bytes(arguments.before),
    )?;
    Ok(page(&answer).render(system, arguments.json, "memmap", &answer))
}

fn kib(bytes: u64) -> String {
    decimal(bytes as f64 / 1024.0, 1)
}

fn page(answer: &Memmap) -> CalcPage {
    let mut page = CalcPage::new("assay calc: memory regions and frame buffers");
    page.text(sentences(answer));
    if !answer.regions.is_empty() {
        page.table("Memory", &["what", ">KiB", ">from KiB", ">to KiB", "as"], region_rows(answer));
    }
    if !answer.frame_buffers.is_empty() {
        let rows = answer.frame_buffers.iter().map(|buffer| {
            let FrameBuffer { width, height, bits_per_pixel, bytes } = buffer;
            let picture = format!("{width}x{height}@{bits_per_pixel}");
            Row::new([picture, kib(*bytes), show::bytes(*bytes)])
        });
        let sum = answer.frame_buffer_bytes;
        let sum = Row::new(["all".to_owned(), kib(sum), show::bytes(sum)]);
        page.table("Frame buffers", &["picture", ">KiB", ">size"], rows.chain([sum]).collect());
    }
    page
}

fn sentences(answer: &Memmap) -> Vec<String> {
    let sum =
        |regions: &[Region]| -> u64 { regions.iter().map(|region| region.length_bytes).sum() };
    let mut sentences = Vec::new();
    if !answer.regions.is_empty() {
        let gain = answer.gain_percent.map(|gain| format!(", a change of {gain:+.2}%"));
        sentences.push(format!(
            "The system gets {}{} of memory; {} is lost in gaps.",
            show::bytes(answer.region_bytes),
            gain.unwrap_or_default(),
            show::bytes(sum(&answer.gaps))
        ));
    }
    if !answer.overlaps.is_empty() {
        sentences.push(format!(
            "{} is assigned twice; move a START past the end of the previous region.",
            show::bytes(sum(&answer.overlaps))
        ));
    }
    if let Some(fit) = answer.buffers_fit {
        let word = if fit { "fit" } else { "do not fit" };
        sentences.push(format!(
            "The frame buffers ({}) {word} into the largest gap.",
            show::bytes(answer.frame_buffer_bytes)
        ));
    }
    sentences
}

fn region_rows(answer: &Memmap) -> Vec<Row> {
    let kinds = [
        ("region", &answer.regions, Tone::Plain),
        ("gap", &answer.gaps, Tone::Doubtful),
        ("claimed twice", &answer.overlaps, Tone::Bad),
    ];
    let mut rows = Vec::new();
    for (name, regions, tone) in kinds {
        for region in regions {
            let row = Row::new([
                name.to_owned(),
                kib(region.length_bytes),
                kib(region.start_bytes),
                kib(region.end()),
                region.words(),
            ]);
            rows.push((region.start_bytes, row.toned(tone)));
        }
    }
    rows.sort_by_key(|(start_bytes, _)| *start_bytes);
    rows.into_iter().map(|(_, row)| row).collect()
}
