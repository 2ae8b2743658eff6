//! Every bundled study that this kernel supports, in a reduced form: all cells are filled, every question has an
//! answer, and nothing is left behind.

use std::time::Duration;

use assay_core::failure::Outcome;
use assay_study::file::{Study, presets};
use assay_testkit::volume::{Filesystem, Volume};
use assay_workloads::{check_option, recorded};
use serde_json::Value;

use crate::findings::{of, was_replicated};
use crate::turn::{Need, assay, require};

/// Maximum for any study under load: a link with phases of fixed duration.
const LIMIT: Duration = Duration::from_secs(300);

/// Studies tested before each change lands.
const OFTEN: [&str; 2] = ["schedulers", "flash"];

// Device settings and new filesystems, the largest changes of any study.
#[test]
#[ignore = "nightly: 16 s"]
fn schedulers() {
    runs("schedulers", &["--set", "scheduler=none,mq-deadline", "--set", "filesystem=btrfs"]);
}

// The row of an article's table.
#[test]
#[ignore = "nightly: 5 s"]
fn flash() {
    runs("flash", &["--set", "card.rated=95 MB/s", "--set", "card.price=12.50 GBP"]);
}

/// Names of all others with reduced settings, and a nightly test for each.
macro_rules! reduced {
    ($($long:ident: $name:literal $how:expr;)*) => {
        const REDUCED: &[&str] = &[$($name,)*];

        mod in_full {
            $(
                #[test]
                #[ignore = "nightly: minutes"]
                fn $long() {
                    super::runs($name, $how);
                }
            )*
        }
    };
}

reduced! {
    burst: "burst" &[];
    block_size: "block-size" &["--set", "block_size=4 KiB,64 KiB,1 MiB"];
    compression: "compression" &[];
    depth: "queue-depth" &["--set", "queue_depth=1,8"];
    durability: "durability" &["--set", "sync=none,fdatasync"];
    encryption: "encryption" &["--set", "encryption=none,fscrypt,gocryptfs"];
    filesystems: "filesystems" &["--set", "threads=1,8"];
    load_curve: "load-curve" &["--set", "arrival_rate=8000/s,16000/s"];
    fill_level: "fill-level" &["--set", "filesystem=ext4", "--set", "fill_level=none,80%"];
    power: "energy" &[];
    pts_iops: "pts-iops" &[];
    pts_latency: "pts-latency" &[];
    pts_throughput: "pts-throughput" &[];
    pts_write_saturation: "pts-write-saturation" &[];
    raid_profile: "btrfs-profile" &[];
    readahead: "read-ahead" &["--set", "read_ahead=0 KiB,128 KiB,4 MiB"];
    small_files: "small-files" &["--set", "filesystem=ext4"];
    stack_limit: "stack-size" &[];
    starvation: "starvation" &[];
    stream: "large-files" &[];
    surface: "surface" &[];
    tunable: "tunable" &["--set", "tunable:/proc/sys/vm/dirty_background_ratio=1,10"];
    // Filesystems that server kernels have, too.
    usb_stick: "usb-stick" &["--set", "filesystem=ext4,xfs"];
    write_cache: "write-cache" &[];
}

#[test]
fn every_shipped_study_is_known_here() {
    // Tested elsewhere: `production` needs running work, recorded work needs a journal, and two studies build a
    // compiler. `raid-chunk` and `raid-resync` want md: see `xtask lab`. `small-memory`, `max-rate`, `tune`, those of
    // `check` options and those that load links have separate tests.
    let others = [
        "check",
        "compile",
        "production",
        "max-rate",
        "platform",
        "raid-chunk",
        "raid-resync",
        "small-memory",
        "tune",
    ];
    let recorded = recorded::kind().map(|(kind, _)| kind.about.name);
    let by_option = check_option::by_option().map(|(kind, _)| kind.about.name);
    let loads = |(_, study): &(&str, Outcome<Study>)| study.as_ref().is_ok_and(Study::loads_links);
    let of_links = presets::all().filter(loads).map(|(name, _)| name);
    let here = OFTEN.iter().chain(REDUCED).copied();
    let known = here.chain(others).chain(recorded).chain(by_option);
    let mut known: Vec<&str> = known.chain(of_links).collect();
    known.sort_unstable();
    let mut shipped: Vec<&str> = presets::all().map(|(name, _)| name).collect();
    shipped.sort_unstable();
    assert_eq!(known, shipped);
}

pub(super) fn runs(name: &str, how: &[&str]) {
    let needs =
        [Need::Volume(Filesystem::Ext4), Need::Program("mkfs.xfs"), Need::Program("mkfs.btrfs")];
    let Some(_turn) = require(&needs) else { return };
    let volume = Volume::new(Filesystem::Ext4, 64).unwrap();
    let words = ["run", name, "--scratch", "--quick", "--replicates", "2", "--json", "--quiet"];
    let words: Vec<&str> = words.into_iter().chain(how.iter().copied()).collect();
    let document = of(&assay(&volume).run(&words, LIMIT).unwrap());
    is_filled(name, &document);
    if name == "flash" {
        has_its_row(&document);
    }
}

fn is_filled(name: &str, document: &Value) {
    let whole = |absent: &&Value| absent["metric"].is_null();
    let absent: Vec<&Value> = document["absent"].as_array().unwrap().iter().filter(whole).collect();
    assert!(absent.is_empty(), "{name}: {absent:?}");
    let study = presets::find(name).unwrap().unwrap();
    let levels = |factor: &Value| factor["levels"].as_array().unwrap().len();
    let arms: usize = document["study"]["factors"].as_array().unwrap().iter().map(levels).product();
    let cells = document["measurements"].as_array().unwrap();
    // Request classes have cells in addition to those of workloads.
    let own = |cell: &&Value| study.workload.iter().any(|work| cell["workload"] == work.name);
    let primary = cells.iter().filter(own);
    let primary = primary.filter(|cell| cell["primary"] == true && cell["control"] == false);
    assert_eq!(primary.clone().count(), arms * study.workload.len(), "{name}");
    for cell in primary {
        was_replicated(cell, 2);
        assert!(cell["geometric_mean"].as_f64().unwrap() > 0.0, "{name}: {cell}");
    }
    let answers = document["answers"].as_array().map_or(0, Vec::len);
    // Questions on levels that this run leaves out are not asked.
    let asked = study.question.len();
    assert!(answers <= asked && (answers > 0 || asked == 0), "{name}: {answers} of {asked}");
}

/// The device, its four numbers and the comparison with 90 IOPS are in the row of the card.
fn has_its_row(document: &Value) {
    let mut exhibits = document["exhibits"].as_array().unwrap().iter();
    let card = exhibits.find(|exhibit| exhibit["topic"] == "card").unwrap();
    let cells = card["tables"][0]["rows"][0]["cells"].as_array().unwrap();
    for cell in cells[..5].iter().chain(cells.last()) {
        assert!(cell["value"]["text"].is_string(), "{card}");
    }
}
