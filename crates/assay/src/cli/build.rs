//! What a study builds, where it builds something: another tree, another line.

use std::path::{Path, PathBuf};

use clap::Args;

use assay_base::failure::{Failure, Outcome};
use assay_kinds::work::command::{self, JOBS};
use assay_study::study::Study;
use assay_study::study::file::Typed;
use assay_system::system::{FileKind, System, machine};

/// The option that trees of revisions take, too.
const BUILD: &str = "--build";

/// What is built, for studies that build a tree.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct BuildArguments {
    /// Build a copy of this tree instead of the generated one
    #[arg(long, value_name = "DIR")]
    source: Option<String>,
    /// Time this build command instead of make; {jobs} is the number of CPUs
    ///
    /// With --rev, builds each commit once, untimed.
    #[arg(long, value_name = "LINE")]
    build: Option<String>,
    /// Clean the copy before each build, untimed
    #[arg(long, value_name = "LINE")]
    clean: Option<String>,
}

impl BuildArguments {
    /// The study with what is to be built, and with the number of jobs where nobody said it.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn built(&self, system: &dyn System, mut study: Study) -> Outcome<Study> {
        let works =
            study.workload.iter_mut().filter_map(|own| command::Asked::of_mut(&mut own.work));
        let works: Vec<&mut command::Asked> = works.collect();
        let takes = |option: &str| {
            let own = |work: &&mut command::Asked| {
                work.has_tree() || (work.repository.is_some() && option == BUILD)
            };
            works.iter().any(own)
        };
        if let Some(option) = self.used().find(|option| !takes(option)) {
            return Err(Failure::mistake(format!(
                "{option}: this study does not build a tree; use a study such as compile"
            )));
        }
        let source = self.directory(system)?.map(|path| path.display().to_string());
        let varied = study.factors.contains_key(JOBS);
        for work in works {
            if work.has_tree() {
                self.change(work, source.as_ref());
            } else if work.repository.is_some() {
                work.build = self.build.clone().or_else(|| work.build.take());
            }
            if work.names_jobs() && !varied && work.jobs.is_none() {
                work.jobs = Some(machine::usable_processors(system).value().copied().unwrap_or(1));
            }
        }
        Ok(study)
    }

    /// Refuses a tree that would be copied into itself.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn check(&self, system: &dyn System, targets: &[String]) -> Outcome<()> {
        let Some(source) = self.directory(system)? else { return Ok(()) };
        let inside = |target: &&String| {
            system.canonical(Path::new(target)).is_ok_and(|path| path.starts_with(&source))
        };
        let Some(target) = targets.iter().find(inside) else { return Ok(()) };
        Err(Failure::mistake(format!(
            "{target} is in the tree {}, which Assay copies there; build in another directory, such as /var/tmp",
            source.display()
        )))
    }

    fn change(&self, work: &mut command::Asked, source: Option<&String>) {
        if let Some(source) = source {
            (work.source, work.c_files) = (Some(source.clone()), None);
        }
        if let Some(build) = &self.build {
            // What another line needs, and how its traces go, is not known.
            (work.run, work.prepare) = (build.clone(), None);
            work.needs.clear();
        }
        if let Some(clean) = &self.clean {
            work.prepare = Some(clean.clone());
        }
    }

    fn directory(&self, system: &dyn System) -> Outcome<Option<PathBuf>> {
        let Some(source) = &self.source else { return Ok(None) };
        let wrong =
            |why: &dyn std::fmt::Display| Failure::mistake(format!("--source {source}: {why}"));
        let path = system.canonical(Path::new(source)).map_err(|error| wrong(&error))?;
        let found = system.status(&path).map_err(|error| wrong(&error))?;
        if found.kind != FileKind::Directory {
            return Err(wrong(&"not a directory"));
        }
        Ok(Some(path))
    }

    /// The options of them that were typed, with the keys that they set.
    pub fn typed(&self) -> Vec<Typed> {
        let options = [
            ("--source", &self.source, "source"),
            ("--build", &self.build, "run"),
            ("--build", &self.build, "build"),
            ("--clean", &self.clean, "prepare"),
        ];
        let typed = options.into_iter().filter_map(|(option, text, key)| {
            let words = format!("{option} '{}'", text.as_ref()?);
            Some(Typed::new(words, format!("workload/*/command/{key}")))
        });
        typed.collect()
    }

    /// The options that were used.
    fn used(&self) -> impl Iterator<Item = &'static str> {
        let used = [("--source", &self.source), (BUILD, &self.build), ("--clean", &self.clean)];
        used.into_iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name)
    }
}
