//! Whether a study can restart a machine: every refusal names what is missing.

use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::journal::{RUNNING, UNITS};
use assay_machine::system::place::PlaceKind;
use assay_machine::system::site::Backing;
use assay_machine::system::trust::{self, OTHERS_WRITE};
use assay_machine::system::{FileKind, System, identity, machine, resolve};

const PERSISTENT_JOURNAL: &str = "/var/log/journal";

/// Returns the path of this program for the systemd unit; fails if the machine or the program is not suitable.
pub(super) fn check(system: &dyn System, results: &Path) -> Outcome<PathBuf> {
    let refused = |why: &str| Err(Failure::refused(format!("--reboots: {why}")));
    let layers =
        machine::machine(system).place.value().map_or_else(Vec::new, |place| place.layers.clone());
    if layers.iter().any(|layer| layer.kind == PlaceKind::Container) {
        return refused(
            "restarting a container does not restart the kernel; run on the host, or read past boots without --reboots",
        );
    }
    if system.status(Path::new(RUNNING)).is_err() {
        return refused(
            "--reboots needs systemd as the init process, because Assay resumes from a systemd unit; read the boots of \
             another machine with --set journal=FILE",
        );
    }
    if system.user().id != 0 {
        return refused("--reboots writes a unit and restarts the machine; run it as root (sudo)");
    }
    for program in ["systemctl", "journalctl"] {
        if system.program(program).is_none() {
            return refused(&format!("{program} is not installed"));
        }
    }
    if system.space(Path::new(UNITS)).is_ok_and(|space| space.read_only)
        || !is_directory(system, UNITS)
    {
        return refused(&format!("cannot write a unit: {UNITS} is read-only or missing"));
    }
    let program = system.read_link(Path::new("/proc/self/exe"));
    let program = program.map_err(|error| {
        Failure::refused(format!("--reboots: cannot find the assay program: {error}"))
    })?;
    let home = identity::state_directory(system)?;
    check_survives_restart(system, "the results", results)?;
    check_survives_restart(system, "the journal of changes", &home)?;
    check_survives_restart(system, "this program", &program)?;
    // Write access to a directory on the path allows replacing the program.
    let directory = program.parent().unwrap_or(Path::new("/"));
    let way = trust::fault_on_way(system, directory, 0);
    let is_roots =
        system.status(&program).is_ok_and(|file| file.user == 0 && file.mode & OTHERS_WRITE == 0);
    if !is_roots || !matches!(way, Ok(None)) {
        return refused(&format!(
            "root would start {} at each boot, but other users can modify the file; install it as \
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

/// Rejects a path in memory; `what` names its content.
fn check_survives_restart(system: &dyn System, what: &str, path: &Path) -> Outcome<()> {
    let existing = path.ancestors().find(|part| system.status(part).is_ok());
    let site = resolve(system, &existing.unwrap_or(Path::new("/")).display().to_string());
    if site.is_ok_and(|site| site.backing == Backing::Memory) {
        return Err(Failure::refused(format!(
            "--reboots: {what} ({}) is in memory, and a restart would delete it",
            path.display()
        )));
    }
    Ok(())
}

/// What the user has to know before the first restart.
pub(super) fn cautions(system: &dyn System) -> Vec<String> {
    let mut cautions = vec![
        "the first restart ends all running programs; save your work, and make sure that the \
         machine boots without a passphrase"
            .to_owned(),
    ];
    if system.status(Path::new(PERSISTENT_JOURNAL)).is_err() {
        cautions.push(format!(
            "the systemd journal is in memory ({PERSISTENT_JOURNAL} is missing): Assay records each boot at run time, \
             but only the start of an interrupted boot"
        ));
    }
    cautions
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

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
            assert!(refused.message.contains("can modify the file"), "{facts}: {refused}");
        }
    }
}
