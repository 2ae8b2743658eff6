//! Finds an enumerator of an anonymous enumeration in the kernel's type information: relocation does not support it.

/// Words after a type, by its kind (`BTF_KIND_*` of linux/btf.h): a fixed number, or a number per member.
fn extra_words(kind: u32, members: usize) -> Option<usize> {
    match kind {
        1 | 14 | 17 => Some(1),
        3 => Some(3),
        2 | 7..=12 | 16 | 18 => Some(0),
        4 | 5 | 15 | 19 => Some(3 * members),
        6 | 13 => Some(2 * members),
        _ => None,
    }
}

const ENUMERATION: u32 = 6;

/// The value of an enumerator by its name, in the content of `/sys/kernel/btf/vmlinux`.
pub fn enumerator(btf: &[u8], name: &str) -> Option<u32> {
    if btf.get(..2)? != 0xeb9f_u16.to_ne_bytes() {
        return None;
    }
    let header = word(btf, 4)? as usize;
    let section = |at: usize| {
        let (offset, length) = (word(btf, at)? as usize, word(btf, at + 4)? as usize);
        btf.get(header.checked_add(offset)?..)?.get(..length)
    };
    let (types, strings) = (section(8)?, section(16)?);
    // Strings end with a zero byte, and the first is empty.
    let sought = format!("\0{name}\0");
    let at = strings.windows(sought.len()).position(|window| window == sought.as_bytes())? + 1;
    find_value(types, u32::try_from(at).ok()?)
}

/// The value of the enumerator whose name is at this offset in the strings.
fn find_value(types: &[u8], name_at: u32) -> Option<u32> {
    let mut at = 0;
    while at + 12 <= types.len() {
        let info = word(types, at + 4)?;
        let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        if kind == ENUMERATION {
            let mut pairs = (0..members).map(|member| at + 12 + 8 * member);
            if let Some(found) = pairs.find(|pair| word(types, *pair) == Some(name_at)) {
                return word(types, found + 4);
            }
        }
        at += 12 + 4 * extra_words(kind, members)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, an integer, an enumeration of two values, and their names.
    fn small() -> Vec<u8> {
        let types: [u32; 11] = [0, 1 << 24, 4, 32, 0, ENUMERATION << 24 | 2, 4, 1, 5, 7, 6];
        let strings = b"\0FIRST\0SECOND\0";
        let header = [24, 0, 44, 44, u32::try_from(strings.len()).unwrap()];
        let mut btf = 0xeb9f_u16.to_ne_bytes().to_vec();
        btf.extend([1, 0]);
        btf.extend(header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()));
        btf.extend(strings);
        btf
    }

    #[test]
    fn an_enumerator_is_found_by_its_name() {
        let btf = small();
        assert_eq!(enumerator(&btf, "FIRST"), Some(5));
        assert_eq!(enumerator(&btf, "SECOND"), Some(6));
        for absent in ["THIRD", "FIRS", "ECOND"] {
            assert_eq!(enumerator(&btf, absent), None);
        }
    }

    #[test]
    fn what_is_cut_short_holds_nothing() {
        let btf = small();
        for length in 0..btf.len() {
            assert_eq!(enumerator(&btf[..length], "SECOND"), None, "{length} bytes");
        }
    }
}
