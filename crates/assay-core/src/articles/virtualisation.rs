//! "Virtual Performance - Or Lack Thereof": one build in eight places.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::Ruling;
use super::sheet::{Printed, Row, Sheet};
use super::words::{list, percent, several};
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::findings::Trust;
use crate::findings::places::{self as placed, Beside, BesideRow};
use crate::quantity::units::show;

const DATA: &str = "virtualisation.csv";
/// What the others are percentages of.
const BARE: &str = "bare metal";
const WORKLOAD: &str = "kernel-compile";
/// Title of the text.
pub(super) const TITLE: &str = "Virtual Performance - Or Lack Thereof";
/// Decimals of the published percentages.
const DECIMALS: usize = 2;

pub(super) const TOPIC: Topic = Topic {
    article: "000",
    data: &[DATA],
    judges: &[
        Judge { claim: "every hypervisor costs at least a fifth of bare metal", judge: a_fifth },
        Judge { claim: "the published percentages follow from the seconds", judge: percentages },
        Judge {
            claim: "bare metal is 26.32 % as fast again as the best hypervisor",
            judge: as_fast_again,
        },
        Judge { claim: "VMware ESXi is 24 % lower than bare metal", judge: lower },
    ],
    numbers,
};

/// One place: its name, its seconds, its printed percentage, and the share of bare metal's speed
/// that the seconds give.
struct Place<'a> {
    name: &'a str,
    seconds: f64,
    /// As they stand there.
    printed: &'a str,
    published: Printed,
    share: f64,
}

fn places(sheet: &Sheet) -> Outcome<Vec<Place<'_>>> {
    let bare = sheet.one(&[("place", BARE)])?.positive("seconds")?;
    let place = |row: Row<'_>| -> Outcome<(f64, Printed)> {
        Ok((row.positive("seconds")?, row.printed("published_percent")?))
    };
    let read = sheet.rows().map(|row| {
        let (seconds, published) = place(row)?;
        let (name, printed) = (row.text("place")?, row.text("seconds")?);
        Ok(Place { name, seconds, printed, published, share: bare / seconds })
    });
    read.collect()
}

/// The hypervisor that comes nearest to bare metal.
fn nearest<'a, 'p>(places: &'p [Place<'a>], claim: &Claim) -> Outcome<&'p Place<'a>> {
    let others = places.iter().filter(|place| place.name != BARE);
    let found = others.max_by(|a, b| a.share.total_cmp(&b.share));
    found.ok_or_else(|| claim.broken(&format!("{DATA} has no place but {BARE}")))
}

fn a_fifth(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let limit = claim.limit('<')?.value / 100.0;
    let best = nearest(&places, claim)?;
    let share = percent(best.share, DECIMALS);
    if best.share >= limit {
        return Ok(Ruling::contradicted(format!(
            "{} reaches {share} of bare metal, which is not below {}.",
            best.name,
            percent(limit, 0)
        )));
    }
    Ok(Ruling::not_shown(format!(
        "All {} stay below {} of bare metal, {} nearest with {share}. But each is compared with one \
         time of bare metal ({}), and if that were {} longer, it would be undone.",
        places.len() - 1,
        percent(limit, 0),
        best.name,
        sheet.statistic(),
        show::share(limit / best.share - 1.0)
    )))
}

fn percentages(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let (right, wrong): (Vec<_>, Vec<_>) =
        places.iter().partition(|place| place.published.says(100.0 * place.share));
    let told: Vec<String> = wrong.iter().map(|place| disagreement(place, &places)).collect();
    if told.is_empty() {
        let all = several(right.len(), "percentage");
        return Ok(Ruling::supported(format!("All {all} follow to the printed digits.")));
    }
    Ok(Ruling::contradicted(format!(
        "{}. The other {} follow to the printed digits.",
        list(&told),
        right.len()
    )))
}

fn disagreement(place: &Place<'_>, all: &[Place<'_>]) -> String {
    let bare = all.iter().find(|one| one.name == BARE).map_or(0.0, |bare| bare.seconds);
    let Printed { value, decimals } = place.published;
    let meant = if value > 0.0 { bare / (value / 100.0) } else { 0.0 };
    format!(
        "{} has {value:.decimals$} %, but {bare} of {} s are {}; {value:.decimals$} % would be \
         {meant:.0} s",
        place.name,
        place.seconds,
        percent(place.share, decimals)
    )
}

fn as_fast_again(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let wanted = claim.limit('=')?;
    let best = nearest(&places, claim)?;
    let found = 1.0 / best.share - 1.0;
    let digits = wanted.decimals.saturating_sub(2);
    let sentence = format!(
        "The seconds of {} and of bare metal give {}",
        best.name,
        percent(found, digits + 1)
    );
    if !wanted.says(found) {
        let printed = percent(wanted.value, digits);
        return Ok(Ruling::contradicted(format!("{sentence}, not {printed}.")));
    }
    let how = if wanted.is_cut_off(found) {
        format!("; rounded that is {}, printed it was cut off", percent(found, digits))
    } else {
        String::new()
    };
    Ok(Ruling::supported(format!("{sentence}{how}. It is arithmetic: no spread was published.")))
}

/// The place that a claim names, by how much it is below bare metal.
fn lower(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let [said]: [Printed; 1] = claim.numbers()?;
    let named = |place: &&Place<'_>| {
        place.name != BARE && place.name.split(' ').take(2).all(|word| claim.names(word))
    };
    let what = || claim.broken(&format!("{DATA} has no place that it names"));
    let place = places.iter().find(named).ok_or_else(what)?;
    let found = 1.0 - place.share;
    let told = format!(
        "The seconds of {} are {} of bare metal's speed, which is {} lower",
        place.name,
        percent(place.share, DECIMALS),
        percent(found, DECIMALS)
    );
    Ok(if said.says(100.0 * found) {
        Ruling::supported(format!("{told}. It is arithmetic: no spread was published."))
    } else {
        let whole = percent(found, said.decimals);
        Ruling::contradicted(format!("{told}: {whole}, not {} %.", said.value))
    })
}

/// The table as it is set beside measured places, with the digits that were printed.
pub(super) fn beside(library: &Library) -> Outcome<Beside> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let rows = sheet.rows().zip(&places).map(|(row, place)| {
        let disagrees = !place.published.says(100.0 * place.share);
        let flag = Some(row.text("flag")?.to_owned()).filter(|flag| !flag.is_empty());
        let remark = if disagrees { Some(disagreement(place, &places)) } else { flag };
        Ok(BesideRow {
            place: place.name.to_owned(),
            value: format!("{} s", row.text("seconds")?),
            percent: format!("{} %", row.text("published_percent")?),
            printed: placed::Printed {
                percent: place.published.value,
                computed: 100.0 * place.share,
                follows: !disagrees,
            },
            remark,
        })
    });
    Ok(Beside {
        source: format!("article {}", TOPIC.article),
        title: TITLE.to_owned(),
        work: WORKLOAD.to_owned(),
        statistic: sheet.statistic(),
        baseline: BARE.to_owned(),
        rows: rows.collect::<Outcome<_>>()?,
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    let at = |name: &str| place(WORKLOAD, &[("place", name)], "duration_s");
    for one in places(&sheet)? {
        let here = at(one.name);
        book.number(&here, one.seconds, &sheet.statistic());
        book.printed(&here, &format!("{} s", one.printed));
        if !one.published.says(100.0 * one.share) {
            let text = "the printed percentage does not follow from the seconds: one is wrong";
            book.doubt(&here, Trust::Suspect, "arithmetic", text);
        }
        if one.name != BARE {
            book.compare(&at(BARE), &here);
        }
    }
    Ok(())
}
