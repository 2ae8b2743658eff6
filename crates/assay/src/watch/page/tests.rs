use super::*;
use crate::watch::testing::{expect, state, state_untraced};

const PLAIN: PageStyle = PageStyle { colour: false, blocks: true };

/// The page without escape sequences.
fn drawn(page: &Page<'_>, width: usize, height: usize) -> String {
    let escape = regex_lite::Regex::new("\x1b\\[[0-9;]*m").unwrap();
    let plain = |line: &String| escape.replace_all(line, "").trim_end().to_owned() + "\n";
    page.draw(width, height).iter().map(plain).collect()
}

fn page<'a>(state: &'a State, view: &'a PageView) -> Page<'a> {
    Page { state, progress: None, view, style: PLAIN, length_s: None }
}

#[test]
fn the_page_on_three_terminals() {
    let (state, view) = (state(), PageView::default());
    let page = page(&state, &view);
    for (width, height) in [(80, 24), (120, 40), (60, 20)] {
        expect(&format!("page-{width}x{height}"), &drawn(&page, width, height));
    }
}

#[test]
fn one_class_alone_has_both_intervals() {
    let state = state();
    let mut view = PageView::default();
    view.next_class();
    view.next_class();
    expect("page-one-class", &drawn(&page(&state, &view), 80, 24));
    (0..5).for_each(|_| view.next_class());
    assert_eq!(view.class, None);
}

#[test]
fn without_a_tracing_the_page_has_means_and_the_reason() {
    let (state, view) = (state_untraced(), PageView::default());
    let text = drawn(&page(&state, &view), 80, 24);
    assert!(text.contains("not permitted") && text.contains("7.75 ms"), "{text}");
}

#[test]
fn a_study_that_runs_has_its_strip_and_its_warning() {
    let (state, view) = (state(), PageView::default());
    let progress = StudyProgress {
        running: true,
        trials_s: None,
        title: "Which file system suits this card?".to_owned(),
        done: 6,
        planned: 42,
        now: "random-read with filesystem=ext4 on /mnt/card, replicate 2".to_owned(),
        left_s: Some(312),
        warnings: vec!["trial 3 failed: it was full".to_owned()],
        is_own: false,
    };
    let page = Page { progress: Some(&progress), ..page(&state, &view) };
    expect("page-study", &drawn(&page, 80, 24));
}

#[test]
fn the_plain_page_has_no_signs_but_ascii() {
    let (state, view) = (state(), PageView::default());
    let style = PageStyle { colour: false, blocks: false };
    let text = drawn(&Page { style, ..page(&state, &view) }, 80, 24);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn no_size_and_no_view_breaks_the_page() {
    let (traced, untraced) = (state(), state_untraced());
    let mut view = PageView::default();
    for state in [&traced, &untraced] {
        for help in [false, true] {
            view.help = help;
            for class in [None, Some(0), Some(5)] {
                view.class = class;
                view.next_disk(state);
                for (width, height) in [(1, 1), (39, 24), (40, 12), (80, 13), (300, 90)] {
                    let text = drawn(&page(state, &view), width, height);
                    assert_eq!(text.lines().count(), height);
                    assert!(text.lines().all(|line| line.chars().count() <= width));
                }
            }
        }
    }
    let text = drawn(&page(&traced, &PageView::default()), 39, 24);
    assert!(text.contains("too small"), "{text}");
}

#[test]
fn colour_is_never_needed() {
    let (state, view) = (state(), PageView::default());
    let plain = page(&state, &view);
    let colourful = Page { style: PageStyle { colour: true, blocks: true }, ..page(&state, &view) };
    assert_eq!(drawn(&plain, 80, 24), drawn(&colourful, 80, 24));
    let painted = |page: &Page<'_>| page.draw(80, 24).concat().contains("\x1b[3");
    assert_eq!((painted(&plain), painted(&colourful)), (false, true));
}

#[test]
fn bars_show_a_trace_of_what_is_not_nothing() {
    assert_eq!((bar(0.0, 8, true).as_str(), bar(0.001, 8, true).as_str()), ("", "▏"));
    assert_eq!((bar(1.0, 3, true).as_str(), bar(0.5, 3, true).as_str()), ("███", "█▌"));
    assert_eq!((bar(0.01, 8, false).as_str(), bar(2.0, 3, false).as_str()), (".", "###"));
    assert_eq!(bar(f64::NAN, 8, true), "");
}

#[test]
fn requests_that_failed_are_never_hidden() {
    let mut totals = crate::watch::testing::article();
    totals.devices[0][0].failed = 3;
    let readings = vec![Ok(crate::watch::testing::nothing()), Ok(totals)];
    let tracing = crate::watch::testing::tracing(readings);
    let state = crate::watch::testing::state_after(&crate::watch::testing::machine(), tracing);
    let view = PageView::default();
    for width in [60, 80, 120] {
        assert!(drawn(&page(&state, &view), width, 24).contains("!3 bad"), "{width}");
    }
    assert!(crate::watch::summary::render(&state).contains("failed: read 3"));
}
