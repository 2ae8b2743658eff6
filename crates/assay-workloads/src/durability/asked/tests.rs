//! Valid requests of a study, and the resulting plans.

use super::*;
use crate::workload::DeclaredKeys as _;

fn set(own: &mut DurabilitySpec, name: &str, level: &str) -> Result<(), String> {
    crate::set(own, name, level).unwrap()
}

#[test]
fn each_parameter_is_set_by_its_levels_and_by_nothing_else() {
    for factor in DurabilitySpec::FACTORS {
        let name = factor.about.about.name;
        let levels: Vec<String> = serde_json::from_str(factor.about.example).unwrap();
        let mut made: Vec<DurabilitySpec> = Vec::new();
        for level in &levels {
            let mut own = DurabilitySpec::default();
            set(&mut own, name, level).unwrap();
            assert!(!made.contains(&own), "{name} = {level}");
            made.push(own);
        }
        assert!(set(&mut DurabilitySpec::default(), name, "no such").is_err(), "{name}");
    }
    assert!(set(&mut DurabilitySpec::default(), "crash_points", "0").is_err());
    assert!(set(&mut DurabilitySpec::default(), "vm_mount_options", "a b").is_err());
}

#[test]
fn machines_take_their_time_however_it_was_asked_for_them() {
    let of = |levels: &[[&str; 2]], quick: bool| {
        let mut own = DurabilitySpec::default();
        if quick {
            own.make_quick(None);
        }
        own.settle();
        for [name, level] in levels {
            set(&mut own, name, level).unwrap();
        }
        (own.crash_points, own.runtime.unwrap())
    };
    assert_eq!(of(&[], false), (1000, USUAL_TIME));
    assert_eq!(of(&[], true), (QUICK_CUTS, QUICK));
    let kill = [["crash_points", "60"], ["method", "kill"], ["write_to", "ext4"]];
    assert_eq!(of(&kill, false), (60, USUAL_TIME));
    assert_eq!(of(&kill[1..], true), (QUICK_KILLS, USUAL_TIME));
    assert_eq!(of(&[["write_to", "xfs"]], true), (QUICK_READS, USUAL_TIME));
    assert_eq!(of(&[["method", "plug"]], false).1, USUAL_WAIT);
    assert_eq!(of(&[["write_to", "xfs"], ["write_to", "target"]], false).0, 1000);
}

#[test]
fn what_machines_take_grows_with_their_cuts_and_with_one_start() {
    let of = |grade, on, cuts| {
        let planned = DurabilitySpec {
            crash_points: cuts,
            method: grade,
            write_to: on,
            ..Default::default()
        }
        .planned(1 << 30)
        .unwrap();
        planned.expected_ns(0).unwrap()
    };
    for (grade, on) in
        [(Method::Kill, On::Drive), (Method::Kill, On::Ext4), (Method::Replay, On::Ext4)]
    {
        let [one, two, three] = [1, 2, 3].map(|cuts| of(grade, on, cuts));
        assert!(one > FIRST_START_NS && two - one == three - two && two > one, "{grade:?} {on:?}");
    }
    let [plain, read] = [On::Drive, On::Ext4].map(|on| of(Method::Replay, on, 1000));
    assert!(plain < read, "what this process reads itself takes no look of a machine");
}

#[test]
fn sizes_are_whole_sectors() {
    for (name, wrong) in [
        ("record_size", "1000 B"),
        ("record_size", "2 MiB"),
        ("atomic_write_unit", "100 B"),
        ("atomic_write_unit", "128 KiB"),
    ] {
        let told = set(&mut DurabilitySpec::default(), name, wrong).unwrap_err();
        assert!(told.contains("multiple of 512 bytes"), "{told}");
    }
    let odd = DurabilitySpec { record_size: Bytes(700), ..Default::default() };
    assert!(odd.planned(1 << 30).is_err() && DurabilitySpec::default().planned(1 << 30).is_ok());
    assert!(DurabilitySpec::default().planned(4096).unwrap_err().contains("4 blocks"));
}

#[test]
fn a_plan_says_how_many_cuts_give_which_bound() {
    let words =
        DurabilitySpec { crash_points: 60, ..Default::default() }.planned(1 << 30).unwrap().words();
    assert!(words.contains("4.88% with 60") && words.contains("method replay"), "{words}");
    let none = DurabilitySpec { sync: Sync::None, ..Default::default() }.planned(1 << 30).unwrap();
    assert!(none.words().contains("no write is acknowledged") && !none.words().contains('%'));
}

#[test]
fn files_and_commands_need_a_file_system_and_a_command_its_check() {
    let planned = |own: &DurabilitySpec| own.planned(1 << 30);
    let files = DurabilitySpec { writer: Pattern::Files, ..Default::default() };
    assert!(planned(&files).unwrap_err().contains("write_to = \"ext4\""));
    for on in [On::Ext4, On::Xfs, On::Btrfs] {
        assert_eq!(
            planned(&DurabilitySpec { write_to: on, ..files.clone() }).unwrap().pattern,
            Pattern::Files
        );
    }
    assert!(planned(&DurabilitySpec { write_to: On::Drive, ..files }).is_err());
    let line = |text: &str| Some(text.to_owned());
    let own = DurabilitySpec {
        writer: Pattern::Command,
        write_to: On::Xfs,
        writer_command: line("my-db"),
        needs: vec!["my-db".to_owned()],
        ..Default::default()
    };
    assert_eq!(own.find_error().unwrap().0, "check_command");
    assert_eq!(
        DurabilitySpec { writer_command: line(" "), ..own.clone() }.find_error().unwrap().0,
        "writer_command"
    );
    let own = DurabilitySpec { check_command: line("my-db --verify"), ..own };
    let long = DurabilitySpec { check_timeout: Some(Time(241_000_000_000)), ..own.clone() };
    assert_eq!(long.find_error().unwrap().0, "check_timeout");
    let made = planned(&own).unwrap();
    assert_eq!(made.vm_needs().needs, ["my-db"]);
    assert!(made.words().contains("`my-db`, checked by `my-db --verify`"), "{}", made.words());
    let lines = made.own.unwrap();
    assert_eq!([lines.command_ms, lines.check_ms], [10_000, 60_000]);
    // Each run has a separate time, for any number of crash points.
    let mut settled = DurabilitySpec { crash_points: 3000, ..own.clone() };
    settled.settle();
    assert_eq!(planned(&settled).unwrap().own.unwrap().command_ms, 10_000);
    let other = DurabilitySpec { writer: Pattern::Log, ..own };
    assert!(other.find_error().unwrap().1.contains("writer = \"command\""));
}

#[test]
fn what_a_file_leaves_open_is_usual() {
    assert_eq!(serde_json::from_str::<DurabilitySpec>("{}").unwrap(), DurabilitySpec::default());
    assert!(serde_json::from_str::<DurabilitySpec>("{\"cut\": 3}").is_err());
}
