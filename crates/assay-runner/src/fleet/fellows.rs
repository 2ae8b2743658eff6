//! Finds ranks on the same machine: they are not other studies, and they share drives.

use std::collections::BTreeMap;

use super::message::Process;

pub type Sharing = Vec<(u32, u32)>;

/// Groups the ranks that run on the same machine. A rank that cannot identify its machine is in no group.
pub fn shared_machines(ranks: impl IntoIterator<Item = (u32, Process)>) -> Vec<Sharing> {
    let mut machines: BTreeMap<String, Sharing> = BTreeMap::new();
    for (rank, Process { machine, id }) in ranks {
        if !machine.is_empty() {
            machines.entry(machine).or_default().push((rank, id));
        }
    }
    machines.into_values().filter(|machine| machine.len() > 1).collect()
}

/// Returns the processes of the other ranks on the machine of a rank.
pub fn fellow_processes(machines: &[Sharing], rank: u32) -> Vec<u32> {
    let own = machines.iter().find(|machine| machine.iter().any(|(there, _)| *there == rank));
    let others = own.into_iter().flatten().filter(|(there, _)| *there != rank);
    others.map(|(_, process)| *process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_machine_knows_the_others_and_nobody_else() {
        let ranks = [("a", 10), ("b", 10), ("a", 12), ("", 10), ("", 11), ("a", 9)];
        let ranks = ranks.map(|(machine, id)| Process { machine: machine.to_owned(), id });
        let found = shared_machines((0..).zip(ranks));
        assert_eq!(found, [vec![(0, 10), (2, 12), (5, 9)]]);
        assert_eq!(fellow_processes(&found, 0), [12, 9]);
        assert_eq!(fellow_processes(&found, 5), [10, 12]);
        for alone in [1, 3, 4, 7] {
            assert_eq!(fellow_processes(&found, alone), [0; 0], "{alone}");
        }
    }
}
