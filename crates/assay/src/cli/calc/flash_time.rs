//! `assay calc flash-time`: how long a whole pass takes, and what a limited time gives instead.

use clap::Args;

use super::page::{CalcPage, bytes, decimal};
use assay_core::calc::flash_time::{self, FlashTime, FlashTimeQuestion, Speed};
use assay_core::calc::{bytes_per_s, number};
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_core::quantity::{Bytes, Time};
use assay_machine::system::System;
use assay_report::document::Row;

/// Compute the time to cover an area, and how much a time-limited test covers
///
/// A test with a size limit can take a day on a slow card. A test with a time limit always ends on time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay calc flash-time --iops 1,19,90
      36.4 h, 115 min and 24.3 min for 512 MiB in blocks of 4 KiB
  assay calc flash-time --area 64GiB --block 1MiB --rate 20MB/s
      57.3 min
  assay calc flash-time --iops 1 --trial 60s --budget 30min
      30 replicates of 60 operations each")]
pub struct FlashTimeArguments {
    /// Bytes to cover
    #[arg(long, default_value = "512MiB")]
    area: Bytes,
    /// Block size
    #[arg(long, default_value = "4KiB")]
    block: Bytes,
    /// Operations per second, one or more
    #[arg(long, value_delimiter = ',', value_parser = |text: &str| number(text, "IOPS"))]
    #[arg(required_unless_present = "rate")]
    iops: Vec<f64>,
    /// Bytes per second, one or more
    #[arg(long, value_name = "BYTES/S", value_delimiter = ',', value_parser = bytes_per_s)]
    rate: Vec<f64>,
    /// Duration of one trial
    #[arg(long, default_value = "10s")]
    trial: Time,
    /// Time for all trials
    #[arg(long)]
    budget: Option<Time>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &FlashTimeArguments) -> Outcome<String> {
    let iops = arguments.iops.iter().map(|iops| Speed::Iops(*iops));
    let rates = arguments.rate.iter().map(|rate| Speed::Rate(*rate));
    let speeds: Vec<Speed> = iops.chain(rates).collect();
    if speeds.is_empty() {
        return Err(mistake!("no speed; add --iops 19 or --rate 20MB/s"));
    }
    let answer = flash_time::compute(&FlashTimeQuestion {
        area_bytes: arguments.area.0,
        block_bytes: arguments.block.0,
        speeds,
        trial_s: arguments.trial.duration().as_secs_f64(),
        budget_s: arguments.budget.map(|budget| budget.duration().as_secs_f64()),
    })?;
    Ok(page(&answer).render(system, arguments.json, "flash-time", &answer))
}

fn seconds(time_s: f64) -> String {
    show::duration(time_s * 1e9)
}

fn page(answer: &FlashTime) -> CalcPage {
    let (area, block) = (bytes(answer.area_bytes), show::bytes(answer.block_bytes));
    let mut page = CalcPage::new(format!("assay calc: {area} in blocks of {block}"));
    let mut facts = vec![
        ("operations", show::count(answer.operations)),
        ("one trial", seconds(answer.trial_s)),
    ];
    if let Some((budget, replicates)) = answer.budget_s.zip(answer.replicates) {
        facts.push(("replicates", format!("{} in {}", show::count(replicates), seconds(budget))));
    }
    page.facts(facts);
    let rows = answer.speeds.iter().map(|speed| {
        Row::new([
            format!("{} IOPS", show::per_second(speed.iops)),
            show::rate(speed.bytes_per_s),
            seconds(speed.pass_s),
            decimal(speed.operations_per_trial, 1),
            show::percent(speed.trial_percent),
        ])
    });
    let titles = [">speed", ">rate", ">whole pass", ">operations per trial", ">share of the area"];
    page.table("Time", &titles, rows.collect());
    let slow = answer.speeds.iter().filter_map(|speed| Some((speed, speed.longer_trial_s?)));
    let slow = slow.map(|(speed, time)| {
        format!(
            "At {} IOPS, a trial of {} has few operations; --trial {} gives 30.",
            show::per_second(speed.iops),
            seconds(answer.trial_s),
            seconds(time)
        )
    });
    page.list("Remarks", slow.collect());
    page
}
