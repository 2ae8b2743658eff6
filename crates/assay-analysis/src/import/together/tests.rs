use super::*;

/// Runs of one file: `arm settings value at-ms`.
fn file(
    name: &str,
    arm: &[(&str, &str)],
    runs: &[(&str, f64, Option<u64>)],
) -> (ImportedFile, ImportedRuns) {
    let arm = arm.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
    let run = |(settings, value, at): &(&str, f64, Option<u64>)| {
        let mut run = ImportedRun::new("read");
        for word in settings.split_whitespace() {
            let (name, level) = word.split_once('=').unwrap();
            run.set(name, level);
        }
        run.span_ms = at.map(|at| (at, at + 10));
        run.add("iops", Some(*value));
        run
    };
    let runs = ImportedRuns::in_order(runs.iter().map(run).collect());
    (ImportedFile { name: name.to_owned(), arm, bytes: Vec::new() }, runs)
}

fn of(files: &[(ImportedFile, ImportedRuns)], options: &Options) -> Outcome<Imported> {
    let files: Vec<(&ImportedFile, ImportedRuns)> =
        files.iter().map(|(file, runs)| (file, runs.clone())).collect();
    combine(&files, options)
}

fn words(imported: &Imported) -> Vec<String> {
    let series = imported.measurements.series.iter();
    series
        .map(|one| {
            let arm: Vec<String> = one.arm.iter().map(|(n, l)| format!("{n}={l}")).collect();
            let values: Vec<String> = one
                .trials
                .iter()
                .map(|trial| {
                    format!("{}:{}", trial.order.unwrap_or(0), trial.value.unwrap_or(-1.0))
                })
                .collect();
            format!("{} {}", arm.join(" "), values.join(" "))
        })
        .collect()
}

#[test]
fn what_differs_is_compared_and_equal_runs_are_replicates() {
    let files = [
        file("a", &[], &[("depth=8 seed=1", 80.0, Some(300))]),
        file("b", &[], &[("depth=1 seed=1", 10.0, Some(100))]),
        file("c", &[], &[("depth=1 seed=1", 11.0, Some(400))]),
        file("d", &[], &[("depth=8 seed=1", 81.0, Some(200))]),
    ];
    let found = of(&files, &Options::default()).unwrap();
    assert_eq!(words(&found), ["depth=1 1:10 4:11", "depth=8 2:81 3:80"]);
    assert_eq!(found.measurements.design.order, Order::Chained);
    // That of the first file, whatever its level is.
    assert_eq!(found.measurements.design.baseline["depth"], "8");
}

#[test]
fn lumps_and_unknown_orders_are_told_apart() {
    let lumps = [
        file("a", &[("s", "x")], &[("", 1.0, Some(100)), ("", 1.0, Some(200))]),
        file("b", &[("s", "y")], &[("", 2.0, Some(300)), ("", 2.0, Some(400))]),
    ];
    let found = of(&lumps, &Options::default()).unwrap();
    assert_eq!(found.measurements.design.order, Order::Sequential);
    assert!(found.notes[0].contains("in blocks"), "{:?}", found.notes);
    let timeless = [
        file("a", &[("s", "x")], &[("", 1.0, None)]),
        file("b", &[("s", "y")], &[("", 2.0, None)]),
    ];
    let found = of(&timeless, &Options::default()).unwrap();
    assert_eq!(found.measurements.design.order, Order::Unknown);
    assert!(found.notes[0].contains("--in-order"), "{:?}", found.notes);
    let options = Options { in_order: true, ..Options::default() };
    assert_eq!(of(&timeless, &options).unwrap().measurements.design.order, Order::Rcbd);
}

#[test]
fn runs_at_once_have_no_order() {
    let files = [
        file("a", &[("s", "x")], &[("", 1.0, Some(100))]),
        file("b", &[("s", "y")], &[("", 2.0, Some(105))]),
    ];
    let found = of(&files, &Options::default()).unwrap();
    assert_eq!(found.measurements.design.order, Order::Unknown);
    assert!(found.notes[0].contains("overlap"), "{:?}", found.notes);
}

#[test]
fn a_setting_that_follows_the_arm_is_no_factor_of_its_own() {
    let files = [
        file(
            "a",
            &[("disk", "old")],
            &[("filename=/a depth=1", 1.0, None), ("filename=/a depth=2", 2.0, None)],
        ),
        file(
            "b",
            &[("disk", "new")],
            &[("filename=/b depth=1", 3.0, None), ("filename=/b depth=2", 4.0, None)],
        ),
    ];
    let found = of(&files, &Options::default()).unwrap();
    let names: Vec<&str> =
        found.measurements.design.factors.iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["disk", "depth"]);
    assert!(
        found.notes.iter().any(|note| note == "filename varies together with disk and depth"),
        "{:?}",
        found.notes
    );
}

#[test]
fn mistakes_name_what_there_is() {
    let files =
        [file("a", &[("s", "none")], &[("", 1.0, None)]), file("b", &[], &[("", 2.0, None)])];
    assert!(
        of(&files, &Options::default()).unwrap_err().message.contains("b: no --set for factor s")
    );
    let files = &files[..1];
    let baseline = |name: &str, level: &str| Options {
        baseline: Arm::from([(name.to_owned(), level.to_owned())]),
        ..Options::default()
    };
    let told = |options: Options| of(files, &options).unwrap_err().message;
    assert!(told(baseline("s", "non")).contains("did you mean `none`?"));
    assert!(told(baseline("t", "none")).contains("does not differ"));
    let primary = Options { primary: Some("iopss".to_owned()), ..Options::default() };
    assert!(told(primary).contains("did you mean `iops`?"));
}

#[test]
fn zero_is_a_value_and_less_is_none() {
    let of_one = |value: f64| {
        let files = [file("a", &[], &[("", value, None)])];
        of(&files, &Options::default()).unwrap().measurements.series[0].trials[0].clone()
    };
    assert_eq!((of_one(0.0).value, of_one(0.0).status), (Some(0.0), Status::Ok));
    for value in [-1.0, f64::NAN, 2.0 * LARGEST] {
        let trial = of_one(value);
        assert_eq!((trial.value, trial.status), (None, Status::Failed));
        let told = format!("the tool reported {value}, which cannot be compared");
        assert_eq!(trial.reason, Some(told));
    }
}

#[test]
fn studies_that_nobody_asks_about_are_refused() {
    let runs: Vec<(String, f64, Option<u64>)> =
        (0..1001).map(|at| (format!("depth={at}"), 1.0, None)).collect();
    let runs: Vec<(&str, f64, Option<u64>)> =
        runs.iter().map(|(settings, value, at)| (settings.as_str(), *value, *at)).collect();
    let told = of(&[file("a", &[], &runs)], &Options::default()).unwrap_err().message;
    assert!(told.starts_with("a: this study has more than 1000 levels of depth"), "{told}");
}
