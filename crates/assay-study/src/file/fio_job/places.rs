//! Sizes and places of a job's operations: bs, bssplit, random_distribution, and steps behind a colon of rw.

use assay_workloads::io::{Access, Size};

use super::values::{amount, bytes, parse_equal_amounts};
use super::{Job, PortNotes};

const USUAL_BYTES: u64 = 4096;
/// fio's default exponent of zipf and share of pareto.
const USUAL_ZIPF: &str = "1.1";
const USUAL_PARETO: &str = "0.2";

/// Sizes in bytes, each with its percentage of the operations.
type Shares = Vec<(u64, u64)>;

pub(super) struct Sizing {
    pub(super) size: Size,
    /// Mean bytes per operation.
    pub(super) mean: u64,
}

impl Sizing {
    fn new(reads: &Shares, writes: &Shares, read_percent: u64) -> Result<Self, String> {
        let size_text = |shares: &Shares| {
            let part = |(bytes, percent): &(u64, u64)| format!("{bytes}B/{percent}");
            shares.iter().map(part).collect::<Vec<_>>().join(":")
        };
        let text = match read_percent {
            0 => size_text(writes),
            100 => size_text(reads),
            _ => format!("read {}; write {}", size_text(reads), size_text(writes)),
        };
        let size = text.parse()?;
        let weighted = |shares: &Shares, percent: u64| -> u128 {
            let each = shares.iter().map(|(bytes, share)| u128::from(*bytes) * u128::from(*share));
            each.sum::<u128>() * u128::from(percent)
        };
        // Both weights are percentages.
        let mean = (weighted(reads, read_percent) + weighted(writes, 100 - read_percent)) / 10_000;
        Ok(Self { size, mean: u64::try_from(mean).unwrap_or(u64::MAX).max(1) })
    }
}

fn single_size(bytes: u64) -> Shares {
    vec![(bytes, 100)]
}

/// Returns the sizes of a job's operations by bssplit, bsrange or bs, in this order; 4 KiB without them.
pub(super) fn sizes(job: &Job, read_percent: u64, notes: &mut PortNotes) -> Sizing {
    let [reads, writes] = read_bssplit(job, notes).unwrap_or_else(|| {
        let sizes = read_bsrange(job, notes).map(|size| [size, size]).or_else(|| read_bs_pair(job));
        let sizes = sizes.or_else(|| amount(job, "bs", notes).map(|size| [size, size]));
        sizes.unwrap_or([USUAL_BYTES; 2]).map(single_size)
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

/// Returns the size of a bsrange whose ends are equal.
fn read_bsrange(job: &Job, notes: &mut PortNotes) -> Option<u64> {
    let range = job.settings.get("bsrange")?;
    let size = parse_equal_amounts(&range.value, &['-', ',']);
    if size.is_none() {
        let why = "a range of block sizes is not supported; use bs or bssplit";
        notes.refuse_key(range.line, format!("{}: {why}", range.written));
    }
    size
}

/// Splits texts for reads, writes and trims at commas. An absent text repeats the one before.
fn split_directions(text: &str) -> [&str; 3] {
    let mut all = text.split(',').map(str::trim);
    let reads = all.next().unwrap_or_default();
    let writes = all.next().unwrap_or(reads);
    [reads, writes, all.next().unwrap_or(writes)]
}

/// Splits a text into the values for reads and for the other operations of a job: writes or trims.
pub(super) fn split_reads_and_others<'t>(job: &Job, text: &'t str) -> [&'t str; 2] {
    let [reads, writes, trims] = split_directions(text);
    let is_trim = job.settings.get("rw").is_some_and(|rw| rw.value.contains("trim"));
    [reads, if is_trim { trims } else { writes }]
}

/// Returns separate sizes of bs; `None` for a single size, which the caller reads.
fn read_bs_pair(job: &Job) -> Option<[u64; 2]> {
    let text = &job.settings.get("bs")?.value;
    if !text.contains(',') {
        return None;
    }
    let size = |text: &str| if text.is_empty() { Some(USUAL_BYTES) } else { bytes(text) };
    let [reads, writes] = split_reads_and_others(job, text).map(size);
    Some([reads?, writes?])
}

/// Returns the shares of sizes of reads and of writes; `None` without the key, or after a refusal.
fn read_bssplit(job: &Job, notes: &mut PortNotes) -> Option<[Shares; 2]> {
    let setting = job.settings.get("bssplit")?;
    if let [Some(reads), Some(writes)] =
        split_reads_and_others(job, &setting.value).map(parse_shares)
    {
        return Some([reads, writes]);
    }
    notes.refuse(
        setting.line,
        format!(
            "bssplit={}: use sizes with whole percentages that add up to 100, such as 4k/70:64k/30",
            setting.value
        ),
    );
    None
}

/// Parses `4k/70:64k/30`; sizes without a share divide the rest of 100.
fn parse_shares(text: &str) -> Option<Shares> {
    if text.is_empty() {
        return Some(single_size(USUAL_BYTES));
    }
    let part = |part: &str| -> Option<(u64, Option<u64>)> {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() { None } else { Some(share.parse().ok()?) };
        Some((bytes(size)?, share))
    };
    let parts: Vec<(u64, Option<u64>)> = text.split(':').map(part).collect::<Option<_>>()?;
    let given_percent =
        parts.iter().filter_map(|(_, share)| *share).try_fold(0_u64, u64::checked_add)?;
    let without_share = parts.iter().filter(|(_, share)| share.is_none()).count() as u64;
    let remaining = 100_u64.checked_sub(given_percent)?;
    let each = remaining.checked_div(without_share).unwrap_or_default();
    if each * without_share != remaining {
        return None;
    }
    let shares = parts.into_iter().map(|(bytes, share)| (bytes, share.unwrap_or(each)));
    // fio allows shares of 0; no operation has that size.
    Some(shares.filter(|(_, share)| *share > 0).collect())
}

/// Returns the bytes from one block to the next with a gap; `None` for several block sizes.
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
        "zoned" => translate_zones(rest),
        _ => None,
    };
    let Some(access) = text.and_then(|text| text.parse::<Access>().ok()) else {
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
    Some(access.to_string())
}

/// Translates zones: `50/5:30/15:20/80` are shares of operations and area; the last area may be absent.
fn translate_zones(text: &str) -> Option<String> {
    let mut left_percent = 100_u64;
    let mut zones = Vec::new();
    for zone in text.split(':') {
        let (operations, area) = zone.split_once('/')?;
        let area = if area.is_empty() { left_percent } else { area.parse().ok()? };
        left_percent = left_percent.checked_sub(area)?;
        zones.push(format!("{}/{area}", operations.parse::<u64>().ok()?));
    }
    Some(format!("zoned:{}", zones.join(":")))
}

#[cfg(test)]
mod tests {
    use super::super::read_percent;
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
            assert_eq!(split_directions(text), told, "{text}");
        }
        let shares = ["read", "70/30", "write", "trim"].map(read_percent);
        assert_eq!(shares, [100, 70, 0, 0]);
    }
}
