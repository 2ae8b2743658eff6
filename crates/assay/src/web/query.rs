//! What stands behind the question mark of an address.

/// Names with their values, in order; a name may stand several times.
pub(super) fn pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    };
    parts.map(pair).collect()
}

/// The first value of a name.
pub(super) fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// The text behind `%41` and `+`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let (mut found, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                found.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => found.push(b' '),
            (byte, ..) => found.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&found).into_owned()
}

/// A text as a value of an address.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_values_and_what_is_broken() {
        let found = pairs("id=a%2Db&id=c+d&&q=%zz%4&x");
        let texts: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(texts, [("id", "a-b"), ("id", "c d"), ("q", "%zz%4"), ("x", "")]);
        assert_eq!(first(&found, "id"), Some("a-b"));
        assert_eq!(first(&found, "y"), None);
    }

    proptest! {
        #[test]
        fn any_text_survives(text in ".*") {
            prop_assert_eq!(&pairs(&format!("q={}", encoded(&text)))[0].1, &text);
        }
    }
}
