//! Tests that texts about presets and factors name no device that the user did not name, in any command that would
//! change it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::explain::{self, Explained};
use super::meant::CONSENTS;
use crate::store::commands;
use assay_analysis::inference;
use assay_machine::factors::lines::{LayerBase, lines};
use assay_machine::factors::{self, View, permanent};
use assay_machine::system::site::Site;
use assay_machine::system::{Fake, System, identity, resolve};
use assay_report::{preview, text};
use assay_runner::run::known::machine;
use assay_runner::run::{self, Consented, Request};
use assay_study::file::{Target, presets};

const HOME: &str = "/home/me";
const DISK: &str = "/dev/sdb";
/// Placeholders, and device files other than disks.
const OPEN: [&str; 9] = [
    "/dev/DEVICE",
    "/dev/mdN",
    "/dev/zramN",
    "/dev/loopN",
    "/dev/mapper/",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/dev/stdin",
];

/// Returns the devices in a line that the user did not name. Ignores writes to `/sys` and `/proc`: these are restorable
/// settings of drives below the named target.
fn strangers<'l>(line: &'l str, named: &[&str]) -> Vec<&'l str> {
    if line.starts_with("echo ") {
        return Vec::new();
    }
    let is_delimiter = |sign: char| sign.is_whitespace() || "='\",;:()`".contains(sign);
    let words = line.split(is_delimiter).filter(|word| word.starts_with("/dev/"));
    let is_open = |word: &str| OPEN.iter().any(|open| word.starts_with(open));
    words.filter(|word| !is_open(word) && !named.contains(word)).collect()
}

#[test]
fn a_stranger_is_seen() {
    assert_eq!(strangers("mkfs.ext4 -F /dev/vda", &[]), ["/dev/vda"]);
    assert_eq!(strangers("fio --filename=/dev/sdb", &["/dev/sda"]), ["/dev/sdb"]);
    assert_eq!(strangers("mkfs.ext4 -F /dev/sdb", &["/dev/sdb"]), [""; 0]);
    assert_eq!(strangers("mdadm --create /dev/mdN /dev/DEVICE1", &[]), [""; 0]);
}

fn of_explain(system: &Fake, name: &str, target: Option<&str>) -> Vec<String> {
    let Ok(explained) = explain::source(system, name, target) else { return Vec::new() };
    let Explained { study, plan, sites, names } = explained;
    let commands = commands::for_plan(system, &study, &plan, &sites, names);
    let lines = commands
        .into_iter()
        .flat_map(|own| own.setup.into_iter().chain([own.command.join(" ")]).chain(own.notes));
    lines.collect()
}

#[test]
#[ignore = "nightly: 2 s"]
fn explain_names_a_device_only_where_the_user_did() {
    let (fake, mut of_disk) = (machine(), 0);
    let mut all = 0;
    for (name, _) in presets::all() {
        for (target, named) in [(Some(HOME), &[][..]), (None, &[]), (Some(DISK), &[DISK])] {
            for line in of_explain(&fake, name, target) {
                assert_eq!(strangers(&line, named), [""; 0], "{name} {target:?}: {line}");
                assert!(!line.contains("--raid-devices=1"), "{name}: {line}");
                all += 1;
                of_disk += usize::from(line.starts_with("mkfs") && line.contains(DISK));
            }
        }
    }
    assert!(all > 200 && of_disk > 0, "{all}, {of_disk}");
}

#[test]
fn what_a_level_takes_names_no_device() {
    let fake = machine();
    let site = resolve(&fake, HOME).unwrap();
    let view = View { system: &fake, site: &site };
    let (mut all, mut lost) = (0, 0);
    for factor in factors::all() {
        let name = factor.about().name.to_owned();
        for level in factors::example_levels(factor) {
            let mut arm = BTreeMap::from([(name.clone(), level)]);
            // Options of a layer require the layer.
            for layer in assay_machine::factors::layers::LAYERS {
                let own = layer.factors().iter().any(|own| own.about().name == name);
                let chooser = layer.chooser().filter(|_| own).map(|own| own.about().name);
                if let Some(chooser) = chooser.filter(|chooser| *chooser != name) {
                    let choice = layer.choices().into_iter().next();
                    arm.extend(layer.ground());
                    arm.extend(choice.map(|choice| (chooser.to_owned(), choice)));
                }
            }
            let typed = lines(&arm, Some(&view), &LayerBase { named: Vec::new(), members: 1 });
            let lasting = permanent::commands(&arm, &site);
            for line in typed.iter().chain(&lasting) {
                assert_eq!(strangers(line, &[]), [""; 0], "{arm:?}: {line}");
                assert!(!line.contains("--raid-devices=1"), "{arm:?}: {line}");
                all += 1;
            }
            let makes = |line: &&String| line.starts_with("mkfs") || line.starts_with("mdadm");
            if lasting.iter().any(|line| makes(&line)) {
                let told = permanent::lost(&arm, &site).unwrap();
                assert!(
                    told.starts_with("all data on DEVICE") && told.ends_with(" are lost"),
                    "{told}"
                );
                lost += 1;
            }
        }
    }
    assert!(all > 100 && lost > 10, "{all}, {lost}");
}

const CHANGES: [&str; 8] =
    ["mkfs", "mdadm", "cryptsetup", "mkswap", "blkdiscard", "wipefs", "dd ", "--destroy"];

#[test]
#[ignore = "nightly: 1 s"]
fn plans_and_refusals_of_a_directory_name_no_device_to_be_changed() {
    let (mut plans, mut refusals) = (0, 0);
    for user in [0, 1000] {
        for (name, study) in presets::all() {
            let fake = machine();
            fake.set_user(user);
            let study = study.unwrap().settled();
            let targets = vec![HOME.to_owned()];
            let consented = Consented::default();
            let told = match run::preview(&fake, study, &targets, &consented, None) {
                Ok(seen) => {
                    plans += 1;
                    let run::StudyPreview { study, plan, sites, changes, lacks } = seen;
                    let preview = preview::Preview {
                        power_analysis: inference::foresee(&plan, None),
                        unavailable: lacks,
                        ..preview::build(&study, &plan, &sites, &changes, Vec::new())
                    };
                    let document = preview::document(&preview, plan.design.order);
                    text::render(&document, 4000, false)
                }
                Err(failure) => {
                    refusals += 1;
                    failure.message
                }
            };
            for line in told.lines().filter(|line| CHANGES.iter().any(|one| line.contains(one))) {
                assert_eq!(strangers(line, &[]), [""; 0], "{name}: {line}");
                assert!(!line.contains("--destroy"), "{name}: {line}");
            }
        }
    }
    assert!(plans > 20, "{plans} plans, {refusals} refusals");
}

fn with_a_free_disk() -> Fake {
    let fake = machine();
    let disk = fake.canonical(Path::new("/sys/class/block/sdb")).unwrap();
    fake.put(disk.join("ro"), "0\n").put(disk.join("uevent"), "DEVNAME=sdb\n");
    fake.put("/etc/fstab", "# nothing\n").put("/etc/crypttab", "# nothing\n");
    let stake = identity::stake(&fake, &resolve(&fake, DISK).unwrap());
    assert!(stake.is_ok(), "{}", stake.unwrap_err());
    fake
}

/// Texts about a study of a device without consent name no consent option; refusals refer to the plan, which states
/// what to type.
#[test]
fn what_is_told_of_a_named_device_names_no_option_of_consent() {
    let silent = |name: &str, told: &str| {
        let named = CONSENTS.iter().find(|option| told.contains(**option));
        assert_eq!(named, None, "{name}: {told}");
    };
    let (mut told, mut refused) = (0, 0);
    for user in [0, 1000] {
        for (name, study) in presets::all() {
            let fake = with_a_free_disk();
            fake.set_user(user);
            let study = study.unwrap().settled();
            let targets = vec![DISK.to_owned()];
            let seen = run::preview(&fake, study.clone(), &targets, &Consented::default(), None);
            let lines = match &seen {
                Ok(seen) => [&seen.changes[..], &seen.lacks[..]].concat(),
                Err(failure) => vec![failure.message.clone()],
            };
            for line in &lines {
                silent(name, line);
            }
            told += lines.len();
            if !lines.iter().any(|line| line.contains("without permission")) {
                continue;
            }
            let request = Request::bare(study, targets);
            let stop = AtomicBool::new(false);
            let failure = run::run(&fake, request, &stop, &mut |_| {}).map(drop).unwrap_err();
            silent(name, &failure.message);
            refused += usize::from(failure.message.contains("run assay plan "));
        }
    }
    assert!(told > 20 && refused > 0, "{told} lines, {refused} refusals that name the plan");
}

#[test]
fn a_stored_result_names_no_device_that_would_lose_its_data() {
    let fake = machine();
    let study = presets::find("filesystems").unwrap().unwrap().settled();
    let study = assay_study::file::Study { target: Some(Target::Device(DISK.to_owned())), ..study };
    let site = resolve(&fake, DISK).unwrap();
    let Explained { plan, .. } =
        explain::planned(&fake, study.clone(), &[DISK.to_owned()], commands::NameForm::Typed);
    let sites: Vec<Option<Site>> = plan.surveys.iter().map(|_| Some(site.clone())).collect();
    let lines = |names| {
        let commands = commands::for_plan(&fake, &study, &plan, &sites, names);
        commands.into_iter().flat_map(|own| own.setup).collect::<Vec<String>>().join("\n")
    };
    assert!(lines(commands::NameForm::Typed).contains(DISK));
    let stored = lines(commands::NameForm::Stored);
    assert!(!stored.contains(DISK) && stored.contains("mkfs"), "{stored}");
}
