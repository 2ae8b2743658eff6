//! Sizes and places of a job's operations: bs, bssplit, random_distribution, and steps behind a colon of rw.

use assay_workloads::io::{Access, Size};

use super::values::{alike, amount, bytes};
use super::{Job, PortNotes};

const USUAL_BYTES: u64 = 4096;
/// fio's default exponent of zipf and share of pareto.
const USUAL_ZIPF: &str = "1.1";
const USUAL_PARETO: &str = "0.2";

type Shares = Vec<(u64, u64)>;

pub(super) struct Sizing {
    pub(super) size: Size,
    pub(super) mean: u64,
}

impl Sizing {
    fn new(reads: &Shares, writes: &Shares, read_percent: u64) -> Result<Self, String> {
        let words = |shares: &Shares| {
            let word = |(bytes, percent): &(u64, u64)| format!("{bytes}B/{percent}");
            shares.iter().map(word).collect::<Vec<_>>().join(":")
        };
        let text = match read_percent {
            0 => words(writes),
            100 => words(reads),
            _ => format!("read {}; write {}", words(reads), words(writes)),
        };
        let size = text.parse()?;
        let sum = |shares: &Shares, percent: u64| -> u128 {
            let each = shares.iter().map(|(bytes, share)| u128::from(*bytes) * u128::from(*share));
            each.sum::<u128>() * u128::from(percent)
        };
        let mean = (sum(reads, read_percent) + sum(writes, 100 - read_percent)) / 10_000;
        Ok(Self { size, mean: u64::try_from(mean).unwrap_or(u64::MAX).max(1) })
    }
}

fn one(bytes: u64) -> Shares {
    vec![(bytes, 100)]
}

pub(super) fn sizes(job: &Job, read_percent: u64, notes: &mut PortNotes) -> Sizing {
    let [reads, writes] = split(job, notes).unwrap_or_else(|| {
        let sizes = range(job, notes).map(|size| [size, size]).or_else(|| listed(job));
        let sizes = sizes.or_else(|| amount(job, "bs", notes).map(|size| [size, size]));
        sizes.unwrap_or([USUAL_BYTES; 2]).map(one)
    });
    Sizing::new(&reads, &writes, read_percent).unwrap_or_else(|why| {
        let setting =
            ["bssplit", "bs", "bsrange"].into_iter().find_map(|key| job.settings.get(key));
        let (line, written) =
            setting.map_or((job.line, "bs"), |setting| (setting.line, setting.written.as_str()));
        notes.refuse(line, format!("{written}: {}", why.replace('`', "\"")));
        Sizing { size: assay_core::quantity::Bytes(USUAL_BYTES).into(), mean: USUAL_BYTES }
    })
}

fn range(job: &Job, notes: &mut PortNotes) -> Option<u64> {
    let range = job.settings.get("bsrange")?;
    let size = alike(&range.value, &['-', ',']);
    if size.is_none() {
        let written = &range.written;
        notes.refuse_key(
            range.line,
            format!("{written}: a range of block sizes is not supported; use bs or bssplit"),
        );
    }
    size
}

/// Splits texts for reads, writes and trims at commas. An absent text repeats the one before.
fn directions(text: &str) -> [&str; 3] {
    let mut all = text.split(',').map(str::trim);
    let reads = all.next().unwrap_or_default();
    let writes = all.next().unwrap_or(reads);
    [reads, writes, all.next().unwrap_or(writes)]
}

/// Values for reads, and for the other operations of a job.
pub(super) fn both<'t>(job: &Job, text: &'t str) -> [&'t str; 2] {
    let [reads, writes, trims] = directions(text);
    let is_trim = job.settings.get("rw").is_some_and(|rw| rw.value.contains("trim"));
    [reads, if is_trim { trims } else { writes }]
}

fn listed(job: &Job) -> Option<[u64; 2]> {
    let text = &job.settings.get("bs")?.value;
    let size = |text: &str| if text.is_empty() { Some(USUAL_BYTES) } else { bytes(text) };
    let [reads, writes] = both(job, text).map(size);
    // One amount alone is read, and refused, as such.
    text.contains(',').then_some([reads?, writes?])
}

fn split(job: &Job, notes: &mut PortNotes) -> Option<[Shares; 2]> {
    let setting = job.settings.get("bssplit")?;
    let [reads, writes] = both(job, &setting.value).map(shares);
    let found = reads.zip(writes).map(|(reads, writes)| [reads, writes]);
    if found.is_none() {
        notes.refuse(
            setting.line,
            format!(
                "bssplit={}: use sizes with whole percentages that add up to 100, such as 4k/70:64k/30",
                setting.value
            ),
        );
    }
    found
}

/// Parses `4k/70:64k/30`; sizes without a share divide the rest of 100.
fn shares(text: &str) -> Option<Shares> {
    if text.is_empty() {
        return Some(one(USUAL_BYTES));
    }
    let part = |part: &str| -> Option<(u64, Option<u64>)> {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() { None } else { Some(share.parse().ok()?) };
        Some((bytes(size)?, share))
    };
    let parts: Vec<(u64, Option<u64>)> = text.split(':').map(part).collect::<Option<_>>()?;
    let given = parts.iter().filter_map(|(_, share)| *share).try_fold(0_u64, u64::checked_add)?;
    let missing = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
    let remaining = 100_u64.checked_sub(given)?;
    let each = remaining.checked_div(missing).unwrap_or_default();
    if each * missing != remaining {
        return None;
    }
    let shares = parts.into_iter().map(|(bytes, share)| (bytes, share.unwrap_or(each)));
    // fio allows shares of 0; no operation has that size.
    Some(shares.filter(|(_, share)| *share > 0).collect())
}

pub(super) fn stride(job: &Job, gap: u64, sized: &Sizing, notes: &mut PortNotes) -> Option<u64> {
    let Some(size) = sized.size.one() else {
        let setting = job.settings.get("rw")?;
        let written = &setting.written;
        notes.refuse(setting.line, format!("{written}: a gap between blocks needs one block size"));
        return None;
    };
    notes.remark(format!(
        "[{}]: at the end of the file, fio starts over with the same blocks; Assay starts each pass one block further",
        job.name
    ));
    size.0.checked_add(gap)
}

/// Alignment of random offsets, unless it equals the smallest size.
pub(super) fn align(
    job: &Job,
    pattern: &str,
    sized: &Sizing,
    notes: &mut PortNotes,
) -> Option<u64> {
    let align = amount(job, "ba", notes)?;
    (pattern == "random" && align != sized.size.smallest().0).then_some(align)
}

/// Distribution of random operations over blocks; `None` if uniform.
pub(super) fn access(job: &Job, pattern: &str, notes: &mut PortNotes) -> Option<String> {
    let setting = job.settings.get("random_distribution")?;
    let (law, rest) = setting.value.split_once(':').unwrap_or((setting.value.as_str(), ""));
    if law == "random" || pattern != "random" {
        return None;
    }
    let or_usual = |usual: &'static str| if rest.is_empty() { usual } else { rest };
    let text = match law {
        "zipf" => Some(format!("zipf:{}", or_usual(USUAL_ZIPF))),
        "pareto" => Some(format!("pareto:{}", or_usual(USUAL_PARETO))),
        "zoned" => zones(rest),
        _ => None,
    };
    let found = text.and_then(|text| text.parse::<Access>().ok());
    let Some(found) = found else {
        notes.refuse_key(
            setting.line,
            format!(
                "random_distribution={}: use zipf, pareto, or zoned with whole percentages that add up to 100",
                setting.value
            ),
        );
        return None;
    };
    if law != "zoned" {
        notes.remark(format!(
            "[{}]: fio distributes popular blocks by hash, so some blocks collide; Assay avoids collisions",
            job.name
        ));
    }
    Some(found.to_string())
}

/// Zones: `50/5:30/15:20/80` are shares of operations and area; the last area may be absent.
fn zones(text: &str) -> Option<String> {
    let mut left_percent = 100_u64;
    let mut zone = |text: &str| -> Option<String> {
        let (operations, area) = text.split_once('/')?;
        let area = if area.is_empty() { left_percent } else { area.parse().ok()? };
        left_percent = left_percent.checked_sub(area)?;
        Some(format!("{}/{area}", operations.parse::<u64>().ok()?))
    };
    let zones: Vec<String> = text.split(':').map(&mut zone).collect::<Option<_>>()?;
    Some(format!("zoned:{}", zones.join(":")))
}

#[cfg(test)]
mod tests {
    use super::super::reads;
    use super::*;

    #[test]
    fn what_is_not_said_of_a_direction_is_as_the_one_before() {
        for (text, told) in [
            ("4k", ["4k"; 3]),
            ("4k,8k", ["4k", "8k", "8k"]),
            ("4k,8k,16k", ["4k", "8k", "16k"]),
            ("4k,", ["4k", "", ""]),
            (",8k", ["", "8k", "8k"]),
        ] {
            assert_eq!(directions(text), told, "{text}");
        }
        let shares = ["read", "70/30", "write", "trim"].map(reads);
        assert_eq!(shares, [100, 70, 0, 0]);
    }
}
