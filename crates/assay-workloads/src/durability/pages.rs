//! The content of a drive by page. Zeros and unwritten pages use no memory, and copies share unchanged pages.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

const PAGE: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrivePages {
    pages: BTreeMap<u64, Arc<[u8; PAGE]>>,
}

impl DrivePages {
    /// Reads bytes; pages that are not stored are zeros.
    pub fn read(&self, at_bytes: u64, into: &mut [u8]) {
        for (page, within, part) in split_pages(at_bytes, into.len() as u64) {
            let to = &mut into[part];
            match self.pages.get(&page) {
                Some(page_bytes) => to.copy_from_slice(&page_bytes[within]),
                None => to.fill(0),
            }
        }
    }

    pub fn write(&mut self, at_bytes: u64, bytes: &[u8]) {
        for (page, within, part) in split_pages(at_bytes, bytes.len() as u64) {
            let page_bytes = self.pages.entry(page).or_insert_with(|| Arc::new([0; PAGE]));
            Arc::make_mut(page_bytes)[within].copy_from_slice(&bytes[part]);
        }
    }

    /// Fills a range of bytes with zeros, and drops its whole pages.
    pub fn clear(&mut self, at_bytes: u64, bytes: u64) {
        let end = at_bytes.saturating_add(bytes);
        let page = PAGE as u64;
        let whole_pages = at_bytes.div_ceil(page)..end / page;
        if whole_pages.start < whole_pages.end {
            // A page that is not stored reads as zeros.
            let mut from_start = self.pages.split_off(&whole_pages.start);
            self.pages.append(&mut from_start.split_off(&whole_pages.end));
        }
        // The parts of pages before and after the whole ones.
        let edges = [
            at_bytes..end.min(whole_pages.start * page),
            at_bytes.max(whole_pages.end.saturating_mul(page))..end,
        ];
        for edge in edges.into_iter().filter(|edge| edge.start < edge.end) {
            for (page, within, _) in split_pages(edge.start, edge.end - edge.start) {
                if let Some(page_bytes) = self.pages.get_mut(&page) {
                    Arc::make_mut(page_bytes)[within].fill(0);
                }
            }
        }
    }
}

/// Splits a range of bytes at the pages: the page's number, the range within the page, and that within the bytes.
fn split_pages(at: u64, bytes: u64) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let page = PAGE as u64;
    let end = at.saturating_add(bytes);
    (at / page..end.div_ceil(page)).map(move |number| {
        let from = at.max(number * page);
        let to = end.min((number + 1).saturating_mul(page));
        let within = (from - number * page) as usize..(to - number * page) as usize;
        (number, within, (from - at) as usize..(to - at) as usize)
    })
}

#[cfg(test)]
mod tests {
    use assay_core::draws::Draws;

    use super::*;

    #[test]
    fn it_holds_what_an_array_holds_and_a_copy_stays_as_it_was() {
        const BYTES: u64 = 5 * PAGE as u64;
        let (mut array, mut pages) = (vec![0; BYTES as usize], DrivePages::default());
        let mut draws = Draws::new(1, "test");
        let mut whole = vec![7; BYTES as usize];
        for step in 0..400_u64 {
            let at = draws.below(BYTES);
            let length = draws.below(BYTES - at + 1);
            let range = at as usize..(at + length) as usize;
            let before = pages.clone();
            if step % 3 == 0 {
                array[range].fill(0);
                pages.clear(at, length);
            } else {
                let bytes = vec![step as u8; length as usize];
                array[range].copy_from_slice(&bytes);
                pages.write(at, &bytes);
            }
            let mut earlier = vec![0; BYTES as usize];
            before.read(0, &mut earlier);
            assert!(step == 0 || earlier == whole, "step {step}");
            pages.read(0, &mut whole);
            assert!(whole == array, "step {step}: {length} bytes at {at}");
        }
        pages.clear(0, u64::MAX);
        assert_eq!(pages, DrivePages::default());
    }
}
