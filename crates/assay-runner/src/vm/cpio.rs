//! Archives for the kernel's initramfs: `newc` of cpio(5), uncompressed.

const MAGIC: &str = "070701";
const LAST: &str = "TRAILER!!!";
/// Alignment of names and contents.
const STEP: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpioKind {
    Directory,
    File,
    /// Symbolic link: its content is the link's destination.
    Link,
    Device(u32, u32),
}

impl CpioKind {
    const fn bits(self) -> u32 {
        match self {
            Self::Directory => 0o040_000,
            Self::File => 0o100_000,
            Self::Link => 0o120_000,
            Self::Device(..) => 0o020_000,
        }
    }
}

#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds an entry of root. `path` has no leading slash; directories come before their content.
    pub fn add(&mut self, path: &str, kind: CpioKind, permissions: u32, content: &[u8]) {
        self.entries += 1;
        self.put(path, kind, permissions, content);
    }

    pub fn end(mut self) -> Vec<u8> {
        self.entries = 0;
        self.put(LAST, CpioKind::File, 0, &[]);
        self.bytes
    }

    /// Appends an entry: the head, whose numbers are hexadecimal, then the name and the content, both aligned.
    fn put(&mut self, path: &str, kind: CpioKind, permissions: u32, content: &[u8]) {
        let (major, minor) = match kind {
            CpioKind::Device(major, minor) => (major, minor),
            _ => (0, 0),
        };
        let links = if kind == CpioKind::Directory { 2 } else { 1 };
        let inode = self.entries;
        // Only the trailer has number 0.
        let mode = if inode == 0 { 0 } else { kind.bits() | permissions };
        let (bytes, name_bytes) = (content.len() as u32, path.len() as u32 + 1);
        // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
        let numbers = [inode, mode, 0, 0, links, 0, bytes, 0, 0, major, minor, name_bytes, 0];
        self.bytes.extend(MAGIC.bytes());
        self.bytes.extend(numbers.iter().flat_map(|number| format!("{number:08x}").into_bytes()));
        self.bytes.extend(path.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(STEP), 0);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_head_its_name_and_its_bytes() {
        let mut archive = Archive::default();
        archive.add("five", CpioKind::File, 0o644, b"12345");
        let bytes = archive.end();
        let head = "07070100000001000081a400000000000000000000000100000000000000050000000000000000\
                    00000000000000000000000500000000";
        assert_eq!(head.len(), 110);
        let text = String::from_utf8(bytes).unwrap();
        // The name ends at 115 with its zero byte, plus one byte of padding; the content ends at 121.
        assert_eq!(&text[..124], format!("{head}five\0\0") + "12345\0\0\0");
        assert!(text[124..].starts_with(MAGIC) && text.contains(LAST));
        assert_eq!(text.len() % STEP, 0);
    }
}
