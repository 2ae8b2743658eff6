//! The seal of a result that root measured here (`seal.jsonl`): what makes it more than a text that
//! anybody could have written.
//!
//! The first line names the result, the store it lies in, this machine and its drives, and the hashes
//! of `study.toml` and `plan.json`. Each further line has the hash of something that came later: the
//! environment, a trial with its files, the end. Each line ends with an HMAC over itself and the one
//! before it, so that the seal holds at every moment of a run, however that ends. A trial whose line
//! here is missing never finished.
//!
//! This file is pure; [`key`] is where the key lies, [`super::vouch`] what follows from a seal.

pub mod key;

use assay_base::digest::{Digest, hexadecimal, sha256};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use key::Key;

/// Format of `seal.jsonl`.
pub const FORMAT: &str = "assay-seal/1";
/// The file in a bundle.
pub const FILE: &str = "seal.jsonl";

/// What a seal is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Format and version.
    pub format: String,
    /// Id of the result.
    pub id: String,
    /// Directory of the results in which it lies.
    pub store: String,
    /// The machine: a hash, because what tells machines apart should stay there.
    pub machine: String,
    /// Ids of the drives that it was measured on.
    pub drives: Vec<String>,
    /// SHA-256 of `study.toml`, hexadecimal.
    pub study: String,
    /// SHA-256 of `plan.json`, hexadecimal.
    pub plan: String,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    about: About,
    tag: String,
}

/// What a further line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// `environment.json`, which is written once more after the last trial.
    Environment,
    /// One line of `trials.jsonl` with the files that it names.
    Trial,
    /// Why the study ended.
    Ended,
}

/// A further line.
#[derive(Serialize, Deserialize)]
struct Line {
    of: Of,
    sha256: String,
    tag: String,
}

/// A seal that is being written, or goes on.
#[derive(Clone)]
pub struct Chain {
    key: Key,
    last: Digest,
}

impl Chain {
    /// Begins one; gives its first line.
    ///
    /// # Errors
    /// Never, as long as texts can be written as JSON.
    pub fn begin(key: Key, about: &About) -> serde_json::Result<(Self, Vec<u8>)> {
        let last = key.tag(&[&serde_json::to_vec(about)?]);
        let head = Head { about: about.clone(), tag: hexadecimal(&last) };
        Ok((Self { key, last }, line(&head)?))
    }

    /// Seals one thing more; gives its line.
    ///
    /// # Errors
    /// Never, as long as texts can be written as JSON.
    pub fn add(&mut self, of: Of, digest: &Digest) -> serde_json::Result<Vec<u8>> {
        let tag = self.key.tag(&[&self.last, digest, of.mark()]);
        let text = line(&Line { of, sha256: hexadecimal(digest), tag: hexadecimal(&tag) })?;
        self.last = tag;
        Ok(text)
    }
}

impl Of {
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Environment => b"environment",
            Self::Trial => b"trial",
            Self::Ended => b"ended",
        }
    }
}

fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Ok(text)
}

/// A seal as it stands in its file: nothing that it says is known to be true yet.
pub struct Unproven {
    about: About,
    tag: Digest,
    lines: Vec<(Of, Digest, Digest)>,
    whole_bytes: usize,
}

/// A seal that was made here, by root.
pub struct Seal {
    /// What it is about.
    pub about: About,
    /// What else it holds, in its order.
    pub lines: Vec<(Of, Digest)>,
    /// Bytes of its whole lines.
    pub whole_bytes: usize,
    /// Where it goes on.
    pub chain: Chain,
}

impl Unproven {
    /// Reads a seal. A last line that was cut off by a crash is passed over.
    pub fn read(text: &str) -> Result<Self, String> {
        let whole_bytes = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole_bytes].lines();
        let damaged = "its seal is damaged";
        let head: Head = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|_| damaged.to_owned())?;
        if head.about.format != FORMAT {
            return Err(format!(
                "its seal has a format that this version of assay does not know, other than {FORMAT}"
            ));
        }
        let parsed = |text: &str| {
            let line: Line = serde_json::from_str(text).ok()?;
            Some((line.of, binary(&line.sha256)?, binary(&line.tag)?))
        };
        let lines: Option<Vec<_>> = lines.map(parsed).collect();
        let tag = binary(&head.tag).ok_or(damaged)?;
        Ok(Self { about: head.about, tag, lines: lines.ok_or(damaged)?, whole_bytes })
    }

    /// What it says of itself, for reasons to refuse it only.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Holds it against the key of this machine; none where somebody else made or changed it.
    pub fn prove(self, key: &Key) -> Option<Seal> {
        let text = serde_json::to_vec(&self.about).ok()?;
        key.is_tag(&[&text], &self.tag).then_some(())?;
        let mut last = self.tag;
        let mut lines = Vec::with_capacity(self.lines.len());
        for (of, digest, tag) in self.lines {
            key.is_tag(&[&last, &digest, of.mark()], &tag).then_some(())?;
            last = tag;
            lines.push((of, digest));
        }
        let chain = Chain { key: key.clone(), last };
        Some(Seal { about: self.about, lines, whole_bytes: self.whole_bytes, chain })
    }
}

/// How far the files of a result are known to be what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Root of this machine sealed them, and they are what was sealed.
    Whole,
    /// They were changed after they were sealed.
    Broken,
    /// They were sealed on another machine, or for another directory: that cannot be looked into here.
    Elsewhere,
    /// They are sealed, and only root can look into that.
    NotLookedAt,
    /// They have no seal: they were measured without root.
    None,
    /// The numbers were brought along.
    Imported,
}

/// What was read of a bundle, to be held against its seal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Of `study.toml`.
    pub study: Digest,
    /// Of `plan.json`.
    pub plan: Digest,
    /// Of `environment.json`.
    pub environment: Digest,
    /// Of each trial with its files.
    pub trials: Vec<Digest>,
    /// Of the reason why it ended, if it has.
    pub ended: Option<Digest>,
}

impl Seal {
    /// Finished trials that are sealed, unless something is not what was sealed: then what.
    pub fn holds(&self, read: &Reading) -> Result<usize, &'static str> {
        let of = |wanted: Of| self.lines.iter().filter(move |(of, _)| *of == wanted);
        if hexadecimal(&read.study) != self.about.study {
            return Err("study.toml");
        }
        if hexadecimal(&read.plan) != self.about.plan {
            return Err("plan.json");
        }
        if !of(Of::Environment).any(|(_, digest)| *digest == read.environment) {
            return Err("environment.json");
        }
        let sealed: Vec<&Digest> = of(Of::Trial).map(|(_, digest)| digest).collect();
        let same = read.trials.iter().zip(&sealed).all(|(found, sealed)| found == *sealed);
        // Killed between the two lines of a trial, a run leaves the first one alone.
        if !same || ![sealed.len(), sealed.len() + 1].contains(&read.trials.len()) {
            return Err("trials.jsonl, or a file that it names,");
        }
        Ok(sealed.len())
    }

    /// Whether the end that was read is the sealed one.
    pub fn has_ended(&self, read: &Reading) -> bool {
        read.ended.is_some_and(|found| {
            self.lines.iter().any(|(of, digest)| *of == Of::Ended && *digest == found)
        })
    }
}

/// Hash of a line of `trials.jsonl` (without its end) and of the files that it names.
#[derive(Default)]
pub struct TrialDigest(Sha256);

impl TrialDigest {
    pub fn of(line: impl AsRef<[u8]>) -> Self {
        let mut parts = Self::default();
        parts.add(line);
        parts
    }

    /// With a file more.
    pub fn add(&mut self, text: impl AsRef<[u8]>) {
        self.0.update(sha256(text));
    }

    /// All of it.
    pub fn finish(self) -> Digest {
        self.0.finalize().into()
    }
}

/// A text as a hash; none where it is no such text.
fn binary(text: &str) -> Option<Digest> {
    let mut digest = Digest::default();
    let pairs = text.as_bytes().chunks_exact(2);
    let plain = text.len() == 2 * digest.len() && text.bytes().all(|sign| sign.is_ascii_hexdigit());
    for (byte, pair) in digest.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    plain.then_some(digest)
}

impl Key {
    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // HMAC fills a key with zeros up to the block of its hash, so this is the same key.
        let mut block = [0; 64];
        block[..self.bytes().len()].copy_from_slice(self.bytes());
        let mut mac = Hmac::<Sha256>::new(&block.into());
        for part in parts {
            mac.update(part);
        }
        mac
    }

    fn tag(&self, parts: &[&[u8]]) -> Digest {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Whether a tag is the right one, told in a time that does not depend on where it differs.
    fn is_tag(&self, parts: &[&[u8]], tag: &Digest) -> bool {
        self.mac(parts).verify_slice(tag).is_ok()
    }
}

#[cfg(test)]
mod tests;
