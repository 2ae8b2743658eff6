//! Descriptions by which Arch Linux (PKGBUILD) and Nix install the archives of a release, with the sums of these very
//! archives, both of the table in [`about`].

use super::machines::Machine;
use super::{Named, Release, about};

/// An archive of a release.
pub struct Archive {
    pub machine: &'static Machine,
    pub name: String,
    pub sum: String,
}

/// Both, by the names that their tools look for.
pub fn of_release(release: &Release, archives: &[Archive]) -> [Named; 2] {
    let texts = [("PKGBUILD", pkgbuild(release, archives)), ("assay.nix", nix(release, archives))];
    texts.map(|(name, text)| (name.to_owned(), text.into_bytes()))
}

/// Lines that put what is in an archive below a folder.
fn installs(program: &str, prefix: &str, indent: &str) -> String {
    let program = format!("{indent}install -Dm755 assay \"{prefix}/{program}\"\n");
    let others = about::INSTALLED.iter().map(|(from, to)| {
        let is_folder = to.ends_with('/');
        let place = format!("\"{prefix}/{to}\"");
        let words =
            if is_folder { format!("-t {place} {from}") } else { format!("{from} {place}") };
        format!("{indent}install -Dm644 {words}\n")
    });
    std::iter::once(program).chain(others).collect::<Vec<_>>().concat()
}

/// What `makepkg` reads; its versions have no hyphens.
fn pkgbuild(release: &Release, archives: &[Archive]) -> String {
    let machines: Vec<String> =
        archives.iter().map(|archive| format!("'{}'", archive.machine.pacman)).collect();
    let sources: Vec<String> = archives
        .iter()
        .map(|Archive { machine, name, sum }| {
            let (machine, below) = (machine.pacman, about::below(&release.version));
            format!("source_{machine}=(\"$url/{below}/{name}\")\nsha256sums_{machine}=('{sum}')\n")
        })
        .collect();
    format!(
        "# Maintainer: {authors}\npkgname={public}-bin\npkgver={version}\npkgrel=1\n\
         pkgdesc='{summary}'\narch=({machines})\nurl='{place}'\nlicense=('{licence}')\n\
         optdepends=('{recommended}: what drives tell of their health')\n\
         provides=('{name}')\nconflicts=('{name}')\noptions=('!strip')\n{sources}\n\
         package() {{\n    cd \"$srcdir\"/{name}-{archived}-*-linux\n{installs}}}\n",
        authors = about::AUTHORS,
        // One of another version may lie beside it.
        archived = release.version,
        public = about::PUBLIC,
        version = release.version.replace('-', ""),
        summary = about::SUMMARY,
        machines = machines.join(" "),
        place = about::PLACE,
        licence = about::LICENCE,
        recommended = about::RECOMMENDED,
        name = about::NAME,
        sources = sources.concat(),
        installs = installs("bin/assay", "$pkgdir/usr", "    "),
    )
}

fn nix(release: &Release, archives: &[Archive]) -> String {
    let listed: Vec<String> = archives
        .iter()
        .map(|Archive { machine, name, sum }| {
            let machine = machine.nix;
            format!("    {machine}-linux = {{ name = \"{name}\"; sha256 = \"{sum}\"; }};\n")
        })
        .collect();
    format!(
        "{{ lib, stdenvNoCC, fetchurl }}:\n\n\
         let\n  version = \"{version}\";\n  archives = {{\n{listed}  }};\n  \
         system = stdenvNoCC.hostPlatform.system;\n  \
         archive = archives.${{system}} or (throw \"{name}: there is no archive for ${{system}}\");\n\
         in\nstdenvNoCC.mkDerivation {{\n  pname = \"{public}\";\n  inherit version;\n  \
         src = fetchurl {{\n    url = \"{place}/{below}/${{archive.name}}\";\n    \
         inherit (archive) sha256;\n  }};\n  dontBuild = true;\n  dontStrip = true;\n  \
         installPhase = ''\n    runHook preInstall\n    \
         sed -i \"s|/usr/bin/assay|$out/bin/assay|\" systemd/{unit}\n{installs}    \
         runHook postInstall\n  '';\n  meta = {{\n    description = \"{summary}\";\n    \
         homepage = \"{place}\";\n    license = with lib.licenses; [ {licences} ];\n    \
         platforms = builtins.attrNames archives;\n    mainProgram = \"{name}\";\n    \
         sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];\n  }};\n}}\n",
        version = release.version,
        listed = listed.concat(),
        name = about::NAME,
        public = about::PUBLIC,
        place = about::PLACE,
        below = about::below("${version}"),
        unit = super::unit::NAME,
        installs = installs("bin/assay", "$out", "    "),
        summary = about::SUMMARY,
        licences = about::LICENCES_OF_NIX.join(" "),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::dist::installed;
    use crate::dist::machines::MACHINES;
    use crate::lab::needs::{Need, have};
    use crate::lab::{Done, Scratch, call};

    const FAKE: &[u8] = b"#!/bin/sh\necho a program\n";
    const NIX: &str = "nix-instantiate";

    fn of_try() -> Release {
        Release { version: "1.0.0-rc.1".to_owned(), ..Release::of_none() }
    }

    fn both() -> [Named; 2] {
        let archive = |machine: &'static Machine| {
            let name = format!("assay-1.0.0-rc.1-{}-linux.tar.gz", machine.name);
            Archive { machine, name, sum: format!("{:064x}", machine.name.len()) }
        };
        let archives: Vec<Archive> = MACHINES.iter().map(archive).collect();
        of_release(&of_try(), &archives)
    }

    /// Files below a folder, without it.
    fn files(top: &Path, below: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(top, &path, found);
            } else {
                found.insert(path.strip_prefix(top).unwrap().display().to_string());
            }
        }
    }

    #[test]
    fn a_pkgbuild_is_read_by_bash_and_installs_what_other_packages_have() {
        if !have(&[Need::Program("bash")]) {
            return;
        }
        let scratch = Scratch::new("pkgbuild").unwrap();
        let [(name, text), _] = both();
        let recipe = scratch.path().join(name);
        fs::write(&recipe, text).unwrap();
        let recipe = recipe.display().to_string();
        call("bash", &["-n", &recipe]).unwrap();
        let print =
            r#". "$0"; echo "$pkgname $pkgver ${arch[*]} $source_armv7h $sha256sums_armv7h""#;
        let told = call("bash", &["-euc", print, &recipe]).unwrap();
        let wanted = format!(
            "assay-storage-bin 1.0.0rc.1 x86_64 i686 aarch64 armv7h riscv64 \
             {}/releases/download/v1.0.0-rc.1/assay-1.0.0-rc.1-armv7-linux.tar.gz {:064x}\n",
            about::PLACE,
            5
        );
        assert_eq!(told, wanted);
        // What it does with the archive, as makepkg has it done.
        let [source, target] =
            ["src", "pkg"].map(|name| scratch.folder(name, 0o755, None).unwrap());
        let (_, archive) = of_try().archive(&MACHINES[0], FAKE).unwrap();
        scratch.folder("src/assay-0.9.0-x86_64-linux", 0o755, None).unwrap();
        tar::Archive::new(GzDecoder::new(archive.as_slice())).unpack(&source).unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-euc", r#". "$0"; package"#, &recipe]).current_dir(scratch.path());
        bash.env("srcdir", &source).env("pkgdir", &target);
        assert!(bash.status().unwrap().success());
        let mut found = BTreeSet::new();
        files(&target, &target, &mut found);
        // Packages of others have packed pages.
        let parts = installed(FAKE, "zsh/site-functions").unwrap();
        let licences = ["APACHE", "MIT", "OTHERS"]
            .map(|name| format!("usr/share/licenses/assay/LICENSE-{name}"));
        let names = parts.into_iter().map(|(path, ..)| path.trim_end_matches(".gz").to_owned());
        let wanted: BTreeSet<String> = names.chain(licences).collect();
        assert_eq!(found, wanted);
    }

    /// What Nix makes of a text, with a store of its own.
    fn parsed(text: &[u8]) -> Done<String> {
        let scratch = Scratch::new("nix")?;
        let path = scratch.path().join("assay.nix");
        fs::write(&path, text).map_err(|error| error.to_string())?;
        let mut nix = Command::new(NIX);
        for name in ["NIX_STORE_DIR", "NIX_STATE_DIR", "NIX_LOG_DIR", "NIX_CONF_DIR"] {
            nix.env(name, scratch.path().join(name));
        }
        let output = nix.arg("--parse").arg(&path).output().map_err(|error| error.to_string())?;
        let [told, said] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        if output.status.success() { Ok(told) } else { Err(said) }
    }

    #[test]
    fn nix_parses_its_expression_and_not_a_half_of_it() {
        if !have(&[Need::Program(NIX)]) {
            return;
        }
        let [_, (_, text)] = both();
        let told = parsed(&text).unwrap();
        assert!(told.contains("riscv64-linux") && told.contains("mkDerivation"), "{told}");
        assert!(parsed(&text[..text.len() / 2]).unwrap_err().contains("error: syntax error"));
    }

    #[test]
    fn both_name_each_archive_with_its_sum() {
        for (name, text) in both() {
            let text = String::from_utf8(text).unwrap();
            for machine in &MACHINES {
                let archive = format!("assay-1.0.0-rc.1-{}-linux.tar.gz\"", machine.name);
                let (_, after) = text.split_once(&archive).unwrap();
                let sum = format!("{:064x}", machine.name.len());
                let line: String = after.chars().take(120).collect();
                assert!(line.contains(&sum), "{name}: {line}");
            }
        }
    }
}
