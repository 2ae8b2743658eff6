//! Histories of commits whose truth is known: from one commit on the work is larger by a share that was chosen, and
//! each run scatters by noise that was drawn beforehand.
//!
//! The work is a script for the shell outside of the repository. It runs in a tree of a commit, reads there how
//! much work that is, and takes the next line of the noise: with the same seed the same runs see the same noise.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::commits::Repository;
use crate::{Done, call};

/// Lines of noise: more than a search runs, and where they are over they begin again.
const LINES: usize = 1 << 15;
/// What a line of noise has more than a million times its factor, so that all are as long.
const ABOVE: i64 = 10_000_000;
/// What factors are told in.
const MILLION: f64 = 1e6;
/// Noise is cut there, in standard deviations: no factor is ever below zero, or longer than the others.
const MOST_DEVIATIONS: f64 = 5.0;

/// What a run of the script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It says at once how long it took.
    Told,
    /// It goes round a loop.
    Busy,
}

impl Work {
    /// What a commit of the beginning asks for: what is told, or times round the loop.
    const fn level(self) -> i64 {
        match self {
            Self::Told => 1_000_000,
            Self::Busy => 300_000,
        }
    }

    /// What the script does with `amount`.
    const fn body(self) -> &'static str {
        match self {
            Self::Told => "echo \"took $amount us\"",
            Self::Busy => {
                "round=0\nwhile [ \"$round\" -lt \"$amount\" ]; do round=$((round + 1)); done"
            }
        }
    }
}

/// How a history is made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub work: Work,
    /// How many commits there are, at least two.
    pub commits: usize,
    /// The first one with more work, counted from 0: not the first of all.
    pub first_bad: usize,
    /// How much more work that is, as a share.
    pub step: f64,
    /// Standard deviation of the noise of a run, as a share.
    pub noise: f64,
}

/// A repository with such a history, and the script.
#[derive(Debug)]
pub struct History {
    repository: Repository,
    ids: Vec<String>,
    first_bad: usize,
    script: PathBuf,
}

impl History {
    /// Makes one in a folder of its own; `deviate` draws standard normal numbers.
    pub fn new(folder: &Path, plan: Plan, mut deviate: impl FnMut() -> f64) -> Done<Self> {
        let Plan { work, commits, first_bad, step, noise } = plan;
        if !(1..commits).contains(&first_bad) {
            return Err(format!("the first bad of {commits} commits cannot be number {first_bad}"));
        }
        let repository = Repository::new(&folder.join("repository"))?;
        let mut ids = Vec::with_capacity(commits);
        for at in 0..commits {
            let more = if at < first_bad { 0.0 } else { step };
            let amount = (work.level() as f64 * (1.0 + more)).round() as i64;
            ids.push(repository.commit("amount", &format!("{amount}\n{at}\n"))?);
        }
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<PathBuf, String>(path)
        };
        let lines = (0..LINES).fold(String::new(), |mut text, _| {
            let deviation = deviate().clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS);
            let factor = (MILLION * (1.0 + noise * deviation)).max(0.0).round() as i64;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", ABOVE + factor);
            text
        });
        let [noise, at] = [write("noise", &lines)?, write("at", "0\n")?];
        let script = script(work, [&noise, &at]);
        let script = write("work", &script)?;
        Ok(Self { repository, ids, first_bad, script })
    }

    /// Its repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// A commit at the beginning, and one at the end.
    pub fn ends(&self) -> [&str; 2] {
        [&self.ids[0], &self.ids[self.ids.len() - 1]]
    }

    /// The first commit with more work.
    pub fn first_bad(&self) -> &str {
        &self.ids[self.first_bad]
    }

    /// The line that runs the script.
    pub fn line(&self) -> String {
        format!("sh {}", self.script.display())
    }

    /// The first bad commit by `git bisect run` of a line, which ends with 0 where the commit is good.
    pub fn bisected_by_git(&self, line: &str) -> Done<String> {
        let [good, bad] = self.ends();
        self.repository.git(&["bisect", "start", bad, good])?;
        let ran = self.repository.git(&["bisect", "run", "sh", "-c", line]);
        let found = ran.and_then(|_| self.repository.git(&["rev-parse", "refs/bisect/bad"]));
        self.repository.git(&["bisect", "reset"])?;
        Ok(found?.trim().to_owned())
    }

    /// What a line prints in a tree of a commit.
    pub fn printed_at(&self, commit: &str, line: &str) -> Done<String> {
        self.repository.git(&["checkout", "--quiet", "--detach", commit])?;
        let path = self.repository.path().display().to_string();
        call("sh", &["-c", "cd \"$1\" && eval \"$2\"", "sh", &path, line])
    }
}

/// The script: what the commit asks for times the next factor.
fn script(work: Work, [noise, at]: [&Path; 2]) -> String {
    let [noise, at] = [noise, at].map(|path| path.display().to_string());
    let bytes = ABOVE.to_string().len() + 1;
    format!(
        "#!/bin/sh\n\
         read -r at < {at}\n\
         echo $(( (at + 1) % {LINES} )) > {at}\n\
         noise=$(tail -c +$(( at * {bytes} + 1 )) {noise} | head -n 1)\n\
         read -r amount < amount\n\
         amount=$(( amount * (noise - {ABOVE}) / {MILLION} ))\n\
         {}\n",
        work.body()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;
    use crate::needs::{Need, have};

    fn plan(work: Work, noise: f64) -> Plan {
        Plan { work, commits: 5, first_bad: 3, step: 0.5, noise }
    }

    #[test]
    fn the_work_is_what_was_chosen_and_git_finds_where_it_became_more() -> Done<()> {
        if !have(&[Need::Program("git")]) {
            return Ok(());
        }
        let scratch = Scratch::new("history")?;
        let history = History::new(scratch.path(), plan(Work::Told, 0.0), || 1.0)?;
        let [good, bad] = history.ends();
        let line = history.line();
        assert_eq!(history.printed_at(good, &line)?, "took 1000000 us\n");
        assert_eq!(history.printed_at(bad, &line)?, "took 1500000 us\n");
        let rule = format!("test \"$({line})\" = 'took 1000000 us'");
        assert_eq!(history.bisected_by_git(&rule)?, history.first_bad());
        Ok(())
    }

    #[test]
    fn each_run_has_the_next_noise() -> Done<()> {
        if !have(&[Need::Program("git")]) {
            return Ok(());
        }
        let scratch = Scratch::new("history-noise")?;
        let mut deviations = [1.0, -2.0].into_iter().cycle();
        let next = || deviations.next().unwrap_or_default();
        let history = History::new(scratch.path(), plan(Work::Told, 0.03), next)?;
        let [good, _] = history.ends();
        let line = history.line();
        let told = [(), (), ()].map(|()| history.printed_at(good, &line));
        let told: Done<Vec<String>> = told.into_iter().collect();
        assert_eq!(told?, ["took 1030000 us\n", "took 940000 us\n", "took 1030000 us\n"]);
        let busy = scratch.folder("busy", 0o755, None)?;
        let history = History::new(&busy, plan(Work::Busy, 0.03), || 0.0)?;
        let [good, _] = history.ends();
        assert_eq!(history.printed_at(good, &history.line())?, "", "it only works");
        Ok(())
    }

    #[test]
    fn the_first_commit_of_all_is_good() -> Done<()> {
        let scratch = Scratch::new("history-none")?;
        let none = Plan { first_bad: 0, ..plan(Work::Told, 0.0) };
        let told = History::new(scratch.path(), none, || 0.0).map(|_| ());
        assert!(told.is_err_and(|why| why.contains("number 0")));
        Ok(())
    }
}
