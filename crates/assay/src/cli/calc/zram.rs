//! `assay calc zram`: the size of a compressed swap device.

use clap::Args;

use super::page::{CalcPage, bytes, decimal};
use assay_core::calc::zram::{self, MEASURED, Question, Zram, ZramSize};
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_core::quantity::{Bytes, Percent};
use assay_machine::system::System;
use assay_report::document::Row;

/// Compute the memory cost and settings of zram
///
/// A full device of size S with compression ratio R uses S/R of memory, plus 0.1% of S. Measure the ratio with
/// `zramctl` or the device's mm_stat; the kernel documentation expects 2.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay calc zram --memory 512MiB
      511 MiB; a full device uses half of the memory
  assay calc zram --memory 512MiB --size 1GiB --ratio 1.8
      too large; costs more than all memory
  assay calc zram --memory 8GiB --share 25% --algorithm zstd --ratio 3
      a quarter of the memory at most")]
pub struct ZramArguments {
    /// Memory of the machine
    #[arg(long)]
    memory: Bytes,
    /// Size of the device
    #[arg(long, conflicts_with = "share")]
    size: Option<Bytes>,
    /// Share of memory that a full device may use, instead of --size
    #[arg(long, default_value = "50%")]
    share: Percent,
    /// Compression ratio: bytes stored per byte of memory
    #[arg(long, default_value = "2")]
    ratio: f64,
    /// Algorithm for the settings
    #[arg(long, default_value = "lz4", value_parser = algorithm)]
    algorithm: String,
    /// Device number
    #[arg(long, value_name = "N", default_value = "0")]
    device: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn algorithm(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not an algorithm; use one such as lz4, lzo-rle or zstd"))
    }
}

pub fn run(system: &dyn System, arguments: &ZramArguments) -> Outcome<String> {
    if !arguments.ratio.is_finite() {
        return Err(mistake!("--ratio: not a number; example: 2"));
    }
    let wanted = arguments
        .size
        .map_or(ZramSize::Share(arguments.share.fraction()), |Bytes(size)| ZramSize::Size(size));
    let answer = zram::compute(&Question {
        memory_bytes: arguments.memory.0,
        ratio: arguments.ratio,
        wanted,
        algorithm: arguments.algorithm.clone(),
        device: arguments.device,
    })?;
    Ok(page(&answer).render(system, arguments.json, "zram", &answer))
}

fn page(answer: &Zram) -> CalcPage {
    let mut page = CalcPage::new(format!("assay calc: zram of {}", show::bytes(answer.size_bytes)));
    let gain = answer.gain_bytes.unsigned_abs();
    let sign = if answer.gain_bytes < 0 { "-" } else { "" };
    let (cost, percent) = (show::bytes(answer.cost_bytes), decimal(answer.cost_percent, 1));
    let usual_size = show::bytes(answer.generator_default_bytes);
    page.facts(vec![
        ("memory", bytes(answer.memory_bytes)),
        ("ratio", format!("{} (assumed, not measured)", decimal(answer.ratio, 2))),
        ("cost when full", format!("{cost}, {percent}% of memory")),
        ("gain when full", format!("{sign}{}", show::bytes(gain))),
        ("usual size", format!("{usual_size} (zram-generator: min(ram / 2, 4096))")),
    ]);
    page.list("Warnings", answer.warnings.clone());
    let rows = answer.examples.iter().map(|example| {
        let ratio = example.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        Row::new([
            example.content.to_owned(),
            example.algorithm.unwrap_or("any").to_owned(),
            ratio,
            show::bytes(example.cost_bytes),
        ])
    });
    let titles = ["content", "algorithm", ">ratio", ">cost"];
    page.table("Full device, same size", &titles, rows.collect());
    page.text(vec![format!("Ratios {MEASURED}.")]);
    page.copy("/etc/systemd/zram-generator.conf", &answer.generator_file);
    page.copy("until the next boot (root)", answer.commands.join("\n"));
    page
}
