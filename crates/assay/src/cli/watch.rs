//! `assay watch`: shows a device and the machine live.

pub mod screen;
mod session;
mod studies;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::Args;

use super::{output, running};
use crate::store;
use crate::watch::record::{self, RecordWish, Rows};
use crate::watch::requests::Recording;
use crate::watch::sampler::{Sampler, Tracing, disks};
use crate::watch::{State, document, summary};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Time;
use assay_machine::system::{System, identity};
use assay_study::results::id;
use screen::{Screen, TerminalStream};

pub use session::{StudyView, show_study};

/// More frequent readings would mainly measure themselves.
const SHORTEST: Time = Time(100_000_000);

/// Show live I/O latency and throughput per device
///
/// The terminal page shows latency histograms of reads, writes, flushes and discards. Assay starts and changes
/// nothing. Latency by class needs root; other users see rates and means. If standard output is a pipe, Assay prints
/// one line per second, and histograms and a table at the end (Ctrl-C or --duration).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay watch                              show all active disks
  assay watch /home                        show the disks below a directory
  assay watch nvme0n1 --duration 60s       watch for one minute
  assay watch sda --duration 1min --record before         store to compare
  assay watch sda --duration 5min --record-trace busy     store requests
  assay watch sda --duration 10s --json    for scripts
  assay watch sda | tee watch.txt          one line per second")]
pub struct WatchArguments {
    /// Devices (sda, /dev/sda), directories or files [default: all disks]
    #[arg(value_name = "DEVICE")]
    devices: Vec<String>,
    /// Stop after this time and print a summary
    #[arg(long, value_name = "DURATION")]
    duration: Option<String>,
    /// Set the time between readings
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    interval: String,
    /// Store a summary as result NAME, or in DIR (with /)
    #[arg(long, value_name = "DIR|NAME")]
    record: Option<String>,
    /// Store every request as well, without contents (root)
    #[arg(long, value_name = "DIR|NAME", requires = "devices", conflicts_with = "record")]
    record_trace: Option<String>,
    /// Print one JSON document at the end
    #[arg(long)]
    json: bool,
    /// Print only the summary at the end
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(system: &dyn System, arguments: &WatchArguments) -> Outcome<()> {
    let every = parse_time("--interval", &arguments.interval)?;
    let time = arguments.duration.as_deref().map(|it| parse_time("--duration", it)).transpose()?;
    let name = arguments.record.as_deref().or(arguments.record_trace.as_deref());
    let wish = name.map(|name| record_wish(system, name)).transpose()?;
    let disks = disks::choose_each(system, &arguments.devices)?;
    let stop = running::stop_on_signals(&running::LOOKS)?;
    let is_trace = arguments.record_trace.is_some();
    let tracing = if is_trace {
        Tracing::begin_recording(system, &disks)?
    } else {
        Tracing::begin(system, &disks)
    };
    let at_end = arguments.json || time.is_some() || arguments.quiet;
    let stream = stream(system, at_end).filter(|_| !arguments.quiet);
    let screen = stream.map(|stream| Screen::open(stream, page_style(system))).transpose()?;
    let trace_wish = wish.as_ref().filter(|_| is_trace);
    let mut recording =
        trace_wish.map(|wish| Recording::begin(system, wish, &disks)).transpose()?;
    let mut sampler = Sampler::new(system, disks, tracing);
    let mut state = State::begin(&mut sampler);
    let mut rows = Rows::default();
    let mut session = session::WatchSession {
        system,
        sampler: &mut sampler,
        state: &mut state,
        every: every.duration(),
        until_ns: time.map(|time| system.monotonic_ns().saturating_add(time.ns())),
        stop: &|| stop.load(Ordering::Relaxed),
        // A series has one row per second.
        rows: (wish.is_some() && every == Time(1_000_000_000)).then_some(&mut rows),
        requests: recording.as_mut(),
    };
    match screen {
        Some(mut screen) => session.on_page(&mut screen),
        None if arguments.json || arguments.quiet => session.silently(),
        None => session.in_lines(),
    }
    let (requests, truncated) = recording.map(|recording| recording.finish(&mut sampler)).unzip();
    let printed = print_summary(arguments, &state);
    let Some(wish) = wish else { return printed };
    // A recording of requests already exists: writes its summary even if the reader of the output is gone.
    if !is_trace && printed.is_err() {
        return printed;
    }
    record::write(system, &wish, &state, &rows, requests)?;
    store::update_headline(system, &wish.directory);
    if !arguments.quiet {
        print_place(system, &wish);
    }
    printed?;
    match truncated.flatten() {
        None => Ok(()),
        Some(why) => Err(Failure::partial(format!("the request trace is truncated: {why}"))),
    }
}

fn print_summary(arguments: &WatchArguments, state: &State) -> Outcome<()> {
    if arguments.json {
        output::json(&document::document(state));
    } else {
        output::text(&summary::render(state));
    }
    output::check_written()
}

fn print_place(system: &dyn System, wish: &RecordWish) {
    let results = identity::results_directory(system).ok();
    let name = if wish.directory.parent() == results.as_deref() {
        // Among the results, the ID suffices.
        wish.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    } else {
        wish.directory.display().to_string()
    };
    output::message(&format!("stored as {name}; to show this result: assay show {name}"));
}

/// Returns where to store the recording: a path if the name contains a slash, otherwise a title.
fn record_wish(system: &dyn System, to: &str) -> Outcome<RecordWish> {
    if to.trim().is_empty() {
        return Err(mistake!("--record: use a title, or a directory with a / in its name"));
    }
    if to.contains('/') {
        let directory = PathBuf::from(to);
        record::check_unused(system, &directory)?;
        let name = directory.file_name().map_or(to.into(), |name| name.to_string_lossy());
        return Ok(RecordWish { title: name.into_owned(), directory });
    }
    let results = identity::results_directory(system)?;
    let id = id::unused_id(system, &results, &system.now());
    Ok(RecordWish { directory: results.join(id), title: to.to_owned() })
}

fn parse_time(option: &str, text: &str) -> Outcome<Time> {
    let time: Time = text.parse().map_err(|error| mistake!("{option}: {error}"))?;
    if time < SHORTEST {
        return Err(mistake!("{option} {text}: use at least 100 ms"));
    }
    Ok(time)
}

/// Returns the stream for a page: standard output, or standard error next to a result; `None` if neither is a suitable
/// terminal.
pub fn stream(system: &dyn System, at_end: bool) -> Option<TerminalStream> {
    if system.variable("TERM").is_none_or(|name| name.is_empty() || name == "dumb") {
        return None;
    }
    if std::io::stdout().is_terminal() {
        return Some(TerminalStream::Output);
    }
    (at_end && std::io::stderr().is_terminal()).then_some(TerminalStream::Errors)
}

/// Returns the style that the environment asks for: colors, and block characters in a UTF-8 locale.
pub fn page_style(system: &dyn System) -> crate::watch::page::PageStyle {
    let variable = |name: &str| system.variable(name).filter(|value| !value.is_empty());
    let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    crate::watch::page::PageStyle {
        colour: variable("NO_COLOR").is_none(),
        blocks: locale.contains("utf-8") || locale.contains("utf8"),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    #[test]
    fn quiet_is_taken_like_elsewhere() {
        for option in ["-q", "--quiet"] {
            let words = ["assay", "watch", option].map(OsString::from);
            assert!(
                crate::cli::parse(&assay_machine::system::Fake::new(), words).is_ok(),
                "{option}"
            );
        }
    }
}
