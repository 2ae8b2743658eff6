//! Which requests go on where one of the last ones ended.

use std::collections::VecDeque;

use super::One;

/// Ends that are remembered: streams that take turns.
const REMEMBERED: usize = 16;
/// Requests that follow each other in a row at least, so that chance makes no stream.
const SHORTEST: u32 = 8;

/// Requests in rows.
pub(super) struct Rows {
    /// Whether each stands in a row.
    pub is_in: Vec<bool>,
    /// Requests that go on where another one of the same direction ended, and of the other one.
    pub same: u64,
    pub other: u64,
}

/// A row that goes on.
struct Stream {
    end: u64,
    row: usize,
    reads: bool,
}

/// Those of requests in the order in which they came.
pub(super) fn rows(all: &[One]) -> Rows {
    let mut streams: VecDeque<Stream> = VecDeque::with_capacity(REMEMBERED + 1);
    let mut lengths: Vec<u32> = Vec::new();
    let mut crossed: Vec<u32> = Vec::new();
    let mut row_of: Vec<u32> = Vec::with_capacity(all.len());
    for one in all {
        let reads = one.act.is_read();
        let known = streams.iter().rposition(|stream| stream.end == one.offset);
        let row = if let Some(stream) = known.and_then(|at| streams.remove(at)) {
            lengths[stream.row] = lengths[stream.row].saturating_add(1);
            crossed[stream.row] += u32::from(stream.reads != reads);
            stream.row
        } else {
            lengths.push(1);
            crossed.push(0);
            lengths.len() - 1
        };
        row_of.push(row as u32);
        streams.push_back(Stream { end: one.end(), row, reads });
        if streams.len() > REMEMBERED {
            streams.pop_front();
        }
    }
    let long = || lengths.iter().zip(&crossed).filter(|(length, _)| **length >= SHORTEST);
    let other: u64 = long().map(|(_, crossed)| u64::from(*crossed)).sum();
    let all: u64 = long().map(|(length, _)| u64::from(*length - 1)).sum();
    let is_in = row_of.iter().map(|row| lengths[*row as usize] >= SHORTEST).collect();
    Rows { is_in, same: all - other, other }
}

#[cfg(test)]
mod tests {
    use super::super::{Act, One};
    use super::*;

    fn one(offset: u64, act: Act) -> One {
        One { at_ns: 0, ended_ns: 0, offset, bytes: 4096, act }
    }

    #[test]
    fn streams_that_take_turns_are_rows_and_scattered_requests_are_none() {
        let turns = (0..60_u64).map(|at| match at % 3 {
            0 => one(at / 3 * 4096, Act::Read),
            1 => one((1 << 30) + at / 3 * 4096, Act::Write),
            _ => one((at * 7919 % 1000 + 1_000_000) * 65_536, Act::Read),
        });
        let all: Vec<One> = turns.collect();
        let found = rows(&all);
        let count = found.is_in.iter().filter(|is_in| **is_in).count();
        assert_eq!((count, found.same, found.other), (40, 38, 0));
    }

    #[test]
    fn a_row_of_both_directions_is_one() {
        let act = |at: u64| if at.is_multiple_of(2) { Act::Read } else { Act::Write };
        let all: Vec<One> = (0..20).map(|at| one(at * 4096, act(at))).collect();
        let found = rows(&all);
        assert_eq!((found.same, found.other), (0, 19));
        assert!(rows(&all[..7]).is_in.iter().all(|is_in| !is_in));
    }
}
