//! Ratings printed on a device against its measured numbers, by the CI: reached, not reached, or undetermined.
//!
//! The SD Association tests cards in a defined state. A study only shows whether a card reaches the rating now.

use std::collections::BTreeMap;

use super::card::{CardClaim, CardNumber, RatingResult};
use assay_core::quantity::units::show;
use assay_study::file::printed::{FAMILIES, RatedClaim, SpeedClass};
use assay_study::findings::Trust;

/// Numbers by name: `read_mb_s` and `write_mb_s` in bytes per second, `read_iops`, `queued_read_iops` and so on.
pub type Numbers = BTreeMap<&'static str, CardNumber>;

pub fn judge_claims<'a>(
    claims: impl IntoIterator<Item = (&'a str, &'a RatedClaim)>,
    numbers: &Numbers,
) -> Vec<CardClaim> {
    let judge = |(rating, claim): (&str, &RatedClaim)| {
        let (outcome, because) = judge_claim(claim, numbers);
        let text = format!("{rating}: {} ({because})", outcome.word());
        CardClaim { rating: rating.to_owned(), outcome, text }
    };
    claims.into_iter().map(judge).collect()
}

/// Judges a printed claim by the CI of the measured number; also returns that number in words.
fn judge_claim(claim: &RatedClaim, numbers: &Numbers) -> (RatingResult, String) {
    let operations: fn(f64) -> String = |value| format!("{} IOPS", show::per_second(value));
    let mb: fn(f64) -> String = |value| format!("{} MB/s", show::mb_per_s(value));
    let (name, what, limit, shown) = match claim {
        RatedClaim::Rate(rate) => ("read_mb_s", "sequential reads", rate, mb),
        RatedClaim::Operations { iops, writes: true } => {
            ("write_iops", "random writes", iops, operations)
        }
        RatedClaim::Operations { iops, writes: false } => {
            ("read_iops", "random reads", iops, operations)
        }
        RatedClaim::Class(class) => return (class_result(class, numbers), requirements(class)),
    };
    let number = numbers.get(name);
    (judge_limit(number, *limit), claim_text(what, number, shown))
}

/// For each family of classes: the highest one that is reached, else the first undetermined one, else the lowest.
pub fn classes(numbers: &Numbers) -> Vec<CardClaim> {
    let best = FAMILIES.iter().filter_map(|family| {
        let with_result =
            |wanted| family.iter().filter(move |class| class_result(class, numbers) == wanted);
        let highest_reached = with_result(RatingResult::Above).next_back();
        let first_open = with_result(RatingResult::Open).next();
        let class = highest_reached.or(first_open).or(family.first())?;
        let outcome = class_result(class, numbers);
        let word = match outcome {
            RatingResult::Above => format!("reaches {}", class.name),
            RatingResult::Open => format!("may or may not reach {}", class.name),
            RatingResult::Below => format!("does not reach {}", class.name),
        };
        let trusts = limits(class, numbers).into_iter().filter_map(|(number, _)| number?.trust);
        let doubt = trusts.max().map_or("", Trust::doubt);
        let text = format!("{word} ({}{doubt})", requirements(class));
        Some(CardClaim { rating: class.name.to_owned(), outcome, text })
    });
    best.collect()
}

fn larger_number<'n>(names: [&str; 2], numbers: &'n Numbers) -> Option<&'n CardNumber> {
    let numbers = names.iter().filter_map(|name| numbers.get(*name));
    numbers.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// The measured numbers that a class limits, each with its limit.
fn limits<'n>(class: &SpeedClass, numbers: &'n Numbers) -> Vec<(Option<&'n CardNumber>, f64)> {
    let mut limits = vec![(numbers.get("write_mb_s"), class.write_mb_s * 1e6)];
    let [reads, writes] = class.iops;
    // Zero stands for a class without limits of IOPS.
    if reads > 0.0 {
        limits.push((larger_number(["read_iops", "queued_read_iops"], numbers), reads));
        limits.push((larger_number(["write_iops", "queued_write_iops"], numbers), writes));
    }
    limits
}

/// Outcome of a class: all limits must be reached; one missed limit is enough to fail.
fn class_result(class: &SpeedClass, numbers: &Numbers) -> RatingResult {
    let limits = limits(class, numbers).into_iter();
    let results: Vec<_> = limits.map(|(value, limit)| judge_limit(value, limit)).collect();
    let has = |wanted| results.contains(&wanted).then_some(wanted);
    has(RatingResult::Below).or(has(RatingResult::Open)).unwrap_or(RatingResult::Above)
}

fn requirements(class: &SpeedClass) -> String {
    let linear = format!("{} MB/s of sequential writes", class.write_mb_s);
    match class.iops {
        [0.0, _] => format!("at least {linear}"),
        [reads, writes] => format!(
            "at least {} random read IOPS and {} random write IOPS, and {linear}",
            show::per_second(reads),
            show::per_second(writes)
        ),
    }
}

/// A number against a limit, by its CI; open without a CI, or if the number is not trusted.
fn judge_limit(number: Option<&CardNumber>, limit: f64) -> RatingResult {
    let trusted = number.filter(|number| number.doubt().is_empty());
    match trusted.and_then(|number| number.ci95) {
        Some([low, _]) if low >= limit => RatingResult::Above,
        Some([_, high]) if high < limit => RatingResult::Below,
        _ => RatingResult::Open,
    }
}

fn claim_text(what: &str, number: Option<&CardNumber>, shown: impl Fn(f64) -> String) -> String {
    let doubt = number.map_or("", CardNumber::doubt);
    match number {
        None => format!("{what}: not measured"),
        Some(CardNumber { value, ci95: Some([low, high]), .. }) => {
            let [value, low, high] = [*value, *low, *high].map(shown);
            format!("{what}: {value}, 95% CI {low} to {high}{doubt}")
        }
        Some(number) => format!("{what}: {}, without a CI{doubt}", shown(number.value)),
    }
}

#[cfg(test)]
mod tests {
    use assay_study::file::printed::Claimed;

    use super::*;

    fn numbers(told: &[(&'static str, f64)]) -> Numbers {
        let number = |value: f64| CardNumber {
            value,
            ci95: Some([value * 0.95, value * 1.05]),
            trust: Some(Trust::Trusted),
        };
        told.iter().map(|(name, value)| (*name, number(*value))).collect()
    }

    fn standings(claimed: &str, numbers: &Numbers) -> Vec<RatingResult> {
        let claimed: Claimed = claimed.parse().unwrap();
        let claims = claimed.claims.iter().map(|(text, claim)| (text.as_str(), claim));
        judge_claims(claims, numbers).iter().map(|one| one.outcome).collect()
    }

    const CARD: [(&str, f64); 4] =
        [("read_mb_s", 90e6), ("write_mb_s", 31e6), ("read_iops", 1800.0), ("write_iops", 300.0)];

    #[test]
    fn an_interval_on_one_side_decides() {
        let card = numbers(&CARD);
        // 85.5 to 94.5 MB/s of reading, 29.45 to 32.55 of writing.
        let expected =
            [RatingResult::Below, RatingResult::Above, RatingResult::Open, RatingResult::Below];
        assert_eq!(standings("95 MB/s, 80 MB/s, V30, A1", &card), expected);
        let expected = [RatingResult::Above, RatingResult::Above, RatingResult::Below];
        assert_eq!(standings("C10, 1440 IOPS read, 2000 IOPS write", &card), expected);
        let best: Vec<String> = classes(&card).into_iter().map(|one| one.text).collect();
        assert!(best[0].starts_with("reaches C10 (at least 10 MB/s"), "{best:?}");
        assert!(best[1].starts_with("reaches U1"), "{best:?}");
        assert!(best[2].starts_with("reaches V10"), "{best:?}");
        assert!(best[3].starts_with("does not reach A1"), "{best:?}");
    }

    #[test]
    fn queued_operations_count_for_application_classes_and_nothing_is_said_of_nothing() {
        let mut quick = numbers(&[("write_mb_s", 50e6), ("read_iops", 1000.0)]);
        quick.extend(numbers(&[("queued_read_iops", 5000.0), ("queued_write_iops", 2500.0)]));
        assert!(classes(&quick).iter().any(|one| one.text.starts_with("reaches A2")));
        assert_eq!(standings("V30", &Numbers::new()), [RatingResult::Open]);
        let mut invalid = numbers(&CARD);
        for number in invalid.values_mut() {
            number.trust = Some(Trust::Invalid);
        }
        assert_eq!(standings("C10", &invalid), [RatingResult::Open]);
    }

    #[test]
    fn a_suspect_number_reaches_nothing_and_says_so() {
        let mut suspect = numbers(&CARD);
        suspect.get_mut("write_mb_s").unwrap().trust = Some(Trust::Suspect);
        assert_eq!(
            standings("C10, 1440 IOPS read", &suspect),
            [RatingResult::Open, RatingResult::Above]
        );
        let told: Vec<String> = classes(&suspect).into_iter().map(|one| one.text).collect();
        assert_eq!(
            told[2],
            "may or may not reach V6 (at least 6 MB/s of sequential writes, suspect numbers)"
        );
        let claimed: Claimed = "95 MB/s".parse().unwrap();
        suspect.get_mut("read_mb_s").unwrap().trust = Some(Trust::Suspect);
        let claims = claimed.claims.iter().map(|(text, claim)| (text.as_str(), claim));
        assert_eq!(
            judge_claims(claims, &suspect)[0].text,
            "95 MB/s: cannot be determined (sequential reads: 90 MB/s, 95% CI 85.5 MB/s to 94.5 MB/s, suspect numbers)"
        );
    }
}
