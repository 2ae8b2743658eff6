//! A Debian package: an archive of three members. What Debian asks for beside the program it has, too:
//! licences as its checker reads them, a list of changes, and why the program has all its libraries inside.

use super::machines::Machine;
use super::{Named, Release, about, day, installed, others, packed, read, unit};
use crate::build::root;
use crate::lab::Done;

const ZSH: &str = "zsh/vendor-completions";
/// When what a package switched on is switched off again.
const REMOVED: &str = "[ \"$1\" = remove ]";
const FORMAT: &str = "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/";

/// `assay_1.0.0~rc.1_amd64.deb`.
pub fn pack(release: &Release, machine: &Machine, program: &[u8]) -> Done<Named> {
    let version = about::sorted(&release.version);
    let mut parts = installed(program, ZSH)?;
    let others = others::licences(machine.target)?;
    let own = [
        (format!("doc/{}/copyright", about::NAME), copyright()?.into_bytes()),
        (format!("doc/{}/changelog.gz", about::NAME), packed(changes(release).as_bytes())?),
        (format!("lintian/overrides/{}", about::NAME), meant().into_bytes()),
        (format!("doc/{}/copyright-others.gz", about::NAME), packed(&others)?),
    ];
    parts.extend(own.map(|(path, bytes)| (format!("usr/share/{path}"), 0o644, bytes)));
    let size_kib = parts.iter().map(|(.., bytes)| bytes.len()).sum::<usize>().div_ceil(1024);
    let removal = format!("#!/bin/sh\nset -e\n{}", unit::switched_off(REMOVED));
    let control = release.tar(vec![
        ("./control".to_owned(), 0o644, control(machine, &version, size_kib).into_bytes()),
        ("./prerm".to_owned(), 0o755, removal.into_bytes()),
    ])?;
    let parts = parts.into_iter().map(|(path, mode, bytes)| (format!("./{path}"), mode, bytes));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", packed(&control)?),
        ("data.tar.gz", packed(&release.tar(parts.collect())?)?),
    ];
    let mut text = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let (seconds, length) = (release.seconds, bytes.len());
        let head = format!("{name:<16}{seconds:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, "100644");
        text.extend(head.as_bytes());
        text.extend(&bytes);
        // Members begin at even places.
        text.extend((length % 2 == 1).then_some(b'\n'));
    }
    Ok((format!("{}_{version}_{}.deb", about::NAME, machine.debian), text))
}

fn control(machine: &Machine, version: &str, size_kib: usize) -> String {
    format!(
        "Package: {}\nVersion: {version}\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {size_kib}\nSection: utils\nPriority: optional\n\
         Homepage: {}\nRecommends: {}\nDescription: {}\n {}\n",
        about::NAME,
        machine.debian,
        about::AUTHORS,
        about::PLACE,
        about::RECOMMENDED,
        about::SUMMARY,
        about::DESCRIPTION.join("\n "),
    )
}

/// Licences: one in full, the other by its name, as Debian has its text.
fn copyright() -> Done<String> {
    let text = String::from_utf8(read(&root().join("LICENSE-MIT"))?);
    let text = text.map_err(|error| format!("LICENSE-MIT: {error}"))?;
    let held = text.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let held = held.ok_or("LICENSE-MIT does not say whose it is")?;
    let lines = text.lines().map(|line| if line.trim().is_empty() { "." } else { line });
    let indented: Vec<String> = lines.map(|line| format!(" {line}\n")).collect();
    Ok(format!(
        "Format: {FORMAT}\nUpstream-Name: {}\nSource: {}\n\n\
         Files: *\nCopyright: {}\nLicense: MIT or Apache-2.0\n\n\
         License: MIT\n{}\nLicense: Apache-2.0\n \
         On Debian systems its text is in /usr/share/common-licenses/Apache-2.0.\n",
        about::NAME,
        about::PLACE,
        held,
        indented.concat(),
    ))
}

fn changes(release: &Release) -> String {
    format!(
        "{} ({}) unstable; urgency=medium\n\n  * What changed stands in CHANGELOG.md of the source.\n\n \
         -- {}  {}\n",
        about::NAME,
        about::sorted(&release.version),
        about::AUTHORS,
        day::of_mail(release.seconds),
    )
}

/// What lintian is told.
fn meant() -> String {
    let name = about::NAME;
    format!("# One program for every Linux.\n{name}: statically-linked-binary [usr/bin/{name}]\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::dist::machines::MACHINES;
    use crate::lab::needs::{Need, have};
    use crate::lab::{Scratch, call};

    #[test]
    fn a_debian_package_has_the_unit_and_pages_switches_nothing_on_and_takes_its_link_away() {
        if !have(&[Need::Program("dpkg-deb")]) {
            return;
        }
        let scratch = Scratch::new("deb").unwrap();
        let path = scratch.path().join("assay.deb");
        let (name, package) = pack(&Release::of_none(), &MACHINES[3], b"a program").unwrap();
        assert!(name.ends_with("_armhf.deb"), "{name}");
        fs::write(&path, package).unwrap();
        let path = path.display().to_string();
        let files = call("dpkg-deb", &["--contents", &path]).unwrap();
        for wanted in ["usr/lib/systemd/system/assay-restore.service", "man1/assay-restore.1.gz"] {
            assert!(files.lines().any(|line| line.ends_with(wanted)), "no {wanted}: {files}");
        }
        assert!(!files.contains(".wants"), "{files}");
        let removal = call("dpkg-deb", &["--info", &path, "prerm"]).unwrap();
        let wanted = unit::switched_off(REMOVED);
        assert_eq!(removal, format!("#!/bin/sh\nset -e\n{wanted}"));
    }

    #[test]
    fn licences_say_whose_it_is_as_the_licence_does() {
        let text = copyright().unwrap();
        let line = |start: &str| text.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        let held = line("Copyright: ");
        assert_eq!(line(" Copyright (c) "), held);
        assert!(held.starts_with("20"), "{held}");
    }

    /// Errors of lintian about a package.
    fn complaints(package: &[u8], folder: &Path) -> String {
        let path = folder.join("assay.deb");
        fs::write(&path, package).unwrap();
        let mut lintian = Command::new("lintian");
        let output = lintian.args(["--allow-root", "--fail-on", "none"]).arg(&path).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        told.lines().filter(|line| line.starts_with("E:")).collect()
    }

    #[test]
    #[ignore = "nightly: 14 s"]
    fn lintian_finds_no_error_and_finds_a_version_that_is_none() {
        if !have(&[Need::Program("lintian")]) {
            return;
        }
        let scratch = Scratch::new("lintian").unwrap();
        let (_, package) = pack(&Release::of_none(), &MACHINES[0], b"#!/bin/sh\n").unwrap();
        assert_eq!(complaints(&package, scratch.path()), "");
        let release = Release { version: "1.0.0+?".to_owned(), ..Release::of_none() };
        let (_, wrong) = pack(&release, &MACHINES[0], b"#!/bin/sh\n").unwrap();
        assert!(complaints(&wrong, scratch.path()).contains("version"));
    }
}
