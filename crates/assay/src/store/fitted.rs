//! A study of a made load that is like recorded requests: a file that a person can read and share.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use assay_base::calc::fitted::{Load, Sample};
use assay_base::calc::requests::Request;
use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};
use assay_base::outside;
use assay_base::quantity::units::show;
use assay_study::results::bundle;
use assay_study::results::requests::{FILE, Reader};
use assay_study::study::{self, file};
use assay_system::system::{BlockClass, BlockRequest, System};

/// It as a format that results are exported in.
pub const ENTRY: About = About {
    name: "study",
    summary: "a study file of a made load that is like recorded requests",
    text: "Of what `assay watch --record-requests` kept, or `assay import` took from blkparse or fio-iolog: classes, sizes \
           with their shares, which places are met how often (uniform, zipf, hot spots and zones), what stands in \
           rows, the rate with its arrivals, and how often writes are synced. Each number stands there with the \
           estimator that it comes from and the distance of the load from what was recorded, and what no study can \
           say is named. `--device DEVICE` chooses one of several.",
};

/// Columns of a comment.
const COLUMNS: usize = 100;

/// A study with what is told of it.
pub struct Made {
    /// The study file.
    pub file: String,
    /// The same that stands in its comments, a line each.
    pub told: Vec<String>,
}

/// The study of the load that is like the requests of a result, of the device that is named, or of the busiest one.
///
/// # Errors
/// The user's mistake where it has no recording, or one of too few requests; refused where that cannot be read.
pub fn study(system: &dyn System, directory: &Path, device: Option<&str>) -> Outcome<Made> {
    let (index, name, others) = chosen(system, directory, device)?;
    let reader = opened(system, directory)?;
    let begun_ns = reader.header.begun_ns;
    let mut sample = Sample::default();
    for request in reader {
        let request = request.map_err(|error| unread(&error))?;
        if request.device == index {
            sample.add(&counted(&request, begun_ns));
        }
    }
    let load = sample.fit().map_err(|why| {
        Failure::mistake(format!(
            "no load can be fitted to the requests of {}: {why}",
            spelled(&name)
        ))
    })?;
    let title = bundle::frame(system, directory).map_or_else(
        |_| directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        |stored| stored.title().to_owned(),
    );
    let made = written(&load, &title, &name, &others);
    // What is handed on is a study, or nothing.
    file::parse("the fitted study", &made.file)?;
    Ok(made)
}

/// The device, its name, and what is told of others.
fn chosen(
    system: &dyn System,
    directory: &Path,
    wanted: Option<&str>,
) -> Outcome<(u16, String, Vec<String>)> {
    let reader = opened(system, directory)?;
    let names: Vec<String> = reader.header.devices.iter().map(|one| one.name.clone()).collect();
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    if names.len() > 1 {
        for request in reader {
            *counts.entry(request.map_err(|error| unread(&error))?.device).or_default() += 1;
        }
    }
    let busiest = counts.iter().max_by_key(|(_, count)| **count).map_or(0, |(at, _)| *at);
    let index = match wanted {
        None => busiest,
        Some(name) => {
            let at = names.iter().position(|own| own == name);
            at.and_then(|at| u16::try_from(at).ok()).ok_or_else(|| {
                let all: Vec<_> = names.iter().map(|name| spelled(name)).collect();
                Failure::mistake(format!(
                    "--device {name}: that device was not recorded, but {}",
                    all.join(", ")
                ))
            })?
        }
    };
    let others = counts.into_iter().filter(|(at, _)| *at != index).map(|(at, count)| {
        let name = names.get(usize::from(at)).map_or("?", String::as_str);
        format!("{} requests of {}: a study is of one device", show::count(count), spelled(name))
    });
    let others = others.collect();
    let name = names.get(usize::from(index)).cloned().unwrap_or_default();
    Ok((index, name, others))
}

fn opened<'s>(system: &'s dyn System, directory: &Path) -> Outcome<Reader<'s>> {
    Reader::open(system, directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::mistake(
            "the result has no recorded requests: assay watch DEVICE --record-requests NAME keeps some",
        ),
        _ => unread(&error),
    })
}

fn unread(error: &io::Error) -> Failure {
    Failure::refused(format!("{FILE} cannot be read: {error}"))
}

fn spelled(name: &str) -> String {
    outside::spelled(name).into_owned()
}

/// A request as loads are fitted to it: what was not seen to arrive counts from its hand-over.
fn counted(request: &BlockRequest, begun_ns: u64) -> Request {
    let arrived = request.arrived_ns.or(request.issued_ns);
    let has_place = arrived.is_some() && request.class != BlockClass::Flush;
    Request {
        device: usize::from(request.device),
        class: request.class.name(),
        arrived_ns: arrived.map(|ns| ns.saturating_sub(begun_ns)),
        ended_ns: request.ended_ns.saturating_sub(begun_ns),
        offset_bytes: has_place.then_some(request.offset_bytes),
        bytes: u64::from(request.bytes),
        sync: false,
        meta: false,
        read_ahead: false,
        failed: false,
    }
}

/// The file, and the lines of its comments.
fn written(load: &Load, title: &str, device: &str, others: &[String]) -> Made {
    let (title, device) = (spelled(title), spelled(device));
    let span = show::duration(load.span_ns as f64);
    let head = format!(
        "A made load that is like {} requests of {device} in {span}, recorded as {title}; fitted by assay {}.",
        show::count(load.requests),
        env!("CARGO_PKG_VERSION")
    );
    let mut told = vec![head];
    told.extend(load.sources());
    let unsaid = load.unsaid().into_iter().chain(others.iter().cloned());
    told.extend(unsaid.map(|text| format!("not said: {text}")));
    let mut file: String = told.iter().map(|line| comment(line)).collect();
    let title = serde_json::Value::from(format!("Like {title}"));
    let head = format!("\nformat     = \"{}\"\ntitle      = {title}\n", study::FORMAT);
    file.extend([head, load.tables()]);
    Made { file, told }
}

/// A text as lines of a comment; all but the first are indented.
fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 1 && last + 1 + word.chars().count() > COLUMNS {
            lines.push("#  ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
