//! Parses numbers from a program's output: by a pattern, a JSON pointer, or another tool's format.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::outside;
use assay_core::quantity::Better;
use assay_core::quantity::units::show;
use regex_lite::{Captures, Regex};
use serde_json::Value;

use super::{
    MOST_NUMBERS, ParseSpec, ParsedNumber, READ_BYTES, ReadFormat, TOLD, ToolOutput, compile, named,
};

/// Bytes at the end of a text that a pattern searches; more would take many seconds.
const SEARCHED_BYTES: usize = 512 << 10;
/// Bytes at the end of a line that a pattern searches.
const LINE_BYTES: usize = 16 << 10;
const QUOTED: usize = 120;
/// Maximum bytes of the name of a number, which may come from the output.
const NAME_BYTES: usize = 200;

#[derive(Clone, Copy, Debug)]
pub struct OutputText<'t> {
    pub text: &'t str,
    pub bytes: u64,
}

impl OutputText<'_> {
    /// Fails if the output was longer than the text, whose beginning is missing then.
    fn check_complete(&self) -> Result<(), String> {
        if self.bytes <= READ_BYTES {
            return Ok(());
        }
        Err(format!(
            "the output has {}, but this format allows at most {}",
            show::bytes(self.bytes),
            show::bytes(READ_BYTES)
        ))
    }
}

#[derive(Clone, Debug)]
pub struct OutputReader {
    reading: ParseSpec,
    how: ParseMethod,
    /// Metrics in the order of its groups; empty if they depend on the text.
    names: Vec<String>,
}

#[derive(Clone, Debug)]
enum ParseMethod {
    Format(String),
    /// The numeric groups; if none has a name, the first one, or the whole match.
    Pattern(Regex, Vec<Option<String>>),
    Json(String),
}

impl OutputReader {
    pub fn new(reading: &ParseSpec) -> Result<Self, String> {
        let how = match (&reading.format, &reading.regex, &reading.json_pointer) {
            (Some(format), ..) => ParseMethod::Format(format.clone()),
            (_, Some(pattern), _) => {
                let regex = compile(pattern)?;
                let groups = named::group_names(&regex);
                ParseMethod::Pattern(regex, groups)
            }
            (_, _, Some(json)) => ParseMethod::Json(json.clone()),
            _ => return Err("reads needs a format, a pattern or a JSON pointer".to_owned()),
        };
        Ok(Self { reading: reading.clone(), how, names: reading.metrics() })
    }

    pub fn from(&self) -> Option<&str> {
        self.reading.file.as_deref()
    }

    /// Reads the numbers in an output; fails if there are too many, or one is negative or not finite.
    pub fn read(
        &self,
        text: &OutputText<'_>,
        formats: ReadFormat,
        stop: &AtomicBool,
    ) -> Result<ToolOutput, String> {
        let mut evidence = Vec::new();
        let numbers = match &self.how {
            ParseMethod::Format(format) => {
                text.check_complete()?;
                let mut output = formats(format, text.text)?;
                for number in &mut output.numbers {
                    // No name of a program's number equals a name of Assay's metrics.
                    number.name.insert_str(0, TOLD);
                    if !number.better.is_known() {
                        number.better = self.reading.better.unwrap_or(Better::Unknown);
                    }
                }
                evidence = output.evidence;
                output.numbers
            }
            ParseMethod::Pattern(regex, groups) => {
                self.name_values(find_by_pattern(regex, groups, text, stop)?)
            }
            ParseMethod::Json(pointer) => {
                text.check_complete()?;
                self.name_values(vec![find_by_pointer(pointer, text.text)?])
            }
        };
        if numbers.len() > MOST_NUMBERS {
            return Err(format!("found {} numbers; the limit is {MOST_NUMBERS}", numbers.len()));
        }
        for number in &numbers {
            check_number(&number.name, number.value)?;
        }
        Ok(ToolOutput { numbers, evidence })
    }

    /// Gives each value the name of its group.
    fn name_values(&self, values: Vec<f64>) -> Vec<ParsedNumber> {
        let better = self.reading.better.unwrap_or(Better::Unknown);
        let named = self.names.iter().cloned().zip(values);
        named.map(|(name, value)| ParsedNumber { name, better, value }).collect()
    }
}

fn check_number(name: &str, value: f64) -> Result<(), String> {
    if name.len() > NAME_BYTES {
        return Err(format!("the name of a number is too long: {}", quote(name)));
    }
    if !value.is_finite() {
        return Err(format!("{name} is not a finite number"));
    }
    if value < 0.0 {
        return Err(format!(
            "{name} is {value}; Assay compares ratios, so numbers must not be negative"
        ));
    }
    Ok(())
}

/// The numbers of the last match, searching from the last line backwards.
fn find_by_pattern(
    regex: &Regex,
    groups: &[Option<String>],
    text: &OutputText<'_>,
    stop: &AtomicBool,
) -> Result<Vec<f64>, String> {
    let searched = last_bytes(text.text, SEARCHED_BYTES);
    for line in searched.rsplit(['\n', '\r']) {
        let line_end = last_bytes(line, LINE_BYTES);
        if let Some(found) = last_match(regex, line_end, stop)? {
            let number =
                |group: &Option<String>| captured_number(&found, group.as_deref(), line_end);
            return groups.iter().map(number).collect();
        }
    }
    let last = last_line(text.text).map_or_else(
        || "the output is empty".to_owned(),
        |line| format!("the last line is `{}`", quote(line)),
    );
    let limits = search_limits(text, searched);
    Err(format!("no line matches `{}`{limits}; {last}", regex.as_str()))
}

/// Words for the searched part of a text; empty for the whole text.
fn search_limits(text: &OutputText<'_>, searched: &str) -> String {
    let is_cut = searched.len() < text.text.len() || text.bytes > READ_BYTES;
    let is_line_cut = searched.split(['\n', '\r']).any(|line| line.len() > LINE_BYTES);
    let [all, each] = [SEARCHED_BYTES, LINE_BYTES].map(|bytes| show::bytes(bytes as u64));
    match (is_cut, is_line_cut) {
        (true, true) => format!(" (searched: the last {all}, and the last {each} of each line)"),
        (true, false) => format!(" (searched: the last {all})"),
        (false, true) => format!(" (searched: the last {each} of each line)"),
        (false, false) => String::new(),
    }
}

/// The last match within a line; fails after too much work, because each search may read the whole rest of the line.
fn last_match<'l>(
    regex: &Regex,
    line: &'l str,
    stop: &AtomicBool,
) -> Result<Option<Captures<'l>>, String> {
    if stop.load(Ordering::Relaxed) {
        return Err("not read because the study was stopped".to_owned());
    }
    let mut last_start = None;
    let mut searched_from = 0;
    let mut searched_bytes = 0;
    for found in regex.find_iter(line) {
        searched_bytes += line.len() - searched_from;
        if searched_bytes > SEARCHED_BYTES {
            return Err(format!(
                "`{}` matches too often in one long line; add text before or after the number to the pattern; the \
                 line is `{}`",
                regex.as_str(),
                quote(line)
            ));
        }
        searched_from = found.end();
        last_start = Some(found.start());
    }
    Ok(last_start.and_then(|start| regex.captures_at(line, start)))
}

/// The number in a named group, else in the first group, or in the whole match of a pattern without groups.
fn captured_number(found: &Captures<'_>, group: Option<&str>, line: &str) -> Result<f64, String> {
    let captured = match group {
        Some(name) => found.name(name),
        None if found.len() > 1 => found.get(1),
        None => found.get(0),
    };
    let text = captured.map(|captured| captured.as_str());
    text.and_then(parse_number).ok_or_else(|| {
        let what = text.map_or_else(|| "nothing".to_owned(), |text| format!("`{}`", quote(text)));
        format!("{what} is not a number in the line `{}`", quote(line))
    })
}

/// The number at a pointer in the last document that has it.
fn find_by_pointer(pointer: &str, text: &str) -> Result<f64, String> {
    let Some(start) = start_of_json(text) else {
        let last = last_line(text)
            .map_or_else(String::new, |line| format!("; the last line is `{}`", quote(line)));
        return Err(format!("no JSON found{last}"));
    };
    let mut documents_read = 0_u64;
    let mut latest: Option<Value> = None;
    let mut first_error: Option<String> = None;
    let mut rest = Some(&text[start..]);
    while let Some(unread) = rest.take() {
        let mut documents = serde_json::Deserializer::from_str(unread).into_iter::<Value>();
        while let Some(document) = documents.next() {
            match document {
                Ok(document) => {
                    documents_read += 1;
                    latest = document.pointer(pointer).cloned().or(latest);
                }
                Err(error) => {
                    // Other lines between two documents are skipped.
                    rest = after_other_line(unread, documents.byte_offset(), error.line());
                    first_error = first_error.or_else(|| Some(error.to_string()));
                    break;
                }
            }
        }
    }
    let Some(found) = latest else {
        return Err(match first_error {
            Some(error) if documents_read == 0 => format!("cannot parse the JSON: {error}"),
            _ => format!("the JSON has no value at {pointer}"),
        });
    };
    let value = found.as_f64().or_else(|| parse_number(found.as_str()?));
    value.ok_or_else(|| {
        format!("the value at {pointer} is not a number: `{}`", quote(&found.to_string()))
    })
}

/// The text from the next JSON on, if the line at byte `at` is not JSON. `None` if the error is in a later line:
/// then a document is broken. Lines count from 1.
fn after_other_line(text: &str, at: usize, error_line: usize) -> Option<&str> {
    let (before, from) = text.split_at_checked(at)?;
    if before.matches('\n').count() + 1 != error_line {
        return None;
    }
    let (_, after) = from.split_once('\n')?;
    start_of_json(after).map(|start| &after[start..])
}

/// Start of JSON: at the beginning of a line.
fn start_of_json(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        if bare.starts_with(['{', '[']) {
            return Some(at + line.len() - bare.len());
        }
        at += line.len();
    }
    None
}

/// Parses a number in a program's output; removes thousands separators.
fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let parts: Vec<&str> = text.split(',').collect();
    let [first, groups @ ..] = parts.as_slice() else { return None };
    let is_group = |part: &&str| {
        let digits = part.split_once('.').map_or(*part, |(whole, _)| whole);
        digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let splits_fraction = text.split_once('.').is_some_and(|(_, digits)| digits.contains(','));
    if !groups.is_empty() && (first.is_empty() || splits_fraction || !groups.iter().all(is_group)) {
        return None;
    }
    let number = parts.concat();
    // Rust also parses words such as `inf` and `nan`.
    if !number.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    number.parse().ok()
}

/// The end of a text with at most this many bytes.
pub(in crate::command) fn last_bytes(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

fn last_line(text: &str) -> Option<&str> {
    text.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty())
}

fn quote(line: &str) -> String {
    let line = line.trim();
    let cut = line.char_indices().nth(QUOTED).map_or(line, |(end, _)| &line[..end]);
    let more = if cut.len() < line.len() { "..." } else { "" };
    format!("{}{more}", outside::spelled(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_format(_: &str, text: &str) -> Result<ToolOutput, String> {
        Err(format!("not asked for: {text}"))
    }

    fn read(spec: &str, text: &str) -> Result<Vec<(String, f64)>, String> {
        let reader = OutputReader::new(&spec.parse().unwrap()).unwrap();
        let whole = OutputText { text, bytes: text.len() as u64 };
        let found = reader.read(&whole, no_format, &AtomicBool::new(false))?;
        Ok(found.numbers.into_iter().map(|own| (own.name, own.value)).collect())
    }

    fn value(spec: &str, text: &str) -> f64 {
        read(spec, text).unwrap()[0].1
    }

    fn why(spec: &str, text: &str) -> String {
        read(spec, text).unwrap_err()
    }

    /// The last output lines of five programs, from their sources.
    #[test]
    fn what_well_known_programs_print_is_read() {
        let pgbench = "latency average = 11.013 ms\nlatency stddev = 7.351 ms\ninitial connection time = \
                       45.758 ms\ntps = 896.967014 (without initial connection time)\n";
        assert_eq!(value("tps = ([0-9.]+):tps:higher", pgbench), 896.967_014);
        assert_eq!(value("latency average = ([0-9.]+):ms:lower", pgbench), 11.013);
        let sysbench = "CPU speed:\n    events per second:  1234.56\n\nGeneral statistics:\n    \
                        total time:   10.0005s\n";
        assert_eq!(value("events per second: +([0-9.]+):events/s:higher", sysbench), 1234.56);
        let speedtest1 = " 990 - ANALYZE..................................................    0.123s\n   \
                          \x20   TOTAL....................................................    4.567s\n";
        assert_eq!(value("TOTAL[. ]+([0-9.]+)s:s:lower", speedtest1), 4.567);
        let iperf3 = "{\n\t\"end\":\t{\n\t\t\"sum_received\":\t{\n\t\t\t\"bits_per_second\":\t\
                      350296574.28915393\n\t\t}\n\t}\n}\n";
        let spec = "/end/sum_received/bits_per_second:bits/s:higher";
        assert_eq!(
            read(spec, iperf3).unwrap(),
            [("reported_bits_per_s".to_owned(), 350_296_574.289_153_93)]
        );
    }

    #[test]
    fn the_last_match_counts_of_lines_that_end_as_progress_does_too() {
        assert_eq!(value("([0-9]+) ops/s:ops/s:higher", "1 ops/s\r2 ops/s 3 ops/s\nend\n"), 3.0);
        let several = read("(?<min>[0-9.]+)/(?<max>[0-9.]+):ms:lower", "rtt 0.5/2.25\n").unwrap();
        assert_eq!(
            several,
            [("reported_min_ms".to_owned(), 0.5), ("reported_max_ms".to_owned(), 2.25)]
        );
        assert_eq!(value("[0-9]+::higher", "a 12 b 13"), 13.0);
        assert_eq!(value("/a::higher", "{\"a\": 1}\n{\"a\": 2}\n{\"b\": 3}\n"), 2.0);
        assert_eq!(value("/a/0::higher", "warning: x\n{\"a\": [\"12.5\"]}"), 12.5);
        // Log lines before and between documents, some of which begin like JSON.
        let logged =
            "[info] x\n{\"a\": 1}\nend of the first\n[1] 2 done\n{\n  \"a\": 2\n}\n[info] y\n";
        assert_eq!(value("/a::higher", logged), 2.0);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let spec = "([0-9.a-zA-Z-]+) ops/s:ops/s:higher";
        assert_eq!(
            why(spec, "starting\nfailed: no room\n\n"),
            "no line matches `([0-9.a-zA-Z-]+) ops/s`; the last line is `failed: no room`"
        );
        assert!(why(spec, "").ends_with("the output is empty"));
        for (line, told) in [
            ("NaN ops/s", "`NaN` is not a number in the line `NaN ops/s`"),
            ("inf ops/s", "`inf` is not a number in the line `inf ops/s`"),
            ("1.2.3 ops/s", "`1.2.3` is not a number in the line `1.2.3 ops/s`"),
            ("1e999 ops/s", "reported_ops_per_s is not a finite number"),
            (
                "-3 ops/s",
                "reported_ops_per_s is -3; Assay compares ratios, so numbers must not be negative",
            ),
        ] {
            assert_eq!(why(spec, line), told);
        }
        assert_eq!(why("(a)?b::higher", "b"), "nothing is not a number in the line `b`");
        assert_eq!(why("/a/b::higher", "{\"a\": 1}"), "the JSON has no value at /a/b");
        assert_eq!(why("/a::higher", "{\"a\": null}"), "the value at /a is not a number: `null`");
        assert!(why("/a::higher", "{\"a\": ").starts_with("cannot parse the JSON: "));
        // Parts of a broken document do not count as documents.
        let broken = "{\"all\": [\n{\"a\": 1},\n{\"a\": 2},\n";
        assert!(why("/a::higher", broken).starts_with("cannot parse the JSON: EOF"));
        assert_eq!(why("/a::higher", "oh no"), "no JSON found; the last line is `oh no`");
    }

    #[test]
    fn thousands_may_have_their_commas_and_nothing_else() {
        for (text, told) in [
            ("1,234,567.5", Some(1_234_567.5)),
            (" 12 ", Some(12.0)),
            ("1e3", Some(1000.0)),
            ("12,5", None),
            (",500", None),
            ("1,23,456", None),
            ("infinity", None),
            ("", None),
        ] {
            assert_eq!(parse_number(text), told, "{text}");
        }
    }

    /// A lot of output, in one line or in many.
    #[test]
    #[ignore = "nightly: 1 s"]
    fn a_flood_is_gone_through_once() {
        let (spec, size) = ("([0-9]+) ops/s:ops/s:higher", READ_BYTES as usize);
        let line = "x".repeat(size) + "7 ops/s";
        assert_eq!(value(spec, &line), 7.0);
        assert!(why(spec, &"x".repeat(size)).contains("x..."));
        let matches = "1 ops/s\n".repeat(size / 8);
        assert_eq!(value(spec, &matches), 1.0);
        // A pattern that searches to the end of the line from each position.
        let short = "a".repeat(LINE_BYTES);
        assert!(why("(a+)+b::higher", &short).contains("no line"));
        let cut = OutputText { text: "{}", bytes: READ_BYTES + 1 };
        let reader = OutputReader::new(&"/a::higher".parse().unwrap()).unwrap();
        let stop = AtomicBool::new(false);
        assert!(reader.read(&cut, no_format, &stop).unwrap_err().contains("at most 8 MiB"));
        assert!(why("fio-json", "x").contains("not asked for"));
        let called: ReadFormat = |_, text| {
            let own = ParsedNumber { name: text.to_owned(), better: Better::Higher, value: 1.0 };
            Ok(ToolOutput { numbers: vec![own], evidence: Vec::new() })
        };
        let reader = OutputReader::new(&"fio-json".parse().unwrap()).unwrap();
        let of =
            |text: &str| reader.read(&OutputText { text, bytes: text.len() as u64 }, called, &stop);
        assert_eq!(of("iops").unwrap().numbers[0].name, "reported_iops");
        assert!(of(&"x".repeat(1000)).unwrap_err().contains("name of a number is too long"));
    }

    #[test]
    fn stated_direction_fills_in_for_a_format() {
        let called: ReadFormat = |_, _| {
            let of =
                |name: &str, better| ParsedNumber { name: name.to_owned(), better, value: 1.0 };
            let numbers = vec![of("score", Better::Unknown), of("errors", Better::Lower)];
            Ok(ToolOutput { numbers, evidence: Vec::new() })
        };
        for (spec, expected) in [
            ("go-bench", Better::Unknown),
            ("go-bench::higher", Better::Higher),
            ("go-bench::lower", Better::Lower),
        ] {
            let reader = OutputReader::new(&spec.parse().unwrap()).unwrap();
            let text = OutputText { text: "", bytes: 0 };
            let found = reader.read(&text, called, &AtomicBool::new(false)).unwrap();
            let found: Vec<Better> = found.numbers.iter().map(|own| own.better).collect();
            assert_eq!(found, [expected, Better::Lower], "{spec}");
        }
    }

    #[test]
    fn what_was_not_searched_is_said_and_of_a_short_text_nothing_is() {
        let spec = "([0-9]+) ops/s:ops/s:higher";
        let filling = "a line\n".repeat(SEARCHED_BYTES / 7 + 1);
        let early = format!("7 ops/s\n{filling}");
        assert!(why(spec, &early).contains("` (searched: the last 512 KiB); the last line is `a"));
        assert_eq!(value(spec, &format!("{early}8 ops/s\n")), 8.0);
        let long = "7 ops/s".to_owned() + &"x".repeat(LINE_BYTES);
        assert!(why(spec, &long).contains("` (searched: the last 16 KiB of each line); the last"));
        assert!(why(spec, "a line").ends_with("ops/s`; the last line is `a line`"));
    }

    /// Each of its matches searches to the end of the line.
    #[test]
    fn a_line_that_matches_too_often_is_refused_and_an_ordinary_one_is_not() {
        let spec = "a(?:.*z)?::higher";
        let told = why(spec, &"a".repeat(LINE_BYTES));
        assert!(told.contains("matches too often in one long line"), "{told}");
        assert_eq!(value("[0-9]+::higher", &"12 ".repeat(200)), 12.0);
        // The last match is the common end of all of them.
        assert_eq!(value("(?:x|)([0-9]*)y?::higher", "x1y x22y"), 22.0);
    }

    #[test]
    fn who_wants_to_stop_does_not_wait_for_a_pattern() {
        let reader = OutputReader::new(&"([0-9]+)::higher".parse().unwrap()).unwrap();
        let text = OutputText { text: "1\n", bytes: 2 };
        let read = |stop| reader.read(&text, no_format, &AtomicBool::new(stop));
        assert!(read(true).unwrap_err().contains("the study was stopped"));
        assert_eq!(read(false).unwrap().numbers[0].value, 1.0);
    }
}
