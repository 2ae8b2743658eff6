//! Tables of rows and of devices.

use maud::{Markup, html};

use crate::collection::{Shown, filled_columns, in_unit};
use crate::document::NONE;
use assay_analysis::collection::flat::{Flat, PUBLISHED};
use assay_analysis::collection::{DeviceRows, Spread, numbers::NUMBERS};
use assay_core::{exhibit::parts::parted, quantity::units::show};

/// The name of a row, with its size to distinguish equal names.
pub(super) fn name(row: &Flat) -> String {
    match row.capacity_gb {
        Some(gb) => format!("{}, {} GB", row.device, show::three_digits(gb)),
        None => row.device.clone(),
    }
}

pub(in crate::html) fn table(name: &str, heads: &Markup, body: &Markup) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Table: " (name) } {
            table.collection data-filter={ "Filter " (name) } {
                caption.unseen { (name) }
                thead { tr { (heads) } }
                tbody { (body) }
            }
        }
    }
}

pub(in crate::html) fn head(title: &str, is_number: bool) -> Markup {
    html! { th scope="col" class=[is_number.then_some("n")] data-words[!is_number] { (title) } }
}

fn tone(trust: &str) -> &'static str {
    match trust.rsplit(", ").next() {
        Some("trusted") => "good",
        Some("suspect") => "doubtful",
        Some("invalid") => "bad",
        _ => "absent",
    }
}

pub(super) fn rows(rows: &[&Flat], link: &dyn Fn(&Flat) -> Option<String>) -> Markup {
    let columns = filled_columns(rows);
    let heads = html! { @for column in &columns { (head(column.title, column.is_number)) } };
    let cell = |column: &Shown, row: &Flat| {
        let text = (column.text)(row);
        let text = if text.is_empty() { NONE.to_owned() } else { text };
        let class = match column.title {
            "trust" => Some(tone(&row.trust)),
            "claimed" | "machine" => Some("w"),
            _ => column.is_number.then_some("n"),
        };
        html! { td class=[class] { (text) } }
    };
    let body = html! {
        @for row in rows {
            tr {
                th scope="row" { @match link(row) {
                    Some(place) => a href=(place) { (row.device) },
                    None => (row.device),
                } }
                @for column in columns.iter().skip(1) { (cell(column, row)) }
            }
        }
    };
    table("rows", &heads, &body)
}

pub(super) fn devices(
    devices: &[DeviceRows<'_>],
    link: &dyn Fn(&DeviceRows<'_>) -> Option<String>,
) -> Markup {
    let spreads: Vec<Vec<Option<Spread>>> = devices.iter().map(DeviceRows::spreads).collect();
    let has_value = |index: &usize| spreads.iter().any(|it| it[*index].is_some());
    let numbers: Vec<usize> = (0..NUMBERS.len()).filter(has_value).collect();
    let heads = html! {
        (head("device", false)) (head("GB", true)) (head("rows", true))
        @for index in &numbers { (head(NUMBERS[*index].title, true)) }
        (head("trust", false))
    };
    let body = html! {
        @for (device, spreads) in devices.iter().zip(&spreads) {
            tr {
                th scope="row" { @match link(device) {
                    Some(place) => a href=(place) { (device.device) },
                    None => (device.device),
                } }
                td.n { (device.rows[0].capacity_gb.map_or_else(|| NONE.to_owned(), show::three_digits)) }
                td.n { (device.rows.len()) }
                @for index in &numbers { td.n { (spread_text(*index, spreads[*index].as_ref())) } }
                td { (trusts(device)) }
            }
        }
    };
    table("devices", &heads, &body)
}

fn spread_text(index: usize, spread: Option<&Spread>) -> String {
    match spread {
        None => NONE.to_owned(),
        Some(it) if it.rows == 1 || it.least == it.most => in_unit(index, it.least),
        Some(it) => format!("{} to {}", in_unit(index, it.least), in_unit(index, it.most)),
    }
}

fn trusts(device: &DeviceRows<'_>) -> String {
    let groups = parted(device.rows.iter().map(|row| row.trust.as_str()), |trust| trust);
    if let [(trust, _)] = groups.as_slice() {
        return (*trust).to_owned();
    }
    let counts: Vec<_> =
        groups.iter().map(|(trust, rows)| format!("{} {trust}", rows.len())).collect();
    counts.join(", ")
}

pub(super) fn spread(device: &DeviceRows<'_>) -> Markup {
    let spreads = device.spreads().into_iter().enumerate();
    let spreads: Vec<_> = spreads.filter_map(|(index, spread)| Some((index, spread?))).collect();
    let title = format!("spread of {}", name(device.rows[0]));
    let published = device.rows.iter().filter(|row| row.trust == PUBLISHED).count();
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Table: " (title) } {
            table {
                caption.unseen { (title) }
                thead { tr {
                    th scope="col" { "number" } th.n scope="col" { "measured" }
                    th.n scope="col" { "min" } th.n scope="col" { "max" } th.n scope="col" { "max/min" }
                } }
                tbody { @for (index, spread) in &spreads { tr {
                    th scope="row" { (NUMBERS[*index].title) }
                    td.n { (spread.rows) }
                    td.n { (in_unit(*index, spread.least)) }
                    td.n { (in_unit(*index, spread.most)) }
                    td.n { (show::ratio(spread.ratio())) }
                } } }
            }
        }
        p.note {
            "Duplicates count once; invalid rows are excluded."
            @if published > 0 { " Published rows are included." }
        }
    }
}
