//! Reads and writes lines of CSV. Each line is parsed separately, so an unclosed quotation mark spoils one line only
//! and line numbers match those of an editor.

use std::borrow::Cow;

use crate::outside;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

/// Lines with their numbers from 1, without blank lines and comments.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Some spreadsheets end lines with a carriage return alone.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let numbered = text.split(end).enumerate();
    let lines = numbered.map(|(index, line)| (index + 1, line.strip_suffix('\r').unwrap_or(line)));
    lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
}

/// Divides lines at their commas; memory is used again from line to line.
pub struct Splitter {
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

/// A quotation mark is open at the end of the line, in the field with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote(pub usize);

impl Default for Splitter {
    fn default() -> Self {
        Self::new()
    }
}

impl Splitter {
    pub fn new() -> Self {
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { reader, bytes: Vec::new(), ends: Vec::new(), count: 0 }
    }

    /// Divides one line; fails if a quotation mark is open at its end.
    pub fn split(&mut self, line: &str) -> Result<(), OpenQuote> {
        self.reader.reset();
        // A field is at most as long as the line, and a line has at most as many fields as bytes.
        self.bytes.resize(self.bytes.len().max(line.len() + 1), 0);
        self.ends.resize(self.ends.len().max(line.len() + 2), 0);
        let (_, _, written, ended) =
            self.reader.read_record(line.as_bytes(), &mut self.bytes, &mut self.ends);
        // Only the line end completes the last field.
        let (result, _, _, last) =
            self.reader.read_record(b"\n", &mut self.bytes[written..], &mut self.ends[ended..]);
        self.count = ended + last;
        if result == ReadRecordResult::Record { Ok(()) } else { Err(OpenQuote(ended + 1)) }
    }

    /// Fields of the line that was divided last.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns a field without surrounding spaces and the apostrophe of [`field`]; empty beyond the last field.
    pub fn field(&self, index: usize) -> &str {
        if index >= self.count {
            return "";
        }
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        // The parser only removed whole quotation marks, so the rest is valid UTF-8.
        let text = std::str::from_utf8(&self.bytes[start..self.ends[index]]).unwrap_or_default();
        let text = text.trim();
        text.strip_prefix(NO_FORMULA).filter(|rest| is_formula(rest)).unwrap_or(text)
    }
}

/// Prefix that prevents a spreadsheet from evaluating a text.
const NO_FORMULA: char = '\'';

/// Quotes a text as a CSV field that a spreadsheet does not evaluate. Assay writes all CSV fields with it.
pub fn field(text: &str) -> String {
    let clean = clean(text);
    let text = if is_formula(&clean) { format!("{NO_FORMULA}{clean}").into() } else { clean };
    // A number sign would begin a comment.
    if text.contains([',', '"', '\n', '\r', '#']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.into_owned()
}

/// Replaces control characters by spaces and removes bidirectional overrides.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(outside::is_unseen) {
        return Cow::Borrowed(text);
    }
    let visible = text.chars().filter_map(|sign| match sign {
        sign if sign.is_control() => Some(' '),
        sign => (!outside::is_unseen(sign)).then_some(sign),
    });
    Cow::Owned(visible.collect())
}

/// Returns whether a spreadsheet would evaluate the text. A signed number is not a formula.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start();
    match text.chars().next() {
        // Spreadsheets treat the full-width forms of these characters alike.
        Some('=' | '@' | '\u{ff1d}' | '\u{ff20}' | '\u{ff0b}' | '\u{ff0d}') => true,
        Some('+' | '-') => text.parse::<f64>().is_err(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Result<Vec<String>, OpenQuote> {
        let mut splitter = Splitter::new();
        splitter.split("some,other,line,\"before\"").unwrap();
        splitter.split(line)?;
        Ok((0..splitter.count()).map(|index| splitter.field(index).to_owned()).collect())
    }

    #[test]
    fn fields_are_divided_and_unquoted() {
        assert_eq!(
            fields("1, two ,\"a, b\",\"say \"\"x\"\"\",").unwrap(),
            ["1", "two", "a, b", "say \"x\"", ""]
        );
        assert_eq!(fields("one").unwrap(), ["one"]);
        assert_eq!(fields("\u{e9},\u{1f4be}").unwrap(), ["\u{e9}", "\u{1f4be}"]);
        assert_eq!(fields("a\rb,c").unwrap(), ["a\rb", "c"]);
    }

    #[test]
    fn what_a_spreadsheet_would_calculate_is_a_text_and_read_again_it_is_the_same() {
        for (text, written) in [
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd", "'+cmd"),
            ("-O2", "'-O2"),
            ("-1+cmd|x", "'-1+cmd|x"),
        ] {
            assert_eq!(field(text), written);
            assert_eq!(fields(&field(text)), Ok(vec![text.to_owned()]));
        }
        for text in ["-5", "+5.5", "-1e-3", "ext4", "a=b", "'quoted'", "it's", "\u{e9}", ""] {
            assert_eq!(field(text), text);
        }
        assert_eq!(fields("'word,'+5"), Ok(vec!["'word".to_owned(), "'+5".to_owned()]));
        assert_eq!(field("\t=1\r"), "' =1 ", "what goes before it hides nothing");
        assert_eq!(field("a\u{202e}b\u{1b}[2J"), "ab [2J");
        assert_eq!(field("\u{202e}=1"), "'=1");
        assert_eq!(field("\u{ff1d}1+1"), "'\u{ff1d}1+1");
        assert_eq!((field("a,b"), field("# a")), ("\"a,b\"".to_owned(), "\"# a\"".to_owned()));
    }

    #[test]
    fn an_open_quotation_mark_is_found_in_its_field() {
        assert_eq!(fields("1,\"two,3"), Err(OpenQuote(2)));
        assert_eq!(fields("\""), Err(OpenQuote(1)));
    }

    #[test]
    fn line_numbers_are_those_of_an_editor() {
        let found = |text| lines(text).map(|(number, line)| format!("{number}{line}")).collect();
        let found: fn(&'static str) -> Vec<String> = found;
        assert_eq!(found("\u{feff}a\r\n\r\n# c\r\nb"), ["1a", "4b"]);
        assert_eq!(found("a\r# c\rb\r"), ["1a", "3b"]);
        assert_eq!(found(""), [""; 0]);
    }
}
