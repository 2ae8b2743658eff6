//! Levels of factors as written: validity, equality and spelling.

use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Percent, Time};
use assay_machine::factors;
use assay_workloads::Work;

use super::fields::TARGET_FACTOR;
use super::text::reader;
use super::text::scalar::quoted;
use super::{now, simulated, words};

pub(super) fn check_filled(name: &str, level: &str) -> Result<(), (String, Option<String>)> {
    if level.trim().is_empty() {
        Err((format!("{name}: the level is empty"), None))
    } else {
        Ok(())
    }
}

/// Checks a level of a factor; the error contains a message and a hint.
pub(super) fn check_level(name: &str, level: &str) -> Result<(), (String, Option<String>)> {
    check_filled(name, level)?;
    if level == now::NOW && now::may_be(name) {
        return Ok(());
    }
    if let Some(levels) = reader::range(level).filter(|_| is_number(name)) {
        let hint = format!("list the levels: {name} = [{levels}]");
        return Err((format!("{name}: \"{level}\" is a range, not a level"), Some(hint)));
    }
    if let Some(law) = level.strip_prefix(simulated::PREFIX).filter(|_| name == TARGET_FACTOR) {
        return reader::law_mistake(law).map_or(Ok(()), |message| Err((message, None)));
    }
    let Some(parsed) = parse_for_workload(name, level) else {
        let checked = factors::find(name).map_or(Ok(()), |factor| factor.judge(level));
        return checked.map_err(|message| (format!("{name}: {}", quoted(&message)), None));
    };
    let limits = match assay_workloads::key(name).map(|key| &key.form) {
        Some(Form::Size { least, most } | Form::Sizes { least, most }) => Some(*least..=*most),
        _ => None,
    };
    if let Err(message) = parsed {
        // A bare number this large was probably meant in bytes.
        if let Ok(bytes @ 512..) = level.parse::<u64>()
            && limits.is_some()
        {
            let hint = format!("for bytes, use \"{}\"", Bytes(bytes));
            return Err((format!("{name}: \"{level}\" has no unit"), Some(hint)));
        }
        return Err((format!("{name}: {}", quoted(&message)), near_word(name, level)));
    }
    if let Some(limits) = limits
        && level.parse::<Bytes>().is_ok_and(|bytes| !limits.contains(&bytes))
    {
        let message = format!("{name} must be {} to {}, not {level}", limits.start(), limits.end());
        return Err((message, None));
    }
    Ok(())
}

/// Parses a level as a parameter of any workload; `None` if no workload has the parameter.
fn parse_for_workload(name: &str, level: &str) -> Option<Result<Work, String>> {
    assay_workloads::KINDS.iter().find_map(|kind| assay_workloads::at_level(kind, name, level))
}

fn near_word(name: &str, level: &str) -> Option<String> {
    match assay_workloads::key(name)?.form {
        Form::Word(choices) => words::did_you_mean(level, &choices()),
        _ => None,
    }
}

fn is_number(name: &str) -> bool {
    let form = assay_workloads::key(name).map(|key| &key.form);
    matches!(form, Some(Form::Whole { .. } | Form::Size { .. } | Form::Sizes { .. }))
}

/// Returns whether two texts are the same level of a factor.
pub(super) fn same(name: &str, first: &str, second: &str) -> bool {
    if first == second {
        return true;
    }
    if assay_workloads::parameter(name).is_none() {
        return factors::find(name).is_some_and(|factor| factor.same(first, second));
    }
    // The levels of `copy` are arbitrary words.
    if name == assay_workloads::COPY.about.name {
        return false;
    }
    // A number without a unit is in bytes.
    let bytes = |text: &str| -> Option<Bytes> {
        text.parse().or_else(|_| format!("{text} B").parse()).ok()
    };
    let form = assay_workloads::key(name).map(|key| &key.form);
    if matches!(form, Some(Form::Size { .. } | Form::Sizes { .. }))
        && bytes(first).is_some_and(|size| bytes(second) == Some(size))
    {
        return true;
    }
    let parse = |level: &str| parse_for_workload(name, level).and_then(Result::ok);
    parse(first).is_some_and(|work| parse(second) == Some(work))
}

/// Splits a text at commas. A level may contain commas itself; `["a,b", "c"]` delimits levels.
pub fn levels_in(name: &str, text: &str) -> Vec<String> {
    if let Ok(levels) = serde_json::from_str(text) {
        return levels;
    }
    let is_level = |text: &str| parse_for_workload(name, text).is_none_or(|level| level.is_ok());
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let (mut rest, mut levels) = (parts.as_slice(), Vec::new());
    while let Some(first) = rest.first() {
        // The shortest join of parts that is a level, else the part itself.
        let mut joins = (1..=rest.len()).map(|count| (rest[..count].join(", "), count));
        let shortest = joins.find(|(level, _)| is_level(level));
        let (level, count) = shortest.unwrap_or_else(|| ((*first).to_owned(), 1));
        levels.push(level);
        rest = &rest[count..];
    }
    levels
}

/// Returns the canonical spelling of a level: `64KiB` is `64 KiB`. Invalid levels stay unchanged.
pub fn spelled(name: &str, level: &str) -> String {
    if check_level(name, level).is_err() {
        return level.to_owned();
    }
    let is_meant = |text: &String| same(name, text, level) && check_level(name, text).is_ok();
    let spelling = examples(name).into_iter().chain(spellings(name, level)).find(is_meant);
    spelling.unwrap_or_else(|| level.to_owned())
}

fn examples(name: &str) -> Vec<String> {
    factors::levels_of(reader::example(name))
}

/// Returns other spellings of an amount in a text, and the parameter's own spelling.
fn spellings(name: &str, text: &str) -> Vec<String> {
    let bare = text.trim();
    let written = assay_workloads::parameter(name).and_then(|parameter| parameter.written);
    let per_s = |text: &str| {
        let bytes: Bytes = text.strip_suffix("/s")?.parse().ok()?;
        Some(format!("{bytes}/s"))
    };
    let all = [
        written.and_then(|written| written(bare)),
        bare.parse::<u64>().ok().map(|number| number.to_string()),
        bare.parse::<Bytes>().ok().map(|bytes| bytes.to_string()),
        bare.parse::<Time>().ok().map(|time| time.to_string()),
        bare.parse::<Percent>().ok().map(|share| share.to_string()),
        per_s(bare),
        Some(bare.to_owned()),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::kinds::kept;
    use serde::Deserialize;

    /// Other ways to write a level, some of them valid.
    fn variants(level: &str) -> Vec<String> {
        let mut all = vec![
            level.replace(' ', ""),
            level.replace(' ', "  "),
            format!(" {level} "),
            level.to_lowercase(),
            level.to_uppercase(),
            format!("0{level}"),
            format!("{level}.0"),
            level.replace('%', ".0%"),
            level.replace('%', ".0%"),
        ];
        if let Ok(bytes) = level.parse::<Bytes>() {
            let kib = |bytes: u64| format!("{} KiB", bytes >> 10);
            all.extend([format!("{} B", bytes.0), kib(bytes.0), format!("{}B", bytes.0)]);
        }
        if let Ok(time) = level.parse::<Time>() {
            all.extend([format!("{} us", time.0 / 1000), format!("{}ns", time.0)]);
        }
        if let Some(bytes) = level.strip_suffix("/s").and_then(|rate| rate.parse::<Bytes>().ok()) {
            all.push(format!("{}KiB/s", bytes.0 >> 10));
        }
        all
    }

    /// Factors with case-sensitive names or lines as levels; workloads add more.
    const FREE: [&str; 15] = [
        "command",
        "prepare",
        "revision",
        "aa_copy",
        "encryption_cipher",
        "mkfs_options",
        "mount_options",
        "scheduler",
        "governor",
        "tunable:PATH",
        "env:NAME",
        "platform",
        "kernel",
        "root_device",
        "label",
    ];

    #[derive(Deserialize)]
    struct Spelled {
        names: Vec<String>,
        /// Parameter, spelling of a level, and canonical spelling.
        amounts: Vec<[String; 3]>,
    }

    fn spelled_by_kinds() -> Vec<Spelled> {
        let kept = kept("spelled.json").unwrap();
        let read = |(kind, text): (String, String)| -> Spelled {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{kind}: {error}"))
        };
        kept.into_iter().map(read).collect()
    }

    fn free() -> Vec<String> {
        let own = spelled_by_kinds().into_iter().flat_map(|own| own.names);
        FREE.into_iter().map(str::to_owned).chain(own).collect()
    }

    fn is_amount(level: &str) -> bool {
        let is_rate = level.strip_suffix("/s").is_some_and(|rate| rate.parse::<Bytes>().is_ok());
        let is_time = level.parse::<Time>().is_ok() || level.parse::<Percent>().is_ok();
        level.parse::<Bytes>().is_ok() || is_time || is_rate
    }

    fn names() -> Vec<&'static str> {
        let parameters = assay_workloads::parameters().iter().map(|parameter| parameter.about.name);
        parameters.chain(factors::all().map(|factor| factor.about().name)).collect()
    }

    #[test]
    fn levels_with_commas_of_their_own_are_told_from_several() {
        for (name, text, levels) in [
            ("queue_depth", "1, 4,16", &["1", "4", "16"][..]),
            ("queue_depth", "1,x,4", &["1", "x", "4"]),
            ("scheduler", "none,mq-deadline", &["none", "mq-deadline"]),
            ("block_size", "4 KiB", &["4 KiB"]),
            ("block_size", "4 KiB,4KiB/70:64KiB/30,1 MiB", &["4 KiB", "4KiB/70:64KiB/30", "1 MiB"]),
            ("block_size", "4KiB/70:64KiB/20", &["4KiB/70:64KiB/20"]),
            (
                "distribution",
                "uniform,zoned:50/5:30/15:20/80,zipf:1.2",
                &["uniform", "zoned:50/5:30/15:20/80", "zipf:1.2"],
            ),
            ("block_size", "", &[""]),
            ("mount_options", "[\"a,b\", \"c\"]", &["a,b", "c"]),
        ] {
            assert_eq!(levels_in(name, text), levels, "{name}={text}");
        }
    }

    #[test]
    fn every_spelling_of_a_level_that_is_taken_gives_the_same_level() {
        let (mut others, mut odd) = (0, Vec::new());
        let free = free();
        for name in names() {
            let is_free = free.iter().any(|own| own == name);
            for level in examples(name) {
                assert_eq!(spelled(name, &level), level, "{name}");
                assert!(!is_free || !is_amount(&level), "{name}: {level}");
                for variant in variants(&level) {
                    // A valid variant is the same level.
                    if check_level(name, &variant).is_ok() && !is_free {
                        others += usize::from(variant != level);
                        let told = spelled(name, &variant);
                        odd.extend((told != level).then(|| format!("{name} {level}: {variant:?}")));
                    }
                }
            }
        }
        assert!(odd.is_empty(), "{odd:#?}");
        assert!(others > 60, "{others}");
    }

    #[test]
    fn amounts_that_no_example_has_are_written_as_amounts_are() {
        for (name, one, other) in [
            ("block_size", "96KiB", "96 KiB"),
            ("block_size", "98304 B", "96 KiB"),
            ("block_size", "4KiB/70:98304B/30", "4KiB/70:96KiB/30"),
            ("distribution", "zipf:0.90", "zipf:0.9"),
            ("distribution", "zoned:95/5:5/95", "zoned:95/5:5/95"),
            ("stride", "98304 B", "96 KiB"),
            ("wbt_latency", "76ms", "76 ms"),
            ("wbt_latency", "0.076 s", "76 ms"),
            ("read_ahead", "192KiB", "192 KiB"),
            ("dirty_ratio", "17%", "17%"),
            ("working_set", "175%", "175%"),
            ("working_set", "98304 KiB", "96 MiB"),
            ("queue_depth", "03", "3"),
        ] {
            assert_eq!(spelled(name, one), other, "{name}");
            assert_eq!(spelled(name, other), other, "{name}");
        }
        for [name, one, other] in spelled_by_kinds().into_iter().flat_map(|own| own.amounts) {
            assert_eq!(spelled(&name, &one), other, "{name}");
            assert_eq!(spelled(&name, &other), other, "{name}");
        }
    }

    #[test]
    fn what_is_no_level_and_what_means_nothing_stays_as_it_is() {
        for (name, level) in [
            ("queue_depth", "many"),
            ("block_size", "17"),
            ("target", "/dev/sdX "),
            ("aa_copy", "64KiB"),
            ("label", "7B"),
        ] {
            assert_eq!(spelled(name, level), level, "{name}");
        }
    }
}
