//! What packages say of the program: one table for all kinds of them.

/// What the package and its program are called. On registries where others have the name, [`PUBLIC`].
pub const NAME: &str = "assay";
/// The name that is free (docs/decisions/2026-11-26-release.md).
pub const PUBLIC: &str = "assay-storage";
pub const SUMMARY: &str = "Carefully controlled performance studies of storage";
pub const DESCRIPTION: [&str; 3] = [
    "Honest speed of drives, cards and file systems, settings compared with",
    "verdicts, and a statement of trust beside each number.",
    "Beside it: manual pages, completions, and a unit that is off unless asked.",
];
pub const LICENCE: &str = env!("CARGO_PKG_LICENSE");
/// The same as Nix names them.
pub const LICENCES_OF_NIX: [&str; 2] = ["mit", "asl20"];
pub const AUTHORS: &str = env!("CARGO_PKG_AUTHORS");
/// Where the sources are, and the archives of a release below it.
pub const PLACE: &str = env!("CARGO_PKG_REPOSITORY");
/// A package that tells more of drives where it is there.
pub const RECOMMENDED: &str = "smartmontools";

/// What stands in an archive and where it goes below `/usr`; what ends in `/` is a folder that takes it by its name.
pub const INSTALLED: [(&str, &str); 7] = [
    ("man/man1/*.1", "share/man/man1/"),
    ("completions/assay.bash", "share/bash-completion/completions/assay"),
    ("completions/_assay", "share/zsh/site-functions/_assay"),
    ("completions/assay.fish", "share/fish/vendor_completions.d/assay.fish"),
    ("systemd/assay-restore.service", "lib/systemd/system/assay-restore.service"),
    ("systemd/90-assay.preset", "lib/systemd/system-preset/90-assay.preset"),
    ("LICENSE-*", "share/licenses/assay/"),
];

/// Where a release has its files, from [`PLACE`] on, for the name of a version or a variable with it.
pub fn below(version: &str) -> String {
    format!("releases/download/v{version}")
}

/// A version as Debian and rpm sort it: `1.0.0~rc.1` comes before `1.0.0`.
pub fn sorted(version: &str) -> String {
    version.replacen('-', "~", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_try_of_a_version_comes_before_it() {
        assert_eq!(sorted("1.0.0-rc.1"), "1.0.0~rc.1");
        assert_eq!(sorted("1.0.0"), "1.0.0");
    }

    #[test]
    fn licences_of_nix_are_those_of_the_manifest() {
        assert_eq!((LICENCE, LICENCES_OF_NIX), ("MIT OR Apache-2.0", ["mit", "asl20"]));
        assert!(!PLACE.is_empty() && AUTHORS.contains('@'));
    }
}
