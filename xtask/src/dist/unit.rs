//! The unit of systemd that takes away at boot what was left. Packages hold it and none switches it on; Debian's and the
//! rpm switch it off where somebody did, so that no link to nothing is left.

/// Its name.
pub const NAME: &str = "assay-restore.service";
/// Its text, which asks for the program where Debian and others have it.
pub const TEXT: &str = include_str!("assay-restore.service");

/// Rules of systemd by which a first boot, and `systemctl preset-all`, switch units on and off: what no rule names they
/// switch on, which is not off unless asked.
pub const PRESET_NAME: &str = "90-assay.preset";
pub const PRESET: &str = "# Off unless asked.\ndisable assay-restore.service\n";

/// Lines of a shell that switch it off; what stood before `if` says when.
pub fn switched_off(when: &str) -> String {
    format!(
        "if {when} && command -v systemctl >/dev/null; then\n    \
         systemctl --quiet disable {NAME} || true\nfi\n"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    use assay_machine::factors::guard;
    use assay_runner::runner::reboots;
    use assay_system::system::identity::ROOTS_OWN;
    use assay_system::system::journal::unit_files;

    use super::*;
    use crate::lab::needs::{Need, have};
    use crate::lab::{Scratch, call};

    const SWITCH: &str = "systemctl";
    const CHECKER: &str = "systemd-analyze";

    #[test]
    fn it_runs_where_journals_of_root_lie_and_no_study_of_restarts_goes_on() {
        let line = |line: String| TEXT.lines().any(|own| own == line);
        let journals = guard::journals(Path::new(ROOTS_OWN));
        assert!(line(format!("ConditionPathExists={}", journals.display())));
        assert!(line(format!("RequiresMountsFor={ROOTS_OWN}")));
        let [of_restarts, _] = unit_files(reboots::UNIT, "any.target");
        assert!(line(format!("ConditionPathExists=!{}", of_restarts.display())));
    }

    /// What the checker says of a text of the unit, its program being there.
    fn said(text: &str) -> String {
        let scratch = Scratch::new("unit").unwrap();
        let program = scratch.path().join("assay");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = scratch.path().join(NAME);
        fs::write(&path, text.replace("/usr/bin/assay", &program.display().to_string())).unwrap();
        let output =
            Command::new(CHECKER).args(["verify", "--man=no"]).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // It speaks of other units of this machine, too.
        let own: Vec<&str> = said.lines().filter(|line| line.contains(NAME)).collect();
        own.join("\n")
    }

    #[test]
    fn systemd_has_no_complaint_of_it_and_complains_of_a_damaged_one() {
        if !have(&[Need::Program(CHECKER)]) {
            return;
        }
        assert_eq!(said(TEXT), "");
        assert!(said(&TEXT.replace("oneshot", "twoshot")).contains("twoshot"));
    }

    #[test]
    fn a_first_boot_leaves_it_off_by_the_preset_and_would_not_without() {
        if !have(&[Need::Program(SWITCH)]) {
            return;
        }
        let scratch = Scratch::new("preset").unwrap();
        let folder = |name: &str| scratch.folder(name, 0o755, None).unwrap();
        fs::write(folder("usr/lib/systemd/system").join(NAME), TEXT).unwrap();
        let top = format!("--root={}", scratch.path().display());
        let wanted = scratch.path().join("etc/systemd/system/multi-user.target.wants").join(NAME);
        let is_on = || {
            call(SWITCH, &[&top, "preset-all"]).unwrap();
            wanted.is_symlink()
        };
        assert!(is_on(), "what no rule names is switched on");
        fs::write(folder("usr/lib/systemd/system-preset").join(PRESET_NAME), PRESET).unwrap();
        assert!(!is_on());
    }

    #[test]
    fn the_preset_is_about_the_unit() {
        assert!(PRESET.lines().any(|line| line == format!("disable {NAME}")));
    }

    #[test]
    fn it_is_switched_off_only_where_systemd_is() {
        let lines = switched_off("[ \"$1\" = remove ]");
        assert!(lines.starts_with("if [ \"$1\" = remove ] && command -v systemctl "), "{lines}");
        assert!(lines.contains(&format!("disable {NAME} || true\n")), "{lines}");
    }
}
