//! Concurrent jobs. A study has one measured workload and one background load, so equal jobs become
//! threads of one workload, and jobs that differ only in direction become a mixed workload.

use super::{FioWork, Job, PortNotes, reads};

struct JobGroup<'j> {
    jobs: Vec<&'j Job>,
    /// The job that these wait for by name; it was alone in the group before.
    after: Option<&'j str>,
}

/// Groups concurrent jobs. Each group starts after the previous one; other jobs are reported.
pub fn groups<'j>(jobs: &'j [Job], notes: &mut PortNotes) -> Vec<Vec<&'j Job>> {
    let mut groups: Vec<JobGroup<'j>> = Vec::new();
    for job in jobs {
        let awaited = job.settings.get("wait_for");
        // If the name is unknown, the job is skipped with a reason.
        let awaited = awaited.filter(|setting| !job.alone && setting.unknown.is_none());
        let name = awaited.map(|setting| setting.value.as_str());
        match (groups.last_mut(), name) {
            (Some(last), name) if !job.alone && last.after == name => last.jobs.push(job),
            (last, Some(name)) if last.as_ref().is_none_or(|last| !last.is_only(name)) => {
                let line = awaited.map_or(job.line, |setting| setting.line);
                notes.refuse_job(
                    job,
                    line,
                    format!(
                        "wait_for={name}: supported only if exactly the named job runs before; use stonewall, which \
                         waits for all jobs"
                    ),
                );
            }
            (Some(last), None) if !job.alone => {
                let first = last.jobs.first().map_or("", |first| first.name.as_str());
                notes.refuse_key(
                    job.line,
                    format!(
                        "[{}]: would run concurrently with the jobs before [{first}]; add stonewall or wait_for to run \
                         it after those jobs",
                        job.name
                    ),
                );
            }
            _ => groups.push(JobGroup { jobs: vec![job], after: name }),
        }
    }
    groups.into_iter().map(|group| group.jobs).collect()
}

impl JobGroup<'_> {
    fn is_only(&self, name: &str) -> bool {
        matches!(self.jobs.as_slice(), [job] if job.name == name)
    }
}

pub fn join_all(group: Vec<FioWork>, notes: &mut PortNotes) -> Vec<FioWork> {
    if group.len() <= 2 {
        return group;
    }
    let group =
        fold(group, &mut |known, other| known.mix == other.mix && known.is_like(other), notes);
    if group.len() <= 2 {
        return group;
    }
    fold(group, &mut |known, other| known.is_like(other), notes)
}

/// Joins each work to the first earlier work that it fits.
fn fold(
    group: Vec<FioWork>,
    fits: &mut dyn FnMut(&FioWork, &FioWork) -> bool,
    notes: &mut PortNotes,
) -> Vec<FioWork> {
    let mut works: Vec<FioWork> = Vec::new();
    for work in group {
        match works.iter_mut().find(|earlier| fits(earlier, &work)) {
            Some(earlier) => earlier.join(&work, notes),
            None => works.push(work),
        }
    }
    works
}

impl FioWork {
    fn is_like(&self, other: &Self) -> bool {
        let work = |work: &Self| {
            let (pattern, engine) = (work.pattern, work.engine);
            (pattern, engine, work.poll, work.depth, work.direct, work.time, work.ramp)
        };
        let place = |item: &Self| (item.access.clone(), item.align, item.stride);
        let is_placed_alike = self.size == other.size && place(self) == place(other);
        let writes = |item: &Self| {
            let trims = item.mix == super::TRIM;
            (item.sync, item.content.clone(), item.duplicates, trims)
        };
        is_placed_alike
            && work(self) == work(other)
            && writes(self) == writes(other)
            && self.paced.is_like(&other.paced)
    }

    fn join(&mut self, other: &Self, notes: &mut PortNotes) {
        let threads = self.threads + other.threads;
        let reads = reads(&self.mix) * self.threads + reads(&other.mix) * other.threads;
        let share = (reads + threads / 2) / threads;
        let is_mixed = self.mix != other.mix;
        let is_in_order = self.pattern != "random";
        if is_mixed {
            self.mix = super::mix_of(share);
            self.apart = self.pattern != "random" && self.mix.contains('/');
        }
        notes.remark(format!(
            "[{}] runs concurrently with [{}]; Assay merges both into one workload of {threads} threads{}{}",
            other.name,
            self.name,
            if is_mixed { format!(" with mix {}", self.mix) } else { String::new() },
            if is_in_order {
                "; fio gives both the same offsets, and Assay gives each a slice"
            } else {
                ""
            }
        ));
        self.threads = threads;
        self.operations =
            self.operations.zip(other.operations).map(|(sum, other)| sum.saturating_add(other));
        self.paced.join(&other.paced);
        self.area = self.area.zip(other.area).map(|(sum, other)| sum.saturating_add(other));
    }
}
