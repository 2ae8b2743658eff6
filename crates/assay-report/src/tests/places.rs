//! Pages and figures of platforms with changed rows: which columns appear, and when.

use super::super::document::{self, Detail};
use super::super::evidence::Evidence;
use super::super::{figures, text};
use super::fixture;
use assay_core::exhibit::figure::{Figure, Look};
use assay_core::quantity::Better;
use assay_study::findings::places::{PlaceRow, Places, PlatformUnit, Printed};
use assay_study::findings::{Findings, Trust};
use assay_study::results::plan::Arm;

fn changed(change: impl FnOnce(&mut Places)) -> Findings {
    let mut found = fixture("places");
    change(found.platforms.as_mut().unwrap());
    found
}

/// The page in full, 120 columns wide.
fn page(change: impl FnOnce(&mut Places)) -> String {
    text::render(&document::build(&changed(change), Detail::Full), 120, false)
}

/// The words of the first line of a page with this prefix.
fn line(page: &str, start: &str) -> Vec<String> {
    let found = page.lines().find(|line| line.starts_with(start));
    let found = found.unwrap_or_else(|| panic!("no {start} in\n{page}"));
    found.split("  ").filter(|word| !word.is_empty()).map(|word| word.trim().to_owned()).collect()
}

fn drawn(change: impl FnOnce(&mut Places)) -> Vec<Figure> {
    figures::all(&Evidence::bare(changed(change)))
}

fn figure(change: impl FnOnce(&mut Places), id: &str) -> Option<Figure> {
    drawn(change).into_iter().find(|figure| figure.id == id)
}

/// The first workload only, with just a number per platform.
fn alone(places: &mut Places) {
    places.rows.truncate(2);
    for row in &mut places.rows {
        (row.n, row.unit, row.ci95) = (1, PlatformUnit::Trials, None);
        (row.percent_ci95, row.percent_ci95_simultaneous, row.trust) = (None, None, None);
    }
    (places.rows[0].value, places.rows[1].value) = (Some(1042.523), Some(1691.849));
    places.rows[1].percent = Some(61.62);
}

fn with_printed(places: &mut Places, printed: [(f64, bool); 2]) {
    alone(places);
    for (row, (percent, follows)) in places.rows.iter_mut().zip(printed) {
        row.printed = Some(Printed { percent, computed: percent, follows });
    }
}

#[test]
fn a_column_stands_where_some_row_has_something_for_it() {
    let head = |change: fn(&mut Places)| line(&page(change), "platform ");
    let usual = head(|_| ());
    assert_eq!(usual, ["platform", "result", "% of base", "95% CI", "n", "verdict"]);
    assert_eq!(head(alone), ["platform", "result", "% of base"]);
    let invalid = head(|places| {
        alone(places);
        places.rows[1].trust = Some(Trust::Invalid);
    });
    assert_eq!(invalid, ["platform", "result", "% of base", "verdict"]);
    let emulated = head(|places| {
        alone(places);
        places.rows[1].emulated = true;
    });
    assert_eq!(emulated, ["platform", "result", "% of base", "verdict"]);
    let two = head(|places| {
        alone(places);
        places.rows[1].n = 2;
    });
    assert_eq!(two, ["platform", "result", "% of base", "n"]);
    let printed = head(|places| with_printed(places, [(100.0, true), (61.62, true)]));
    assert_eq!(printed, ["platform", "result", "% of base", "printed"]);
}

#[test]
fn what_was_printed_has_the_digits_of_the_finest_and_is_contradicted() {
    let told = |printed: [(f64, bool); 2]| {
        let page = page(|places| with_printed(places, printed));
        ["bare metal ", "KVM "].map(|place| line(&page, place).join(" "))
    };
    let [base, guest] = told([(100.0, true), (61.62, true)]);
    assert!(base.ends_with(" 100 100") && guest.ends_with(" 61.62 61.62"), "{base}\n{guest}");
    let [base, guest] = told([(99.5, true), (61.62, false)]);
    assert!(base.ends_with(" 100 99.50"), "{base}");
    assert!(guest.ends_with(" 61.62 inconsistent: 61.62"), "{guest}");
    // A row without a printed number has an empty cell.
    let page = page(|places| {
        with_printed(places, [(100.0, true), (61.62, true)]);
        places.rows[0].printed = None;
    });
    assert_eq!(line(&page, "bare metal ").len(), 3, "{page}");
    assert_eq!(line(&page, "KVM ")[3], "61.62");
}

#[test]
fn a_number_that_stands_alone_has_the_digits_that_were_printed() {
    let result = |change: fn(&mut PlaceRow)| {
        let page = page(|places| {
            alone(places);
            change(&mut places.rows[0]);
        });
        line(&page, "bare metal ")[1].clone()
    };
    assert_eq!(result(|_| ()), "1042.523 s");
    assert_eq!(result(|row| row.n = 2), "17.4 min");
    assert_eq!(result(|row| row.unit = PlatformUnit::Sessions), "17.4 min");
    assert_eq!(result(|row| row.metric = "iops".to_owned()), "1,040");
    assert_eq!(result(|row| row.value = None), "-");
}

#[test]
fn counts_say_what_they_are_of_and_what_was_lost() {
    let count = |change: fn(&mut PlaceRow)| {
        let page = page(|places| change(&mut places.rows[1]));
        line(&page, "KVM ")[4].clone()
    };
    assert_eq!(count(|_| ()), "4");
    assert_eq!(count(|row| row.failed = 1), "4/5");
    assert_eq!(count(|row| (row.unit, row.failed) = (PlatformUnit::TrialsOfResults, 2)), "4/6");
    assert_eq!(count(|row| row.unit = PlatformUnit::Sessions), "4 results");
    assert_eq!(count(|row| (row.unit, row.n) = (PlatformUnit::Sessions, 1)), "1 result");
}

#[test]
fn a_verdict_is_that_of_the_comparison_and_of_what_is_not_sound_there_is_none() {
    let verdict = |change: fn(&mut PlaceRow)| {
        let page = page(|places| change(&mut places.rows[1]));
        line(&page, "KVM ")[5].clone()
    };
    assert_eq!(verdict(|_| ()), "suggests worse");
    assert_eq!(verdict(|row| row.trust = Some(Trust::Invalid)), "invalid");
    assert_eq!(verdict(|row| row.trust = Some(Trust::Suspect)), "suggests worse");
    assert_eq!(verdict(|row| row.emulated = true), "emulated");
    assert_eq!(verdict(|row| row.comparison = None), "baseline");
    // Percentages without an interval are printed without one, and those of the baseline are 100.
    let page = page(|places| {
        (places.rows[1].percent_ci95, places.rows[1].percent_ci95_simultaneous) = (None, None);
        places.rows[0].percent = Some(99.0);
    });
    assert_eq!(line(&page, "bare metal ")[2], "100");
    assert_eq!(line(&page, "KVM ")[2..4], ["68.41", "4"]);
}

#[test]
fn a_page_says_how_its_numbers_are_to_be_read() {
    let many = "Assay does not average over workloads";
    let one = "With one number per platform, there is no CI and no verdict.";
    let families = "95% CIs are simultaneous over all platforms of a workload.";
    let told = |page: &str| [many, one, families].map(|words| page.contains(words));
    assert_eq!(told(&page(|_| ())), [true, false, true]);
    assert_eq!(told(&page(alone)), [false, true, false]);
    assert_eq!(told(&page(|places| places.rows.truncate(2))), [false, false, true]);
    let two = page(|places| {
        alone(places);
        places.rows.iter_mut().for_each(|row| row.n = 2);
    });
    assert_eq!(told(&two), [false, false, false]);
    let result = page(|places| {
        alone(places);
        places.rows.iter_mut().for_each(|row| row.unit = PlatformUnit::Sessions);
    });
    assert_eq!(told(&result), [false, false, false], "a result is several trials");
    let alone_among =
        page(|places| (places.rows[4].n, places.rows[4].unit) = (1, PlatformUnit::Trials));
    assert_eq!(told(&alone_among), [true, false, true], "the others have intervals");
}

#[test]
fn reasons_and_directions_are_told_for_each_workload() {
    let page = page(|places| {
        let absent = |row: &mut PlaceRow, why: &str| {
            (row.value, row.absent, row.n) = (None, Some(why.to_owned()), 0);
        };
        absent(&mut places.rows[1], "no compiler (cc) is installed");
        absent(&mut places.rows[4], "it did not run there");
        for row in &mut places.rows[3..] {
            row.configuration = Arm::from([("jobs".to_owned(), "2".to_owned())]);
            (row.better, row.metric) = (Better::Higher, "iops".to_owned());
        }
    });
    let one = "KVM, emulated (QEMU TCG): no compiler (cc) is installed";
    assert_eq!(page.matches(one).count(), 1, "each reason once:\n{page}");
    assert!(page.contains("KVM: it did not run there"), "{page}");
    assert!(page.contains("\ncompile: time, lower is better"), "{page}");
    assert!(page.contains("\nfork-exit, jobs 2: IOPS, higher is better"), "{page}");
}

#[test]
fn a_place_is_told_with_its_days_and_its_machine() {
    let page = page(|places| {
        places.platforms[0].results[1].started = "2026-11-21T06:47:07+00:00".to_owned();
        places.platforms[1].name = "guest".to_owned();
    });
    let from = page.find("\nplatforms\n").unwrap();
    let told = page[from..].split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("3 results from 2026-11-21 and 2026-11-23"), "{told}");
    assert!(told.contains("guest KVM; clock source tsc"), "{told}");
    assert!(told.contains("20261123-064707-07fe from 2026-11-23"), "{told}");
    assert!(!told.contains("KVM KVM;"), "its name says it: {told}");
}

const PERCENT: &str = "platforms-percent";
const COMPILE: &str = "platforms-compile-duration-s";
const BEYOND: &str = "Some intervals extend beyond the figure; see the table.";

#[test]
fn an_interval_that_goes_on_beyond_a_figure_is_told() {
    let notes = |high: f64| {
        let own = figure(
            |places| {
                places.rows[1].percent_ci95_simultaneous = Some([50.0, high]);
                places.published.clear();
            },
            PERCENT,
        );
        own.unwrap().notes
    };
    assert!(notes(200.0).contains(&BEYOND.to_owned()), "{:?}", notes(200.0));
    assert!(!notes(139.0).contains(&BEYOND.to_owned()), "{:?}", notes(139.0));
}

#[test]
fn bars_are_named_labelled_and_looked_at_by_what_they_are() {
    let own = figure(|_| (), PERCENT).unwrap();
    let points = &own.series[0].points;
    let told: Vec<(&str, Option<&str>)> =
        points.iter().map(|point| (point.text.as_str(), point.label.as_deref())).collect();
    assert_eq!(told[0], ("bare metal: 100%", Some("100%")));
    assert_eq!(told[1], ("KVM: 68% (54 to 86)", Some("68%")));
    let emulated = &own.series[1].points[0];
    assert!(emulated.text.ends_with("; emulated") && emulated.look == Look::Hatched);
    assert_eq!(emulated.remark.as_deref(), Some("emulated"));
    let published = &own.series[2].points;
    assert_eq!(published[1].label.as_deref(), Some("79.16%"));
    let last = published.last().unwrap();
    assert_eq!(last.label.as_deref(), Some("19.06% (or 11.74%)"));
    assert_eq!((own.title.as_str(), own.guides.len()), ("Speed in percent of bare metal", 1));
    assert_eq!((own.guides[0].from, own.guides[0].to), (100.0, 100.0));
    // A number without an interval has the digits of the table.
    let alone = figure(alone, COMPILE).unwrap();
    let texts: Vec<&str> = alone.series[0].points.iter().map(|point| point.text.as_str()).collect();
    assert_eq!(texts, ["bare metal: 1042.523 s", "KVM: 1691.849 s"]);
    assert_eq!(alone.series[0].name, "", "one series needs no name");
    assert_eq!(alone.workload.as_deref(), Some("compile"));
    assert_eq!(alone.metric.as_deref(), Some("duration_s"));
}

#[test]
fn a_figure_has_two_bars_at_least_and_eighty_at_most() {
    let ids = |change: fn(&mut Places)| -> Vec<String> {
        drawn(change).into_iter().map(|figure| figure.id).collect()
    };
    let all = [PERCENT, COMPILE, "platforms-fork-exit-duration-s"];
    assert_eq!(ids(|_| ()), all);
    // A single number has no figure.
    let single = ids(|places| {
        (places.rows[1].value, places.rows[1].percent) = (None, None);
    });
    assert_eq!(single, [all[0], all[2]]);
    let many = |count: usize| {
        move |places: &mut Places| {
            alone(places);
            places.published.clear();
            let row = places.rows[1].clone();
            places.rows.extend(
                (2..count).map(|at| PlaceRow { platform: format!("p{at}"), ..row.clone() }),
            );
        }
    };
    assert_eq!(drawn(many(80)).len(), 2);
    assert_eq!(drawn(many(81)).len(), 0);
    // At most nine figures; the last one says so.
    let workloads = drawn(|places| {
        alone(places);
        let rows = places.rows.clone();
        for at in 0..11 {
            let named = |row: &PlaceRow| PlaceRow { workload: format!("w{at}"), ..row.clone() };
            places.rows.extend(rows.iter().map(named));
        }
    });
    assert_eq!(workloads.len(), 9);
    assert!(workloads[8].notes.iter().any(|note| note.contains('4')), "{:?}", workloads[8].notes);
}

#[test]
fn workloads_have_headings_where_there_are_several_and_a_workload_of_one_place_none() {
    use assay_core::exhibit::figure::AxisScale;
    let slots = |change: fn(&mut Places)| -> Vec<(String, bool)> {
        let own = figure(change, PERCENT).unwrap();
        let AxisScale::Category(slots) = own.along.scale else { panic!("{:?}", own.along) };
        slots.into_iter().map(|slot| (slot.name, slot.heading)).collect()
    };
    let headings = |change: fn(&mut Places)| -> Vec<String> {
        let slots = slots(change).into_iter();
        slots.filter_map(|(name, heading)| heading.then_some(name)).collect()
    };
    let published = "article 000: kernel-compile, as published";
    assert_eq!(headings(|_| ()), ["compile", "fork-exit", published]);
    assert_eq!(headings(|places| places.rows.truncate(3)), ["compile", published]);
    let one = |places: &mut Places| {
        places.rows.truncate(3);
        places.published.clear();
    };
    assert_eq!(headings(one), [""; 0]);
    let missing = headings(|places| places.rows[1].percent = None);
    assert_eq!(missing, ["fork-exit", published]);
    assert_eq!(slots(one).len(), 2);
}

#[test]
fn what_could_not_be_drawn_is_told_six_times_at_most() {
    let notes = |change: fn(&mut Places), id: &str| figure(change, id).unwrap().notes;
    let told = "Missing: compile on emulated (QEMU TCG); no compiler (cc) is installed.";
    assert_eq!(notes(|_| (), COMPILE)[0], told);
    assert!(notes(|_| (), PERCENT).contains(&told.to_owned()));
    let other = notes(|_| (), "platforms-fork-exit-duration-s");
    assert!(!other.iter().any(|note| note.starts_with("Missing")), "{other:?}");
    let many = notes(
        |places| {
            let row = places.rows[2].clone();
            places
                .rows
                .extend((0..9).map(|at| PlaceRow { platform: format!("p{at}"), ..row.clone() }));
        },
        COMPILE,
    );
    assert_eq!(many.iter().filter(|note| note.starts_with("Missing")).count(), 6);
}
