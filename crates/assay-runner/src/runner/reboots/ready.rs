//! Whether a machine can be restarted by a study: every refusal says what is missing.

use std::path::{Path, PathBuf};

use assay_base::failure::{Failure, Outcome};
use assay_system::system::journal::{RUNNING, UNITS};
use assay_system::system::place::PlaceKind;
use assay_system::system::site::Backing;
use assay_system::system::trust::{self, OTHERS_WRITE};
use assay_system::system::{FileKind, System, identity, machine, resolve};

/// Where the journal lies that outlives a boot.
const LASTING: &str = "/var/log/journal";

/// The program that the unit will start, where all that it needs is there.
pub(super) fn check(system: &dyn System, results: &Path) -> Outcome<PathBuf> {
    let refused = |why: &str| Err(Failure::refused(format!("--reboots: {why}")));
    let layers =
        machine::machine(system).place.value().map_or_else(Vec::new, |place| place.layers.clone());
    if layers.iter().any(|layer| layer.kind == PlaceKind::Container) {
        return refused(
            "this is a container: restarting it would not restart its kernel; run it on the host, or read \
             past boots without --reboots",
        );
    }
    if system.status(Path::new(RUNNING)).is_err() {
        return refused(
            "systemd is not the first program here, and a unit of its is what goes on after a restart; \
             read another machine's boots with --journal FILE",
        );
    }
    if system.user().id != 0 {
        return refused("a unit is written and the machine restarted: run it as root (sudo)");
    }
    for program in ["systemctl", "journalctl"] {
        if system.program(program).is_none() {
            return refused(&format!("{program} is not installed"));
        }
    }
    if system.space(Path::new(UNITS)).is_ok_and(|space| space.read_only)
        || !is_directory(system, UNITS)
    {
        return refused(&format!("{UNITS} is read-only or not there: no unit can be written"));
    }
    let program = system.read_link(Path::new("/proc/self/exe"));
    let program = program.map_err(|error| {
        Failure::refused(format!("--reboots: this program cannot be found: {error}"))
    })?;
    let home = identity::state_directory(system)?;
    for (what, path) in
        [("the results", results), ("the journal of changes", &home), ("this program", &program)]
    {
        lasts(system, what, path)?;
    }
    // Who may write to a directory on the way may put another program in its place.
    let directory = program.parent().unwrap_or(Path::new("/"));
    let way = trust::fault_on_way(system, directory, 0);
    let is_roots =
        system.status(&program).is_ok_and(|file| file.user == 0 && file.mode & OTHERS_WRITE == 0);
    if !is_roots || !matches!(way, Ok(None)) {
        return refused(&format!(
            "{} would be started by root at each boot, and others than root may change it: install it as \
             root first (sudo install {} /usr/local/bin/assay)",
            program.display(),
            program.display()
        ));
    }
    Ok(program)
}

fn is_directory(system: &dyn System, path: &str) -> bool {
    system.status(Path::new(path)).is_ok_and(|found| found.kind == FileKind::Directory)
}

/// Refuses what lies in memory: it would be gone.
fn lasts(system: &dyn System, what: &str, path: &Path) -> Outcome<()> {
    let there = path.ancestors().find(|part| system.status(part).is_ok()).unwrap_or(Path::new("/"));
    let site = resolve(system, &there.display().to_string());
    if site.is_ok_and(|site| site.backing == Backing::Memory) {
        return Err(Failure::refused(format!(
            "--reboots: {what} ({}) lies in memory and would be gone after a restart",
            path.display()
        )));
    }
    Ok(())
}

/// What may surprise.
pub(super) fn cautions(system: &dyn System) -> Vec<String> {
    let mut told = vec![
        "everything that runs now is ended by the first restart: save your work, and be sure that the \
         machine comes up without a passphrase"
            .to_owned(),
    ];
    if system.status(Path::new(LASTING)).is_err() {
        told.push(format!(
            "the journal is kept in memory here ({LASTING} is not there): each boot is recorded in its own \
             time, but of one that is cut off only its beginning is known"
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use assay_system::system::Fake;

    use super::*;

    #[test]
    fn programs_that_others_may_replace_are_not_started_by_root() {
        let checked = |facts: &str| {
            let fake = Fake::sata_ssd().unwrap();
            fake.set_user(0).install("systemctl").install("journalctl");
            fake.add(&format!(
                "dir {RUNNING}\ndir {UNITS}\nfile /opt/bin/assay x\nlink /proc/self/exe /opt/bin/assay\n{facts}"
            ))
            .unwrap();
            check(&fake, Path::new("/var/lib/assay/results"))
        };
        assert_eq!(checked("mode /opt/bin 0755").unwrap(), Path::new("/opt/bin/assay"));
        for facts in [
            "mode /opt/bin/assay 0775",
            "owner /opt/bin/assay 1000",
            "mode /opt/bin 0775",
            "owner /opt 1000",
            "mode /opt 1777",
        ] {
            let refused = checked(facts).unwrap_err();
            assert!(
                refused.message.contains("others than root may change it"),
                "{facts}: {refused}"
            );
        }
    }
}
