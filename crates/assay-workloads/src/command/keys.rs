//! The keys of `command`.

use std::collections::BTreeMap;

use assay_core::{catalogue::keys::Form, quantity::Time};
use serde::{Deserialize, Serialize};

use super::line::Levels;
use super::{ParseSpec, Produced, READS, REVISION};
use crate::keys::{choice, keys, parse_choice, work};
use crate::workload::WorkloadSpec as _;

const MOST_RUNS: u64 = 1_000_000;

const MOST_C_FILES: u64 = 20_000;
const MOST_JOBS: u64 = 10_000;

const ONE_MS: Time = Time(1_000_000);

keys! {
    factors {
        "command", "command to time, one line per level" => choice(
            "Each level replaces the line in `run`.",
            "[\"gzip -k file\", \"zstd -k file\"]",
            |own, text| Ok(own.set_line(text)),
        ),
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CommandSpec {
        /// What is measured; nothing where the factor `command` says it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        run: String = "true".to_owned() => {
            words: "command to time, a shell line; {NAME} expands to the level of the factor NAME",
            form: Form::Text,
            example: "run = \"tar xf archive.tar\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        prepare: Option<String> = None => {
            words: "shell line to run before each run; untimed",
            form: Form::Text,
            example: "prepare = \"rm -rf tree\"",
            factor: choice(
                "If the line fails, Assay fails the trial.",
                "[\"rm -rf tree\", \"mkdir tree\"]",
                |own, text| Ok(own.prepare = Some(text.to_owned())),
            ),
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        conclude: Option<String> = None => {
            words: "shell line to run after each run, even if the run failed; untimed",
            form: Form::Text,
            example: "conclude = \"rm -rf tree\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<String> = None => {
            words: "file for standard input; empty by default",
            form: Form::Text,
            example: "input = \"words.txt\"",
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        drop_caches: bool = false => {
            words: "drop the page cache before each run (as root)",
            form: Form::Flag,
            example: "drop_caches = true",
            factor: work(
                "`true` writes back dirty data and drops clean pages, dentries and inodes before each run; `false` leaves the \
                 cache unchanged.",
                "[false, true]",
                |own, text| Ok(own.drop_caches = parse_choice(text, "true or false")?),
            ),
        }
        #[serde(skip_serializing_if = "is_yes")]
        shell: bool = true => {
            words: "run the command through a shell (startup time subtracted) or directly",
            form: Form::Flag,
            example: "shell = false",
            factor: choice(
                "`true` runs lines through `sh -c`; `false` starts the program directly, with the line's words as arguments.",
                "[true, false]",
                |own, text| Ok(own.shell = parse_choice(text, "true or false")?),
            ),
        }
        #[serde(skip_serializing_if = "assay_core::json::is_default")]
        ignore_failure: bool = false => {
            words: "include failed runs",
            form: Form::Flag,
            example: "ignore_failure = true",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<Time> = None => {
            words: "kill a run and its children after this time, and fail the trial",
            form: Form::Time { least: ONE_MS },
            example: "timeout = \"10 min\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runs_per_trial: Option<u64> = None => {
            words: "runs per trial; by default, as many as fit into the runtime",
            form: Form::Whole { least: 1, most: MOST_RUNS },
            example: "runs_per_trial = 1",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "duration of a trial; no run starts after this time, but at least one run always takes place",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"1 s\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        c_files: Option<u64> = None => {
            words: "number of C files in a generated source tree, identical on all machines; for each trial, Assay creates \
                    the tree in the target's directory, reads every file before each run, and removes the tree",
            form: Form::Whole { least: 1, most: MOST_C_FILES },
            example: "c_files = 120",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String> = None => {
            words: "directory to copy as the source tree; Assay does not change it",
            form: Form::Text,
            example: "source = \"/usr/src/linux\"",
        }
        #[serde(skip_serializing_if = "Vec::is_empty")]
        needs: Vec<String> = Vec::new() => {
            words: "required programs; Assay records their versions",
            form: Form::Words,
            example: "needs = [\"make\", \"cc\"]",
        }
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pass_env: Vec<String> = Vec::new() => {
            words: "names of environment variables to pass, in addition to standard variables such as PATH, HOME and LANG",
            form: Form::Words,
            example: "pass_env = [\"CARGO_HOME\"]",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        jobs: Option<u64> = None => {
            words: "value of {jobs} unless it is a factor; the number of CPUs by default",
            form: Form::Whole { least: 1, most: MOST_JOBS },
            example: "jobs = 4",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        trial_setup: Option<String> = None => {
            words: "shell line to run once per trial, before its runs; untimed",
            form: Form::Text,
            example: "trial_setup = \"./load-data --fresh\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        setup: Option<String> = None => {
            words: "shell line to run once per command, before its first run, and again after a resume; untimed",
            form: Form::Text,
            example: "setup = \"./make-data\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        same_output: Option<Produced> = None => {
            words: "require identical output, or an identical file or directory, from all runs; if outputs differ, Assay \
                    withholds the verdict",
            form: Form::FlagOrPath,
            example: "same_output = true",
        }
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        commands: BTreeMap<String, String> = BTreeMap::new() => {
            words: "named shell lines; the levels of the factor command are these names",
            form: Form::Texts,
            example: "commands = { old = \"./old\", new = \"./new\" }",
        }
        #[serde(skip_serializing_if = "Vec::is_empty")]
        parse: Vec<ParseSpec> = Vec::new() => {
            words: "metric, or a list of metrics, to read from the output: a format (fio-json), PATTERN:UNIT:higher, \
                    /JSON/POINTER:UNIT:lower, or a table",
            form: Form::Reads(&READS),
            example: "parse = \"fio-json\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        repository: Option<String> = None => {
            words: "git repository with the commits that the factor revision compares; Assay runs lines in one tree per \
                    commit below ASSAY_HOME, and only reads the repository",
            form: Form::Text,
            example: "repository = \".\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        build: Option<String> = None => {
            words: "shell line to run once in the tree of each commit, before the study; untimed",
            form: Form::Text,
            example: "build = \"make -j4\"",
        }
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        commits: BTreeMap<String, String> = BTreeMap::new() => {
            words: "full commit hashes of the levels of revision; by default, Assay resolves them when the study starts",
            form: Form::Texts,
            example: "commits = { old = \"0b7c25e5a1f70ba1eab9ec2d0d5a4cb4f9a9ce53\" }",
        }
    }
    beside {
        /// Levels of the configuration that the command runs in.
        #[serde(skip)]
        levels: Levels = Levels::new(),
    }
    factors {
        REVISION, "commit to build and run" => choice(
            "Each level is a git revision: a branch, a tag or a commit, such as HEAD~3. Assay checks out and builds each \
             revision once below ASSAY_HOME; it only reads the repository in `repository`.",
            "[\"main\", \"HEAD\"]",
            |own, text| Ok(own.take(REVISION, text)),
        ),
        "env:NAME", "environment variable of the command" => choice(
            "Example: `env:THREADS`. Assay sets the variable to the level.",
            "[\"1\", \"4\"]",
            |own, text| Ok(own.take("env:NAME", text)),
        ),
    }
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_yes(value: &bool) -> bool {
    *value
}
