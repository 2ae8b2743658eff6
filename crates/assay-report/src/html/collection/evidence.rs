//! Evidence of a row: its numbers with interval, trust and trials, and its latencies.

use maud::{Markup, html};

use super::super::parts::figure;
use super::listed;
use crate::collection::in_unit;
use crate::document::NONE;
use crate::figures::percentiles::curves;
use assay_analysis::collection::flat::{Flat, judge_claims};
use assay_analysis::collection::numbers::{ENERGY, NUMBERS};
use assay_analysis::collection::{CollectionRow, RowValue, groups};
use assay_analysis::rules::RULES;
use assay_core::exhibit::figure::{Figure, id_of};
use assay_core::quantity::units::show;
use assay_study::findings::{LENT, Trust};

const MOST_TRIALS: usize = 24;

/// The anchor of a row's evidence: a hash, or the table line of a published row.
pub(super) fn anchor(row: &Flat) -> String {
    let name = row.file.rsplit('/').next().unwrap_or_default();
    id_of(&["row", name.trim_end_matches(".json")])
}

pub(super) fn devices(rows: &[(Flat, CollectionRow)]) -> Markup {
    let stored = |flat: &Flat| rows.iter().find(|(known, _)| std::ptr::eq(known, flat));
    html! {
        @for device in &groups(rows.iter().map(|(flat, _)| flat)) {
            h3 { (listed::name(device.rows[0])) }
            @if device.rows.len() > 1 { (listed::spread(device)) }
            @for (flat, row) in device.rows.iter().filter_map(|flat| stored(flat)) { (self::row(flat, row, true)) }
        }
    }
}

/// `is_below_device`: a heading of the device precedes it.
pub(super) fn row(flat: &Flat, row: &CollectionRow, is_below_device: bool) -> Markup {
    let id = anchor(flat);
    let title = title(flat, row);
    html! {
        section.part id=(id) aria-labelledby={ (id) "-h" } {
            @if is_below_device { h4 id={ (id) "-h" } { (title) } } @else { h3 id={ (id) "-h" } { (title) } }
            dl { @for (name, value) in facts(flat, row) { div { dt { (name) } dd { (value) } } } }
            @if !row.measured.is_empty() { (numbers(&id, &title, row)) }
            @if let Some(drawn) = latencies(&id, &title, row) { (figure(&drawn)) }
        }
    }
}

fn title(flat: &Flat, row: &CollectionRow) -> String {
    if let Some(published) = &row.published {
        return format!("{}: article {}, {}", row.device, published.article, published.kind);
    }
    let parts = [
        row.date.as_ref().map(|date| format!(" on {date}")),
        row.by.as_ref().map(|by| format!(" by {by}")),
    ];
    let details: String = parts.into_iter().flatten().collect();
    format!("{}{details}, {}", row.device, flat.trust)
}

fn facts(flat: &Flat, row: &CollectionRow) -> Vec<(&'static str, String)> {
    let claims = if row.measured.is_empty() {
        row.claimed.clone()
    } else {
        judge_claims(row).into_iter().map(|it| it.text).collect()
    };
    let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let price = row.price.as_ref().map(|price| match row.price_per_gb() {
        Some((per, currency)) => format!("{price}, {} {currency} per GB", show::three_digits(per)),
        None => price.clone(),
    });
    let source = row.published.as_ref();
    let identity = row.identity.as_ref();
    let facts = [
        ("claimed", Some(claims.join("; ")).filter(|it| !it.is_empty())),
        ("price", price),
        ("published in", source.map(|it| format!("{} (article {})", it.title, it.article))),
        ("source", source.map(|it| it.kind.clone())),
        ("measured by", row.foreign.then(|| "someone other than the contributor".to_owned())),
        ("filesystem", text(&row.filesystem)),
        ("machine", text(&row.machine)),
        ("target", identity.map(|it| it.target.clone())),
        ("serial number", identity.and_then(|it| it.serial.clone())),
        ("result", row.result.clone()),
        ("plan", row.plan_sha256.as_ref().map(|hash| format!("SHA-256 {hash}"))),
        ("version", text(&row.assay).map(|version| format!("assay {version}"))),
        ("file", row.published.is_none().then(|| flat.file.clone())),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A number of a row: its title, the format of its values, the number.
type PrintedNumber<'a> = (&'static str, Box<dyn Fn(f64) -> String>, &'a RowValue);

/// The numbers of a row, each with its title and the function that formats it; published ones keep the author's digits.
fn printed_numbers(row: &CollectionRow) -> Vec<PrintedNumber<'_>> {
    let published = row.published.is_some();
    let kinds = NUMBERS.iter().enumerate().filter_map(|(index, kind)| {
        let show: Box<dyn Fn(f64) -> String> = Box::new(move |value: f64| {
            let value = value / kind.unit;
            if published { value.to_string() } else { in_unit(index, value) }
        });
        Some((kind.title, show, row.measured.get(kind.name)?))
    });
    let energy = row.measured.get(ENERGY).map(|number| {
        let show: Box<dyn Fn(f64) -> String> = Box::new(show::three_digits);
        ("J/GiB written", show, number)
    });
    kinds.chain(energy).collect()
}

fn numbers(id: &str, title: &str, row: &CollectionRow) -> Markup {
    let name = format!("numbers of {title}");
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Table: " (name) } {
            table id={ (id) "-n" } {
                caption.unseen { (name) }
                thead { tr {
                    th scope="col" { "number" } th.n scope="col" { "value" }
                    th.n scope="col" { "95% CI" } th scope="col" { "trust" }
                    th scope="col" { "how" } th scope="col" { "trials" }
                } }
                tbody { @for (title, show, number) in printed_numbers(row) { tr {
                    th scope="row" { (title) }
                    td.n { (show(number.value)) }
                    td.n { (interval(number, &show)) }
                    (trust(number))
                    td.w { (if number.how.is_empty() { NONE } else { &number.how }) }
                    td.w { (trials(number, &show)) }
                } } }
            }
        }
    }
}

fn interval(number: &RowValue, show: &dyn Fn(f64) -> String) -> String {
    let text = number.ci95.map(|[low, high]| format!("{} to {}", show(low), show(high)));
    text.unwrap_or_else(|| NONE.to_owned())
}

fn trust(number: &RowValue) -> Markup {
    let lent = number.because.iter().any(|rule| rule == LENT);
    let (class, word) = match number.trust {
        Some(Trust::Trusted) if lent => ("given", "trusted for this virtual device"),
        Some(Trust::Trusted) => ("good", "trusted"),
        Some(Trust::Suspect) => ("doubtful", "suspect"),
        Some(Trust::Invalid) => ("bad", "invalid"),
        None => ("absent", "not judged"),
    };
    html! {
        td.w { span class=(class) { (word) } @for rule in &number.because { br; small { (rule_text(rule)) } } }
    }
}

/// The description of a rule; its name if it is unknown.
fn rule_text(rule: &str) -> String {
    let about = RULES.iter().map(|it| &it.about).find(|about| about.name == rule);
    about.map_or_else(|| rule.to_owned(), |about| format!("{rule}: {}", about.summary))
}

fn trials(number: &RowValue, show: &dyn Fn(f64) -> String) -> String {
    if number.trials.is_empty() {
        return NONE.to_owned();
    }
    let shown: Vec<_> = number.trials.iter().take(MOST_TRIALS).map(|value| show(*value)).collect();
    let more = match number.trials.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}: {}{more}", number.trials.len(), shown.join("; "))
}

/// Latency quantiles, one line per number with latencies.
fn latencies(id: &str, title: &str, row: &CollectionRow) -> Option<Figure> {
    let lines = NUMBERS.iter().filter_map(|kind| {
        let number = row.measured.get(kind.name)?;
        Some((kind.work.to_owned(), number.latency_ns.clone()))
    });
    Some(Figure {
        id: format!("{id}-latency"),
        title: format!("{title}: latency by cumulative share of operations"),
        description: "Each additional nine has equal width. A row has four quantiles per workload."
            .to_owned(),
        ..curves(lines)?
    })
}
