//! Numbers and lists as the sentences have them.

use assay_base::quantity::units::show;

/// A probability: `p = 0.059`, `p below 0.0001`.
pub fn p(value: f64) -> String {
    if value < 1e-4 { "p below 0.0001".to_owned() } else { format!("p = {}", digits(value, 2)) }
}

/// A fraction as percent with the decimals of what it is held against: 0.1174 is `11.74 %`.
pub fn percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}

/// How much more or less than one: 1.84 is `84 % more`, 0.58 is `42 % less`.
pub fn change(ratio: f64, [more, less]: [&str; 2]) -> String {
    let word = if ratio < 1.0 { less } else { more };
    format!("{} {word}", show::share((ratio - 1.0).abs()))
}

/// `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A count with its noun: `1 row`, `3 rows`.
pub fn several(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", show::count(count as u64))
}

/// A number with at least that many significant digits: 0.0585 with two is `0.059`.
pub fn digits(value: f64, least: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let places = (least - 1 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(p(0.0585), "p = 0.059");
        assert_eq!(p(0.3), "p = 0.30");
        assert_eq!(p(1e-9), "p below 0.0001");
        assert_eq!(percent(0.117_44, 2), "11.74 %");
        assert_eq!(change(1.84, ["slower", "faster"]), "84 % slower");
        assert_eq!(change(0.58, ["more", "fewer"]), "42 % fewer");
        assert_eq!(list(&["a".to_owned(), "b".to_owned(), "c".to_owned()]), "a, b and c");
        assert_eq!(several(1, "row"), "1 row");
        assert_eq!(digits(17.254, 3), "17.3");
    }
}
