//! Content of a file: bytes that identify the file and show whether it is complete.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::script::FileScript;
use crate::durability::image;
use crate::durability::log::SECTOR_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    Whole(u32),
    /// The beginning of a file, followed by other data.
    Part(u32),
    /// Nothing, or zeros.
    Empty,
    Strange,
    Unreadable,
}

impl Content {
    /// The file that the content is from, if it is one of this run.
    pub const fn file(self) -> Option<u32> {
        if let Self::Whole(file) | Self::Part(file) = self { Some(file) } else { None }
    }
}

pub type Listing = BTreeMap<String, Content>;

impl FileScript {
    /// The bytes of a file; `run` distinguishes it from those of all other runs.
    pub fn contents(&self, run: u64, file: u32) -> Vec<u8> {
        let bytes = self.lengths.get(file as usize).copied().unwrap_or_default();
        let mut all = vec![0; (bytes.div_ceil(SECTOR_BYTES) * SECTOR_BYTES) as usize];
        image::fill(&mut all, run, 0, file);
        all.truncate(bytes as usize);
        all
    }

    /// Finds out which file these bytes are, and whether they are complete.
    pub fn parse(&self, run: u64, bytes: &[u8]) -> Content {
        if bytes.iter().all(|byte| *byte == 0) {
            return Content::Empty;
        }
        let number = image::identify_start(bytes, run);
        let file = number.filter(|number| (*number as usize) < self.lengths.len());
        let Some(file) = file else { return Content::Strange };
        if *bytes == self.contents(run, file) { Content::Whole(file) } else { Content::Part(file) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::FileShape;
    use super::*;
    use crate::durability::sync::Sync;

    #[test]
    fn a_file_says_which_it_is_and_whether_it_is_whole() {
        let shape = FileShape { sync: Sync::Fsync, rounds: 30, most_bytes: 3000, seed: 1 };
        let own = FileScript::from_shape(&shape);
        let mut lengths = Vec::new();
        for file in 0..own.lengths.len() as u32 {
            let bytes = own.contents(7, file);
            lengths.push(bytes.len());
            assert_eq!(own.parse(7, &bytes), Content::Whole(file));
            assert_eq!(own.parse(8, &bytes), Content::Strange, "of another run");
            let (shorter, longer) = (&bytes[..bytes.len() - 1], [&bytes[..], &[0]].concat());
            assert_eq!([own.parse(7, shorter), own.parse(7, &longer)], [Content::Part(file); 2]);
            let mut changed = bytes.clone();
            changed[bytes.len() - 1] ^= 1;
            assert_eq!(own.parse(7, &changed), Content::Part(file));
            changed.fill(0);
            assert_eq!(own.parse(7, &changed), Content::Empty);
            assert_eq!(own.parse(7, &bytes[8..]), Content::Strange);
        }
        assert!(lengths.contains(&3000) && lengths.iter().any(|own| own % 512 > 0));
        assert_eq!([own.parse(7, b""), own.parse(7, b"text")], [Content::Empty, Content::Strange]);
        let shorter = FileScript::from_shape(&FileShape { rounds: 1, ..shape });
        let unknown = own.contents(7, own.lengths.len() as u32 - 1);
        assert_eq!(shorter.parse(7, &unknown), Content::Strange, "no such file was written");
    }

    #[test]
    fn a_listing_is_read_as_it_is_written() {
        let contents = [
            Content::Whole(3),
            Content::Part(4),
            Content::Empty,
            Content::Strange,
            Content::Unreadable,
        ];
        let names = (0..).map(|at: u32| format!("file-{at:02}"));
        let own: Listing = names.zip(contents).collect();
        let text = serde_json::to_string(&own).unwrap();
        assert!(text.contains("\"file-00\":{\"whole\":3}"), "{text}");
        assert_eq!(serde_json::from_str::<Listing>(&text).unwrap(), own);
    }
}
