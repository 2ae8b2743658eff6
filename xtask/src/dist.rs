//! `cargo xtask dist`: what people without a Rust tool chain install. For each machine a static
//! program, in an archive, in a Debian package, in an rpm and in an image for containers, with manual pages
//! and completions, the list of what it is made of, what Arch Linux and Nix install the archives by, and the
//! sums of all, which `--sign KEY` signs. The same commit gives the same bytes: times are those of the commit,
//! all belongs to root, and no path of the machine that built it is in the program.

mod about;
mod day;
mod debian;
mod image;
mod machines;
mod old_calls;
mod others;
mod recipes;
pub mod release;
mod roots;
mod rpm;
mod unit;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay::cli::completion;
use assay_base::digest::{hexadecimal, sha256};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

use crate::build::{cargo, root};
use crate::lab::{Done, Scratch, has};
use crate::options::Options;
use crate::suite::skips::Skips;
use crate::suite::targets::{self, missing};
use crate::{sbom, signing};
use machines::{MACHINES, Machine};
use recipes::Archive;

/// One file of a package: its path, its bits, its bytes.
type Part = (String, u32, Vec<u8>);

/// What stands for the time of a commit where there is none: each kind of package can tell this day.
const NO_TIME_S: u64 = 1_577_836_800;

/// What all packages of a commit have in common.
struct Release {
    version: String,
    commit: String,
    seconds: u64,
    folder: PathBuf,
}

/// Builds everything into `target/dist`.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--try") {
        return targets::check(true, &mut Skips::new());
    }
    let release = Release::of_head()?;
    fs::create_dir_all(&release.folder).map_err(|error| error.to_string())?;
    let (mut sums, mut archives, mut well) = (Vec::new(), Vec::new(), true);
    for machine in &MACHINES {
        if let Some(reason) = missing(machine.target) {
            if !machine.is_rare {
                return Err(reason);
            }
            println!("{}: nothing is made: {reason}", machine.target);
            continue;
        }
        let program = match release.build(machine, "dist") {
            // The others are of use without it.
            Err(reason) if machine.is_rare => {
                println!("{reason}");
                well = false;
                continue;
            }
            built => built?,
        };
        if !tried(machine, &program, &release)? {
            return Ok(false);
        }
        let program = read(&program)?;
        if machine.arch == std::env::consts::ARCH {
            match roots::untried() {
                Some(reason) => println!("{}: in no root of its own: {reason}", machine.target),
                None => well &= roots::check(&release, machine, &program)?,
            }
        }
        let made = release.packages(machine, &program)?;
        let kept = release.keep(&made)?;
        if let ([(name, _), ..], [sum, ..]) = (&made[..], &kept[..]) {
            archives.push(Archive { machine, name: name.clone(), sum: sum.clone() });
        }
        sums.extend(made.into_iter().map(|(name, _)| name).zip(kept));
    }
    let recipes = recipes::of_release(&release, &archives);
    let kept = release.keep(&recipes)?;
    sums.extend(recipes.into_iter().map(|(name, _)| name).zip(kept));
    let lines: Vec<String> = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    let sums = lines.concat();
    let path = release.folder.join("SHA256SUMS");
    fs::write(&path, &sums).map_err(|error| error.to_string())?;
    print!("{sums}");
    options.text("--sign").map_or(Ok(()), |key| signing::sign(&path, key))?;
    Ok(well)
}

/// Packs a program of a target that was built without a release, and tries what is in the packages:
/// the same bytes twice, and what was unpacked runs, with its manual page and completions.
pub fn try_packages(target: &str, program: &Path) -> Done<bool> {
    let machine = Machine::of_target(target).ok_or_else(|| format!("{target} is not packed"))?;
    let release = Release::of_none();
    let bytes = read(program)?;
    let (name, archive) = release.archive(machine, &bytes)?;
    let (_, package) = debian::pack(&release, machine, &bytes)?;
    if release.archive(machine, &bytes)?.1 != archive
        || debian::pack(&release, machine, &bytes)?.1 != package
    {
        return Err(format!("{name}: packed twice, and not the same"));
    }
    let scratch = Scratch::new("dist")?;
    let unpack = tar::Archive::new(GzDecoder::new(archive.as_slice())).unpack(scratch.path());
    unpack.map_err(|error| format!("{name}: {error}"))?;
    let folder = scratch.path().join(name.trim_end_matches(".tar.gz"));
    for wanted in
        ["README.md", "LICENSE-MIT", others::NAME, "man/man1/assay.1", "completions/_assay"]
    {
        if !folder.join(wanted).is_file() {
            return Err(format!("{name} has no {wanted}"));
        }
    }
    try_others(&release, machine, &bytes)?;
    let script = folder.join("completions/assay.bash");
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(r#". "$0" && complete -p assay"#).arg(&script);
    let loads = bash.output().map_err(|error| format!("bash: {error}"))?;
    if !loads.status.success() {
        return Err(format!("{name}: bash does not load its completions"));
    }
    let (list, text) = release.contents(machine)?;
    if !String::from_utf8_lossy(&text).contains("\"pkg:cargo/clap@") {
        return Err(format!("{list} does not know what the program is made of"));
    }
    if has("dpkg-deb") {
        let path = scratch.path().join("assay.deb");
        fs::write(&path, &package).map_err(|error| error.to_string())?;
        let listed = Command::new("dpkg-deb").arg("--contents").arg(&path).output();
        let listed = listed.map_err(|error| format!("dpkg-deb: {error}"))?;
        let text = String::from_utf8_lossy(&listed.stdout);
        if !listed.status.success() || !text.contains(" usr/bin/assay") {
            let said = String::from_utf8_lossy(&listed.stderr);
            return Err(format!("dpkg-deb does not read the package of {target}: {said}"));
        }
    }
    tried(machine, &folder.join("assay"), &release)
}

/// Whether what is made of a program of a target, without a release, does its work in roots without Rust.
pub fn try_roots(target: &str, program: &Path) -> Done<bool> {
    let machine = Machine::of_target(target).ok_or_else(|| format!("{target} is not packed"))?;
    roots::check(&Release::of_none(), machine, &read(program)?)
}

/// Why that cannot be done here.
pub fn untried_roots() -> Option<String> {
    roots::untried()
}

/// Whether the image has the program, and an rpm is made where that can be.
fn try_others(release: &Release, machine: &Machine, program: &[u8]) -> Done<()> {
    let (name, packed) = image::pack(release, machine, program)?;
    let scratch = Scratch::new("image")?;
    let starts = image::Image::read(&packed)?.unpack(scratch.path())?;
    if read(&scratch.path().join(starts.trim_start_matches('/')))? != program {
        return Err(format!("{name} has another program"));
    }
    if has(rpm::PROGRAM) {
        let (name, packed) = rpm::pack(release, machine, program)?;
        println!("{name}: {} bytes", packed.len());
    }
    Ok(())
}

/// Builds the static program for machines of this kind, of no commit, and tells where it is.
pub fn own() -> Done<PathBuf> {
    let machine = Machine::own().ok_or("there is no static program for this machine")?;
    if let Some(reason) = missing(machine.target) {
        return Err(format!("{reason}; or --try"));
    }
    Release::of_none().build(machine, "release")
}

/// Why a program of a target cannot be run here, by itself or by an emulator.
pub fn untried(target: &str) -> Option<String> {
    Machine::of_target(target)?.untried()
}

fn git(words: &[&str]) -> Done<String> {
    let output = Command::new("git").args(words).current_dir(root()).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", words.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Release {
    /// Of no commit: what is tested may be no checkout.
    fn of_none() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: String::new(),
            seconds: NO_TIME_S,
            folder: PathBuf::new(),
        }
    }

    fn of_head() -> Done<Self> {
        let changed = if git(&["status", "--porcelain"])?.is_empty() { "" } else { "-changed" };
        let seconds = git(&["log", "-1", "--format=%ct"])?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: format!("{}{changed}", git(&["rev-parse", "--short=12", "HEAD"])?),
            seconds: seconds.parse().map_err(|_| format!("git told no time: {seconds}"))?,
            folder: root().join("target/dist"),
        })
    }

    /// The static program for a machine, by a profile.
    fn build(&self, machine: &Machine, profile: &str) -> Done<PathBuf> {
        let target = machine.target;
        let folder = root().join("target/dist/build");
        let home = std::env::var("CARGO_HOME")
            .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
            .unwrap_or_default();
        let flags = [
            "-Clinker=rust-lld".to_owned(),
            "-Clinker-flavor=ld.lld".to_owned(),
            "-Clink-self-contained=yes".to_owned(),
            "-Ctarget-feature=+crt-static".to_owned(),
            format!("--remap-path-prefix={}=assay", root().display()),
            format!("--remap-path-prefix={home}=cargo"),
        ];
        let words = ["build", "--locked", "--package", "assay", "--target", target];
        let status = cargo(&words)
            .args(["--profile", profile])
            .arg("--target-dir")
            .arg(&folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("ASSAY_COMMIT", &self.commit)
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!("{target} was not built: {status}"));
        }
        Ok(folder.join(target).join(profile).join("assay"))
    }

    /// What is made for a machine, the archive first; says what cannot be made here.
    fn packages(&self, machine: &'static Machine, program: &[u8]) -> Done<Vec<Named>> {
        let mut made = vec![
            self.archive(machine, program)?,
            debian::pack(self, machine, program)?,
            image::pack(self, machine, program)?,
            self.contents(machine)?,
        ];
        if has(rpm::PROGRAM) {
            made.push(rpm::pack(self, machine, program)?);
        } else {
            println!("{}: no rpm is made: {} is not installed", machine.target, rpm::PROGRAM);
        }
        Ok(made)
    }

    /// Writes files of a release, and tells the sum of each.
    fn keep(&self, made: &[Named]) -> Done<Vec<String>> {
        let mut sums = Vec::new();
        for (name, bytes) in made {
            fs::write(self.folder.join(name), bytes).map_err(|error| format!("{name}: {error}"))?;
            println!("{name}: {} bytes", bytes.len());
            sums.push(hexadecimal(&sha256(bytes)));
        }
        Ok(sums)
    }

    /// `assay-1.0.0-rc.1-x86_64-linux`.
    fn name(&self, machine: &Machine) -> String {
        format!("assay-{}-{}-linux", self.version, machine.name)
    }

    /// What the program is made of.
    fn contents(&self, machine: &Machine) -> Done<Named> {
        let list = sbom::of_target(machine.target, &self.commit)?;
        Ok((format!("{}.cdx.json", self.name(machine)), list.into_bytes()))
    }

    /// `assay-1.0.0-rc.1-x86_64-linux.tar.gz`.
    fn archive(&self, machine: &Machine, program: &[u8]) -> Done<Named> {
        let folder = self.name(machine);
        let mut parts = vec![(format!("{folder}/assay"), 0o755, program.to_vec())];
        for name in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            parts.push((format!("{folder}/{name}"), 0o644, read(&root().join(name))?));
        }
        let others = others::licences(machine.target)?;
        parts.push((format!("{folder}/{}", others::NAME), 0o644, others));
        for (name, page) in manual()? {
            parts.push((format!("{folder}/man/man1/{name}"), 0o644, page));
        }
        for (shell, name) in [("bash", "assay.bash"), ("zsh", "_assay"), ("fish", "assay.fish")] {
            parts.push((format!("{folder}/completions/{name}"), 0o644, script(shell)?));
        }
        for (name, text) in [(unit::NAME, unit::TEXT), (unit::PRESET_NAME, unit::PRESET)] {
            parts.push((format!("{folder}/systemd/{name}"), 0o644, text.into()));
        }
        Ok((format!("{folder}.tar.gz"), packed(&self.tar(parts)?)?))
    }

    /// An archive of files, with the folders above them, in the order of their names.
    fn tar(&self, mut parts: Vec<Part>) -> Done<Vec<u8>> {
        parts.sort();
        let mut folders: Vec<String> = Vec::new();
        for (path, ..) in &parts {
            for (at, _) in path.match_indices('/').filter(|(at, _)| path[..*at] != *".") {
                let folder = path[..=at].to_owned();
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        let mut archive = tar::Builder::new(Vec::new());
        let folders = folders.into_iter().map(|path| (path, 0o755, Vec::new()));
        for (path, mode, bytes) in folders.chain(parts) {
            let mut header = tar::Header::new_gnu();
            let kind = if path.ends_with('/') {
                tar::EntryType::Directory
            } else {
                tar::EntryType::Regular
            };
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(bytes.len() as u64);
            header.set_mtime(self.seconds);
            header.set_uid(0);
            header.set_gid(0);
            let added = archive.append_data(&mut header, &path, bytes.as_slice());
            added.map_err(|error| format!("{path}: {error}"))?;
        }
        archive.into_inner().map_err(|error| error.to_string())
    }
}

/// What packages put below `/`, but for licences; `zsh` is where that shell looks below `usr/share`.
fn installed(program: &[u8], zsh: &str) -> Done<Vec<Part>> {
    let mut parts = vec![("usr/bin/assay".to_owned(), 0o755, program.to_vec())];
    for (name, page) in manual()? {
        parts.push((format!("usr/share/man/man1/{name}.gz"), 0o644, packed(&page)?));
    }
    let zsh = format!("{zsh}/_assay");
    for (shell, path) in [
        ("bash", "bash-completion/completions/assay"),
        ("zsh", zsh.as_str()),
        ("fish", "fish/vendor_completions.d/assay.fish"),
    ] {
        parts.push((format!("usr/share/{path}"), 0o644, script(shell)?));
    }
    for (folder, name, text) in
        [("system", unit::NAME, unit::TEXT), ("system-preset", unit::PRESET_NAME, unit::PRESET)]
    {
        parts.push((format!("usr/lib/systemd/{folder}/{name}"), 0o644, text.into()));
    }
    Ok(parts)
}

/// Both licences, one behind the other.
fn licences() -> Done<Vec<u8>> {
    Ok([read(&root().join("LICENSE-APACHE"))?, read(&root().join("LICENSE-MIT"))?].concat())
}

/// A file by its name.
type Named = (String, Vec<u8>);

fn read(path: &Path) -> Done<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The manual pages.
fn manual() -> Done<Vec<Named>> {
    let folder = root().join("docs/man");
    let entries = fs::read_dir(&folder).map_err(|error| format!("docs/man: {error}"))?;
    let mut pages = Vec::new();
    for entry in entries.flatten() {
        pages.push((entry.file_name().to_string_lossy().into_owned(), read(&entry.path())?));
    }
    pages.sort();
    Ok(pages)
}

fn script(shell: &str) -> Done<Vec<u8>> {
    completion(shell).map(String::into_bytes).map_err(|failure| failure.message)
}

/// Packed without a time of its own.
fn packed(bytes: &[u8]) -> Done<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(bytes).and_then(|()| gzip.finish()).map_err(|error| error.to_string())
}

/// Whether the program tells its version: on this machine, or by an emulator; skipped, with the
/// reason, where neither can.
fn tried(machine: &Machine, program: &Path, release: &Release) -> Done<bool> {
    let own = machine.is_own();
    if !own && !has(machine.emulator) {
        println!("{}: not tried: {} is not installed", machine.target, machine.emulator);
        return Ok(true);
    }
    let mut command = if own { Command::new(program) } else { Command::new(machine.emulator) };
    if !own {
        command.arg(program);
    }
    let output = command.arg("--version").output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    println!("{told}");
    Ok(output.status.success() && told == version_of(machine, release))
}

/// What the program for a machine tells of its version.
fn version_of(machine: &Machine, release: &Release) -> String {
    let built = [release.commit.as_str(), machine.target];
    let built = built.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    format!("assay {} ({built})", release.version)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    /// What `cargo binstall` is told in the manifest, and what is written.
    #[test]
    #[ignore = "nightly: 2 s"]
    fn archives_are_called_what_the_manifest_says() {
        let manifest = fs::read_to_string(root().join("crates/assay/Cargo.toml")).unwrap();
        let told = |key: &str, machine: &Machine| {
            let value = manifest.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            value
                .replace("{ version }", env!("CARGO_PKG_VERSION"))
                .replace("{ target-arch }", machine.target.split('-').next().unwrap())
                .replace("{ bin }{ binary-ext }", "assay")
        };
        let release = Release::of_none();
        for machine in &MACHINES {
            let (archive, _) = release.archive(machine, b"").unwrap();
            let address = told("pkg-url = ", machine).replace("{ archive-suffix }", ".tar.gz");
            assert!(address.ends_with(&format!("/{archive}\"")), "{address}: {archive}");
            let folder = release.name(machine);
            assert_eq!(told("bin-dir = ", machine), format!("\"{folder}/assay\""));
        }
    }
}
