//! The pages that only the server has: the list, a study that is watched, refusals. Everything that
//! a bundle says is escaped by `maud`.

use axum::http::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::catalogue::{Entry, Page, Search, State};
use super::live::{self, ROWS};
use super::query::encoded;
use crate::store::progress::Phase;
use assay_base::quantity::units::show;
use assay_study::results::bundle::Listed;

/// What may stand under `kind`, and what it is called.
const KINDS: [(&str, &str); 5] = [
    ("", "all"),
    ("check", "checks"),
    ("study", "studies"),
    ("import", "imported"),
    ("damaged", "damaged"),
];

/// A page around what is on it.
fn frame(title: &str, head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " - assay" }
                link rel="stylesheet" href="/assets/page.css";
                (head)
            }
            body {
                a.skip href="#main" { "To the contents" }
                header.site { nav aria-label="Site" { ul {
                    li { a href="/" { "All results" } }
                    li { a href="/articles" { "The articles' own numbers" } }
                } } }
                main id="main" tabindex="-1" { (body) }
                footer { p { "assay " (env!("CARGO_PKG_VERSION")) ", read only." } }
            }
        }
    };
    page.into_string()
}

/// A page that says why there is no other.
pub(super) fn refusal(status: StatusCode, text: &str) -> String {
    let title = status.canonical_reason().unwrap_or("This cannot be shown");
    frame(title, &html! {}, &html! { h1 { (title) } p { (text) } })
}

pub(super) fn list(page: &Page, search: &Search, results: &str) -> String {
    let body = html! {
        h1 { "Results" }
        (search_form(search))
        @if page.all == 0 {
            p { "There is no result in " code { (results) } " yet: " code { "assay check" } " makes one." }
        } @else {
            p role="status" { (count(page)) }
            form action="/compare" method="get" {
                div.scroll tabindex="0" role="region" aria-label="Results" { (table(&page.entries)) }
                p { button.act id="compare" type="submit" name="order" value="date" {
                    "Compare the chosen ones"
                } }
            }
            (pager(page, search))
        }
    };
    frame("Results", &html! { script src="/assets/list.js" defer {} }, &body)
}

fn count(page: &Page) -> String {
    let all = show::count(page.all as u64);
    if page.fitting == page.all {
        return format!("{all} results, newest first.");
    }
    format!("{} of {all} results, newest first.", show::count(page.fitting as u64))
}

fn search_form(search: &Search) -> Markup {
    html! {
        form.search action="/" method="get" role="search" {
            label { "Search" input id="q" type="search" name="q" value=(search.words) autocomplete="off"; }
            label { "Kind"
                select name="kind" {
                    @for (kind, name) in KINDS {
                        option value=(kind) selected[kind == search.kind] { (name) }
                    }
                }
            }
            button.act type="submit" { "Search" }
        }
    }
}

fn table(entries: &[Entry]) -> Markup {
    html! {
        table id="results" {
            caption.unseen { "Results, newest first" }
            thead { tr {
                th scope="col" { span.unseen { "Compare" } }
                @for name in ["Result", "Target", "Trust", "Date"] { th scope="col" { (name) } }
            } }
            tbody { @for entry in entries { (row(entry)) } }
        }
    }
}

fn row(entry: &Entry) -> Markup {
    let id = &entry.id;
    match &entry.found {
        Ok(listed) => readable(id, listed, entry.state),
        Err(reason) => html! { tr {
            td {}
            th.long scope="row" { (id) }
            td.bad.long colspan="3" { "cannot be read: " (reason) }
        } },
    }
}

fn readable(id: &str, listed: &Listed, state: State) -> Markup {
    let date: String = listed.started.replace('T', " ").chars().take(16).collect();
    let title = if listed.title.is_empty() { id } else { &listed.title };
    html! { tr {
        td { input type="checkbox" name="id" value=(id) aria-label={ "Compare " (id) }; }
        th.says scope="row" {
            a href={ "/result/" (encoded(id)) } { (title) }
            @if let Some(headline) = &listed.headline { p { (headline.text) } }
            small { (id) ", " (trials(listed)) ", " (show::bytes(listed.bytes)) ", " (self::state(id, state)) }
        }
        td.w { (target(listed)) }
        td { @if let Some(headline) = &listed.headline { (headline.trust) } }
        td { (date) }
    } }
}

/// Trials, and how many of how many where some are missing.
fn trials(listed: &Listed) -> String {
    let (done, planned) = (listed.trials, listed.planned);
    if done >= planned { format!("{done} trials") } else { format!("{done} of {planned} trials") }
}

/// Drives where they are known, else what the command line named.
fn target(listed: &Listed) -> String {
    let told = if listed.drives.is_empty() { &listed.targets } else { &listed.drives };
    told.join(" and ")
}

fn state(id: &str, state: State) -> Markup {
    let live = format!("/live/{}", encoded(id));
    html! {
        @match state {
            State::Running => { a href=(live) { "running" } }
            State::Complete => { "complete" }
            State::Early => { "ended early" }
            State::Interrupted => { a href=(live) { "interrupted" } }
            State::Damaged => { "damaged" }
        }
    }
}

fn pager(page: &Page, search: &Search) -> Markup {
    let to = |number: usize| {
        format!("/?q={}&kind={}&page={number}", encoded(&search.words), encoded(&search.kind))
    };
    html! {
        @if page.pages > 1 {
            nav aria-label="Pages" {
                @if page.number > 1 { a rel="prev" href=(to(page.number - 1)) { "Newer" } " " }
                "Page " (page.number) " of " (page.pages)
                @if page.number < page.pages { " " a rel="next" href=(to(page.number + 1)) { "Older" } }
            }
        }
    }
}

/// A study that is watched.
pub(super) fn live(state: &live::State) -> String {
    let progress = &state.progress;
    let id = encoded(&progress.id);
    let first = state.first_shown();
    let head = html! {
        @if progress.phase != Phase::Ended { noscript { meta http-equiv="refresh" content="5"; } }
        script src="/assets/live.js" defer {}
    };
    let body = html! {
        div data-events={ "/live/" (id) "/events" } data-rows=(state.count()) data-most=(ROWS)
            data-phase=(phase(progress.phase)) {
            p.kind { "A study, live" }
            h1 { (progress.title) }
            p.answer id="live-state" role="status" { (live::sentence(progress)) }
            p.bad id="live-link" role="status" {}
            p id="live-result" hidden[progress.phase == Phase::Running] {
                a href={ "/result/" (id) } { "The result" }
            }
            progress id="live-bar" max=(progress.planned.max(1)) value=(progress.done)
                aria-label="Trials that have run" {}
            dl {
                div { dt { "Trials" } dd id="live-done" { (progress.done) " of " (progress.planned) } }
                div { dt { "Runs now" } dd id="live-now" { (progress.now.as_deref().unwrap_or("-")) } }
                div { dt { "Running for" } dd id="live-elapsed" { (clock(progress.elapsed_s)) } }
                div { dt { "About left" } dd id="live-left" { (clock(progress.left_s)) } }
                div { dt { "Begun" } dd { (progress.began.replace('T', " ")) } }
            }
            ul.doubtful id="live-warnings" aria-label="Warnings" {
                @for warning in &progress.warnings { li { (warning) } }
            }
            h2 { "Trials that have run, the latest first" }
            div.scroll tabindex="0" role="region" aria-label="Trials that have run" {
                table {
                    caption.unseen { "Trials that have run, the latest first" }
                    thead { tr {
                        @for name in ["#", "Replicate", "Workload", "Setting"] {
                            th scope="col" { (name) }
                        }
                        th.n scope="col" { "Value" }
                        @for name in ["Status", "Reason"] { th scope="col" { (name) } }
                    } }
                    tbody id="live-rows" {
                        @for (index, ran) in state.rows_from(first).rev() {
                            (trial(index, live::cells(ran)))
                        }
                    }
                }
            }
            p.note id="live-earlier" {
                @if first > 0 { (first) " earlier ones are not shown here." }
            }
        }
    };
    frame(&progress.title, &head, &body)
}

fn trial(index: usize, [replicate, workload, arm, value, status, reason]: [&str; 6]) -> Markup {
    let tone = match status {
        "disturbed" => Some("doubtful"),
        "failed" => Some("bad"),
        _ => None,
    };
    html! { tr data-row=(index) {
        th scope="row" { (index + 1) }
        td { (replicate) }
        td { (workload) }
        td.long { (arm) }
        td.n { (value) }
        td class=[tone] { (status) }
        td.long { (reason) }
    } }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => "running",
        Phase::Ended => "ended",
        Phase::Interrupted => "interrupted",
    }
}

/// `0:01:20`, as the page's script counts on.
fn clock(seconds: Option<u64>) -> String {
    let Some(seconds) = seconds else { return "-".to_owned() };
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(trials: usize, drives: &[&str]) -> Listed {
        Listed {
            id: "20261124-103107-a3f9".to_owned(),
            title: "A <b> title".to_owned(),
            kind: "study".to_owned(),
            targets: vec!["/dev/sdb".to_owned(), "/srv".to_owned()],
            started: "2026-11-24T10:31:07Z".to_owned(),
            bytes: 2048,
            trials,
            planned: 12,
            drives: drives.iter().map(|&drive| drive.to_owned()).collect(),
            headline: None,
            foreign: false,
        }
    }

    #[test]
    fn times_are_told_as_a_clock_does() {
        let told =
            [None, Some(0), Some(59), Some(80), Some(3599), Some(3661), Some(360_000)].map(clock);
        assert_eq!(told, ["-", "0:00:00", "0:00:59", "0:01:20", "0:59:59", "1:01:01", "100:00:00"]);
    }

    #[test]
    fn trials_are_told_with_those_that_are_missing() {
        let told = [0, 11, 12, 13].map(|done| trials(&listed(done, &[])));
        assert_eq!(told, ["0 of 12 trials", "11 of 12 trials", "12 trials", "13 trials"]);
        assert_eq!(target(&listed(1, &[])), "/dev/sdb and /srv");
        assert_eq!(target(&listed(1, &["a card, ext4"])), "a card, ext4");
    }

    #[test]
    fn a_row_says_where_a_result_stands() {
        let told =
            |state, found| row(&Entry { id: "one two".to_owned(), found, state }).into_string();
        for (of, words) in [
            (State::Running, ">running</a>"),
            (State::Complete, ", complete<"),
            (State::Early, ", ended early<"),
            (State::Interrupted, ">interrupted</a>"),
            (State::Damaged, ", damaged<"),
        ] {
            let line = told(of, Ok(listed(3, &[])));
            assert!(line.contains(words), "{line}");
            let leads = line.contains("href=\"/live/one%20two\"");
            assert_eq!(leads, [State::Running, State::Interrupted].contains(&of), "{line}");
            assert!(
                line.contains("A &lt;b&gt; title") && line.contains("2026-11-24 10:31<"),
                "{line}"
            );
        }
        let unnamed = Listed { title: String::new(), ..listed(3, &[]) };
        assert!(told(State::Complete, Ok(unnamed)).contains(">one two</a>"));
        let wrong = told(State::Damaged, Err("no plan".to_owned()));
        assert!(wrong.contains("cannot be read: no plan") && !wrong.contains("href"), "{wrong}");
    }

    #[test]
    fn a_list_leads_to_its_neighbours_alone() {
        let told = |number, pages| {
            let page = Page { entries: Vec::new(), fitting: 150, all: 250, number, pages };
            let search = Search { words: "a b".to_owned(), kind: "check".to_owned(), page: number };
            list(&page, &search, "/home/results")
        };
        let middle = told(2, 3);
        for words in [
            "150 of 250 results",
            "page=1\">Newer",
            "page=3\">Older",
            "Page 2 of 3",
            "q=a%20b&amp;kind=check",
        ] {
            assert!(middle.contains(words), "{words}");
        }
        assert!(!told(1, 3).contains("Newer") && told(1, 3).contains("Older"));
        assert!(told(3, 3).contains("Newer") && !told(3, 3).contains("Older"));
        assert!(!told(1, 1).contains("aria-label=\"Pages\""));
        assert!(middle.contains("<option value=\"check\" selected>checks</option>"));
        let none = Page { entries: Vec::new(), fitting: 0, all: 0, number: 1, pages: 1 };
        let none = list(&none, &Search::default(), "/home/results");
        assert!(none.contains("There is no result in <code>/home/results</code> yet"));
        let all = Page { entries: Vec::new(), fitting: 2, all: 2, number: 1, pages: 1 };
        assert!(list(&all, &Search::default(), "/").contains("2 results, newest first."));
    }
}
