//! The keys of `command`, and what of it may vary.

use assay_base::catalogue::keys::{Fields, Form, field};
use assay_base::quantity::Time;

use super::{Asked, READS, REVISION};
use crate::work::kind::OwnParameter;

/// Runs of a trial at most, where they are counted.
const MOST_RUNS: u64 = 1_000_000;

/// C files of a tree at most, and jobs.
const MOST_C_FILES: u64 = 20_000;
const MOST_JOBS: u64 = 10_000;

const ONE_MS: Time = Time(1_000_000);

/// Words of `command`.
pub static KEYS: Fields = Fields {
    label: "command",
    rows: &[
        field(
            "run",
            Form::Text,
            "what is measured, a line for the shell; {NAME} stands for the level of the factor NAME",
            "run = \"tar xf archive.tar\"",
        ),
        PREPARE.key(Form::Text, "prepare = \"rm -rf tree\""),
        field(
            "conclude",
            Form::Text,
            "a line that is run after each run, also after one that failed; it is not measured",
            "conclude = \"rm -rf tree\"",
        ),
        field(
            "input",
            Form::Text,
            "a file that it reads as its standard input; nothing where it is left out",
            "input = \"words.txt\"",
        ),
        COLD.key(Form::Flag, "drop_caches = true"),
        SHELL.key(Form::Flag, "shell = false"),
        field(
            "ignore_failure",
            Form::Flag,
            "count runs that end with an error too",
            "ignore_failure = true",
        ),
        field(
            "timeout",
            Form::Time { least: ONE_MS },
            "a run that takes longer is ended, with all that it started, and its trial has failed",
            "timeout = \"10 min\"",
        ),
        field(
            "runs_per_trial",
            Form::Whole { least: 1, most: MOST_RUNS },
            "runs of a trial; by default it runs again until the trial's time is over",
            "runs_per_trial = 1",
        ),
        field(
            "runtime",
            Form::Time { least: Time(1) },
            "time of a trial: no run begins after it, and there is one run at least",
            "runtime = \"1 s\"",
        ),
        field(
            "c_files",
            Form::Whole { least: 1, most: MOST_C_FILES },
            "C files of a tree that is generated, the same everywhere: it is made in the target's \
             directory for each trial, every file of it is read before each run, the lines are run in \
             it, and it is removed",
            "c_files = 120",
        ),
        field(
            "source",
            Form::Text,
            "a directory of which a copy is such a tree; it itself is only read",
            "source = \"/usr/src/linux\"",
        ),
        field(
            "needs",
            Form::Words,
            "programs without which it cannot be run; what they say of their version is kept",
            "needs = [\"make\", \"cc\"]",
        ),
        field(
            "pass_env",
            Form::Words,
            "variables of assay's environment that it gets beside PATH, HOME, LANG and their like, by name",
            "pass_env = [\"CARGO_HOME\"]",
        ),
        field(
            "jobs",
            Form::Whole { least: 1, most: MOST_JOBS },
            "what {jobs} stands for where that is no factor; by default as many as there are processors",
            "jobs = 4",
        ),
        field(
            "trial_setup",
            Form::Text,
            "a line that is run before the runs of each trial; it is not measured",
            "trial_setup = \"./load-data --fresh\"",
        ),
        field(
            "setup",
            Form::Text,
            "a line that is run once for each command, before its first run of all, and once more where the \
             study is resumed; it is not measured",
            "setup = \"./make-data\"",
        ),
        field(
            "variables",
            Form::Words,
            "factors whose levels it gets as variables of its environment, by name",
            "variables = [\"THREADS\"]",
        ),
        field(
            "same_output",
            Form::FlagOrPath,
            "every run is to print the same, or to write the same file or directory: where sides differ \
             there is no verdict",
            "same_output = true",
        ),
        field(
            "commands",
            Form::Texts,
            "lines by name: levels of the factor command are then these names",
            "commands = { old = \"./old\", new = \"./new\" }",
        ),
        field(
            "parse",
            Form::Reads(&READS),
            "a number that it tells of itself, or a list of several: a format (fio-json), \
             PATTERN:UNIT:higher, /JSON/POINTER:UNIT:lower, or a table",
            "parse = \"fio-json\"",
        ),
        field(
            "repository",
            Form::Text,
            "a repository of git whose commits the levels of the factor revision are: lines run in a tree of \
             each, made below ASSAY_HOME; it itself is only read",
            "repository = \".\"",
        ),
        field(
            "build",
            Form::Text,
            "a line that is run once in each of those trees, before the study; it is not measured",
            "build = \"make -j4\"",
        ),
        field(
            "commits",
            Form::Texts,
            "the commits that those levels stand for, all digits of each; by default they are looked for when \
             the study begins",
            "commits = { old = \"0b7c25e5a1f70ba1eab9ec2d0d5a4cb4f9a9ce53\" }",
        ),
    ],
};

type Row = OwnParameter<Asked>;

/// `command`: what is run, as a factor.
const COMMAND: Row = Row::new(
    [
        "command",
        "what is run, one line a level",
        "Each level is a line like `run`, which it stands for.",
    ],
    "[\"gzip -k file\", \"zstd -k file\"]",
    false,
    |own, text| {
        own.set_line(text);
        Ok(())
    },
);

/// `prepare`.
const PREPARE: Row = Row::new(
    [
        "prepare",
        "a line that is run before each run; it is not measured",
        "A line for the shell; where it fails, the trial has failed.",
    ],
    "[\"rm -rf tree\", \"mkdir tree\"]",
    false,
    |own, text| {
        own.prepare = Some(text.to_owned());
        Ok(())
    },
);

/// `drop_caches`.
const COLD: Row = Row::new(
    [
        "drop_caches",
        "an empty page cache before each run (as root)",
        "`true` writes back what is dirty and makes the kernel forget clean pages and names \
                   of files before each run; `false` leaves the cache as the run before left it.",
    ],
    "[false, true]",
    true,
    |own, text| {
        own.drop_caches = flag(text)?;
        Ok(())
    },
);

/// `shell`.
const SHELL: Row = Row::new(
    [
        "shell",
        "through the shell, whose own start is measured and taken off, or as words",
        "`true` runs lines through `sh -c`; `false` starts the program itself, with the words \
                   of the line as its arguments.",
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
        "the commit of the repository in whose tree it is run",
        "Each level is what git calls a revision: a branch, a tag, a commit, HEAD~3. A tree of it is \
         made below ASSAY_HOME and built there once; the repository of `repository` is only read.",
    ],
    "[\"main\", \"HEAD\"]",
    false,
    |own, text| {
        own.levels.insert(REVISION.to_owned(), text.to_owned());
        Ok(())
    },
);

/// Those of a study's factors that are parameters of commands.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] = &[COMMAND, PREPARE, COLD, SHELL, OF_COMMIT];

fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("`{text}` is not known: say true or false"))
}
