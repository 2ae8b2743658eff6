//! Program output as plain text, without terminal control sequences and invalid characters.

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// Maximum bytes of a sequence with a terminator, such as a window title: a longer one is not a sequence.
const LONGEST_TITLE: usize = 4096;

/// Text without escape sequences and control characters; invalid UTF-8 is replaced.
pub fn plain(bytes: &[u8]) -> String {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == ESCAPE) {
        kept.extend_from_slice(&rest[..at]);
        rest = &rest[at + sequence_length(&rest[at..])..];
    }
    kept.extend_from_slice(rest);
    let is_text = |sign: &char| !sign.is_control() || matches!(sign, '\n' | '\r' | '\t');
    String::from_utf8_lossy(&kept).chars().filter(is_text).collect()
}

/// Length of the escape sequence at the start of a text; 1 if it is not a sequence.
fn sequence_length(text: &[u8]) -> usize {
    match text.get(1) {
        Some(b'[') => {
            let parameters =
                text[2..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            let ends = text.get(2 + parameters).is_some_and(|byte| (0x40..0x7f).contains(byte));
            2 + parameters + usize::from(ends)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            // Ends with BEL or with `ESC \`.
            let title = &text[..text.len().min(LONGEST_TITLE)];
            match (2..title.len()).find(|at| matches!(title[*at], BELL | ESCAPE)) {
                Some(end) if title[end] == BELL => end + 1,
                Some(end) if title.get(end + 1) == Some(&b'\\') => end + 2,
                _ => 2,
            }
        }
        // Selects a character set: `ESC ( B`.
        Some(0x20..=0x2f) => text.len().min(3),
        Some(0x30..=0x7e) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_left_out_and_lines_stay() {
        for (written, told) in [
            (&b"\x1b[1;32m12.5\x1b[0m ops/s\r\n\tend"[..], "12.5 ops/s\r\n\tend"),
            (b"\x1b]0;a title\x07x\x1b]8;;link\x1b\\y", "xy"),
            (b"a\x1b]never ends", "anever ends"),
            (b"a\x1b", "a"),
            (b"a\x1b[", "a"),
            (b"a\x1b[12", "a"),
            (b"\x1b(Bz\x1b7", "z"),
            (b"\x1b]0;t\x07", ""),
            (b"bell\x07 back\x08 null\0.", "bell back null."),
            (b"\xff12\xc3", "\u{fffd}12\u{fffd}"),
            ("\u{9b}5 \u{b5}s".as_bytes(), "5 \u{b5}s"),
            (b"", ""),
        ] {
            assert_eq!(plain(written), told, "{written:?}");
        }
    }

    #[test]
    fn a_flood_of_escapes_is_gone_through_once() {
        let flood = b"\x1b]".repeat(1 << 18);
        assert_eq!(plain(&flood), "");
        let flood = b"\x1b[".repeat(1 << 18);
        assert_eq!(plain(&flood), "");
    }
}
