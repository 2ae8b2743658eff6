//! The published table of places that `assay compare --by platform --published` shows.

use assay_core::failure::{Failure, Outcome};
use assay_core::{reference::Library, reference::sheet::SheetRow};
use assay_study::findings::places::{BesideRow, Printed, PublishedBeside};

const DATA: &str = "virtualisation.csv";
const BARE: &str = "bare metal";
const ARTICLE: &str = "000";

/// The table of platforms that an article (`000` or `article-000`) prints; fails for any other article.
pub fn beside(name: &str) -> Outcome<PublishedBeside> {
    if name.strip_prefix("article-").unwrap_or(name) != ARTICLE {
        return Err(Failure::mistake(format!(
            "--published {name}: only article-{ARTICLE} has a table of platforms"
        )));
    }
    let sheet = Library::shipped().sheet(DATA)?;
    let bare = sheet.one(&[("place", BARE)])?.positive("seconds")?;
    Ok(PublishedBeside {
        source: format!("article {ARTICLE}"),
        title: "Virtual Performance - Or Lack Thereof".to_owned(),
        work: "kernel-compile".to_owned(),
        statistic: sheet.statistic(),
        baseline: BARE.to_owned(),
        rows: sheet.rows().map(|row| platform_row(row, bare)).collect::<Outcome<_>>()?,
    })
}

/// The printed time and percentage of a platform. The remark corrects a percentage that differs from `bare` / time.
fn platform_row(row: SheetRow<'_>, bare: f64) -> Outcome<BesideRow> {
    let (place, flag) = (row.text("place")?, row.text("flag")?);
    let (seconds, percent) = (row.positive("seconds")?, row.printed("published_percent")?);
    let computed = 100.0 * bare / seconds;
    let follows = percent.says(computed);
    let remark = if follows {
        Some(flag.to_owned()).filter(|flag| !flag.is_empty())
    } else {
        let (value, decimals) = (percent.value, percent.decimals);
        let meant = if value > 0.0 { 100.0 * bare / value } else { 0.0 };
        Some(format!(
            "{place}: published {value:.decimals$}%, but {bare} s of {seconds} s is \
             {computed:.decimals$}%; {value:.decimals$}% would be {meant:.0} s"
        ))
    };
    Ok(BesideRow {
        platform: place.to_owned(),
        value: format!("{} s", row.text("seconds")?),
        percent: format!("{}%", row.text("published_percent")?),
        printed: Printed { percent: percent.value, computed, follows },
        remark,
    })
}
