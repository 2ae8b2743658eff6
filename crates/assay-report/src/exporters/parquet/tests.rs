//! A file is read back by a reader of the test's own, which knows nothing of the writer.

use std::collections::BTreeMap;

use super::super::Writes;
use super::*;

/// A value of thrift's compact protocol.
#[derive(Clone, Debug)]
enum Read {
    Number(i64),
    Bytes(Vec<u8>),
    List(Vec<Read>),
    Fields(BTreeMap<u8, Read>),
}

impl Read {
    fn field(&self, number: u8) -> &Read {
        let Read::Fields(fields) = self else { panic!("no struct: {self:?}") };
        fields.get(&number).unwrap_or_else(|| panic!("no field {number}: {self:?}"))
    }

    fn has(&self, number: u8) -> bool {
        matches!(self, Read::Fields(fields) if fields.contains_key(&number))
    }

    fn number(&self) -> i64 {
        let Read::Number(number) = self else { panic!("no number: {self:?}") };
        *number
    }

    fn text(&self) -> String {
        let Read::Bytes(bytes) = self else { panic!("no text: {self:?}") };
        String::from_utf8(bytes.clone()).unwrap()
    }

    fn list(&self) -> &[Read] {
        let Read::List(list) = self else { panic!("no list: {self:?}") };
        list
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn value(&mut self, kind: u8) -> Read {
        match kind {
            5 | 6 => {
                let value = self.varint();
                Read::Number((value >> 1) as i64 ^ -((value & 1) as i64))
            }
            8 => {
                let count = self.varint() as usize;
                self.at += count;
                Read::Bytes(self.bytes[self.at - count..self.at].to_vec())
            }
            9 => {
                let head = self.byte();
                let count = if head >> 4 == 15 { self.varint() } else { u64::from(head >> 4) };
                Read::List((0..count).map(|_| self.value(head & 15)).collect())
            }
            12 => {
                let (mut fields, mut number) = (BTreeMap::new(), 0);
                loop {
                    let head = self.byte();
                    if head == 0 {
                        return Read::Fields(fields);
                    }
                    number += head >> 4;
                    fields.insert(number, self.value(head & 15));
                }
            }
            other => panic!("kind {other} at {}", self.at),
        }
    }
}

fn word(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize
}

/// Whether each value is there.
fn told_levels(bytes: &[u8], count: usize) -> Vec<bool> {
    let mut reader = Reader { bytes, at: 0 };
    let mut found = Vec::new();
    while reader.at < bytes.len() {
        let head = reader.varint();
        assert_eq!(head & 1, 0, "runs alone are written");
        let level = reader.byte() == 1;
        found.extend(std::iter::repeat_n(level, (head >> 1) as usize));
    }
    assert_eq!(found.len(), count);
    found
}

/// Columns with their values as words; what is absent is a dash.
fn read(file: &[u8]) -> Vec<(String, Vec<String>)> {
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    let end = file.len() - 8;
    let from = end - word(&file[end..]);
    let mut reader = Reader { bytes: &file[..end], at: from };
    let footer = reader.value(12);
    assert_eq!(reader.at, end, "the footer is as long as it says");
    let rows = footer.field(3).number() as usize;
    let schema = footer.field(2).list();
    let groups = footer.field(4).list();
    assert_eq!(groups.len(), 1);
    let chunks = groups[0].field(1).list();
    assert_eq!(schema[0].field(5).number() as usize, chunks.len());
    let column = |(element, chunk): (&Read, &Read)| {
        let about = chunk.field(3);
        assert_eq!(about.field(1).number(), element.field(1).number());
        assert_eq!(about.field(3).list()[0].text(), element.field(4).text());
        let mut reader = Reader { bytes: file, at: about.field(9).number() as usize };
        let begins = reader.at;
        let head = reader.value(12);
        let size = head.field(2).number() as usize;
        assert_eq!(reader.at + size - begins, about.field(7).number() as usize);
        assert_eq!(head.field(5).field(1).number() as usize, rows);
        let mut body = &file[reader.at..reader.at + size];
        let mut there = vec![true; rows];
        if element.field(3).number() == 1 {
            let count = word(body);
            there = told_levels(&body[4..4 + count], rows);
            body = &body[4 + count..];
        }
        let mut value = |is_there: bool| {
            if !is_there {
                return "-".to_owned();
            }
            let (told, used) = match element.field(1).number() {
                1 => (word(body).to_string(), 4),
                5 => (f64::from_le_bytes(body[..8].try_into().unwrap()).to_string(), 8),
                6 => {
                    assert!(element.has(6), "a text says that it is one");
                    let count = word(body);
                    (String::from_utf8(body[4..4 + count].to_vec()).unwrap(), 4 + count)
                }
                other => panic!("type {other}"),
            };
            body = &body[used..];
            told
        };
        let values = there.into_iter().map(&mut value).collect();
        assert!(body.is_empty(), "nothing is left of {}", element.field(4).text());
        (element.field(4).text(), values)
    };
    schema[1..].iter().zip(chunks).map(column).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let mut absent = 0;
    for name in ["study-grid", "card", "study-commands", "study-eight-arms"] {
        let findings = crate::tests::fixture(name);
        let Writes::Bytes(write) = EXPORTER.write else { panic!("bytes") };
        let columns = read(&write(&findings).unwrap());
        let trials = Trials::of(&findings);
        let column = |name: &str| &columns.iter().find(|(own, _)| own == name).unwrap().1;
        for (at, row) in trials.rows.iter().enumerate() {
            let value = row.trial.value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            let order = row.trial.order.map_or_else(|| "-".to_owned(), |order| order.to_string());
            assert_eq!(column("value")[at], value);
            assert_eq!(column("order")[at], order);
            assert_eq!(column("replicate")[at], row.trial.replicate.to_string());
            assert_eq!(column("workload")[at], row.cell.workload);
            assert_eq!(column("metric")[at], row.cell.metric);
            assert_eq!(column("status")[at], row.status());
            for (factor, level) in &row.cell.arm {
                assert_eq!(column(&format!("factor:{factor}"))[at], *level);
            }
            absent += usize::from(row.trial.value.is_none());
        }
        assert!(!trials.rows.is_empty());
    }
    assert!(absent > 0, "some trial has no value");
}

#[test]
fn findings_without_trials_are_no_table() {
    let mut findings = crate::tests::fixture("card");
    findings.cells.clear();
    assert!(super::write(&findings).is_none());
}
