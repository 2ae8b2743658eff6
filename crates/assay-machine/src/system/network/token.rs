//! Location of the token shared by both ends of a link.

use std::path::Path;

use super::Token;
use super::protocol::{TOKEN_FILE_VARIABLE, TOKEN_VARIABLE};
use crate::system::{Locking, System};

pub const FLEET_TOKEN_VARIABLE: &str = "ASSAY_COORDINATOR_TOKEN";
pub const FLEET_TOKEN_FILE_VARIABLE: &str = "ASSAY_COORDINATOR_TOKEN_FILE";

/// Returns whether a variable contains a token: Assay does not pass it to commands, so results do not contain it.
pub fn is_secret(variable: &str) -> bool {
    [TOKEN_VARIABLE, FLEET_TOKEN_VARIABLE].contains(&variable)
}

/// The token in the environment, or in the file that it names.
pub fn of_environment(system: &dyn System) -> Result<Token, String> {
    if let Some(text) = system.variable(TOKEN_VARIABLE) {
        return Token::new(&text).map_err(|why| format!("{TOKEN_VARIABLE}: {why}"));
    }
    let Some(file) = system.variable(TOKEN_FILE_VARIABLE) else {
        return Err(format!(
            "the peer needs a token shared by both ends; set {TOKEN_VARIABLE}, or set {TOKEN_FILE_VARIABLE} to the \
             name of a file with the token"
        ));
    };
    in_file(system, Path::new(&file))
}

/// The token of a fleet, from its variable or the file that the other variable names; `None` if neither is set.
pub fn of_fleet(system: &dyn System) -> Result<Option<Token>, String> {
    if let Some(text) = system.variable(FLEET_TOKEN_VARIABLE) {
        return Token::new(&text).map(Some).map_err(|why| format!("{FLEET_TOKEN_VARIABLE}: {why}"));
    }
    let file = system.variable(FLEET_TOKEN_FILE_VARIABLE);
    file.map(|file| in_file(system, Path::new(&file))).transpose()
}

pub fn in_file(system: &dyn System, file: &Path) -> Result<Token, String> {
    let path = file.display();
    let locked = system.lock_file(file, Locking::Secret).map_err(|_| {
        format!("{path} is unreadable, or other users can read it; run chmod 600 {path}")
    })?;
    let text = system.read_own(&locked).map_err(|error| format!("{path}: {error}"))?;
    Token::new(&text).map_err(|why| format!("{path}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn a_token_is_where_the_environment_says() {
        let fake = Fake::new();
        let told = of_environment(&fake).unwrap_err();
        assert!(told.contains(TOKEN_VARIABLE) && told.contains(TOKEN_FILE_VARIABLE), "{told}");
        fake.set_variable(TOKEN_VARIABLE, "short");
        assert!(of_environment(&fake).unwrap_err().starts_with("ASSAY_PEER_TOKEN: the token is"));
        fake.set_variable(TOKEN_VARIABLE, "long enough to be one");
        assert_eq!(of_environment(&fake), Token::new("long enough to be one"));
        assert_eq!(of_fleet(&fake), Ok(None), "that of a link is another one");
        fake.set_variable(FLEET_TOKEN_VARIABLE, "short");
        assert!(of_fleet(&fake).unwrap_err().starts_with("ASSAY_COORDINATOR_TOKEN: the token is"));
        fake.set_variable(FLEET_TOKEN_VARIABLE, "that of the fleet, long enough");
        assert_eq!(of_fleet(&fake).map(|own| own.is_some()), Ok(true));
        assert!(is_secret(TOKEN_VARIABLE) && is_secret(FLEET_TOKEN_VARIABLE) && !is_secret("HOME"));
        let nowhere = in_file(&fake, Path::new("/nowhere")).unwrap_err();
        assert!(nowhere.starts_with("/nowhere is unreadable"), "{nowhere}");
    }
}
