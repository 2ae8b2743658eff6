//! Pages of results, made once and kept as long as their bundles look the same.
//!
//! They are kept packed, which is also how browsers fetch them, and shared: a thousand who read one
//! page slowly hold one copy of it.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::stream;

use super::stamp::Stamp;

/// Bytes of all pages that are kept.
const MOST_BYTES: usize = 6 << 20;
/// Bytes that are unpacked at once for who cannot do it.
const PART_BYTES: usize = 32 << 10;

/// A page as it is kept.
#[derive(Debug)]
pub(super) struct Page {
    /// Packed (gzip).
    packed: Bytes,
    /// Its bytes unpacked.
    length: usize,
}

#[derive(Debug)]
struct Kept {
    stamps: Vec<Stamp>,
    page: Arc<Page>,
    /// When it was asked for last, in askings.
    asked: u64,
}

/// All pages that are kept, by their address.
#[derive(Debug)]
pub(super) struct Pages {
    kept: Mutex<Book>,
    /// Bytes of all of them together.
    most_bytes: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { kept: Mutex::default(), most_bytes: MOST_BYTES }
    }
}

#[derive(Debug, Default)]
struct Book {
    pages: BTreeMap<String, Kept>,
    asked: u64,
}

impl Pages {
    /// The page at an address, where it was made of bundles that looked like this.
    pub fn find(&self, address: &str, stamps: &[Stamp]) -> Option<Arc<Page>> {
        let mut book = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        book.asked += 1;
        let now = book.asked;
        let kept = book.pages.get_mut(address).filter(|kept| kept.stamps == stamps)?;
        kept.asked = now;
        Some(Arc::clone(&kept.page))
    }

    /// Packs a page and keeps it; those that nobody asked for longest make room.
    pub fn keep(&self, address: &str, stamps: Vec<Stamp>, text: &str) -> io::Result<Arc<Page>> {
        let page = Arc::new(Page { packed: packed(text)?.into(), length: text.len() });
        let mut book = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        book.asked += 1;
        let kept = Kept { stamps, page: Arc::clone(&page), asked: book.asked };
        book.pages.insert(address.to_owned(), kept);
        book.make_room(self.most_bytes);
        Ok(page)
    }
}

impl Book {
    fn make_room(&mut self, most: usize) {
        let bytes = |pages: &BTreeMap<String, Kept>| -> usize {
            pages.iter().map(|(address, kept)| address.len() + kept.page.packed.len()).sum()
        };
        while bytes(&self.pages) > most {
            let oldest = self.pages.iter().min_by_key(|(_, kept)| kept.asked);
            let Some(address) = oldest.map(|(address, _)| address.clone()) else { return };
            self.pages.remove(&address);
        }
    }
}

fn packed(text: &str) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes())?;
    packer.finish()
}

impl Page {
    /// The page as an answer: packed for who says that he can unpack it.
    pub fn answer(&self, headers: &HeaderMap) -> Response {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        if unpacks(headers) {
            let packing = HeaderValue::from_static("gzip");
            let said = [(header::CONTENT_TYPE, kind), (header::CONTENT_ENCODING, packing)];
            return (said, self.packed.clone()).into_response();
        }
        let length = HeaderValue::from(self.length);
        let said = [(header::CONTENT_TYPE, kind), (header::CONTENT_LENGTH, length)];
        (said, self.unpacked()).into_response()
    }

    /// The page itself, a part after the other as it is heard.
    fn unpacked(&self) -> Body {
        let reader = GzDecoder::new(Cursor::new(self.packed.clone()));
        let parts = stream::unfold(reader, |mut reader| async move {
            let mut part = Vec::with_capacity(PART_BYTES);
            match (&mut reader).take(PART_BYTES as u64).read_to_end(&mut part) {
                Ok(0) => None,
                Ok(_) => Some((Ok(Bytes::from(part)), reader)),
                Err(error) => Some((Err(error), reader)),
            }
        });
        Body::from_stream(parts)
    }
}

/// Whether a browser takes packed answers.
fn unpacks(headers: &HeaderMap) -> bool {
    let said = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut ways = said.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
    ways.any(|way| {
        let mut parts = way.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let never = |part: &str| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f64>().ok());
            weight.is_some_and(|weight| weight <= 0.0)
        };
        named && !parts.any(never)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: Stamp = [Some((1, 2, 3)); 8];

    fn text(page: &Page) -> String {
        let mut text = String::new();
        GzDecoder::new(&page.packed[..]).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_page_is_kept_until_its_bundle_looks_different() {
        let pages = Pages::default();
        assert!(pages.find("/result/a", &[LOOKS]).is_none());
        pages.keep("/result/a", vec![LOOKS], "first").unwrap();
        assert_eq!(text(&pages.find("/result/a", &[LOOKS]).unwrap()), "first");
        let mut other = LOOKS;
        other[5] = Some((1, 2, 4));
        assert!(pages.find("/result/a", &[other]).is_none());
        assert!(pages.find("/result/b", &[LOOKS]).is_none());
        pages.keep("/result/a", vec![other], "second").unwrap();
        assert!(pages.find("/result/a", &[LOOKS]).is_none(), "one page an address");
        assert_eq!(text(&pages.find("/result/a", &[other]).unwrap()), "second");
    }

    /// A page that cannot be packed well, of so many bytes.
    fn noise(bytes: usize) -> String {
        let mut state = 88_172_645_463_325_252_u64;
        let letter = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b' ' + (state % 95) as u8)
        };
        (0..bytes).map(letter).collect()
    }

    #[test]
    fn what_nobody_asked_for_longest_makes_room() {
        const MOST: usize = 64 << 10;
        let pages = Pages { most_bytes: MOST, ..Pages::default() };
        let large = noise(MOST * 3 / 8);
        for address in ["a", "b", "c"] {
            pages.keep(address, vec![LOOKS], &large).unwrap();
        }
        assert!(pages.find("a", &[LOOKS]).is_some());
        pages.keep("d", vec![LOOKS], &large).unwrap();
        assert!(pages.find("b", &[LOOKS]).is_none(), "a was asked for since");
        assert!(["a", "c", "d"].iter().all(|one| pages.find(one, &[LOOKS]).is_some()));
        // One that is larger than all room is made anew each time.
        pages.keep("e", vec![LOOKS], &noise(2 * MOST)).unwrap();
        assert!(pages.find("e", &[LOOKS]).is_none());
    }

    #[test]
    fn who_unpacks_says_so() {
        for (said, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(said));
            assert_eq!(unpacks(&headers), expected, "{said}");
        }
        assert!(!unpacks(&HeaderMap::new()));
    }
}
