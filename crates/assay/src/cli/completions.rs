//! `assay completions`: what a shell needs to complete a command line.

use clap::Args;
use clap_complete::Shell;

use super::output;
use assay_base::failure::{Failure, Outcome};

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay completions bash > ~/.local/share/bash-completion/completions/assay
  assay completions zsh > ~/.zfunc/_assay        with ~/.zfunc in $fpath
  assay completions fish > ~/.config/fish/completions/assay.fish")]
pub struct Arguments {
    /// Shell: bash, zsh or fish
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

pub fn run(arguments: &Arguments) -> Outcome<()> {
    output::document(&script(&arguments.shell)?);
    Ok(())
}

/// The script for a shell.
///
/// # Errors
/// The mistake where there is no such shell.
pub fn script(shell: &str) -> Outcome<String> {
    let shell: Shell = shell.parse().map_err(|error: String| Failure::mistake(error))?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::definition(), "assay", &mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_types_is_not_completed() {
        for shell in ["bash", "zsh", "fish"] {
            let script = script(shell).unwrap();
            assert!(script.contains("completions") && !script.contains("watchdog"), "{shell}");
        }
    }
}
