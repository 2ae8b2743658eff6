//! `assay serve` as a browser or an attacker meets it: plain HTTP over a socket, real studies, no
//! root.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_lab::Scratch;
use assay_lab::home::Home;
use assay_lab::hostile::{self, ALIVE, Expect};
use assay_lab::needs;
use assay_lab::process::Running;
use assay_lab::server::Server;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{DEPTH, DRIVE, home};

/// Nothing of these tests takes longer.
const LIMIT: Duration = Duration::from_secs(60);
/// Bytes of the largest page.
const LARGEST: usize = 2 << 20;

fn results(home: &Home) -> PathBuf {
    home.assay.home().join("results")
}

/// A simulated study that has run, by its id.
fn good(home: &Home) -> String {
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json"]);
    found["study"]["id"].as_str().unwrap().to_owned()
}

/// A study of 24 trials that takes some seconds, in memory.
struct Going {
    running: Running,
    id: String,
    /// Where it runs.
    _target: Scratch,
    _turn: std::fs::File,
}

/// Whether another study is under way in the same place.
fn is_busy(said: &str) -> bool {
    said.contains("is being measured")
}

/// Starts one and waits for its first trial. Another study in memory is waited for.
fn going(home: &Home, replicates: u32) -> Going {
    let turn = crate::turn();
    let target = Scratch::new("serve").unwrap();
    let folder = target.path().display().to_string();
    let long = DEPTH.replace("replicates = 3", &format!("replicates = {replicates}"));
    let study = home.file("long.toml", long + "[area]\nsize = \"16 MiB\"\n");
    let began = Instant::now();
    loop {
        let mut running = home.assay.start(&["run", &study, &folder, "--quiet"]).unwrap();
        let mut found = None;
        let first = running.until(LIMIT, || {
            let names = fs::read_dir(results(home)).into_iter().flatten().flatten();
            found = names.map(|entry| entry.path()).find(|path| path.join("trials.jsonl").exists());
            found.is_some()
        });
        if let (Ok(()), Some(path)) = (first, found) {
            let id = path.file_name().unwrap().to_string_lossy().into_owned();
            return Going { running, id, _target: target, _turn: turn };
        }
        let said = running.end(LIMIT).unwrap().stderr;
        assert!(is_busy(&said) && began.elapsed() < LIMIT, "{said}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn results_are_listed_shown_and_compared() {
    let home = home("serve-list");
    let mut ids = [good(&home), good(&home)];
    ids.sort_unstable();
    let [one, two] = ids;
    home.text(&["note", &two, "--title", "the other card"]);
    let server = Server::start(&home, "127.0.0.1:0");
    assert!(server.address.starts_with("http://127.0.0.1:"), "{}", server.address);
    let list = server.get("/");
    assert_eq!(list.status, 200);
    for part in
        [&one, &two, "the other card", "Which depth?", "study", "complete", "9 trials", DRIVE]
    {
        assert!(list.body.contains(part), "{part}: {}", list.body);
    }
    let found = server.get("/?q=OTHER+card&kind=study").body;
    assert!(found.contains(&two) && !found.contains(&one) && found.contains("1 of 2 results"));
    assert!(server.get("/?q=nothing-is-called-so").body.contains("0 of 2 results"));
    assert!(server.get("/?kind=check").body.contains("0 of 2 results"));
    let result = server.get(&format!("/result/{one}"));
    assert_eq!(result.status, 200);
    assert!(result.body.contains("Which depth?") && result.body.contains("better"));
    let compared = server.get(&format!("/compare?id={two}&id={one}&order=date"));
    assert_eq!(compared.status, 200, "{}", compared.body);
    assert!(compared.body.contains(&format!("{two} against {one}")), "{}", compared.body);
    for (query, status) in [("", 400), ("?id=a", 400), (&*format!("?id={one}&id={one}"), 404)] {
        assert_eq!(server.get(&format!("/compare{query}")).status, status, "{query}");
    }
    let live = server.get(&format!("/live/{one}"));
    assert!(live.body.contains("ended with its last trial") && live.body.contains(">9 of 9<"));
    for (asset, kind) in [("page.css", "css"), ("live.js", "javascript"), ("list.js", "javascript")]
    {
        let found = server.get(&format!("/assets/{asset}"));
        assert_eq!(found.status, 200);
        assert!(found.header("content-type").unwrap().contains(kind), "{asset}");
    }
    server.stop();
}

#[test]
fn a_page_is_kept_as_long_as_its_result_stays_the_same() {
    let home = home("serve-kept");
    let id = good(&home);
    let server = Server::start(&home, "127.0.0.1:0");
    let path = format!("/result/{id}");
    let first = server.get(&path);
    assert_eq!(server.get(&path).body, first.body);
    let packed =
        server.browser.ask("GET", &path, &server.browser.host(), &["Accept-Encoding: gzip"]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let bytes: usize = packed.header("content-length").unwrap().parse().unwrap();
    assert!(bytes < first.body.len() / 2 && !packed.body.contains("Which depth?"), "{bytes}");
    assert_eq!(packed.header("content-security-policy"), first.header("content-security-policy"));
    // A page that is kept does not need what it was made of, but is no longer told of what is gone.
    let histograms = results(&home).join(&id).join("histograms");
    let aside = results(&home).join("aside");
    fs::rename(&histograms, &aside).unwrap();
    assert_eq!(server.get(&path).body, first.body);
    fs::rename(&aside, &histograms).unwrap();
    home.text(&["note", &id, "--title", "the other card"]);
    assert!(server.get(&path).body.contains("the other card"));
    home.text(&["note", &id, "taken on a train"]);
    assert!(server.get(&path).body.contains("taken on a train"));
    fs::rename(results(&home).join(&id), home.scratch.path().join("gone")).unwrap();
    assert_eq!(server.get(&path).status, 404);
    server.stop();
}

#[test]
fn pages_run_nothing_that_they_did_not_bring() {
    let home = home("serve-headers");
    let id = good(&home);
    let server = Server::start(&home, "127.0.0.1:0");
    let paths =
        ["/".to_owned(), format!("/result/{id}"), format!("/live/{id}"), "/nothing".to_owned()];
    for path in paths {
        let answer = server.get(&path);
        let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{path}: {name}"));
        let policy = header("content-security-policy");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert!(!answer.body.contains("style=\""), "{path}");
    }
    // What stands in a page itself is named by its hash in the policy.
    let page = server.get(&format!("/result/{id}"));
    let policy = page.header("content-security-policy").unwrap();
    for tag in ["style", "script"] {
        for part in page.body.split(&format!("<{tag}>")).skip(1) {
            let text = part.split(&format!("</{tag}>")).next().unwrap();
            let hash = STANDARD.encode(Sha256::digest(text.as_bytes()));
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{tag}: {policy}");
        }
    }
    server.stop();
}

#[test]
fn only_this_machine_asks_and_only_for_reading() {
    let home = home("serve-guard");
    let id = good(&home);
    let server = Server::start(&home, "127.0.0.1:0");
    let browser = &server.browser;
    let port = browser.port;
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), format!("127.0.0.1:{port}")]
    {
        assert_eq!(browser.ask("GET", "/", &host, &[]).status, 200, "{host}");
    }
    let foreign =
        [format!("evil.example:{port}"), "evil.example".to_owned(), "127.0.0.1:1".to_owned()];
    for host in foreign {
        let refused = browser.ask("GET", "/", &host, &[]);
        assert_eq!(refused.status, 421, "{host}");
        assert!(!refused.body.contains(&id) && refused.body.contains("127.0.0.1"), "{host}");
    }
    let own = browser.host();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"] {
        let refused = browser.ask(method, "/", &own, &[]);
        assert_eq!(refused.status, 405, "{method}");
        assert_eq!(refused.header("allow").unwrap(), "GET, HEAD");
    }
    assert_eq!(browser.ask("GET", "/", &own, &["Content-Length: 5"]).status, 413);
    assert_eq!(browser.ask("GET", "/", &own, &["Transfer-Encoding: chunked"]).status, 413);
    let head = browser.ask("HEAD", "/", &own, &[]);
    assert!(head.status == 200 && head.body.is_empty());
    // Too long: refused before or instead of being read.
    let long = format!("/{}", "x".repeat(9000));
    assert_eq!(server.get(&long).status, 414);
    let giant = format!("X-Giant: {}", "x".repeat(100_000));
    assert_eq!(browser.ask("GET", "/", &own, &[&giant]).status, 431);
    assert_eq!(browser.raw("nonsense\r\n\r\n").status, 400);
    assert_eq!(browser.raw("GET / HTTP/1.0\r\n\r\n").status, 421, "no host");
    assert_eq!(server.get("/").status, 200, "it goes on");
    server.stop();
}

#[test]
fn nothing_outside_of_the_results_is_reached() {
    let home = home("serve-paths");
    let id = good(&home);
    let outside = home.scratch.path().join("outside");
    hostile::copy(&results(&home).join(&id), &outside);
    symlink(&outside, results(&home).join("20260101-000000-link")).unwrap();
    let inner = results(&home).join("20260101-000000-inner");
    hostile::copy(&outside, &inner);
    fs::remove_file(inner.join("study.toml")).unwrap();
    symlink("/etc/passwd", inner.join("study.toml")).unwrap();
    let server = Server::start(&home, "127.0.0.1:0");
    let absolute = outside.display().to_string().replace('/', "%2F");
    for name in [
        "..",
        ".",
        "%2e%2e",
        "..%2f..%2foutside",
        "%2e%2e%2f%2e%2e%2foutside",
        &*absolute,
        &*format!("{id}%00"),
        &*format!("{id}/plan.json"),
        &*format!("{id}%2f"),
        &*format!("./{id}"),
        &id[..15],
        "%ff%fe",
        "%",
        "",
    ] {
        for page in ["result", "live"] {
            let answer = server.get(&format!("/{page}/{name}"));
            assert_eq!(answer.status, 404, "{page}/{name}");
            assert!(!answer.body.contains("Which depth?"), "{name}");
        }
    }
    for path in ["/../../etc/passwd", "//etc/passwd", "/assets/../plan.json", "/assets/%2e%2e%2fx"]
    {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for link in ["20260101-000000-link", "20260101-000000-inner"] {
        for page in ["result", "live"] {
            let refused = server.get(&format!("/{page}/{link}"));
            assert!([404, 503].contains(&refused.status), "{link}");
            assert!(refused.body.contains("link") && !refused.body.contains("root:"), "{link}");
        }
    }
    assert!(server.get("/").body.contains("20260101-000000-link is a link"));
    server.stop();
}

#[test]
fn others_need_the_secret() {
    let home = home("serve-token");
    let id = good(&home);
    let server = Server::start(&home, "0.0.0.0:0");
    let token = server.address.split("?token=").nth(1).expect("no secret was printed").to_owned();
    assert!(token.len() >= 32, "{token}");
    let refused = server.get("/");
    assert_eq!(refused.status, 401);
    assert!(!refused.body.contains(&id));
    assert_eq!(server.get(&format!("/?token={}", "0".repeat(token.len()))).status, 401);
    assert_eq!(server.get("/assets/live.js").status, 401);
    let admitted = server.get(&format!("/result/{id}?token={token}"));
    assert_eq!(admitted.status, 303);
    assert_eq!(admitted.header("location").unwrap(), format!("/result/{id}"));
    let cookie = admitted.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    let shown = server.browser.ask("GET", "/", &server.browser.host(), &[&cookie]);
    assert!(shown.status == 200 && shown.body.contains(&id));
    let evil = format!("evil.example:{}", server.browser.port);
    assert_eq!(server.browser.ask("GET", "/", &evil, &[&cookie]).status, 421);
    server.stop();
}

#[test]
fn a_place_that_cannot_be_had_is_told_in_a_line() {
    let home = home("serve-refused");
    let server = Server::start(&home, "127.0.0.1:0");
    let taken = format!("127.0.0.1:{}", server.browser.port);
    assert!(home.refused(3, &["serve", "--listen", &taken]).contains("another program"));
    for bad in ["nonsense", "127.0.0.1:99999", "evil.example:80", ""] {
        assert!(home.refused(2, &["serve", "--listen", bad]).contains("127.0.0.1:8642"), "{bad}");
    }
    // A documentation address, which no machine has.
    assert!(home.refused(3, &["serve", "--listen", "192.0.2.1:8642"]).contains("no such address"));
    assert!(server.get("/").body.contains("no result"));
    assert_eq!(fs::read_dir(home.assay.home()).unwrap().count(), 0, "the server wrote something");
    server.stop();
}

mod in_full {
    use super::*;

    #[test]
    #[ignore = "nightly: half a minute"]
    fn who_says_nothing_is_sent_away() {
        let home = home("serve-slow");
        let server = Server::start(&home, "127.0.0.1:0");
        let began = Instant::now();
        let begin = |_| server.browser.begin("GET / HTTP/1.1\r\nHost: ");
        let waits: Vec<_> = (0..20).map(begin).collect();
        assert_eq!(server.get("/").status, 200);
        for mut slow in waits {
            assert!(slow.ends_within(Duration::from_secs(25)), "still open");
        }
        assert!(began.elapsed() > Duration::from_secs(5));
        server.stop();
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn hostile_results_do_no_harm() {
    let home = home("serve-hostile");
    let id = good(&home);
    let cases = hostile::make(&results(&home), &results(&home).join(&id));
    let server = Server::start(&home, "127.0.0.1:0");
    let list = server.get("/");
    assert!(list.status == 200 && list.body.len() < LARGEST, "{}", list.body.len());
    assert!(ALIVE.iter().all(|alive| !list.body.contains(alive)));
    for case in cases {
        assert!(list.body.contains(&case.id), "{}", case.what);
        for page in ["result", "live"] {
            let answer = server.get(&format!("/{page}/{}", case.id));
            let (what, body) = (case.what, &answer.body);
            assert!(body.len() < LARGEST, "{page}, {what}: {} bytes", body.len());
            assert!(ALIVE.iter().all(|alive| !body.contains(alive)), "{page}, {what}");
            match case.expect {
                Expect::Shown => assert_eq!(answer.status, 200, "{page}, {what}: {body}"),
                // A study can be watched that cannot be judged.
                Expect::Refused(_) | Expect::OnlyHere(_) if page == "live" => {}
                Expect::Refused(word) | Expect::OnlyHere(word) => {
                    assert!([404, 503].contains(&answer.status), "{page}, {what}");
                    let word = if word == "no file" { "is no file" } else { word };
                    assert!(body.contains(word), "{page}, {what}: {body}");
                }
            }
        }
    }
    let damaged = server.get("/?kind=damaged").body;
    assert!(damaged.contains("assay-plan/9") && !damaged.contains(&format!("value=\"{id}\"")));
    server.stop();
}

#[test]
#[ignore = "nightly: 2 s"]
fn thousands_of_results_are_listed_and_searched() {
    let count = needs::count(2_000, 10_000) as usize;
    let home = home("serve-many");
    let id = good(&home);
    hostile::many(&results(&home), &results(&home).join(&id), count);
    let server = Server::start(&home, "127.0.0.1:0");
    let first = server.get("/");
    let all = format!("{},001 results", count / 1000);
    let pages = count / 100 + 1;
    assert!(first.body.contains(&all) && first.body.contains(&format!("Page 1 of {pages}")));
    assert!(first.body.len() < 1 << 20, "{}", first.body.len());
    assert!(server.get(&format!("/?page={pages}")).body.contains("20240101-000000-00000"));
    assert!(server.get("/?page=999999999999999999999").status == 200);
    let found = server.get("/?q=000000-01711").body;
    assert!(found.contains(&format!("1 of {all}")), "{found}");
    assert_eq!(server.get("/result/20240101-000000-01999").status, 503, "its histograms are gone");
    server.stop();
}

/// The number behind a name in a page's state.
fn number(state: &Value, name: &str) -> u64 {
    state[name].as_u64().unwrap_or_else(|| panic!("{name}: {state}"))
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_running_study_is_watched_across_a_restart_of_the_server() {
    let home = home("serve-live");
    let Going { running: study, id, _target, _turn } = going(&home, 8);
    let server = Server::start(&home, "127.0.0.1:0");
    let (port, live) = (server.browser.port, format!("/live/{id}"));
    assert!(server.get("/").body.contains(&format!("<a href=\"{live}\">running</a>")));
    let page = server.get(&live);
    assert!(page.body.contains("data-phase=\"running\"") && page.body.contains("Which depth?"));
    assert!(page.body.contains("of 24<") && page.body.contains("http-equiv=\"refresh\""));
    let mut rows: Vec<Value> = Vec::new();
    let mut last = String::new();
    {
        let mut events = server.browser.events(&format!("{live}/events?from=0"), None);
        while rows.len() < 6 {
            let (id, state) = events.next(LIMIT).expect("the study ended too early");
            assert_eq!(state["phase"], "running");
            assert_eq!(number(&state, "planned"), 24);
            assert!(state["now"].as_str().unwrap().contains("read with depth="), "{state}");
            assert!(number(&state, "left_s") < 60);
            rows.truncate(number(&state, "from") as usize);
            rows.extend(state["rows"].as_array().unwrap().clone());
            assert_eq!(rows.len() as u64, number(&state, "done"));
            last = id;
        }
    }
    server.stop();
    let server = Server::start(&home, &format!("127.0.0.1:{port}"));
    let mut events = server.browser.events(&format!("{live}/events?from=0"), Some(&last));
    let mut state = Value::Null;
    while let Some((_, next)) = events.next(LIMIT) {
        assert!(number(&next, "from") >= 6, "what was seen is sent again: {next}");
        rows.truncate(number(&next, "from") as usize);
        rows.extend(next["rows"].as_array().unwrap().clone());
        state = next;
    }
    assert_eq!(state["phase"], "ended", "{state}");
    assert_eq!(study.end(LIMIT).unwrap().code, 0);
    assert_eq!(rows.len(), 24);
    assert_eq!(rows[0][0], "warm-up");
    // Rows agree with what the findings say of the same trials.
    let found = home.json(&["show", &id, "--json"]);
    let cells = found["cells"].as_array().unwrap();
    let trials = cells.iter().filter(|cell| cell["metric"] == "iops");
    assert_eq!(trials.map(|cell| cell["trials"].as_array().unwrap().len()).sum::<usize>(), 24);
    assert!(rows.iter().all(|row| row[3].as_str().unwrap().ends_with(" IOPS")), "{rows:?}");
    let page = server.get(&live).body;
    assert!(page.contains("data-phase=\"ended\"") && page.contains(&format!("/result/{id}")));
    assert!(!page.contains("http-equiv=\"refresh\""));
    server.stop();
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_killed_study_is_told_from_a_running_one_and_goes_on() {
    let home = home("serve-killed");
    let Going { running: study, id, _target, _turn } = going(&home, 3);
    let server = Server::start(&home, "127.0.0.1:0");
    let live = format!("/live/{id}");
    let mut events = server.browser.events(&format!("{live}/events"), None);
    assert_eq!(events.next(LIMIT).unwrap().1["phase"], "running");
    assert!(home.refused(3, &["restore", "resume", &id]).contains("is running"));
    study.signal("KILL").unwrap();
    study.end(LIMIT).unwrap();
    let state = loop {
        let state = events.next(LIMIT).expect("an interrupted study may go on").1;
        if state["phase"] != "running" {
            break state;
        }
    };
    assert_eq!(state["phase"], "interrupted");
    assert!(state["sentence"].as_str().unwrap().contains(&format!("assay restore resume {id}")));
    assert!(server.get("/").body.contains(&format!("<a href=\"{live}\">interrupted</a>")));
    let began = Instant::now();
    loop {
        let resumed = home.run(&["restore", "resume", &id, "--quiet"]);
        if resumed.code == 0 {
            break;
        }
        assert!(is_busy(&resumed.stderr) && began.elapsed() < LIMIT, "{}", resumed.stderr);
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut phases = vec!["interrupted".to_owned()];
    while let Some((_, state)) = events.next(LIMIT) {
        phases.push(state["phase"].as_str().unwrap().to_owned());
    }
    phases.dedup();
    assert_eq!(phases, ["interrupted", "running", "ended"]);
    server.stop();
}
