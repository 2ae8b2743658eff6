//! The network lab: client, router with a slow link and a deep buffer, and server, each in its own namespace.

use super::BitRate;
use crate::system::Act;

pub const CLIENT: &str = "assay-client";
pub const ROUTER: &str = "assay-router";
pub const SERVER: &str = "assay-server";
pub const SPACES: [&str; 3] = [CLIENT, ROUTER, SERVER];
pub const INTERFACE: &str = "to-router";
const TO_CLIENT: &str = "to-client";
const TO_SERVER: &str = "to-server";
pub const ADDRESS: &str = "10.83.2.2:7710";
/// Lock for creating the lab, because its names are fixed.
pub const LOCK: &str = "link-lab";
pub const PLACE: &str = "/run/netns";

/// The slow link, up: that of the article.
pub const UP: BitRate = BitRate(5_000_000);
/// Bytes of its buffer: 600 ms.
pub const UP_BYTES: u64 = 375_000;
pub const DOWN: BitRate = BitRate(20_000_000);
/// Bytes of its buffer: 20 ms.
pub const DOWN_BYTES: u64 = 50_000;
/// Bytes that the modem sends at once: two packets. More would hide the queue for a while.
const BURST: u64 = 3028;

pub fn words() -> String {
    format!(
        "three network namespaces ({CLIENT}, {ROUTER}, {SERVER}) with a link of {UP} up (buffer: {UP_BYTES} bytes) \
         and {DOWN} down (buffer: {DOWN_BYTES} bytes)"
    )
}

fn run(line: &str) -> Act {
    let mut words = line.split_whitespace().map(str::to_owned);
    Act::Run { program: words.next().unwrap_or_default(), arguments: words.collect() }
}

pub fn make(name: &str) -> Act {
    run(&format!("ip netns add {name}"))
}

pub fn remove(name: &str) -> Act {
    run(&format!("ip netns del {name}"))
}

/// `ip` arguments that list the active interfaces of a namespace.
pub const fn shows_up(name: &str) -> [&str; 6] {
    ["-n", name, "-brief", "link", "show", "up"]
}

/// First listed interface that is not part of the lab.
pub fn strange(shown: &str) -> Option<&str> {
    let mut names = shown.lines().filter_map(|line| line.split([' ', '@']).next());
    names.find(|name| !["", "lo", INTERFACE, TO_CLIENT, TO_SERVER].contains(name))
}

/// Acts inside of the namespaces after their creation; undone with the namespaces.
pub fn furnish() -> Vec<Act> {
    let mut lines = Vec::new();
    for (space, device) in [(CLIENT, TO_CLIENT), (SERVER, TO_SERVER)] {
        lines.push(format!(
            "ip -n {space} link add {INTERFACE} type veth peer name {device} netns {ROUTER}"
        ));
    }
    let ends = [
        (CLIENT, INTERFACE, "10.83.1.2/24"),
        (ROUTER, TO_CLIENT, "10.83.1.1/24"),
        (ROUTER, TO_SERVER, "10.83.2.1/24"),
        (SERVER, INTERFACE, "10.83.2.2/24"),
    ];
    for (space, device, address) in ends {
        lines.push(format!("ip -n {space} addr add {address} dev {device}"));
        // One segment per packet: with offloads each "packet" in a short queue has 64 KiB, which hides the effect.
        lines.push(format!("ip -n {space} link set dev {device} gso_max_segs 1"));
        lines.push(format!("ip -n {space} link set dev {device} up"));
    }
    lines.push(format!("ip -n {CLIENT} route add default via 10.83.1.1"));
    lines.push(format!("ip -n {SERVER} route add default via 10.83.2.1"));
    lines.push(format!("ip netns exec {ROUTER} sysctl -q -w net.ipv4.ip_forward=1"));
    for (device, rate, bytes) in [(TO_SERVER, UP.0, UP_BYTES), (TO_CLIENT, DOWN.0, DOWN_BYTES)] {
        lines.push(format!(
            "tc -n {ROUTER} qdisc add dev {device} root tbf rate {rate}bit burst {BURST} limit {bytes}"
        ));
    }
    lines.iter().map(|line| run(line)).collect()
}
