//! The contract of every layer: it has a description, the printed steps match the executed ones, checks detect its
//! presence and absence, and after any death or failure the machine ends in its original state.

use std::collections::BTreeSet;
use std::io;

use crate::system::{Fake, Faulty};

use super::*;
use crate::factors::tests::{
    DISK, HOME, OF_LAYERS, below, dies_everywhere, lab, machine, put_back, stack,
};
use crate::factors::{Guard, Role, all, find};
use assay_testkit::expected::Expected;
use assay_testkit::needs::is_in_full;

/// All requests for a layer, one after the other.
fn wishes(layer: &dyn Layer) -> Vec<(String, Levels, Option<u64>)> {
    let Some(first) = layer.chooser().map(|factor| factor.about().name) else {
        return vec![("as the target".to_owned(), Levels::new(), Some(DISK))];
    };
    let levels = layer.choices().into_iter();
    let wish = |level: String| {
        let mut levels = Levels::from([(first.to_owned(), level.clone())]);
        levels.extend(layer.ground());
        (format!("{first} = {level}"), levels, None)
    };
    levels.map(wish).collect()
}

/// A loop device on a zram device: no shipped layer uses a device name that the kernel reuses.
struct LoopOnZram;

impl Layer for LoopOnZram {
    fn noun(&self) -> &'static str {
        "loop device on a zram device"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        &[]
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        zram::ZramLayer.recipe(wish).map(|_| Box::new(OverDevice) as Box<dyn Recipe>)
    }
}

/// A loop device over the file of the device below.
struct OverDevice;

impl Recipe for OverDevice {
    fn words(&self) -> String {
        "a loop device".to_owned()
    }

    fn missing(&self, _: &dyn System, _: &[u64]) -> Option<String> {
        None
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let [Base::Device(device)] = below else { panic!("{below:?}") };
        let (file, undo) = builder.attach_loop(&device.file(), Some(device))?;
        builder.made_device(&file, &undo, &[device]).map(Base::Device)
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        own_loop::check_attached(system, made)
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        Commands { acts: Vec::new(), out: below[0].clone() }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        ByHand { commands: self.commands(below), why: "it is made for tests alone", lasting: None }
    }
}

/// A stack of all layers for some levels, with that loop device if it has a base.
fn stack_with_a_loop(levels: &[(&str, String)]) -> Stack {
    let at = LAYERS.iter().position(|layer| layer.noun() == zram::ZramLayer.noun()).unwrap() + 1;
    let mut layers = LAYERS.to_vec();
    layers.insert(at, &LoopOnZram);
    let levels = levels.iter().map(|(name, level)| ((*name).to_owned(), level.clone())).collect();
    Stack::made_of(&layers, &Wish::new(&levels))
}

/// One of every layer that factors choose, with all others below it.
fn everything() -> Stack {
    let chosen = LAYERS.iter().filter_map(|layer| {
        let first = layer.factors().first()?;
        let makes = |level: &String| {
            let levels = Levels::from([(first.about().name.to_owned(), level.clone())]);
            layer.recipe(&Wish::new(&levels)).is_some()
        };
        let level = example_levels(*first).into_iter().rfind(makes)?;
        Some((first.about().name, level))
    });
    stack_with_a_loop(&chosen.collect::<Vec<_>>())
}

fn begin(system: &dyn System) -> Outcome<Guard<'_>> {
    Guard::begin(system, Path::new(HOME), "20261122-1200-ab12")
}

/// Makes a stack on a part of a disk, twice, and leaves the second to the end.
fn make_twice(system: &dyn System, stack: &Stack) -> Outcome<()> {
    let mut guard = begin(system)?;
    let below = below(&mut guard, stack, DISK / 2)?;
    let raised = stack.make(&mut guard, below.clone())?;
    stack.check(system, &raised).map_err(Failure::refused)?;
    guard.lower(&raised)?;
    stack.make(&mut guard, below)?;
    guard.finish().map(|_| ())
}

/// Only the layer with a reused name.
fn loop_on_zram() -> Stack {
    stack_with_a_loop(&[("zram", "lz4".to_owned())])
}

#[test]
fn every_layer_is_described_and_every_factor_of_it_is_its_own() {
    let mut known = BTreeSet::new();
    let mut nouns = BTreeSet::new();
    for layer in LAYERS {
        let noun = layer.noun();
        assert!(nouns.insert(noun) && noun == noun.to_lowercase(), "{noun}");
        let nothing = Levels::new();
        assert!(layer.recipe(&Wish::new(&nothing)).is_none(), "{noun} of nothing");
        for bytes in [0, 1 << 20, 1 << 40] {
            assert!(layer.least(bytes) >= bytes && layer.ample(bytes) >= layer.least(bytes));
        }
        for (at, factor) in layer.factors().iter().enumerate() {
            let name = factor.about().name;
            assert!(known.insert(name), "{name} belongs to two layers");
            assert_eq!(factor.role(), Role::Layer, "{name}");
            let first = layer.factors()[0].about().name;
            assert_eq!(goes_with(name), (at > 0).then_some(first));
            assert_eq!(of_factor(name).unwrap().noun(), noun);
        }
        for (title, levels, own_target) in wishes(*layer) {
            for (name, level) in &levels {
                find(name).unwrap().judge(level).unwrap_or_else(|how| panic!("{title}: {how}"));
            }
            assert!(Stack::new(&Wish { levels: &levels, own_target }).is_ok(), "{title}");
        }
    }
    let alone = all().filter(|factor| factor.role() == Role::Layer);
    let alone: Vec<&str> = alone.map(|factor| factor.about().name).collect();
    assert!(alone.iter().all(|name| known.contains(name)), "no layer has all of {alone:?}");
}

/// Steps of a layer, on a whole disk and on a part of it.
fn told(layer: &dyn Layer) -> String {
    let mut text = String::new();
    for (title, levels, own_target) in wishes(layer) {
        let stack = Stack::new(&Wish { levels: &levels, own_target }).unwrap();
        let files = || match own_target {
            None if stack.takes_all() => (1..=4).map(|at| format!("DEVICE{at}").into()).collect(),
            None => vec!["DEVICE".into()],
            Some(_) => Vec::new(),
        };
        let commands = stack.commands(files()).acts;
        let mut lines: Vec<String> = commands.iter().map(|act| format!("typed    {act}")).collect();
        for own in stack.by_hand(files()) {
            lines.extend(own.commands.acts.iter().map(|act| format!("by hand  {act}")));
            lines.push(format!("because  {}", own.why));
            lines.extend(own.lasting.map(|(line, why)| format!("lasting  {line} ({why})")));
        }
        for start in if own_target.is_none() { vec![0, DISK / 2] } else { vec![0] } {
            lines.push(format!("## from byte {start} on"));
            let fake = machine();
            let mut guard = begin(&fake).unwrap();
            let on = match own_target {
                None => below(&mut guard, &stack, start).unwrap(),
                Some(_) => Vec::new(),
            };
            let since = fake.acted().len();
            let raised = stack.make(&mut guard, on).unwrap();
            let up = fake.acted().len();
            guard.lower(&raised).unwrap();
            let acted = fake.acted();
            lines.extend(acted[since..up].iter().map(|act| format!("up       {act}")));
            lines.extend(acted[up..].iter().map(|act| format!("down     {act}")));
        }
        text.extend([format!("# {title}")].into_iter().chain(lines).map(|line| line + "\n"));
    }
    text
}

#[test]
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn every_layer_is_made_and_taken_down_as_its_fixture_says() {
    let mut wanted = BTreeSet::new();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/layers");
    let mut files = Expected::default();
    for layer in LAYERS {
        let name = format!("{}.txt", layer.noun().replace(' ', "-"));
        let path = place.join(&name);
        wanted.insert(name);
        let told = told(*layer);
        files.hold(&path, &told);
    }
    drop(files);
    let found = std::fs::read_dir(&place).unwrap();
    let found = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), wanted, "a fixture of a layer that is no more");
}

#[test]
fn what_was_made_is_seen_and_what_is_gone_is_missed() {
    for layer in LAYERS {
        for (title, levels, own_target) in wishes(*layer) {
            let stack = Stack::new(&Wish { levels: &levels, own_target }).unwrap();
            let fake = machine();
            let mut guard = begin(&fake).unwrap();
            let on = match own_target {
                None => below(&mut guard, &stack, 0).unwrap(),
                Some(_) => Vec::new(),
            };
            let raised = stack.make(&mut guard, on).unwrap();
            assert_eq!(stack.check(&fake, &raised), Ok(()), "{title}");
            let given = matches!(raised.base, Base::Directory(_));
            assert_eq!(given, stack.gives() == Some(Gives::Directory), "{title}");
            assert_eq!(give_directory([&levels]), given, "{title}: known before it is made");
            guard.lower(&raised).unwrap();
            assert_eq!(stack.check(&fake, &raised).is_err(), !stack.is_empty(), "{title}");
        }
    }
}

#[test]
fn whenever_everything_at_once_or_its_recovery_dies_the_machine_ends_as_it_began() {
    let stack = everything();
    let (deaths, recoveries) =
        dies_everywhere("everything", OF_LAYERS, &|system| make_twice(system, &stack));
    assert!(deaths > 20 && recoveries > deaths, "{deaths} {recoveries}");
}

#[test]
fn whenever_what_stands_on_a_name_that_is_given_again_dies_the_machine_ends_as_it_began() {
    let stack = loop_on_zram();
    assert_eq!(stack.words(), "a loop device on zram (lz4)");
    let without = stack_with_a_loop(&[("zram", "none".to_owned())]);
    assert!(without.is_empty(), "{}", without.words());
    let (deaths, recoveries) = dies_everywhere("a loop", 1, &|system| make_twice(system, &stack));
    assert!(deaths > 20 && recoveries > deaths, "{deaths} {recoveries}");
}

/// Fails each call of creating a stack twice, one in several in turn; returns the last failed call.
fn whichever_fails(stack: &Stack, step: usize) -> u64 {
    let home = Path::new(HOME);
    let before = machine().condition(home);
    let mut calls = 0;
    // One in so many, from another one on with each commit.
    for at in (1..).step_by(step) {
        let fake = machine();
        let faulty = Faulty::new(&fake, at, io::ErrorKind::Other);
        let _ = make_twice(&faulty, stack);
        if !faulty.has_failed() {
            break;
        }
        put_back(&fake);
        assert_eq!(fake.condition(home), before, "call {at} failed");
        calls = at;
    }
    calls
}

#[test]
fn whichever_call_fails_the_machine_ends_as_it_began() {
    // Thousands of calls, most of them questions: all in full, else one in so many.
    let calls = whichever_fails(&everything(), if is_in_full() { 1 } else { 397 });
    assert!(calls > 100, "{calls}");
    let calls = whichever_fails(&loop_on_zram(), if is_in_full() { 1 } else { 83 });
    assert!(calls > 100, "{calls}");
}

#[test]
fn what_this_version_cannot_make_is_refused_and_not_left_out() {
    let of = |levels: &[(&str, &str)]| {
        let named = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
        Stack::new(&Wish::new(&named.collect())).map(|stack| stack.words())
    };
    let lacking = Err("this version cannot create that file system".to_owned());
    assert_eq!(of(&[("filesystem", "reiser5")]), lacking);
    assert_eq!(of(&[("mount_options", "noatime")]), lacking, "of what?");
    assert_eq!(of(&[("filesystem", "ext4"), ("scheduler", "none")]), Ok("ext4".to_owned()));
}

#[test]
fn what_takes_one_of_several_takes_the_first() {
    let fake: Fake = machine();
    let mut guard = begin(&fake).unwrap();
    let devices = [lab(&mut guard).unwrap(), lab(&mut guard).unwrap()].map(Base::Device);
    let second = devices[1].path().display().to_string();
    let before = fake.condition(Path::new(HOME));
    let since = fake.acted().len();
    let ext4 = stack(&[("filesystem", "ext4")]);
    assert!(!ext4.takes_all());
    let raised = ext4.make(&mut guard, devices.to_vec()).unwrap();
    let acted: Vec<String> = fake.acted()[since..].iter().map(ToString::to_string).collect();
    assert!(acted.iter().all(|act| !act.contains(&second)), "{acted:?}");
    guard.lower(&raised).unwrap();
    assert_eq!(fake.condition(Path::new(HOME)), before);
    let nothing = ext4.make(&mut guard, Vec::new());
    assert_eq!(nothing.unwrap_err().message, "trials need exactly one device, not 0");
}

/// Creates a stack and passes its commands to `look` while it exists.
fn while_it_stands(chosen: &[(&str, &str)], look: impl FnOnce(&Fake, &Stack, &RaisedStack, &str)) {
    let fake: Fake = machine();
    let home = Path::new(HOME);
    let stack = stack(chosen);
    let mut guard = begin(&fake).unwrap();
    let on = below(&mut guard, &stack, 0).unwrap();
    let (before, since) = (fake.condition(home), fake.acted().len());
    let raised = stack.make(&mut guard, on).unwrap();
    let acted: Vec<String> = fake.acted()[since..].iter().map(ToString::to_string).collect();
    look(&fake, &stack, &raised, &acted.join("\n"));
    guard.lower(&raised).unwrap();
    assert_eq!(fake.condition(home), before);
}

#[test]
fn an_array_that_is_to_be_synchronised_is_seen_to_be_until_that_is_over() {
    while_it_stands(
        &[("raid", "raid5"), ("raid_resync", "100 MB/s")],
        |fake, stack, raised, acted| {
            assert!(
                acted.contains("mdadm --create") && !acted.contains("--assume-clean"),
                "{acted}"
            );
            assert!(acted.contains("97656 > /sys/class/block/md127/md/sync_speed_max"), "{acted}");
            assert_eq!(stack.check(fake, raised), Ok(()));
            fake.put("/sys/devices/virtual/block/md127/md/sync_action", "idle\n");
            let over = stack.check(fake, raised).unwrap_err();
            assert!(over.starts_with("its resync has finished (sync_action idle); use "), "{over}");
        },
    );
    while_it_stands(&[("raid", "raid5")], |fake, stack, raised, acted| {
        assert!(acted.contains("--assume-clean"), "{acted}");
        fake.put("/sys/devices/virtual/block/md127/md/sync_action", "check\n");
        let moves = stack.check(fake, raised).unwrap_err();
        assert!(moves.contains("not in sync: sync_action check"), "{moves}");
    });
}

#[test]
fn each_fact_of_an_array_that_is_another_one_is_told() {
    let chosen = [("raid", "raid5"), ("raid_chunk", "64 KiB"), ("raid_stripe_cache", "4096")];
    while_it_stands(&chosen, |fake, stack, raised, _| {
        let facts = [
            ("level", "raid6", "level raid5 requested, the array uses raid6"),
            ("raid_disks", "3", "raid_disks 4 requested, the array uses 3"),
            ("chunk_size", "32768", "chunk_size 65536 requested, the array uses 32768"),
            ("stripe_cache_size", "256", "stripe_cache_size 4096 requested, the array uses 256"),
            ("degraded", "1", "its members are not in sync: sync_action idle, degraded 1"),
            ("bitmap/location", "+8", "bitmap none requested, the array uses +8"),
            ("array_state", "readonly", "the array is readonly"),
            ("array_state", "inactive", "the array is inactive"),
        ];
        for (file, value, words) in facts {
            let path = format!("/sys/devices/virtual/block/md127/md/{file}");
            let was = fake.read_text(Path::new(&path)).unwrap();
            fake.put(&path, format!("{value}\n"));
            let told = stack.check(fake, raised).unwrap_err();
            assert!(told.contains(words), "{file}: {told}");
            fake.put(&path, &was);
            assert_eq!(stack.check(fake, raised), Ok(()), "{file} is as it was");
        }
        // A state in which it works is none to complain of.
        fake.put("/sys/devices/virtual/block/md127/md/array_state", "active\n");
        assert_eq!(stack.check(fake, raised), Ok(()));
    });
    while_it_stands(&[("raid", "raid1"), ("raid_bitmap", "internal")], |fake, stack, raised, _| {
        fake.put("/sys/devices/virtual/block/md127/md/bitmap/location", "none\n");
        let told = stack.check(fake, raised).unwrap_err();
        assert!(told.contains("bitmap internal requested, the array uses none"), "{told}");
    });
}

#[test]
fn a_device_that_is_encrypted_in_place_keeps_what_lies_on_it() {
    let chosen = [("encryption", "dm-crypt"), ("encryption_conversion", "in-place")];
    while_it_stands(&chosen, |_, _, _, acted| {
        let way = "cryptsetup reencrypt --encrypt --reduce-device-size 32M --batch-mode";
        assert!(acted.contains(way) && !acted.contains("blkdiscard"), "{acted}");
    });
    // The options do not mention the one for dm-crypt.
    let chosen = [("filesystem", "ext4"), ("encryption", "gocryptfs"), chosen[1]];
    while_it_stands(&chosen, |_, _, _, acted| assert!(!acted.contains("cryptsetup"), "{acted}"));
}

/// Creates a stack on a machine whose helper silently does nothing; the machine ends in its original state.
fn behind_a_helper_that_failed(chosen: &[(&str, &str)]) -> String {
    let fake: Fake = machine();
    let stack = stack(chosen);
    let mut guard = begin(&fake).unwrap();
    let on = below(&mut guard, &stack, 0).unwrap();
    let before = fake.condition(Path::new(HOME));
    fake.mount_nothing();
    let failure = stack.make(&mut guard, on).unwrap_err();
    assert_eq!(fake.condition(Path::new(HOME)), before);
    failure.message
}

#[test]
fn what_was_made_without_a_complaint_and_is_not_there_is_missed() {
    let volume = behind_a_helper_that_failed(&[("encryption", "dm-crypt")]);
    assert!(volume.contains("created no device"), "{volume}");
}

#[test]
fn an_encrypted_device_is_seen_by_its_cipher_its_sectors_and_its_queues() {
    let chosen = [("encryption", "dm-crypt"), ("encryption_cipher", "aes-xts-plain64")];
    while_it_stands(&chosen, |fake, stack, raised, acted| {
        assert!(acted.contains("--cipher aes-xts-plain64 --key-size 512"), "{acted}");
        fake.show_cipher("aes-cbc-essiv:sha256");
        let told = stack.check(fake, raised).unwrap_err();
        let words = "aes-xts-plain64 requested, the kernel uses aes-cbc-essiv:sha256";
        assert_eq!(told, words);
        fake.show_cipher("");
    });
    // Without a requested cipher, any choice of cryptsetup is correct.
    while_it_stands(&[("encryption", "dm-crypt")], |fake, stack, raised, acted| {
        assert!(!acted.contains("--cipher") && !acted.contains("--sector-size"), "{acted}");
        fake.show_cipher("serpent-xts-plain64");
        assert_eq!(stack.check(fake, raised), Ok(()));
    });
    let bits = |cipher: &str| {
        let mut found = String::new();
        let chosen = [("encryption", "dm-crypt"), ("encryption_cipher", cipher)];
        while_it_stands(&chosen, |_, _, _, acted| acted.clone_into(&mut found));
        let at = found.find("--key-size ").unwrap();
        found[at + 11..].split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(bits("aes-xts-plain64/256"), "256");
    assert_eq!(bits("aes-cbc-essiv:sha256"), "256", "XTS takes two keys");
    let name = |acted: &str| {
        let line = acted.lines().find(|line| line.contains("cryptsetup open")).unwrap();
        line.split_whitespace().find(|word| word.ends_with("-crypt-3")).unwrap().to_owned()
    };
    let chosen = [
        ("encryption", "dm-crypt"),
        ("encryption_sector_size", "4 KiB"),
        ("encryption_flags", "no_read_workqueue"),
    ];
    while_it_stands(&chosen, |fake, stack, raised, acted| {
        assert!(acted.contains("--sector-size 4096"), "{acted}");
        assert!(acted.contains("--perf-no_read_workqueue") && !acted.contains("no_write"));
        let status = |sector: &str, flags: &str| {
            let text =
                format!("  cipher: aes\n  sector size: {sector} [bytes]\n  flags: {flags}\n");
            fake.put_output(&format!("cryptsetup status {}", name(acted)), &text);
            stack.check(fake, raised)
        };
        assert_eq!(status("4096", "no_read_workqueue"), Ok(()));
        assert_eq!(
            status("512", "no_read_workqueue").unwrap_err(),
            "sectors of 4 KiB requested, the kernel uses 512 bytes"
        );
        assert_eq!(
            status("4096", "").unwrap_err(),
            "with no_read_workqueue requested, but not set in the kernel"
        );
        assert_eq!(
            status("4096", "no_read_workqueue no_write_workqueue").unwrap_err(),
            "without no_write_workqueue requested, but not set in the kernel"
        );
    });
}

#[test]
fn a_directory_that_is_not_served_any_more_is_missed() {
    let chosen = [("filesystem", "ext4"), ("encryption", "gocryptfs")];
    while_it_stands(&chosen, |fake, stack, raised, _| {
        let mounts = Path::new("/proc/self/mountinfo");
        let table = fake.read_text(mounts).unwrap();
        let with = |change: &dyn Fn(String) -> String| {
            fake.put(mounts, change(table.clone()));
            let told = stack.check(fake, raised);
            fake.put(mounts, &table);
            told
        };
        let other = with(&|text| text.replace("fuse.gocryptfs", "fuse.sshfs")).unwrap_err();
        assert!(other.starts_with("fuse.sshfs of ") && other.contains("is mounted"), "{other}");
        let elsewhere = with(&|text| text.replace("/encrypted ", "/plain ")).unwrap_err();
        assert!(elsewhere.contains("/plain is mounted instead"), "{elsewhere}");
        assert_eq!(stack.check(fake, raised), Ok(()));
    });
}

#[test]
fn swap_that_is_not_as_it_was_made_is_missed() {
    let chosen = [("filesystem", "ext4"), ("swap", "zswap:lzo"), ("zswap_max_pool", "35%")];
    while_it_stands(&chosen, |fake, stack, raised, acted| {
        assert!(acted.contains("echo 35 > /sys/module/zswap/parameters/max_pool_percent"));
        for (name, was, other) in [("enabled", "Y\n", "N\n"), ("max_pool_percent", "35\n", "20\n")]
        {
            let path = format!("/sys/module/zswap/parameters/{name}");
            fake.put(&path, other);
            let told = stack.check(fake, raised).unwrap_err();
            assert_eq!(told, format!("{path} is {}", other.trim()));
            fake.put(&path, was);
            assert_eq!(stack.check(fake, raised), Ok(()));
        }
        let table = fake.read_text(Path::new("/proc/swaps")).unwrap();
        fake.put("/proc/swaps", "Filename Type Size Used Priority\n");
        let told = stack.check(fake, raised).unwrap_err();
        assert!(told.ends_with("is no longer in use as swap"), "{told}");
        fake.put("/proc/swaps", &table);
    });
}

#[test]
fn a_swap_file_takes_the_room_that_there_is_and_no_more() {
    let refused = |free: u64| {
        let fake: Fake = machine();
        let stack = stack(&[("filesystem", "ext4"), ("swap", "file"), ("swap_size", "64 MiB")]);
        let mut guard = begin(&fake).unwrap();
        let on = below(&mut guard, &stack, 0).unwrap();
        fake.add(&format!("space /var/lib/assay {free} {}\n", 1_u64 << 40)).unwrap();
        stack.make(&mut guard, on).err().map(|failure| failure.message)
    };
    assert_eq!(refused(64 << 20), None, "all of it");
    let told = refused((64 << 20) - 1).unwrap();
    assert!(told.contains("has 63 MiB free, but the swap file needs 64 MiB"), "{told}");
}

#[test]
fn swap_is_given_beside_a_directory_alone() {
    let fake: Fake = machine();
    let levels = Levels::from([("swap".to_owned(), "file".to_owned())]);
    let stack = Stack::new(&Wish::new(&levels)).unwrap();
    let mut guard = begin(&fake).unwrap();
    let device = Base::Device(lab(&mut guard).unwrap());
    let told = stack.make(&mut guard, vec![device]).unwrap_err().message;
    assert!(told.contains("needs a directory"), "{told}");
}

#[test]
fn a_zram_device_that_is_another_one_is_told() {
    while_it_stands(&[("zram", "lz4"), ("zram_size", "8 MiB")], |fake, stack, raised, acted| {
        assert!(acted.contains("echo 8388608 > "), "{acted}");
        let name = raised.base.path().file_name().unwrap().to_str().unwrap().to_owned();
        let place = format!("/sys/devices/virtual/block/{name}");
        let algorithm = format!("{place}/comp_algorithm");
        let was = fake.read_text(Path::new(&algorithm)).unwrap();
        fake.put(&algorithm, "lzo [zstd] lz4\n");
        let told = stack.check(fake, raised).unwrap_err();
        assert_eq!(told, format!("{name} compresses with zstd, not with lz4"));
        fake.put(&algorithm, &was);
        let size = fake.read_text(Path::new(&format!("{place}/size"))).unwrap();
        fake.put(format!("{place}/size"), "2048\n");
        assert_eq!(stack.check(fake, raised).unwrap_err(), format!("{name} has 1 MiB"));
        fake.put(format!("{place}/size"), &size);
        assert_eq!(stack.check(fake, raised), Ok(()));
    });
}

#[test]
fn words_for_several_and_what_a_factor_belongs_to() {
    assert_eq!(plural("device"), "devices");
    assert_eq!(plural("directory"), "directories");
    assert_eq!(plural("array"), "arrays");
    assert_eq!(goes_with("raid_chunk"), Some("raid"));
    assert_eq!((goes_with("raid"), goes_with("scheduler")), (None, None));
    let name =
        |names: &[&str]| noun(names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>().iter());
    assert_eq!(name(&[]), "device");
    assert_eq!(name(&["raid", "filesystem"]), "file system", "the uppermost");
    assert_eq!(name(&["scheduler", "raid"]), "array");
    let told = too_few("raid5", 3, 1);
    assert!(told.starts_with("raid5 needs 3 devices, but there is only one; add `--set"), "{told}");
    assert!(too_few("raid5", 3, 2).contains('2'));
}

#[test]
fn a_file_of_swap_is_known_by_its_level() {
    let told =
        ["file", "zswap", "zswap:lzo", "zram", "zram:lz4", "none", "disk"].map(swaps_to_file);
    assert_eq!(told, [true, true, true, false, false, false, false]);
}
