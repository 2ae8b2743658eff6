//! A network study in namespaces, killed at random moments: afterwards `assay restore` must leave no namespace,
//! discipline or process.

use super::rounds::{self, Victim};
use super::{KillPlan, Kills, write_study};
use crate::process::Assay;
use crate::{Done, Scratch, call};

/// A link with and without shaping; short trials are enough.
const STUDY: &str = r#"
replicates = 3
[factors]
shaper = ["none", "80%", "95%"]

[[workload]]
name    = "link"
network = { peer = "local", interface = "to-router", phases = ["idle", "up"], phase_time = "1 s", probe_interval = "10 ms" }
"#;

pub(super) fn kill(plan: KillPlan<'_>) -> Done<Kills> {
    let scratch = Scratch::new("kills-network")?;
    let home = scratch.home()?;
    let path = write_study(&scratch, "link", STUDY)?;
    let runs = vec![["run", &path, "--quiet"].map(str::to_owned).to_vec()];
    let hosts = vec![Assay::new(plan.program, &home)];
    rounds::kill(
        &Victim { hosts, runs, fleet: None, measures_each: true, condition: &condition },
        plan,
    )
}

/// Name spaces, links, queueing disciplines and mounts.
fn condition() -> Done<String> {
    let spaces = call("ip", &["netns", "list"])?;
    let links = call("ip", &["-brief", "link", "show"])?;
    // Their state may change by itself.
    let mut links: Vec<&str> =
        links.lines().filter_map(|line| line.split_whitespace().next()).collect();
    links.sort_unstable();
    let queues = call("tc", &["qdisc", "show"])?;
    let mounts = std::fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let of_spaces = mounts.lines().filter(|line| line.contains(" /run/netns ")).count();
    Ok(format!("{}\n{}\n{}\n{of_spaces}", spaces.trim(), links.join("\n"), queues.trim()))
}
