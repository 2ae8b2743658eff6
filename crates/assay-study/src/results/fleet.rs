//! Fleet data of results. A rank's result has its rank; the fleet's result lists the hosts.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// Drawn by rank 0: equal in the results of all ranks.
    pub id: String,
    pub ranks: u32,
    /// Rank of this result; `None` for the merged one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Name of this rank's host in its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of order and configurations, without the targets: equal on all ranks.
    pub order_sha256: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_one_machine: Vec<Vec<u32>>,
    /// Connections that were turned away: they did not know the token, or talked nonsense.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub turned_away: u64,
}

impl Fleet {
    pub fn is_of_all(&self) -> bool {
        self.rank.is_none()
    }

    pub fn lost(&self) -> impl Iterator<Item = (&Host, &Lost)> {
        self.hosts.iter().filter_map(|host| Some((host, host.lost.as_ref()?)))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub rank: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<HostSaid>,
}

impl Host {
    pub fn words(&self) -> String {
        words(self.rank, &self.name)
    }
}

pub fn words(rank: u32, name: &str) -> String {
    if name.is_empty() { format!("rank {rank}") } else { format!("rank {rank} ({name})") }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Position of the trial in which that was, or of the next one.
    pub order: u32,
    pub replicate: u32,
    pub why: String,
}

impl Lost {
    /// When and why: `trial 4: its connection is closed`.
    pub fn words(&self) -> String {
        format!("trial {}: {}", self.order.saturating_add(1), self.why)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSaid {
    /// Index into `Plan::workloads`.
    pub workload: usize,
    pub rule: String,
    pub trust: String,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Nanoseconds from the common start to the window; for all hosts, to the last start.
    pub since_go_ns: u64,
    pub of: u32,
    /// Share of each host; empty in the record of one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Share>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    pub rank: u32,
    pub name: String,
    /// Start of its window, nanoseconds since the common start.
    pub since_go_ns: u64,
    pub window_ns: u64,
    pub operations: u64,
    pub bytes: u64,
    /// Operations per second in the window that all hosts share.
    pub operations_per_s: f64,
    pub bytes_per_s: f64,
}

impl Share {
    /// End of its window, nanoseconds since the common start.
    pub const fn ended_ns(&self) -> u64 {
        self.since_go_ns.saturating_add(self.window_ns)
    }
}

impl Together {
    /// Rate of all hosts over the common window; `None` for a metric that is not a sum of rates.
    pub fn rate(&self, metric: &str) -> Option<f64> {
        let rate_of: fn(&Share) -> f64 = match metric {
            "iops" => |share| share.operations_per_s,
            "bandwidth_bytes_per_s" => |share| share.bytes_per_s,
            _ => return None,
        };
        (!self.hosts.is_empty()).then(|| self.hosts.iter().map(rate_of).sum())
    }

    /// Common window as a share of the longest one; `None` for one host.
    pub fn shared(&self) -> Option<f64> {
        let from = self.hosts.iter().map(|share| share.since_go_ns).max()?;
        let to = self.hosts.iter().map(Share::ended_ns).min()?;
        let longest = self.hosts.iter().map(|share| share.window_ns).max()?;
        Some(to.saturating_sub(from) as f64 / longest.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(rank: u32, since_go_ns: u64, rate: f64) -> Share {
        Share {
            rank,
            since_go_ns,
            window_ns: 1000,
            operations_per_s: rate,
            bytes_per_s: rate * 4096.0,
            ..Share::default()
        }
    }

    #[test]
    fn rates_are_sums_and_nothing_else_is() {
        let hosts = vec![share(0, 0, 10.0), share(1, 50, 30.0)];
        let whole = Together { since_go_ns: 50, of: 2, hosts };
        assert_eq!(whole.rate("iops"), Some(40.0));
        assert_eq!(whole.rate("bandwidth_bytes_per_s"), Some(163_840.0));
        assert_eq!(whole.rate("latency_p99_ns"), None);
        assert_eq!(Together::default().rate("iops"), None, "one host alone tells its own");
    }

    #[test]
    fn what_is_shared_is_told_of_the_longest_window() {
        let of = |hosts| Together { since_go_ns: 0, of: 2, hosts }.shared();
        assert_eq!(of(vec![share(0, 0, 1.0), share(1, 50, 1.0)]), Some(0.95));
        assert_eq!(of(vec![share(0, 0, 1.0), share(1, 5000, 1.0)]), Some(0.0));
        assert_eq!(of(Vec::new()), None);
    }
}
