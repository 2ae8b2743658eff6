//! Concurrent jobs. A study has one measured workload and one background load, so equal jobs become
//! threads of one workload, and jobs that differ only in direction become a mixed workload.

use super::{FioWork, Job, PortNotes, read_percent};

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
        if let Some(last) = groups.last_mut().filter(|last| !job.alone && last.after == name) {
            last.jobs.push(job);
            continue;
        }
        match (groups.last(), name) {
            (last, Some(name)) if last.is_none_or(|last| !last.is_only(name)) => {
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

/// Joins works until at most two are left, if possible: first equal ones, then those that differ in their mix.
pub fn join_all(group: Vec<FioWork>, notes: &mut PortNotes) -> Vec<FioWork> {
    if group.len() <= 2 {
        return group;
    }
    let is_equal = &mut |one: &FioWork, other: &FioWork| one.mix == other.mix && one.is_like(other);
    let group = join_if(group, is_equal, notes);
    if group.len() <= 2 {
        return group;
    }
    join_if(group, &mut |one, other| one.is_like(other), notes)
}

/// Joins each work to the first earlier work that it fits.
fn join_if(
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
    /// Returns whether two works can merge: they differ at most in their mix, and either both or neither only trim.
    fn is_like(&self, other: &Self) -> bool {
        let is_trim = |work: &Self| work.mix == super::TRIM;
        self.pattern == other.pattern
            && self.engine == other.engine
            && self.poll == other.poll
            && self.depth == other.depth
            && self.direct == other.direct
            && (self.time, self.ramp) == (other.time, other.ramp)
            && self.size == other.size
            && self.access == other.access
            && (self.align, self.stride) == (other.align, other.stride)
            && self.sync == other.sync
            && self.content == other.content
            && self.duplicates == other.duplicates
            && is_trim(self) == is_trim(other)
            && self.paced.is_like(&other.paced)
    }

    /// Merges another job into this one: sums threads, area and operations, and averages the mix.
    fn join(&mut self, other: &Self, notes: &mut PortNotes) {
        let threads = self.threads + other.threads;
        let is_mixed = self.mix != other.mix;
        let is_in_order = self.pattern != "random";
        if is_mixed {
            let reads = read_percent(&self.mix) * self.threads;
            let sum = reads + read_percent(&other.mix) * other.threads;
            // Rounds the mean to the nearest percent.
            self.mix = super::mix_of((sum + threads / 2) / threads);
            self.apart = is_in_order && self.mix.contains('/');
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
