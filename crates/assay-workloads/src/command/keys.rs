//! The keys of `command`, and what of it may vary.

use assay_core::catalogue::keys::{Fields, Form, field};
use assay_core::quantity::Time;

use super::{Asked, READS, REVISION};
use crate::kind::OwnParameter;

const MOST_RUNS: u64 = 1_000_000;

/// C files of a tree at most, and jobs.
const MOST_C_FILES: u64 = 20_000;
const MOST_JOBS: u64 = 10_000;

const ONE_MS: Time = Time(1_000_000);

pub static KEYS: Fields = Fields {
    label: "command",
    rows: &[
        field(
            "run",
            Form::Text,
            "command to time, a shell line; {NAME} expands to the level of the factor NAME",
            "run = \"tar xf archive.tar\"",
        ),
        PREPARE.key(Form::Text, "prepare = \"rm -rf tree\""),
        field(
            "conclude",
            Form::Text,
            "shell line to run after each run, even if the run failed; untimed",
            "conclude = \"rm -rf tree\"",
        ),
        field(
            "input",
            Form::Text,
            "file for standard input; empty by default",
            "input = \"words.txt\"",
        ),
        COLD.key(Form::Flag, "drop_caches = true"),
        SHELL.key(Form::Flag, "shell = false"),
        field("ignore_failure", Form::Flag, "include failed runs", "ignore_failure = true"),
        field(
            "timeout",
            Form::Time { least: ONE_MS },
            "kill a run and its children after this time, and fail the trial",
            "timeout = \"10 min\"",
        ),
        field(
            "runs_per_trial",
            Form::Whole { least: 1, most: MOST_RUNS },
            "runs per trial; by default, as many as fit into the runtime",
            "runs_per_trial = 1",
        ),
        field(
            "runtime",
            Form::Time { least: Time(1) },
            "duration of a trial; no run starts after this time, but at least one run always takes place",
            "runtime = \"1 s\"",
        ),
        field(
            "c_files",
            Form::Whole { least: 1, most: MOST_C_FILES },
            "number of C files in a generated source tree, identical on all machines; for each trial, Assay creates \
             the tree in the target's directory, reads every file before each run, and removes the tree",
            "c_files = 120",
        ),
        field(
            "source",
            Form::Text,
            "directory to copy as the source tree; Assay does not change it",
            "source = \"/usr/src/linux\"",
        ),
        field(
            "needs",
            Form::Words,
            "required programs; Assay records their versions",
            "needs = [\"make\", \"cc\"]",
        ),
        field(
            "pass_env",
            Form::Words,
            "names of environment variables to pass, in addition to standard variables such as PATH, HOME and LANG",
            "pass_env = [\"CARGO_HOME\"]",
        ),
        field(
            "jobs",
            Form::Whole { least: 1, most: MOST_JOBS },
            "value of {jobs} unless it is a factor; the number of CPUs by default",
            "jobs = 4",
        ),
        field(
            "trial_setup",
            Form::Text,
            "shell line to run once per trial, before its runs; untimed",
            "trial_setup = \"./load-data --fresh\"",
        ),
        field(
            "setup",
            Form::Text,
            "shell line to run once per command, before its first run, and again after a resume; untimed",
            "setup = \"./make-data\"",
        ),
        field(
            "same_output",
            Form::FlagOrPath,
            "require identical output, or an identical file or directory, from all runs; if outputs differ, Assay \
             withholds the verdict",
            "same_output = true",
        ),
        field(
            "commands",
            Form::Texts,
            "named shell lines; the levels of the factor command are these names",
            "commands = { old = \"./old\", new = \"./new\" }",
        ),
        field(
            "parse",
            Form::Reads(&READS),
            "metric, or a list of metrics, to read from the output: a format (fio-json), PATTERN:UNIT:higher, \
             /JSON/POINTER:UNIT:lower, or a table",
            "parse = \"fio-json\"",
        ),
        field(
            "repository",
            Form::Text,
            "git repository with the commits that the factor revision compares; Assay runs lines in one tree per \
             commit below ASSAY_HOME, and only reads the repository",
            "repository = \".\"",
        ),
        field(
            "build",
            Form::Text,
            "shell line to run once in the tree of each commit, before the study; untimed",
            "build = \"make -j4\"",
        ),
        field(
            "commits",
            Form::Texts,
            "full commit hashes of the levels of revision; by default, Assay resolves them when the study starts",
            "commits = { old = \"0b7c25e5a1f70ba1eab9ec2d0d5a4cb4f9a9ce53\" }",
        ),
    ],
};

type Row = OwnParameter<Asked>;

/// `command`: what is run, as a factor.
const COMMAND: Row = Row::new(
    ["command", "command to time, one line per level", "Each level replaces the line in `run`."],
    "[\"gzip -k file\", \"zstd -k file\"]",
    false,
    |own, text| {
        own.set_line(text);
        Ok(())
    },
);

const PREPARE: Row = Row::new(
    [
        "prepare",
        "shell line to run before each run; untimed",
        "If the line fails, Assay fails the trial.",
    ],
    "[\"rm -rf tree\", \"mkdir tree\"]",
    false,
    |own, text| {
        own.prepare = Some(text.to_owned());
        Ok(())
    },
);

const COLD: Row = Row::new(
    [
        "drop_caches",
        "drop the page cache before each run (as root)",
        "`true` writes back dirty data and drops clean pages, dentries and inodes before each run; `false` leaves the \
         cache unchanged.",
    ],
    "[false, true]",
    true,
    |own, text| {
        own.drop_caches = flag(text)?;
        Ok(())
    },
);

const SHELL: Row = Row::new(
    [
        "shell",
        "run the command through a shell (startup time subtracted) or directly",
        "`true` runs lines through `sh -c`; `false` starts the program directly, with the line's words as arguments.",
    ],
    "[true, false]",
    false,
    |own, text| {
        own.shell = flag(text)?;
        Ok(())
    },
);

/// `revision`: the commit whose tree it runs in, as a factor.
const OF_COMMIT: Row = Row::new(
    [
        REVISION,
        "commit to build and run",
        "Each level is a git revision: a branch, a tag or a commit, such as HEAD~3. Assay checks out and builds each \
         revision once below ASSAY_HOME; it only reads the repository in `repository`.",
    ],
    "[\"main\", \"HEAD\"]",
    false,
    |own, text| {
        own.levels.insert(REVISION.to_owned(), text.to_owned());
        Ok(())
    },
);

/// `env:NAME`: any variable of the environment.
const VARIABLE: Row = Row::new(
    [
        "env:NAME",
        "environment variable of the command",
        "Example: `env:THREADS`. Assay sets the variable to the level.",
    ],
    "[\"1\", \"4\"]",
    false,
    |own, text| {
        own.levels.insert("env:NAME".to_owned(), text.to_owned());
        Ok(())
    },
);

/// Those of a study's factors that are parameters of commands.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] =
    &[COMMAND, PREPARE, COLD, SHELL, OF_COMMIT, VARIABLE];

fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("unknown value `{text}`; use true or false"))
}
