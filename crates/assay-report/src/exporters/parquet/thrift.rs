//! Writing in thrift's compact protocol: as much of it as footers of Parquet need.
//! Source: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Kinds of values.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// Values of a list whose number stands in its first byte.
const FEW: usize = 15;

/// A struct with the fields that were added so far, by rising number.
#[derive(Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    /// Adds a whole number of 32 bits.
    pub fn i32(self, field: u8, value: i32) -> Self {
        self.field(field, I32, |bytes| zigzag(bytes, i64::from(value)))
    }

    /// Adds a whole number of 64 bits.
    pub fn i64(self, field: u8, value: i64) -> Self {
        self.field(field, I64, |bytes| zigzag(bytes, value))
    }

    /// Adds a text.
    pub fn text(self, field: u8, text: &str) -> Self {
        self.field(field, BINARY, |bytes| put(bytes, text))
    }

    /// Adds a struct.
    pub fn inner(self, field: u8, inner: Self) -> Self {
        self.field(field, STRUCT, |bytes| bytes.extend(inner.end()))
    }

    /// Adds a list of numbers.
    pub fn i32s(self, field: u8, values: &[i32]) -> Self {
        self.field(field, LIST, |bytes| {
            list(bytes, I32, values.len());
            for value in values {
                zigzag(bytes, i64::from(*value));
            }
        })
    }

    /// Adds a list of texts.
    pub fn texts(self, field: u8, values: &[&str]) -> Self {
        self.field(field, LIST, |bytes| {
            list(bytes, BINARY, values.len());
            for text in values {
                put(bytes, text);
            }
        })
    }

    /// Adds a list of structs.
    pub fn structs(self, field: u8, values: Vec<Self>) -> Self {
        self.field(field, LIST, |bytes| {
            list(bytes, STRUCT, values.len());
            bytes.extend(values.into_iter().flat_map(Self::end));
        })
    }

    /// Its bytes, with the mark of its end.
    pub fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// The number of a field is told by how far it is from the last one: all of ours are close.
    fn field(mut self, field: u8, kind: u8, value: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
        value(&mut self.bytes);
        self
    }
}

/// Seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Small numbers of either sign stay short.
fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, (value << 1 ^ value >> 63) as u64);
}

fn put(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn list(bytes: &mut Vec<u8>, kind: u8, count: usize) {
    if count < FEW {
        bytes.push((count as u8) << 4 | kind);
    } else {
        bytes.push((FEW as u8) << 4 | kind);
        varint(bytes, count as u64);
    }
}
