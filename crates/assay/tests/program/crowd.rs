//! `assay serve` among those who are slow on purpose: an honest request is answered all the same.
//! Nothing of this asks for a token. At night there are a thousand of them.

use std::net::Ipv4Addr;
use std::time::Duration;

use assay_lab::crowd::{Crowd, Habit, honest};
use assay_lab::home::Home;
use assay_lab::needs;
use assay_lab::server::Server;

use crate::{DEPTH, DRIVE, home};

/// Longest time for an honest request on a busy machine. A quiet machine takes a second; the crowd would hold it up for a
/// minute.
const PROMISED: Duration = Duration::from_secs(10);
/// Tries of which the best counts.
const TRIES: usize = 5;
/// Bytes of memory that the server never reaches.
const MOST_MEMORY: u64 = 100_000_000;

/// A server with one result, whose page is asked for.
struct Bench {
    server: Server,
    /// The page of the result.
    page: String,
    _home: Home,
}

fn bench(test: &str) -> Bench {
    let home = home(test);
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json"]);
    let page = format!("/result/{}", found["study"]["id"].as_str().unwrap());
    let server = Server::start(&home, "127.0.0.1:0");
    assert_eq!(server.get(&page).status, 200);
    Bench { server, page, _home: home }
}

/// Addresses of this machine, the first so many.
fn addresses(count: u8) -> Vec<Ipv4Addr> {
    (1..=count).map(|last| Ipv4Addr::new(127, 0, 0, last)).collect()
}

/// Asks honestly from each of the addresses of the crowd.
fn assert_answers(bench: &Bench, addresses: &[Ipv4Addr]) {
    for (from, path) in addresses.iter().flat_map(|from| [(from, "/"), (from, &*bench.page)]) {
        let tries = (0..TRIES).map(|_| honest(*from, bench.server.browser.port, path));
        let times: Vec<Option<Duration>> = tries.map(|found| found.map(|(time, _)| time)).collect();
        let best = times.iter().flatten().min();
        assert!(best.is_some_and(|time| *time <= PROMISED), "{path} from {from}: {times:?}");
    }
}

/// As many clients of two habits, for so many seconds.
fn crowded(test: &str, count: u8, habits: [Habit; 2]) {
    let bench = bench(test);
    let addresses = addresses(count);
    let each = needs::count(150, 500) as usize;
    let habits = habits.map(|habit| (habit, each));
    let crowd = Crowd::begin(bench.server.browser.port, &addresses, &habits, &bench.page);
    let rounds = needs::count(4, 40) as usize;
    for round in (2..=rounds).step_by(2) {
        crowd.wait(round);
        assert_answers(&bench, &addresses);
    }
    assert!(crowd.sent_away() > 0, "there were places for all of them");
    drop(crowd);
    let memory = bench.server.most_memory();
    assert!(memory < MOST_MEMORY, "{memory} bytes");
    bench.server.stop();
}

#[test]
fn an_honest_request_is_answered_among_slow_ones_from_eight_addresses() {
    crowded("crowd-eight", 8, [Habit::SendsOneByte, Habit::ReadsOneByte]);
}

#[test]
fn an_honest_request_is_answered_among_slow_ones_from_its_own_address() {
    crowded("crowd-one", 1, [Habit::SendsOneByte, Habit::ReadsOneByte]);
}

#[test]
#[ignore = "nightly: 1 s"]
fn who_asks_and_never_reads_stops_nobody() {
    crowded("crowd-deaf", 1, [Habit::NeverReads, Habit::NeverReads]);
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: a minute"]
    fn who_never_reads_is_sent_away() {
        let bench = bench("crowd-limit");
        let port = bench.server.browser.port;
        // A few, who would all have room: the time limit alone sends them away.
        let crowd = Crowd::begin(port, &addresses(1), &[(Habit::NeverReads, 5)], &bench.page);
        assert_eq!(crowd.sent_away(), 0);
        crowd.wait(20);
        assert!(crowd.sent_away() >= 5, "{}", crowd.sent_away());
        drop(crowd);
        bench.server.stop();
    }
}
