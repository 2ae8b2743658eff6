//! The bundled studies `compile` and `platform`, on trees that build instantly.

use std::fs;
use std::path::{Path, PathBuf};

use assay_testkit::home::Home;
use serde_json::Value;

struct Bench {
    home: Home,
    target: PathBuf,
    _turn: fs::File,
}

impl Bench {
    fn new(test: &str) -> Self {
        let turn = crate::turn();
        let home = crate::home(test);
        let target = home.scratch.folder("target", 0o755, None).unwrap();
        Self { home, target, _turn: turn }
    }

    fn target(&self) -> &str {
        self.target.to_str().unwrap()
    }

    fn source(&self) -> String {
        let source = self.home.scratch.folder("the source", 0o755, None).unwrap();
        fs::write(source.join("in"), "text").unwrap();
        fs::write(source.join("out"), "built before").unwrap();
        source.to_str().unwrap().to_owned()
    }

    fn run<'a>(&'a self, words: &'a [String]) -> Vec<&'a str> {
        let few = ["run", "compile", self.target(), "--quiet", "--json", "--replicates", "3"];
        few.into_iter().chain(words.iter().map(String::as_str)).collect()
    }

    fn is_clean(&self) -> bool {
        fs::read_dir(&self.target).unwrap().next().is_none()
    }
}

fn built(source: &str, line: &str) -> [String; 4] {
    [
        format!("source={source}"),
        format!("run={line}"),
        "prepare=true".to_owned(),
        "needs=cc".to_owned(),
    ]
    .map(|set| format!("--set={set}"))
}

fn cell<'a>(found: &'a Value, workload: &str, metric: &str) -> &'a Value {
    let mut cells = found["measurements"].as_array().unwrap().iter();
    let own = |cell: &&Value| cell["workload"] == workload && cell["metric"] == metric;
    cells.find(own).unwrap_or_else(|| panic!("{metric} of {workload}: {found:#}"))
}

#[test]
fn a_tree_of_the_users_is_copied_cleaned_built_and_removed() {
    let bench = Bench::new("compile-source");
    let source = bench.source();
    // Each build has a clean tree with its source, below a directory that is not the user's.
    let build = "test {jobs} -ge 1 && test ! -e out && cp in out && test ! -e ../in && sleep 0.05";
    let words = [&built(&source, build)[..], &["--set=prepare=rm -f out".to_owned()]].concat();
    let found = bench.home.json(&bench.run(&words));
    assert_eq!(cell(&found, "compile", "duration_s")["n"], 3);
    let how = found["workloads"][0]["text"].as_str().unwrap();
    assert!(how.contains("a copy of") && how.contains("the source"), "{how}");
    assert_eq!(fs::read_to_string(Path::new(&source).join("out")).unwrap(), "built before");
    assert!(bench.is_clean());
    let place = &found["environment"]["platform"];
    assert!(!place["name"].as_str().unwrap().is_empty() && place["kind"].is_string(), "{place}");
}

#[test]
fn jobs_are_a_factor_where_they_are_named() {
    let bench = Bench::new("compile-jobs");
    let source = bench.source();
    let words = [&built(&source, "sleep 0.{jobs}")[..], &["--set=jobs=1,4".to_owned()]].concat();
    let found = bench.home.json(&bench.run(&words));
    let compared = found["comparisons"].as_array().unwrap();
    let own = compared.iter().find(|one| one["metric"] == "duration_s").unwrap();
    // Fewer than three undisturbed pairs have no ratio.
    let few = own["n"].as_u64() < Some(3);
    assert!(own["ratio"].as_f64().map_or(few, |ratio| ratio > 1.5), "{own:#}");
}

#[test]
#[ignore = "nightly: 6 s"]
fn the_generated_tree_compiles_without_a_warning_and_runs() {
    let bench = Bench::new("compile-generated");
    let build = "cc -O1 -Wall -Wextra -Werror -Iinclude -o program src/*.c src/*/*.c && ./program";
    let study = format!(
        "format = \"assay-study/1\"\ntitle = \"a small tree\"\nreplicates = 3\n[[workload]]\n\
         name = \"compile\"\ncommand = {{ run = \"{build}\", c_files = 9, runs_per_trial = 1 }}\n"
    );
    let file = bench.home.file("small.toml", study);
    let found = bench.home.json(&["run", &file, bench.target(), "--quiet", "--json"]);
    assert_eq!(cell(&found, "compile", "duration_s")["n"], 3, "{found:#}");
    assert!(found["workloads"][0]["text"].as_str().unwrap().contains("tree of 9 C files"));
    assert!(bench.is_clean());
}

#[test]
fn what_cannot_be_built_is_told_with_its_last_lines_and_nothing_is_left() {
    let bench = Bench::new("compile-broken");
    let source = bench.source();
    let build = "echo main.c:3: error: no such thing >&2; echo make: Error 1 >&2; exit 2";
    let told = bench.home.told(3, &bench.run(&built(&source, build)));
    for word in ["main.c:3: error: no such thing; make: Error 1", "exited with code 2", "run 1 of"]
    {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert!(bench.is_clean());
}

#[test]
fn a_directory_that_is_somebodys_is_never_removed() {
    let bench = Bench::new("compile-mine");
    let mine = bench.target.join("assay-tree");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("thesis"), "mine").unwrap();
    let source = bench.source();
    let told = bench.home.told(3, &bench.run(&built(&source, "true")));
    assert!(told.contains("was not created by Assay; move it away"), "{told}");
    assert_eq!(fs::read_to_string(mine.join("thesis")).unwrap(), "mine");
    // A mark identifies leftovers of a killed run.
    fs::write(mine.join(".made-by-assay"), "").unwrap();
    bench.home.text(&bench.run(&built(&source, "test ! -e thesis")));
    assert!(bench.is_clean());
}

#[test]
fn mistakes_with_trees_are_told() {
    let bench = Bench::new("compile-mistakes");
    let refused = |words: &[&str]| bench.home.refused(2, words);
    let target = bench.target();
    let inside = refused(&["run", "compile", target, "--set", &format!("source={target}")]);
    assert!(inside.contains("build in another directory"), "{inside}");
    let file = bench.home.file("a-file", "");
    let no_directory = refused(&["run", "compile", target, "--set", &format!("source={file}")]);
    assert!(no_directory.contains("not a directory"), "{no_directory}");
    let nowhere = refused(&["run", "compile", target, "--set", "source=/nowhere/at/all"]);
    assert!(nowhere.contains("No such file"), "{nowhere}");
    let other = refused(&["run", "queue-depth", target, "--build", "make"]);
    assert!(other.contains("--rev"), "{other}");
}

/// As in `platform` without a compiler.
#[test]
fn work_that_may_be_left_out_is_absent_with_its_reason_and_the_rest_runs() {
    let bench = Bench::new("compile-optional");
    let study = |optional: &str| {
        format!(
            "format = \"assay-study/1\"\ntitle = \"without a compiler\"\nreplicates = 3\n\
             [[workload]]\nname = \"syscall\"\n\
             micro = {{ operation = \"syscall\", runtime = \"30 ms\" }}\n\
             [[workload]]\nname = \"compile\"\n{optional}\n\
             command = {{ run = \"make\", needs = [\"sh\", \"no-such-compiler\"], runs_per_trial = 1 }}\n"
        )
    };
    let file = bench.home.file("optional.toml", study("optional = true"));
    let found = bench.home.json(&["run", &file, bench.target(), "--quiet", "--json"]);
    let rate = cell(&found, "syscall", "micro_operations_per_s")["geometric_mean"].as_f64();
    let each = cell(&found, "syscall", "micro_operation_ns")["geometric_mean"].as_f64();
    // A system call takes at least a nanosecond and at most a second.
    assert!((1.0..1e9).contains(&each.unwrap()), "{each:?}");
    assert!((rate.unwrap() * each.unwrap() / 1e9 - 1.0).abs() < 1e-6);
    let absent = found["absent"].as_array().unwrap();
    let own = absent.iter().find(|one| one["workload"] == "compile").unwrap();
    assert_eq!(own["obstacle"], "not installed: no-such-compiler");
    let page = bench.home.text(&["show", found["study"]["id"].as_str().unwrap()]);
    assert!(page.contains("not installed: no-such-compiler"), "{page}");
    assert!(page.contains("micro-benchmark"), "{page}");
    let file = bench.home.file("needed.toml", study("optional = false"));
    let told = bench.home.refused(3, &["run", &file, bench.target(), "--quiet"]);
    assert!(told.contains("not installed: no-such-compiler"), "{told}");
}

#[test]
fn how_to_do_it_by_hand_is_told() {
    let bench = Bench::new("compile-by-hand");
    let told = bench.home.text(&["plan", "platform", bench.target(), "--commands"]);
    for word in
        ["perf bench syscall basic", "stress-ng --fork 1", "hyperfine", "assay tree assay-tree"]
    {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let plan = bench.home.text(&["plan", "compile", bench.target()]);
    assert!(plan.contains("120 C files"), "{plan}");
}
