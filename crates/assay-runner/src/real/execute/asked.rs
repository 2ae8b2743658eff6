//! Prepares a program before the clock runs, and explains why one cannot start.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use assay_machine::system::Execution;
use assay_machine::system::identity::Caller;
use assay_sys::{NotStarted, Step};

/// Search path without a `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const IDENTITY: [&str; 5] = ["HOME", "LOGNAME", "MAIL", "SHELL", "USER"];
const MAILBOXES: &str = "/var/mail";

type Variables = BTreeMap<OsString, OsString>;

#[derive(Debug, PartialEq, Eq)]
pub struct Owner {
    pub user: u32,
    pub group: u32,
    pub groups: Vec<u32>,
}

#[derive(Debug)]
pub struct ProgramCall {
    pub paths: Vec<CString>,
    pub words: Vec<CString>,
    pub environment: Vec<CString>,
    pub directory: CString,
    pub input: Option<CString>,
    pub owner: Option<Owner>,
}

impl ProgramCall {
    /// Finds the program, and prepares its environment and owner.
    pub fn new(execution: &Execution<'_>) -> io::Result<Self> {
        let Some(program) = execution.words.first().filter(|program| !program.is_empty()) else {
            let message = "no program given; specify the program and its arguments";
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        // `None` without a caller; the inner option is empty if the caller has no name.
        let account = execution.caller.map(|caller| account(&passwords(), caller.user));
        let is_passed = |(name, _): &(OsString, OsString)| {
            execution.passed.iter().any(|passed| OsStr::new(passed) == name)
        };
        let inherited = std::env::vars_os().filter(is_passed);
        let variables = variables(inherited, account.as_ref(), execution.environment);
        let paths = candidate_paths(program, variables.get(OsStr::new("PATH")));
        if paths.is_empty() {
            return Err(absent(program, execution.directory));
        }
        let name = account.flatten().map(|account| account.name);
        Ok(Self {
            paths: c_strings(paths.into_iter().map(OsString::from))?,
            words: c_strings(execution.words.iter().map(OsString::from))?,
            environment: c_strings(
                variables.into_iter().map(|(name, value)| assignment(name, value)),
            )?,
            directory: c_string(execution.directory.into())?,
            input: execution.input.map(|path| c_string(path.into())).transpose()?,
            owner: execution.caller.map(|caller| owner(caller, name)).transpose()?,
        })
    }

    /// Names the step that failed, and a fix.
    pub fn explain(&self, failed: &NotStarted) -> io::Error {
        let (error, kind) = (&failed.error, failed.error.kind());
        let shown = |text: &CString| text.to_string_lossy().into_owned();
        let program = self.words.first().map(shown).unwrap_or_default();
        let directory = shown(&self.directory);
        let input = self.input.as_ref().map(shown).unwrap_or_default();
        let who =
            self.owner.as_ref().map_or("this user".to_owned(), |o| format!("user {}", o.user));
        let message = match (failed.step, kind) {
            (Step::Program, ErrorKind::NotFound) => {
                return absent(&program, Path::new(&directory));
            }
            // An inaccessible directory in PATH is not the reason.
            (Step::Program, ErrorKind::PermissionDenied) if !self.exists() => {
                return absent(&program, Path::new(&directory));
            }
            (Step::Program, ErrorKind::PermissionDenied) => format!(
                "cannot start `{program}`: {who} may not execute it; make it executable with `chmod +x`"
            ),
            (Step::Program, _) => format!("cannot start `{program}`: {error}"),
            (Step::Directory, ErrorKind::NotFound) => {
                format!(
                    "the directory {directory} does not exist; create the directory or use another"
                )
            }
            (Step::Directory, _) => format!(
                "the directory {directory} is inaccessible to {who}: {error}; use another directory"
            ),
            (Step::Input, _) => format!(
                "{input}, the input of `{program}`, is inaccessible to {who}: {error}; use a readable file"
            ),
            (Step::Terminal, _) => format!(
                "{input} is a terminal, which a measured program cannot use; give a file that `{program}` can read"
            ),
            (Step::Owner, _) => format!(
                "cannot start `{program}` as {who}: {error}; run assay as root, or start the program as yourself"
            ),
            (Step::Process | Step::Group, _) => {
                format!(
                    "cannot create a process for `{program}`: {error}; end other processes and try again"
                )
            }
        };
        io::Error::new(kind, message)
    }

    fn exists(&self) -> bool {
        let directory = Path::new(OsStr::from_bytes(self.directory.as_bytes()));
        let full = |path: &CString| directory.join(OsStr::from_bytes(path.as_bytes()));
        self.paths.iter().any(|path| full(path).symlink_metadata().is_ok())
    }
}

/// Explains why the kernel found no file to execute.
fn absent(program: &str, directory: &Path) -> io::Error {
    let why = if !program.contains('/') {
        "no such program in PATH; check its name, install it, or give its full path".to_owned()
    } else if directory.join(program).exists() {
        "its interpreter (first line of the script) or loader is missing; install the missing program".to_owned()
    } else {
        format!("no such file relative to {}; check its path", directory.display())
    };
    io::Error::new(ErrorKind::NotFound, format!("cannot start `{program}`: {why}"))
}

/// Candidate paths of a program, in the order of a shell. Absolute paths that do not exist are left out.
fn candidate_paths(program: &str, path: Option<&OsString>) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![program.into()];
    }
    let path = path.map_or(OsStr::new(USUAL_PATH), OsString::as_os_str);
    let is_missing = |error: io::Error| error.kind() == ErrorKind::NotFound;
    let is_absent =
        |path: &PathBuf| path.is_absolute() && path.symlink_metadata().is_err_and(is_missing);
    // An empty entry is the working directory.
    let directories = std::env::split_paths(path);
    directories.map(|directory| directory.join(program)).filter(|path| !is_absent(path)).collect()
}

/// Environment of a program: that of this process, the caller's identity, and additions.
fn variables(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    account: Option<&Option<Account>>,
    added: &[(String, String)],
) -> Variables {
    let mut variables: Variables = inherited.collect();
    if let Some(account) = account {
        // Even if a study passes them: they describe sudo, not this program.
        variables.retain(|name, _| !name.as_bytes().starts_with(b"SUDO_"));
        let had_mail = variables.contains_key(OsStr::new("MAIL"));
        variables.retain(|name, _| IDENTITY.iter().all(|removed| name != removed));
        let identity = account.iter().flat_map(|account| account.variables(had_mail));
        variables.extend(identity.map(|(name, value)| (name.into(), value.into())));
    }
    variables.extend(added.iter().map(|(name, value)| (name.into(), value.into())));
    variables
}

#[derive(Debug, PartialEq, Eq)]
struct Account {
    name: String,
    home: String,
    shell: String,
}

impl Account {
    fn variables(&self, has_mail: bool) -> Vec<(&'static str, String)> {
        let mail = has_mail.then(|| ("MAIL", format!("{MAILBOXES}/{}", self.name)));
        let own = [
            ("HOME", self.home.clone()),
            ("LOGNAME", self.name.clone()),
            ("SHELL", self.shell.clone()),
            ("USER", self.name.clone()),
        ];
        own.into_iter().chain(mail).collect()
    }
}

fn passwords() -> String {
    // Without the file, no user has a name.
    std::fs::read("/etc/passwd")
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// Finds the account of a user ID in the text of a passwd file.
fn account(table: &str, user: u32) -> Option<Account> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, home, shell] = fields[..] else { return None };
        let shell = if shell.is_empty() { "/bin/sh" } else { shell };
        let account =
            || Account { name: name.to_owned(), home: home.to_owned(), shell: shell.to_owned() };
        (id.parse() == Ok(user)).then(account)
    })
}

/// Returns the identity that a program runs with. The group lists name users, so a user without a name is in none.
fn owner(caller: Caller, name: Option<String>) -> io::Result<Owner> {
    let Caller { user, group } = caller;
    let groups = match name {
        Some(name) => assay_sys::groups_of(&c_string(name.into())?, group),
        None => vec![group],
    };
    Ok(Owner { user, group, groups })
}

fn assignment(mut name: OsString, value: OsString) -> OsString {
    name.push("=");
    name.push(value);
    name
}

fn c_strings(texts: impl Iterator<Item = OsString>) -> io::Result<Vec<CString>> {
    texts.map(c_string).collect()
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(|error| {
        let message =
            "an argument, path or variable of the program contains a zero byte; remove the byte";
        io::Error::new(ErrorKind::InvalidInput, format!("{message} ({error})"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "root:x:0:0:root:/root:/bin/bash\nana:x:1000:1000:Ana,,,:/home/ana:\n";

    fn list(variables: &Variables) -> String {
        let shown = |(name, value): (&OsString, &OsString)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        };
        variables.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn under_sudo() -> impl Iterator<Item = (OsString, OsString)> {
        let set = [
            ("HOME", "/root"),
            ("LANG", "C"),
            ("MAIL", "/var/mail/root"),
            ("SUDO_UID", "1000"),
            ("SUDO_COMMAND", "/usr/bin/assay"),
            ("USER", "root"),
        ];
        set.into_iter().map(|(name, value)| (name.into(), value.into()))
    }

    #[test]
    fn the_environment_of_the_caller_names_the_caller_alone() {
        let added = [("LANG".to_owned(), "de".to_owned())];
        let account = account(TABLE, 1000);
        let variables = variables(under_sudo(), Some(&account), &added);
        let expected =
            "HOME=/home/ana LANG=de LOGNAME=ana MAIL=/var/mail/ana SHELL=/bin/sh USER=ana";
        assert_eq!(list(&variables), expected);
    }

    #[test]
    fn a_caller_without_a_name_has_no_home() {
        assert_eq!(list(&variables(under_sudo(), Some(&account(TABLE, 7)), &[])), "LANG=C");
    }

    #[test]
    fn without_a_caller_the_environment_is_this_process_s() {
        let kept = list(&variables(under_sudo(), None, &[]));
        assert!(kept.contains("SUDO_UID=1000") && kept.contains("HOME=/root"), "{kept}");
    }

    #[test]
    fn a_path_is_taken_as_it_is_and_a_name_is_looked_for() {
        assert_eq!(candidate_paths("./x", None), [PathBuf::from("./x")]);
        let path = OsString::from("/no/such/place:/bin::/usr/bin");
        let found = candidate_paths("sh", Some(&path));
        assert_eq!(found, ["/bin/sh", "sh", "/usr/bin/sh"].map(PathBuf::from));
        assert!(candidate_paths("assay-no-such-program", None).is_empty());
    }
}
