//! A made load that is like a recording: what a study file can say of it, each number with the estimator that it comes
//! from, and how far the load is from the recording then.
//!
//! A study has one pattern a workload. Where some requests stand in rows and others are scattered, the workload is the
//! scattered ones, and the rows go on beside it as its background.

mod access;
mod arrivals;
mod order;
mod places;
mod shares;
mod text;

use crate::calc::requests::Request;

pub use access::{Access, Fitted};
pub use arrivals::Arrivals;

use places::{Counts, Ground};
use shares::{LARGEST_BYTES, SECTOR_BYTES, Sizes};

/// Requests that a load is fitted to at most: the first of a recording.
pub const MOST: usize = 8_000_000;
/// Requests below which nothing is said.
pub const FEWEST: usize = 100;
/// Fewer in rows, or outside of them, than this share are none.
const FEW: f64 = 0.05;
/// Larger devices are none.
const MOST_BYTES: u64 = 1 << 60;
/// Operations in flight that a study may ask for, and those that it asks for where none is known.
const MOST_DEPTH: usize = 4096;
const USUAL_DEPTH: usize = 32;
/// Memory of all that are in flight at most.
const MOST_IN_FLIGHT_BYTES: u64 = 1 << 30;
/// Writes of which one is synced at most.
const MOST_WRITES: u64 = 1_000_000;
/// The smallest area of a study.
const SMALLEST_AREA_BYTES: u64 = 16 << 20;
const MIB: u64 = 1 << 20;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Read,
    Write,
    Trim,
    Zero,
}

impl Act {
    /// All of them, in the order of a mix.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Trim, Self::Zero];

    /// As a mix writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Zero => "zero",
        }
    }

    const fn is_read(self) -> bool {
        matches!(self, Self::Read)
    }
}

/// A request with a place.
#[derive(Clone, Copy, Debug)]
struct One {
    at_ns: u64,
    ended_ns: u64,
    offset: u64,
    bytes: u32,
    act: Act,
}

impl One {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.bytes)
    }
}

/// Requests of one device, as they are taken from a recording.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    all: Vec<One>,
    flushes: u64,
    forced: u64,
    /// Without a place or a time.
    left_out: u64,
    /// Behind the last one that is taken.
    beyond: u64,
    /// Carried more than an operation may.
    clipped: u64,
}

impl Sample {
    /// Takes one more.
    pub fn add(&mut self, request: &Request) {
        if self.all.len() >= MOST {
            self.beyond += 1;
            return;
        }
        let act = match request.class {
            "read" => Act::Read,
            "write" | "fua" => Act::Write,
            "discard" => Act::Trim,
            "write-zeroes" => Act::Zero,
            "flush" => {
                self.flushes += 1;
                return;
            }
            _ => {
                self.left_out += 1;
                return;
            }
        };
        let place = request.offset_bytes.filter(|offset| *offset < MOST_BYTES && request.bytes > 0);
        let (Some(at_ns), Some(offset)) = (request.arrived_ns, place) else {
            self.left_out += 1;
            return;
        };
        self.forced += u64::from(request.class == "fua");
        self.clipped += u64::from(request.bytes > u64::from(LARGEST_BYTES));
        let bytes = u32::try_from(request.bytes).unwrap_or(u32::MAX).min(LARGEST_BYTES);
        let bytes = bytes.next_multiple_of(SECTOR_BYTES);
        self.all.push(One { at_ns, ended_ns: request.ended_ns, offset, bytes, act });
    }

    /// The load that is like them.
    ///
    /// # Errors
    /// There are too few of them.
    pub fn fit(mut self) -> Result<Load, String> {
        if self.all.len() < FEWEST {
            return Err(format!(
                "it has {} requests with a place and a time, and a load is fitted to {FEWEST} at least",
                self.all.len()
            ));
        }
        self.all.sort_by_key(|one| one.at_ns);
        let rows = order::rows(&self.all);
        let pairs = || self.all.iter().zip(rows.is_in.iter().copied());
        let in_rows = pairs().filter(|(_, is_in)| *is_in).count() as f64;
        let share = in_rows / self.all.len() as f64;
        let reads = pairs().filter(|(one, is_in)| *is_in && one.act.is_read()).count() as f64;
        let reads = reads / in_rows.max(1.0);
        // Where both directions share one position, so many go on where the other one ended.
        let shared = 2.0 * reads * (1.0 - reads) * (rows.same + rows.other) as f64;
        let is_apart = (rows.other as f64) < shared / 2.0;
        let all = self.all.as_slice();
        let mut parts = if share < FEW {
            vec![Part::scattered(all)]
        } else if share > 1.0 - FEW {
            vec![Part::in_rows(all, is_apart)]
        } else {
            let those = |wanted: bool| -> Vec<One> {
                pairs().filter(|(_, is_in)| *is_in == wanted).map(|(one, _)| *one).collect()
            };
            vec![Part::scattered(&those(false)), Part::in_rows(&those(true), is_apart)]
        };
        let each = parts.iter().map(|part| part.area_bytes).max().unwrap_or(MIB);
        // What goes on beside a workload has the other half of the area.
        let area_bytes = (each * parts.len() as u64).max(SMALLEST_AREA_BYTES);
        let given_bytes = area_bytes / parts.len() as u64;
        for part in &mut parts {
            part.lay(given_bytes);
        }
        let writes = all.iter().filter(|one| one.act == Act::Write).count() as u64;
        let syncs = self.flushes + self.forced;
        let is_written = parts.iter().any(Part::writes);
        let sync_every = (syncs > 0 && is_written).then(|| every(writes, syncs));
        let last_ns = all.last().map_or(0, |one| one.at_ns);
        let span_ns = last_ns - all.first().map_or(0, |one| one.at_ns);
        Ok(Load {
            requests: all.len() as u64,
            span_ns,
            in_rows: share,
            parts,
            area_bytes,
            writes,
            syncs,
            sync_every,
            left_out: self.left_out,
            beyond: self.beyond,
            clipped: self.clipped,
        })
    }
}

/// Every which write is synced, to the nearest.
fn every(writes: u64, syncs: u64) -> u64 {
    ((writes + syncs / 2) / syncs).clamp(1, MOST_WRITES)
}

/// A load that a study can ask for, with its distance from what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Requests that it was fitted to.
    pub requests: u64,
    /// From the first of them to the last.
    pub span_ns: u64,
    /// The share of them that stands in rows.
    pub in_rows: f64,
    /// The workload, and what goes on beside it, where there are two.
    pub parts: Vec<Part>,
    /// The area of the study.
    pub area_bytes: u64,
    pub writes: u64,
    /// Flushes, and writes that are forced to the medium.
    pub syncs: u64,
    /// Every which write is synced; none where nothing is.
    pub sync_every: Option<u64>,
    /// Requests without a place or a time.
    pub left_out: u64,
    /// Requests behind those that it was fitted to.
    pub beyond: u64,
    /// Requests that are larger than an operation may be.
    pub clipped: u64,
}

/// Work of one pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub requests: u64,
    /// In rows, with positions of their own for reads and writes where that is set; scattered where it is none.
    pub rows: Option<bool>,
    /// In the order of [`Act::ALL`], percent.
    pub mix: Vec<u8>,
    /// The largest difference of a share, recorded and here.
    pub mix_distance: f64,
    /// Sizes of reads, and of all else, with their percent.
    pub sizes: [Vec<(u32, u8)>; 2],
    /// Kolmogorov's distance of each, and the ratio of the mean size here to the recorded one.
    pub size_distances: [f64; 2],
    pub mean_ratio: f64,
    /// What places are multiples of, where it is not the smallest size.
    pub align: Option<u64>,
    /// Which blocks are met, with how many of them were; none of rows.
    pub access: Option<(Fitted, u64)>,
    /// The share of the extent that is never touched and left out.
    pub untouched: f64,
    /// As much as the requests went to, and what the area of the study has for them.
    pub area_bytes: u64,
    pub given_bytes: u64,
    /// None where all arrive at the same moment.
    pub arrivals: Option<Arrivals>,
    pub depth: usize,
    /// How many were in flight at most, where that is known.
    pub in_flight: Option<usize>,
}

impl Part {
    fn scattered(all: &[One]) -> Self {
        let mut own = Self::of(all);
        let (ground, unit) = (Ground::of(all), places::unit(all));
        let each = own.sizes.iter().flatten().map(|(size, _)| *size);
        let (smallest, largest) = (each.clone().min(), each.max());
        let counts = Counts::of(all, &ground, unit, u64::from(largest.unwrap_or_default()));
        own.align = smallest.filter(|size| u64::from(*size) != unit).map(|_| unit);
        own.access = Some((access::of(&counts), counts.places()));
        own
    }

    fn in_rows(all: &[One], is_apart: bool) -> Self {
        let mut own = Self::of(all);
        // One direction alone has nothing to be apart from.
        own.rows = Some(is_apart && own.mix[0] > 0 && own.mix[0] < 100);
        own
    }

    /// Says what it comes to where it has so many bytes.
    fn lay(&mut self, bytes: u64) {
        self.given_bytes = bytes;
        let each = self.sizes.iter().flatten().map(|(size, _)| u64::from(*size));
        let (smallest, largest) = (each.clone().min(), each.max());
        let unit = self.align.or(smallest).unwrap_or(MIB);
        let blocks = bytes.saturating_sub(largest.unwrap_or_default()) / unit + 1;
        if let Some((fitted, _)) = &mut self.access {
            fitted.places = access::places(self.requests, blocks, &fitted.access);
        }
    }

    /// Whether any of its operations writes.
    fn writes(&self) -> bool {
        self.mix.get(1).is_some_and(|share| *share > 0)
    }

    /// What is the same for both.
    fn of(all: &[One]) -> Self {
        let counts = Act::ALL.map(|act| all.iter().filter(|one| one.act == act).count() as u64);
        let mix = shares::percents(&counts);
        let far = |(percent, count): (&u8, u64)| {
            (f64::from(*percent) / 100.0 - count as f64 / all.len().max(1) as f64).abs()
        };
        let mix_distance = mix.iter().zip(counts).map(far).fold(0.0, f64::max);
        let met = [true, false].map(|reads| {
            let own = all.iter().filter(|one| one.act.is_read() == reads);
            own.fold(Sizes::new(), |mut met, one| {
                *met.entry(one.bytes).or_default() += 1;
                met
            })
        });
        // What has no share of the mix has no size either.
        let has = [mix[0] > 0, mix[0] < 100];
        let of_sizes = |at: usize| if has[at] { shares::of_sizes(&met[at]) } else { Vec::new() };
        let sizes = [of_sizes(0), of_sizes(1)];
        let distance =
            |at: usize| if has[at] { shares::distance(&met[at], &sizes[at]) } else { 0.0 };
        let paced = arrivals::of(&all.iter().map(|one| one.at_ns).collect::<Vec<u64>>());
        let in_flight = arrivals::most_in_flight(
            all.iter().map(|one| (one.at_ns, one.ended_ns.max(one.at_ns))),
        );
        let ground = Ground::of(all);
        let largest = sizes.iter().flatten().map(|(size, _)| u64::from(*size)).max().unwrap_or(MIB);
        let held = (MOST_IN_FLIGHT_BYTES / largest) as usize;
        Self {
            requests: all.len() as u64,
            rows: None,
            mix_distance,
            mean_ratio: mean_ratio(all, &sizes, mix[0]),
            mix,
            size_distances: [distance(0), distance(1)],
            sizes,
            align: None,
            access: None,
            untouched: ground.left_out,
            area_bytes: ground.bytes.max(largest.next_multiple_of(MIB)),
            given_bytes: 0,
            arrivals: paced,
            depth: in_flight.unwrap_or(USUAL_DEPTH).min(held).clamp(1, MOST_DEPTH),
            in_flight,
        }
    }
}

/// The mean size of the load over that of what was met.
fn mean_ratio(all: &[One], sizes: &[Vec<(u32, u8)>; 2], reads: u8) -> f64 {
    let mean = |sizes: &[(u32, u8)]| {
        sizes.iter().map(|(size, share)| f64::from(*size) * f64::from(*share) / 100.0).sum::<f64>()
    };
    let reads = f64::from(reads) / 100.0;
    let load = reads * mean(&sizes[0]) + (1.0 - reads) * mean(&sizes[1]);
    let met = all.iter().map(|one| f64::from(one.bytes)).sum::<f64>() / all.len().max(1) as f64;
    load / met.max(1.0)
}

#[cfg(test)]
mod tests;
