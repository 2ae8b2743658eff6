//! An rpm, made by `rpmbuild` of files that were built elsewhere: its format has no short description to write it by.
//! The same commit gives the same bytes with the same rpmbuild.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::machines::Machine;
use super::{Named, Part, Release, about, day, installed, licences, others, unit};
use crate::lab::{Done, Scratch};

pub const PROGRAM: &str = "rpmbuild";
const ZSH: &str = "zsh/site-functions";
const LICENCE: &str = "usr/share/licenses/assay/LICENSE";
/// The one folder that nobody else has: what no package has stays when the package goes.
const FOLDER: &str = "usr/share/licenses/assay";
/// What would change the program, look for what it needs, or tell of the machine that packs.
const MACROS: [&str; 8] = [
    "__os_install_post %{nil}",
    "debug_package %{nil}",
    "_build_id_links none",
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    // What old ones read, too.
    "_binary_payload w9.gzdio",
    "_binary_filedigest_algorithm 8",
];

/// `assay-1.0.0~rc.1-1.x86_64.rpm`.
pub fn pack(release: &Release, machine: &Machine, program: &[u8]) -> Done<Named> {
    let scratch = Scratch::new("rpm")?;
    let mut parts = installed(program, ZSH)?;
    parts.push((LICENCE.to_owned(), 0o644, licences()?));
    parts.push((format!("{FOLDER}/{}", others::NAME), 0o644, others::licences(machine.target)?));
    let stage = scratch.path().join("stage");
    for (path, mode, bytes) in &parts {
        put(&stage.join(path), *mode, bytes)?;
    }
    let described = scratch.path().join("assay.spec");
    fs::write(&described, spec(release, &stage, &parts)).map_err(|error| error.to_string())?;
    let made = scratch.path().join("made");
    let places = [
        format!("_topdir {}", scratch.path().join("top").display()),
        // Scripts of a build that failed stay there.
        format!("_tmppath {}", scratch.path().join("top/tmp").display()),
        format!("_rpmdir {}", made.display()),
        format!("_rpmfilename {}.rpm", about::NAME),
    ];
    let mut command = Command::new(PROGRAM);
    command.args(["-bb", "--quiet", "--target", &format!("{}-linux", machine.rpm)]);
    for one in MACROS.into_iter().chain(places.iter().map(String::as_str)) {
        command.args(["--define", one]);
    }
    command.arg(&described).env("SOURCE_DATE_EPOCH", release.seconds.to_string());
    // Nothing of what its user has set for other packages.
    command.env("HOME", scratch.path()).env("LC_ALL", "C");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{PROGRAM}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{PROGRAM}: {}: {}", output.status, said.trim()));
    }
    let version = about::sorted(&release.version);
    let name = format!("{}-{version}-1.{}.rpm", about::NAME, machine.rpm);
    Ok((name, super::read(&made.join(format!("{}.rpm", about::NAME)))?))
}

fn put(path: &Path, mode: u32, bytes: &[u8]) -> Done<()> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    let written =
        written.and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode)));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn spec(release: &Release, stage: &Path, parts: &[Part]) -> String {
    let version = about::sorted(&release.version);
    let listed: Vec<String> = parts.iter().map(listed).collect();
    format!(
        "Name: {name}\nVersion: {version}\nRelease: 1\nSummary: {summary}\nLicense: {licence}\n\
         Group: Applications/System\nURL: {place}\nPackager: {authors}\nAutoReqProv: no\n\
         Recommends: {recommended}\n\n\
         %description\n{description}\n\n\
         %install\ncp -a \"{stage}/.\" \"%{{buildroot}}\"\n\n\
         %preun\n{off}\n\
         %files\n%defattr(-,root,root,-)\n%dir %attr(0755,-,-) \"/{folder}\"\n{files}\n\n\
         %changelog\n* {day} {authors} - {version}-1\n\
         - What changed stands in CHANGELOG.md of the source.\n",
        name = about::NAME,
        summary = about::SUMMARY,
        licence = about::LICENCE,
        place = about::PLACE,
        authors = about::AUTHORS,
        recommended = about::RECOMMENDED,
        description = about::DESCRIPTION.join("\n"),
        stage = stage.display(),
        off = unit::switched_off("[ \"$1\" = 0 ]"),
        folder = FOLDER,
        files = listed.join("\n"),
        day = day::of_changes(release.seconds),
    )
}

fn listed((path, mode, _): &Part) -> String {
    let kind = if path.starts_with("usr/share/man/") { "%doc " } else { "" };
    let kind = if path.starts_with(FOLDER) { "%license " } else { kind };
    format!("{kind}%attr({mode:04o},-,-) \"/{path}\"")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::dist::machines::MACHINES;
    use crate::lab::call;
    use crate::lab::needs::{Need, have};

    const FAKE: &[u8] = b"#!/bin/sh\necho a program\n";
    /// What rpmlint calls errors and is meant so: nobody has signed it yet, and the program is static, or here none.
    const MEANT: [&str; 3] = ["no-signature", "statically-linked-binary", "no-binary"];

    #[test]
    fn a_spec_names_each_file_with_its_bits() {
        let parts = [
            ("usr/bin/assay".to_owned(), 0o755, Vec::new()),
            (LICENCE.to_owned(), 0o644, Vec::new()),
        ];
        let release = Release { version: "1.0.0-rc.1".to_owned(), ..Release::of_none() };
        let text = spec(&release, Path::new("/stage"), &parts);
        assert!(
            text.contains("\n%attr(0755,-,-) \"/usr/bin/assay\"\n%license %attr(0644,-,-) \"/usr")
        );
        assert!(text.contains("\nVersion: 1.0.0~rc.1\n"), "{text}");
        assert!(text.contains("\ncp -a \"/stage/.\" \"%{buildroot}\"\n"), "{text}");
    }

    /// Errors of rpmlint about a package that are not meant so.
    fn complaints(path: &str) -> Vec<String> {
        let output = Command::new("rpmlint").arg(path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(" packages and "), "it says what it looked at: {said}");
        let lines = said.lines().filter(|line| line.contains(": E: "));
        let wrong = lines.filter(|line| !MEANT.iter().any(|meant| line.contains(meant)));
        wrong.map(str::to_owned).collect()
    }

    #[test]
    #[ignore = "nightly: 11 s"]
    fn rpm_reads_packages_for_all_machines_and_rpmlint_finds_no_error() {
        let needed = [PROGRAM, "rpm", "rpmlint"].map(Need::Program);
        if !have(&needed) {
            return;
        }
        let scratch = Scratch::new("rpms").unwrap();
        for machine in &MACHINES {
            let (name, bytes) = pack(&Release::of_none(), machine, FAKE).unwrap();
            let again = pack(&Release::of_none(), machine, FAKE).unwrap().1;
            assert!(again == bytes, "{name}: packed twice, and not the same");
            let path = scratch.path().join(&name);
            fs::write(&path, bytes).unwrap();
            let path = path.display().to_string();
            let head = ["-qp", "--qf", "%{NAME} %{OS} %{ARCH} %{BUILDHOST}", &path];
            let wanted = format!("assay linux {} localhost", machine.rpm);
            assert_eq!(call("rpm", &head).unwrap(), wanted);
            let files = call("rpm", &["-qlp", &path]).unwrap();
            for wanted in [
                "/usr/bin/assay",
                "/usr/share/man/man1/assay-restore.1.gz",
                "/usr/share/zsh/site-functions/_assay",
                "/usr/share/licenses/assay",
                "/usr/lib/systemd/system/assay-restore.service",
                "/usr/lib/systemd/system-preset/90-assay.preset",
            ] {
                assert!(
                    files.lines().any(|line| line == wanted),
                    "{name} has no {wanted}: {files}"
                );
            }
            assert_eq!(complaints(&path), Vec::<String>::new());
        }
        // A package that is cut off is none.
        let cut = scratch.path().join("cut.rpm");
        let (_, bytes) = pack(&Release::of_none(), &MACHINES[0], FAKE).unwrap();
        fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
        assert!(call("rpm", &["-K", "--nosignature", &cut.display().to_string()]).is_err());
    }
}
