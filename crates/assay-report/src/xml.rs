//! Texts as XML takes them: figures, and what pages of CI read.

pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no word for them, and marks of direction would turn what follows around.
            '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                safe.push('?');
            }
            letter if letter.is_control() => safe.push('?'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let told = escaped("<script>\"a\" & 'b'\u{0}\u{202e}\n");
        assert_eq!(told, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;???");
        assert_eq!(escaped("]]>\u{ffff}\u{85}"), "]]&gt;??");
        assert_eq!(escaped("sleep 0.05, \u{e9}\u{1f600}"), "sleep 0.05, \u{e9}\u{1f600}");
    }
}
