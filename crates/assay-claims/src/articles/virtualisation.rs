//! "Virtual Performance - Or Lack Thereof": one build in eight places.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::Trust;
use assay_study::findings::answers::Claim::{NotShown, Supported};
use assay_study::findings::places::{self as placed, Beside, BesideRow};

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{Ruling, held};
use super::sheet::{Printed, Sheet};
use super::words::{list, percent, several};

const DATA: &str = "virtualisation.csv";
/// What the others are percentages of.
const BARE: &str = "bare metal";
const WORKLOAD: &str = "kernel-compile";
/// Number of the article, and title of the text.
pub(super) const ARTICLE: &str = "000";
pub(super) const TITLE: &str = "Virtual Performance - Or Lack Thereof";
/// How a number that follows from others is told.
const ARITHMETIC: &str = ". It is arithmetic: no spread was published.";

pub(super) const JUDGES: &[Judge] = &[
    ("every hypervisor costs at least a fifth of bare metal", a_fifth),
    ("the published percentages follow from the seconds", percentages),
    ("bare metal is 26.32 % as fast again as the best hypervisor", as_fast_again),
    ("VMware ESXi is 24 % lower than bare metal", lower),
];

struct Place<'a> {
    name: &'a str,
    seconds: f64,
    /// As they stand there.
    printed: &'a str,
    published: Printed,
    /// Seconds of bare metal.
    bare: f64,
    /// Its share of the speed of bare metal, by the seconds.
    share: f64,
}

fn places(sheet: &Sheet) -> Outcome<Vec<Place<'_>>> {
    let bare = sheet.one(&[("place", BARE)])?.positive("seconds")?;
    let read = sheet.rows().map(|row| {
        let (seconds, published) = (row.positive("seconds")?, row.printed("published_percent")?);
        let (name, printed) = (row.text("place")?, row.text("seconds")?);
        Ok(Place { name, seconds, printed, published, bare, share: bare / seconds })
    });
    read.collect()
}

impl Place<'_> {
    fn follows(&self) -> bool {
        self.published.says(100.0 * self.share)
    }

    fn percent(&self) -> String {
        percent(self.share, 2)
    }

    /// How its percentage does not follow.
    fn disagreement(&self) -> String {
        let Self { name, seconds, bare, published: Printed { value, decimals }, .. } = *self;
        let meant = if value > 0.0 { bare / (value / 100.0) } else { 0.0 };
        let share = percent(self.share, decimals);
        format!(
            "{name} has {value:.decimals$} %, but {bare} of {seconds} s are {share}; \
             {value:.decimals$} % would be {meant:.0} s"
        )
    }
}

/// The hypervisor that comes nearest to bare metal.
fn nearest<'a, 'p>(places: &'p [Place<'a>], of: &Case<'_>) -> Outcome<&'p Place<'a>> {
    let others = places.iter().filter(|place| place.name != BARE);
    let found = others.max_by(|a, b| a.share.total_cmp(&b.share));
    found.ok_or_else(|| of.claim.broken(&format!("{DATA} has no place but {BARE}")))
}

fn a_fifth(of: &Case<'_>) -> Outcome<Ruling> {
    let places = places(&of.sheet)?;
    let limit = of.claim.limit('<')?.value / 100.0;
    let best = nearest(&places, of)?;
    let (name, share, most) = (best.name, best.percent(), percent(limit, 0));
    let (others, statistic) = (places.len() - 1, of.sheet.statistic());
    let longer = show::share(limit / best.share - 1.0);
    Ok(held(
        best.share < limit,
        "",
        NotShown,
        &format!(
            "All {others} stay below {most} of bare metal, {name} nearest with {share}. But each is \
             compared with one time of bare metal ({statistic}), and if that were {longer} longer, \
             it would be undone."
        ),
        &format!("{name} reaches {share} of bare metal, which is not below {most}."),
    ))
}

fn percentages(of: &Case<'_>) -> Outcome<Ruling> {
    let places = places(&of.sheet)?;
    let (right, wrong): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.follows());
    let told: Vec<String> = wrong.iter().map(|place| place.disagreement()).collect();
    let (told, right, all) = (list(&told), right.len(), several(right.len(), "percentage"));
    Ok(held(
        wrong.is_empty(),
        "",
        Supported,
        &format!("All {all} follow to the printed digits."),
        &format!("{told}. The other {right} follow to the printed digits."),
    ))
}

fn as_fast_again(of: &Case<'_>) -> Outcome<Ruling> {
    let places = places(&of.sheet)?;
    let wanted = of.claim.limit('=')?;
    let best = nearest(&places, of)?;
    let again = 1.0 / best.share - 1.0;
    let digits = wanted.decimals.saturating_sub(2);
    let (name, found) = (best.name, percent(again, digits + 1));
    let [rounded, printed] = [again, wanted.value].map(|share| percent(share, digits));
    let how = if wanted.is_cut_off(again) {
        format!("; rounded that is {rounded}, printed it was cut off")
    } else {
        String::new()
    };
    Ok(held(
        wanted.says(again),
        &format!("The seconds of {name} and of bare metal give {found}"),
        Supported,
        &format!("{how}{ARITHMETIC}"),
        &format!(", not {printed}."),
    ))
}

/// The place that a claim names, by how much it is below bare metal.
fn lower(of: &Case<'_>) -> Outcome<Ruling> {
    let [said]: [Printed; 1] = of.claim.numbers()?;
    let named = |place: &Place<'_>| {
        place.name != BARE && place.name.split(' ').take(2).all(|word| of.claim.names(word))
    };
    let what = || of.claim.broken(&format!("{DATA} has no place that it names"));
    let place = places(&of.sheet)?.into_iter().find(named).ok_or_else(what)?;
    let found = 1.0 - place.share;
    let [lower, whole] = [2, said.decimals].map(|decimals| percent(found, decimals));
    let (name, share) = (place.name, place.percent());
    Ok(held(
        said.says(100.0 * found),
        &format!("The seconds of {name} are {share} of bare metal's speed, which is {lower} lower"),
        Supported,
        ARITHMETIC,
        &format!(": {whole}, not {} %.", said.value),
    ))
}

/// The table as it is set beside measured places, with the digits that were printed.
pub(super) fn beside(library: &Library) -> Outcome<Beside> {
    let sheet = library.sheet(DATA)?;
    let places = places(&sheet)?;
    let rows = sheet.rows().zip(&places).map(|(row, place)| {
        let (follows, flag) = (place.follows(), row.text("flag")?);
        let flag = Some(flag.to_owned()).filter(|flag| !flag.is_empty());
        Ok(BesideRow {
            place: place.name.to_owned(),
            value: format!("{} s", place.printed),
            percent: format!("{} %", row.text("published_percent")?),
            printed: placed::Printed {
                percent: place.published.value,
                computed: 100.0 * place.share,
                follows,
            },
            remark: if follows { flag } else { Some(place.disagreement()) },
        })
    });
    Ok(Beside {
        source: format!("article {ARTICLE}"),
        title: TITLE.to_owned(),
        work: WORKLOAD.to_owned(),
        statistic: sheet.statistic(),
        baseline: BARE.to_owned(),
        rows: rows.collect::<Outcome<_>>()?,
    })
}

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    let at = |name: &str| place(WORKLOAD, &[("place", name)], "duration_s");
    for one in places(sheet)? {
        let here = at(one.name);
        book.number(&here, one.seconds, &sheet.statistic(), &format!("{} s", one.printed));
        if !one.follows() {
            let text = "the printed percentage does not follow from the seconds: one is wrong";
            book.doubt(&here, Trust::Suspect, "arithmetic", text);
        }
        if one.name != BARE {
            book.compare(&at(BARE), &here);
        }
    }
    Ok(())
}
