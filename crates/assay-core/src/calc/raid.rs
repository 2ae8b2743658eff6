//! RAID arrays: capacity, rebuild time, and disk traffic of one write by several models and as measured on Linux md.

mod models;

use serde::Serialize;

pub use models::{Model, RaidTraffic, Source};

use crate::failure::{Failure, Outcome};
use crate::quantity::units::show;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "u8")]
pub enum Level {
    /// Chunks in turns, no second copy.
    Raid0,
    Raid1,
    /// Dedicated parity disk.
    Raid4,
    /// Parity in turns on all disks.
    Raid5,
    Raid6,
    /// Chunks in turns, each on two disks.
    Raid10,
}

impl From<Level> for u8 {
    fn from(level: Level) -> Self {
        match level {
            Level::Raid0 => 0,
            Level::Raid1 => 1,
            Level::Raid4 => 4,
            Level::Raid5 => 5,
            Level::Raid6 => 6,
            Level::Raid10 => 10,
        }
    }
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim().to_ascii_lowercase();
        let all = [Self::Raid0, Self::Raid1, Self::Raid4, Self::Raid5, Self::Raid6, Self::Raid10];
        let number = bare.trim_start_matches("raid").parse();
        all.into_iter()
            .find(|level| number == Ok(u8::from(*level)))
            .ok_or_else(|| format!("unsupported RAID level `{text}`; use 0, 1, 4, 5, 6 or 10"))
    }
}

impl Level {
    pub const fn parities(self) -> u32 {
        match self {
            Self::Raid4 | Self::Raid5 => 1,
            Self::Raid6 => 2,
            Self::Raid0 | Self::Raid1 | Self::Raid10 => 0,
        }
    }

    /// Returns whether data is striped in chunks; mdadm rejects chunks for mirrors.
    pub const fn has_chunks(self) -> bool {
        !matches!(self, Self::Raid1)
    }

    const fn least_disks(self) -> u32 {
        match self {
            Self::Raid0 | Self::Raid1 | Self::Raid10 => 2,
            Self::Raid4 | Self::Raid5 => 3,
            Self::Raid6 => 4,
        }
    }

    /// Number of arbitrary disks that may fail.
    const fn survives(self, disks: u32) -> u32 {
        match self {
            Self::Raid0 => 0,
            Self::Raid1 => disks - 1,
            Self::Raid4 | Self::Raid5 | Self::Raid10 => 1,
            Self::Raid6 => 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    pub level: Level,
    pub disks: u32,
    pub disk_bytes: u64,
    pub chunk_bytes: u64,
    /// Bytes of one write, which begins at a stripe boundary.
    pub write_bytes: u64,
    /// Rebuild rate per disk, bytes per second.
    pub rate_bytes_per_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Raid {
    pub level: Level,
    pub disks: u32,
    pub disk_bytes: u64,
    /// Bytes of a chunk; absent for mirrors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Bytes of data in a stripe; absent without stripes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stripe_data_bytes: Option<u64>,
    pub usable_bytes: u64,
    /// The same as a share of all disks, in percent.
    pub usable_percent: f64,
    pub survives_disks: u32,
    /// Seconds to rebuild a whole disk at the rate; absent without a rate or redundancy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_s: Option<f64>,
    pub write_bytes: u64,
    pub models: Vec<Model>,
    pub advice: Vec<String>,
}

/// Computes capacity, survivable failures, rebuild time and the traffic of a write; fails for an impossible array.
pub fn compute(question: &Question) -> Outcome<Raid> {
    check(question)?;
    let Question { level, disks, disk_bytes, chunk_bytes, write_bytes, rate_bytes_per_s } =
        *question;
    let total_bytes = u128::from(disk_bytes) * u128::from(disks);
    let usable = match level {
        Level::Raid0 => total_bytes,
        Level::Raid1 => u128::from(disk_bytes),
        Level::Raid10 => total_bytes / 2,
        Level::Raid4 | Level::Raid5 | Level::Raid6 => {
            u128::from(disk_bytes) * u128::from(disks - level.parities())
        }
    };
    // RAID 0 has no redundancy to rebuild from.
    let rebuild_rate = rate_bytes_per_s.filter(|_| level != Level::Raid0);
    Ok(Raid {
        level,
        disks,
        disk_bytes,
        chunk_bytes: level.has_chunks().then_some(chunk_bytes),
        stripe_data_bytes: level
            .has_chunks()
            .then(|| chunk_bytes.saturating_mul(data_chunks(question))),
        usable_bytes: u64::try_from(usable).unwrap_or(u64::MAX),
        usable_percent: 100.0 * usable as f64 / total_bytes as f64,
        survives_disks: level.survives(disks),
        rebuild_s: rebuild_rate.map(|rate| disk_bytes as f64 / rate),
        write_bytes,
        models: models::all(question),
        advice: advice(question),
    })
}

fn check(question: &Question) -> Outcome<()> {
    const MOST_DISKS: u32 = 1000;
    const MOST_WRITE: u64 = 1 << 40;
    let Question { level, disks, disk_bytes, chunk_bytes, write_bytes, .. } = *question;
    let wrong = |what: String| Err(Failure::mistake(what));
    let least = level.least_disks();
    if disks < least || disks > MOST_DISKS {
        let level = u8::from(level);
        return wrong(format!(
            "RAID {level} of {disks} disks: use --disks {least} to {MOST_DISKS}"
        ));
    }
    if !chunk_bytes.is_power_of_two() || !(4096..=1 << 30).contains(&chunk_bytes) {
        return wrong("--chunk: use a power of two from 4 KiB to 1 GiB, such as 128 KiB".into());
    }
    if disk_bytes < chunk_bytes {
        return wrong(
            "--size is less than a chunk; give the size of one disk, such as 3 TB".into(),
        );
    }
    if write_bytes == 0 || write_bytes > MOST_WRITE {
        return wrong("--write: use more than 0 and at most 1 TiB, such as 2 KiB".into());
    }
    Ok(())
}

/// Data chunks per stripe.
fn data_chunks(question: &Question) -> u64 {
    let Question { level, disks, .. } = *question;
    u64::from(match level {
        Level::Raid0 => disks,
        Level::Raid1 => 1,
        Level::Raid10 => (disks / 2).max(1),
        Level::Raid4 | Level::Raid5 | Level::Raid6 => disks - level.parities(),
    })
}

fn advice(question: &Question) -> Vec<String> {
    const LEAST_CHUNK: u64 = 4096;
    if !question.level.has_chunks() {
        return vec![
            "Each write goes to all disks; a mirror has no chunks and no stripes.".to_owned(),
        ];
    }
    if question.level.parities() == 0 {
        return vec![
            "Without parity, writes need no reads; the chunk size only sets how many disks share \
             one transfer."
                .to_owned(),
        ];
    }
    let data = data_chunks(question);
    let n = format!("(n-{})", question.level.parities());
    let cost = show::three_digits(f64::from(question.disks) / data as f64);
    let mut advice = vec![format!(
        "Choose a chunk size so that a typical write fills {n} chunks, here {data}; an aligned write \
         then moves {cost} times its size. The chunk size does not affect small random writes."
    )];
    let fitting_chunk = question.write_bytes / data;
    let is_chunk_size =
        question.write_bytes.is_multiple_of(data) && fitting_chunk.is_power_of_two();
    if is_chunk_size && fitting_chunk >= LEAST_CHUNK {
        advice.push(format!(
            "A {} write fills one stripe of {} chunks.",
            show::bytes(question.write_bytes),
            show::bytes(fitting_chunk)
        ));
    }
    advice
}

#[cfg(test)]
mod tests;
