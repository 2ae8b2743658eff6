//! A signature of the sums, by the key of whoever releases: `ssh-keygen -Y`, which nearly every machine has.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lab::Done;

const PROGRAM: &str = "ssh-keygen";
/// What a signature is for: one for something else does not count.
const PURPOSE: &str = "file";

/// Where the signature of a file lies.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Signs a file by a private key, or by a public one whose private half an agent has.
pub fn sign(file: &Path, key: &str) -> Done<()> {
    let signature = beside(file);
    // Over an old one it would ask.
    if let Err(error) = fs::remove_file(&signature)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(format!("{}: {error}", signature.display()));
    }
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "sign", "-n", PURPOSE, "-f", key]).arg(file);
    let status = command.status().map_err(|error| format!("{PROGRAM}: {error}"))?;
    if !status.success() || !is_signed(file) {
        return Err(format!("{} was not signed by {key}: {status}", file.display()));
    }
    println!("{}", signature.display());
    Ok(())
}

/// Whether a signature lies beside a file that is one of these very bytes, whoever made it.
pub fn is_signed(file: &Path) -> bool {
    let Ok(bytes) = File::open(file) else { return false };
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "check-novalidate", "-n", PURPOSE, "-s"]).arg(beside(file));
    let output = command.stdin(bytes).stderr(Stdio::inherit()).output();
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::lab::Scratch;
    use crate::lab::needs::{Need, have};

    #[test]
    fn sums_are_signed_and_other_sums_are_not() {
        if !have(&[Need::Program(PROGRAM)]) {
            return;
        }
        let scratch = Scratch::new("signing").unwrap();
        let [key, sums] = ["key", "SHA256SUMS"].map(|name| scratch.path().join(name));
        let mut making = Command::new(PROGRAM);
        making.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
        assert!(making.status().unwrap().success());
        fs::write(&sums, "00ff  a.tar.gz\n").unwrap();
        for _ in 0..2 {
            sign(&sums, key.to_str().unwrap()).unwrap();
        }
        assert!(is_signed(&sums));
        fs::write(&sums, "00fe  a.tar.gz\n").unwrap();
        assert!(!is_signed(&sums));
        assert!(sign(&sums, "/no/such/key").is_err());
    }
}
