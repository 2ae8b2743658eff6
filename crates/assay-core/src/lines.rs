//! Lines of a CSV text and their fields. Each line is divided for itself, so that a quotation mark
//! left open spoils one line and not all that follow, and line numbers are those of an editor.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

/// Lines that hold something, with their numbers from 1: no blank ones, no comments.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Some spreadsheets end lines with a carriage return alone.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let numbered = text.split(end).enumerate();
    let lines = numbered.map(|(index, line)| (index + 1, line.strip_suffix('\r').unwrap_or(line)));
    lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty())
}

/// Divides lines at their commas or the like; memory is used again from line to line.
pub(crate) struct Splitter {
    reader: Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

/// A quotation mark is open at the end of the line, in the field with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenQuote(pub usize);

impl Splitter {
    /// Nothing divided yet.
    pub(crate) fn new() -> Self {
        Self::between(b',')
    }

    /// The same with this between the fields.
    pub(crate) fn between(delimiter: u8) -> Self {
        let reader =
            ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build();
        Self { reader, bytes: Vec::new(), ends: Vec::new(), count: 0 }
    }

    /// Divides a line that is not blank.
    pub(crate) fn split(&mut self, line: &str) -> Result<(), OpenQuote> {
        self.reader.reset();
        // No field can be longer than the line, and no line has more fields than bytes.
        self.bytes.resize(self.bytes.len().max(line.len() + 1), 0);
        self.ends.resize(self.ends.len().max(line.len() + 2), 0);
        let (_, _, written, ended) =
            self.reader.read_record(line.as_bytes(), &mut self.bytes, &mut self.ends);
        let (result, _, _, last) =
            self.reader.read_record(b"\n", &mut self.bytes[written..], &mut self.ends[ended..]);
        self.count = ended + last;
        if result == ReadRecordResult::Record { Ok(()) } else { Err(OpenQuote(ended + 1)) }
    }

    /// Fields of the line that was divided last.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// A field without the spaces around it; empty where the line has ended before.
    pub(crate) fn field(&self, index: usize) -> &str {
        if index >= self.count {
            return "";
        }
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        // Only whole quotation marks were taken out of a text: what is left is text, too.
        std::str::from_utf8(&self.bytes[start..self.ends[index]]).unwrap_or_default().trim()
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
