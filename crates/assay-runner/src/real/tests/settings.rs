//! After a study changes any setting of this kernel, all neighboring settings are restored.

use std::collections::{BTreeMap, BTreeSet};

use assay_machine::factors::guard::SETTINGS;
use assay_machine::factors::{self, Guard, Setting, View};
use assay_machine::system::journal::setting_value;
use assay_machine::system::site::Site;
use assay_testkit::needs::skip;

use super::loops::Loop;
use super::*;

const VM: &str = "/proc/sys/vm";
const ADD_ZRAM: &str = "/sys/class/zram-control/hot_add";

const MEMORY: &str = "/dev/shm";

/// A new zram device without a size.
struct Zram(String);

impl Zram {
    fn new() -> Self {
        Self(std::fs::read_to_string(ADD_ZRAM).unwrap().trim().to_owned())
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        std::fs::write("/sys/class/zram-control/hot_remove", &self.0).unwrap();
    }
}

/// The content of each file in a directory tree.
fn values(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for name in Real.list(directory).unwrap() {
        let path = directory.join(name);
        let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(values(&path));
        } else if kind.is_file() {
            let text = Real.read_text(&path).unwrap_or_else(|error| error.kind().to_string());
            found.insert(path, text);
        }
    }
    found
}

fn others(path: &Path, text: &str) -> Vec<String> {
    let now = setting_value(text);
    let mut found: Vec<String> = if path.ends_with("overcommit_memory") {
        // 2 denies memory to every program.
        vec!["0".to_owned(), "1".to_owned()]
    } else if text.contains('[') {
        text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
    } else if let Ok(number) = now.parse::<i64>() {
        let all = [number + 1, number - 1, number * 2, number / 2, number + (64 << 20)];
        all.iter().filter(|other| **other >= 0).map(i64::to_string).collect()
    } else if let Some((Ok(first), rest)) =
        now.split_once(' ').map(|(first, rest)| (first.parse::<u64>(), rest))
    {
        vec![format!("{} {rest}", first + 1)]
    } else {
        vec!["write back".to_owned(), "write through".to_owned()]
    };
    found.retain(|other| *other != now);
    found
}

fn setting(path: &Path, value: &str) -> Setting {
    Setting { path: path.to_owned(), value: value.to_owned(), device: None }
}

/// Changes each file in a directory like a study; returns the names of those that accepted a value.
fn walk(home: &Path, directory: &Path) -> BTreeSet<String> {
    let mut taken = BTreeSet::new();
    let site = Site::loop_to_be(1 << 20);
    let view = View { system: &Real, site: &site };
    for (path, text) in values(directory) {
        let name = format!("tunable:{}", path.display());
        let factor = factors::find(&name).unwrap();
        let is_allowed = factors::check_permitted([name.as_str()], &[]).is_ok();
        for level in others(&path, &text).into_iter().filter(|_| is_allowed) {
            let Ok(wanted) = factor.settings(&name, &level, &view) else { continue };
            let before = values(directory);
            let mut guard = Guard::begin(&Real, home, "20261122-1200-ab12").unwrap();
            let is_set = wanted.iter().all(|setting| guard.set(setting).is_ok());
            let undone = guard.finish();
            let after = values(directory);
            let differ = |(path, text): &(&PathBuf, &String)| after.get(*path) != Some(*text);
            let left: Vec<_> = before.iter().filter(differ).collect();
            assert!(left.is_empty() && before.len() == after.len(), "{name} = {level}: {left:?}");
            undone.unwrap_or_else(|failure| panic!("{name} = {level}: {failure}"));
            if is_set {
                taken.insert(path.file_name().unwrap().to_string_lossy().into_owned());
                break;
            }
        }
    }
    taken
}

/// The same, starting from values other than the kernel's or the default.
fn walk_from(scratch: &Scratch, begin: &[(PathBuf, &str)], directory: &Path) -> BTreeSet<String> {
    let (outer, inner) = (scratch.join("outer"), scratch.join("inner"));
    let before = values(directory);
    let mut guard = Guard::begin(&Real, &outer, "20261122-1200-ab12").unwrap();
    for (path, value) in begin {
        // Settings missing from this kernel are left out.
        let _ = guard.set(&setting(path, value));
    }
    let taken = walk(&inner, directory);
    guard.finish().unwrap();
    assert_eq!(values(directory), before);
    taken
}

#[test]
fn every_setting_of_this_kernel_is_restored_with_its_neighbors() {
    if !have(&[Need::Root, Need::Path(ADD_ZRAM), Need::Path(MEMORY)]) {
        return;
    }
    let held = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        Real.hold(SETTINGS).ok()
    });
    let Some(_held) = held else { return skip("another assay changes settings") };
    // The journals sync some thousand times: not on a disk.
    let scratch = Scratch(Path::new(MEMORY).join(format!("assay-test-{}", std::process::id())));
    std::fs::create_dir(&scratch.0).unwrap();
    let has = |taken: &BTreeSet<String>, names: &[&str]| {
        for name in names {
            assert!(taken.contains(*name), "{name}: {taken:?}");
        }
    };
    let vm = |name: &str| Path::new(VM).join(name);
    let bytes = [
        (vm("dirty_background_bytes"), "268435456"),
        (vm("dirty_bytes"), "1073741824"),
        (vm("overcommit_kbytes"), "8388608"),
    ];
    let pairs = ["dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio"];
    for begin in [&[], &bytes[..]] {
        let taken = walk_from(&scratch, begin, Path::new(VM));
        has(&taken, &pairs);
        has(&taken, &["overcommit_kbytes", "overcommit_ratio", "swappiness", "min_free_kbytes"]);
        assert!(!taken.contains("drop_caches") && !taken.contains("stat_refresh"));
    }
    let device = Loop::new(&scratch, "img", 16);
    let queue = Path::new("/sys/block").join(&device.name).join("queue");
    let queue = Real.canonical(&queue).unwrap();
    let own = |name: &str| queue.join("iosched").join(name);
    for (scheduler, own) in [
        ("none", vec![]),
        ("mq-deadline", vec![(own("fifo_batch"), "7"), (own("async_depth"), "100")]),
        ("kyber", vec![(own("read_lat_nsec"), "3000000")]),
        ("bfq", vec![(own("slice_idle_us"), "8500")]),
    ] {
        let begin = [(queue.join("scheduler"), scheduler), (queue.join("nr_requests"), "99")];
        let taken = walk_from(&scratch, &[&begin, &own[..]].concat(), &queue);
        has(&taken, &["nr_requests", "read_ahead_kb", "rq_affinity"]);
    }
    let zram = Zram::new();
    let place = Path::new("/sys/block").join(format!("zram{}", zram.0));
    has(&walk_from(&scratch, &[], &Real.canonical(&place.join("queue")).unwrap()), &["nomerges"]);
}
