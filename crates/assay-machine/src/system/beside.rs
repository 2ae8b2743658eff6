//! Other running studies: each has a name among the abstract sockets, which disappears with its process.

use std::path::Path;

use super::System;

/// Prefix of the name of a study's lock; the process ID follows.
pub const STUDY: &str = "study-";
/// Prefix of the socket name of any lock.
pub const SHOWN: &str = "assay-lock-";
const SOCKETS: &str = "/proc/net/unix";

/// Name of the lock that marks this process as running a study.
pub fn name(system: &dyn System) -> String {
    format!("{STUDY}{}", system.user().process)
}

/// Other processes that run a study, by the abstract socket that each opens; sorted. Empty if unknown.
pub fn others(system: &dyn System) -> Vec<u32> {
    let text = system.read_text(Path::new(SOCKETS)).unwrap_or_default();
    let own = system.user().process;
    let prefix = format!("@{SHOWN}{STUDY}");
    // The eighth column is the name; `@` marks an abstract socket.
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(7));
    let processes = names.filter_map(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok());
    let mut found: Vec<u32> = processes.filter(|process| *process != own).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn others_are_seen_by_their_names_and_this_process_is_none() {
        let fake = Fake::new();
        assert_eq!(others(&fake), [0; 0]);
        let own = name(&fake);
        fake.put(
            SOCKETS,
            format!(
                "Num       RefCount Protocol Flags    Type St Inode Path\n\
                 0000000000000000: 00000002 00000000 00010000 0001 01 11 @assay-lock-study-4712\n\
                 0000000000000000: 00000003 00000000 00000000 0001 03 12 @assay-lock-study-4712\n\
                 0000000000000000: 00000002 00000000 00010000 0001 01 13 @assay-lock-{own}\n\
                 0000000000000000: 00000002 00000000 00010000 0001 01 14 @assay-lock-8:0\n\
                 0000000000000000: 00000002 00000000 00010000 0001 01 15 /run/systemd/notify\n\
                 0000000000000000: 00000002 00000000 00010000 0001 01 16\n"
            ),
        );
        assert_eq!(others(&fake), [4712]);
    }
}
