use super::*;
use assay_study::findings::gate::Gated;
use assay_system::system::{Fake, System as _};
use std::path::Path;

/// As many columns as no line has.
const WIDE: usize = 200;

fn commit(at: usize) -> Commit {
    Commit { id: format!("{at:040x}"), subject: format!("Commit {at}") }
}

fn asked() -> Asked {
    Asked {
        repository: "/work".to_owned(),
        good: commit(0),
        bad: commit(127),
        command: "./bench".to_owned(),
        build: Some("make".to_owned()),
        gate: None,
        options: String::new(),
    }
}

/// What git says of a history without branches: the one in the middle first.
fn candidates(search: &Search) -> Vec<Commit> {
    let number = |commit: &Commit| usize::from_str_radix(&commit.id, 16).unwrap();
    let first = search.goods().into_iter().map(number).max().unwrap() + 1;
    let last = number(search.bad());
    let middle = usize::midpoint(first, last);
    let mut all: Vec<usize> = (first..=last).collect();
    all.sort_by_key(|at| at.abs_diff(middle));
    all.into_iter().map(commit).collect()
}

/// Looks for the first bad commit, where every one has its fate.
fn searched(fate: impl Fn(usize) -> Fate) -> (Search, usize) {
    let mut search = Search::new(asked());
    for looked in 0.. {
        let all = candidates(&search);
        let Some(next) = search.next(&all) else { return (search, looked) };
        let at = usize::from_str_radix(&next.id, 16).unwrap();
        search.steps.push(Step::unmeasured(next.clone(), fate(at)));
    }
    unreachable!()
}

#[test]
fn the_first_bad_commit_is_found_wherever_it_is_and_in_as_few_steps_as_can_be() {
    for first in 1..=127 {
        let (search, looked) = searched(|at| if at < first { Fate::Good } else { Fate::Bad });
        assert_eq!(search.bad(), &commit(first));
        assert!(looked <= 7, "{first}: {looked}");
        assert!(search.suspects(&candidates(&search)).is_empty(), "{first}");
    }
}

#[test]
fn what_nobody_could_judge_is_never_good_and_stays_suspected_beside_the_bad_one() {
    let odd = || Fate::Undecided("too few pairs".to_owned());
    let (search, _) = searched(|at| match at {
        0..=59 => Fate::Good,
        60..=63 => odd(),
        _ => Fate::Bad,
    });
    assert_eq!(search.bad(), &commit(64));
    let all = candidates(&search);
    let mut suspects: Vec<Commit> = search.suspects(&all).into_iter().cloned().collect();
    suspects.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(suspects, [commit(60), commit(61), commit(62), commit(63)]);
    // One that lies elsewhere is none.
    let (search, _) = searched(|at| match at {
        64 => Fate::NoBuild("make: error".to_owned()),
        0..=99 => Fate::Good,
        _ => Fate::Bad,
    });
    assert_eq!(search.bad(), &commit(100));
    assert!(search.steps.iter().any(|step| step.fate.is_left_out()));
    assert!(search.suspects(&candidates(&search)).is_empty());
    // Where it fails it may be the first bad one.
    let (search, _) = searched(|at| match at {
        63 => Fate::NoRun("./bench: not found".to_owned()),
        0..=62 => Fate::Good,
        _ => Fate::Bad,
    });
    assert_eq!(search.bad(), &commit(64));
    assert_eq!(search.suspects(&candidates(&search)), [&commit(63)]);
}

#[test]
fn a_commit_is_judged_by_the_gate_or_by_half_of_what_the_ends_differ_by() {
    let mut search = Search::new(asked());
    assert_eq!((search.allowed(), search.is_about_something()), (None, false));
    let row = Gated {
        loss: Some(0.03),
        surely: Some(0.02),
        ..Gated::bare("BAD".to_owned(), Ended::Fail)
    };
    let gate = GateAnswer::of((0.0, 0.3), false, vec![row]);
    search.ends = Some(Step::of_gate(commit(127), &gate, 30, "20261126-0101".to_owned()));
    assert_eq!((search.allowed(), search.is_about_something()), (Some(0.015), true));
    search.asked.gate = Some(0.05);
    assert_eq!(search.allowed(), Some(0.05));
    let words = search.ends.as_ref().unwrap().words();
    assert_eq!(words, "bad: worse by 3 %, at least 2 % worse, 30 replicates");
    let silent =
        GateAnswer::of((0.0, 0.3), false, vec![Gated::silent("it".to_owned(), "few".to_owned())]);
    let step = Step::of_gate(commit(3), &silent, 4, "a".to_owned());
    assert_eq!(step.fate, Fate::Undecided("few".to_owned()));
    search.ends = Some(step);
    assert!(!search.is_about_something());
    let none =
        Step::of_gate(commit(3), &GateAnswer::of((0.0, 0.3), false, Vec::new()), 4, "a".to_owned());
    assert_eq!(none.words(), "undecided: nothing was compared");
}

#[test]
fn a_search_is_kept_and_another_line_is_another_one() {
    let fake = Fake::new();
    let results = Path::new("/home/results");
    let path = place(results, &asked()).unwrap();
    assert!(path.starts_with("/home/bisects"), "{path:?}");
    assert_ne!(path, place(results, &Asked { gate: Some(0.01), ..asked() }).unwrap());
    assert_eq!(read(&fake, &path, &asked()), Ok(None));
    let (search, _) = searched(|at| if at < 9 { Fate::Good } else { Fate::Bad });
    keep(&fake, &path, &search).unwrap();
    assert_eq!(read(&fake, &path, &asked()), Ok(Some(search.clone())));
    assert_eq!(forget(&fake, &path, asked()), Ok(Search::new(asked())));
    assert_eq!(read(&fake, &path, &asked()), Ok(Some(Search::new(asked()))));
    let refused = |text: &str, why: &str| {
        fake.write_whole(&path, text.as_bytes()).unwrap();
        let told = read(&fake, &path, &asked()).unwrap_err().message;
        assert!(told.contains(why) && told.ends_with("--afresh begins again"), "{told}");
    };
    refused("{", "EOF");
    refused("{\"format\": \"assay-bisect/9\"}", "it has the format assay-bisect/9");
    let another = Search::new(Asked { good: commit(1), ..asked() });
    refused(&serde_json::to_string(&another).unwrap(), "no search for what was asked");
    let mut other = search;
    other.steps[0].commit.id = "--output=/etc/passwd".to_owned();
    refused(&serde_json::to_string(&other).unwrap(), "no search for what was asked");
}

#[test]
fn the_page_has_every_step_with_its_evidence() {
    let (mut search, _) = searched(|at| match at {
        64 => Fate::NoBuild("`make` ended with 2\nmake: error".to_owned()),
        0..=99 => Fate::Good,
        _ => Fate::Bad,
    });
    let row =
        Gated { loss: Some(0.03), surely: Some(0.02), ..Gated::bare("it".to_owned(), Ended::Fail) };
    let gate = GateAnswer::of((0.015, 0.3), false, vec![row]);
    let step = |at: usize| Step::of_gate(commit(at), &gate, 44, "20261126-0101".to_owned());
    search.ends = Some(step(127));
    search.once_more = Some(OnceMore { before: commit(99), step: step(100) });
    let first = commit(100);
    let page = text(&search, &Ending::Found(&first), WIDE);
    assert!(page.starts_with("The first worse commit is 000000000000 Commit 100."), "{page}");
    for part in [
        "gate        1.5 %, half of what GOOD and BAD differ by",
        "skipped: `make` ended with 2\n",
        "at least 2 % worse, 44 replicates (assay show 20261126-0101)",
        "\nonce more   000000000000 against 000000000000, the one before it\n",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches(" Commit ").count(), 3 + search.steps.len(), "{page}");
    // Below a narrow page's edge, and the same words.
    let narrow = text(&search, &Ending::Found(&first), 60);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    let words = |page: &str| page.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&page));
    assert!(!page.contains("\noptions"), "{page}");
    search.asked.options = "--runs 3".to_owned();
    let with = text(&search, &Ending::Found(&first), WIDE);
    assert!(with.contains("\noptions     --runs 3\n"), "{with}");
    let (hidden, doubtful) = (commit(99), Ending::NotShownAgain(&first));
    assert!(doubtful.sentence(&search).contains("not shown again"));
    let one_of = Ending::OneOf(&first, vec![&hidden]);
    assert!(one_of.sentence(&search).ends_with("could not be judged: 000000000000 Commit 99."));
    assert!(Ending::Nothing.sentence(&search).contains("(bad: worse by 3 %"));
}
