//! Real files of other tools: below `tests/importers`, one folder for each format, with the expected result of each
//! file. `UPDATE_EXPECT=1` rewrites these; review the difference.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assay_analysis::import::requests::{self, Begin};
use assay_analysis::import::{self, IMPORTERS, ImportedFile, Importer, Options, Reads};
use assay_testkit::expected::Expected;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/importers");
const EXPECTED: &str = ".expected.txt";

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|_| panic!("no fixture in {}", folder.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.to_string_lossy().ends_with(EXPECTED));
    found.sort();
    found
}

fn brought(path: &Path) -> ImportedFile {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    ImportedFile { name, arm: std::collections::BTreeMap::new(), bytes: fs::read(path).unwrap() }
}

fn told(importer: &Importer, file: &ImportedFile) -> String {
    if let Reads::Requests(begin) = importer.reads {
        return requests_told(begin, file);
    }
    let read = import::read(importer, std::slice::from_ref(file), &Options::default());
    let imported = match read {
        Ok(imported) => imported,
        Err(failure) => return format!("refused: {}\n", failure.message),
    };
    let design = &imported.measurements.design;
    let mut text = format!("{} trials, order {}\n", imported.trials, design.order.name());
    for note in &imported.notes {
        writeln!(text, "# {note}").unwrap();
    }
    for series in &imported.measurements.series {
        let arm: Vec<String> =
            series.arm.iter().map(|(name, level)| format!("{name}={level}")).collect();
        let better = format!("{:?}", series.better).to_lowercase();
        let star = if series.primary { "*" } else { " " };
        writeln!(
            text,
            "{star} {} | {} | {} {better}",
            series.workload,
            arm.join(" "),
            series.metric
        )
        .unwrap();
        for trial in &series.trials {
            let value = trial.value.map_or_else(|| "none".to_owned(), |value| value.to_string());
            let order = trial.order.map_or_else(|| "?".to_owned(), |order| order.to_string());
            let reason = trial.reason.as_ref().map(|reason| format!(" ({reason})"));
            writeln!(text, "    {}@{order} {value}{}", trial.replicate, reason.unwrap_or_default())
                .unwrap();
        }
    }
    text
}

/// Formats single requests, one per line: arrival and completion in microseconds, device, class, offset, bytes.
fn requests_told(begin: Begin, file: &ImportedFile) -> String {
    let mut text = String::new();
    let read = requests::read(&file.name, begin, &mut file.bytes.as_slice(), &mut |one| {
        let arrived = one.arrived_ns.map_or_else(|| "?".to_owned(), |ns| (ns / 1000).to_string());
        let place = one.offset_bytes.map_or_else(|| "-".to_owned(), |offset| offset.to_string());
        let (ended, sync) = (one.ended_ns / 1000, if one.sync { " sync" } else { "" });
        writeln!(
            text,
            "{arrived} {ended} {} {} {place} {}{sync}",
            one.device, one.class, one.bytes
        )
        .unwrap();
    });
    match read {
        Err(failure) => format!("{text}refused: {}\n", failure.message),
        Ok(told) => {
            let notes = told.notes.iter().map(|note| format!("# {note}\n"));
            let devices = told.devices.iter().map(|one| format!("{} {}\n", one.name, one.bytes));
            notes.chain(devices).chain([text]).collect()
        }
    }
}

#[test]
fn every_format_reads_its_files_and_no_other_takes_them() {
    let mut beside = Expected::default();
    let others = IMPORTERS.iter().filter(|importer| !matches!(importer.reads, Reads::Table(_)));
    for importer in others {
        let name = importer.about.name;
        let paths = files(&Path::new(FOLDER).join(name));
        assert!(!paths.is_empty(), "{name} has no fixture");
        for path in paths {
            let file = brought(&path);
            let own = import::of_bytes(&file.name, &file.bytes).map(|own| own.about.name);
            assert_eq!(own.as_ref().ok(), Some(&name), "{}: {own:?}", path.display());
            let others = IMPORTERS.iter().filter(|other| other.about.name != name);
            let text = String::from_utf8_lossy(&file.bytes);
            for other in others {
                assert!(
                    !(other.recognises)(&text),
                    "{} takes {}",
                    other.about.name,
                    path.display()
                );
            }
            let found = told(importer, &file);
            let expected = path.with_file_name(format!("{}{EXPECTED}", file.name));
            beside.hold(expected, &found);
        }
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_told_or_read_and_never_a_panic() {
    let others = IMPORTERS.iter().filter(|importer| !matches!(importer.reads, Reads::Table(_)));
    for importer in others {
        for path in files(&Path::new(FOLDER).join(importer.about.name)) {
            let whole = brought(&path);
            let step = whole.bytes.len().div_ceil(40).max(1);
            for end in (0..whole.bytes.len()).step_by(step) {
                let file = ImportedFile { bytes: whole.bytes[..end].to_vec(), ..whole.clone() };
                if let Reads::Requests(begin) = importer.reads {
                    let told = requests_told(begin, &file);
                    assert!(!told.contains("refused") || told.contains(&whole.name), "{told}");
                    continue;
                }
                if let Err(failure) = import::read(importer, &[file], &Options::default()) {
                    assert!(failure.message.contains(&whole.name), "{}", failure.message);
                }
            }
        }
    }
}
