//! Recorded machines, each with the sum that is right.

use std::time::Duration;

use super::*;
use crate::system::Fake;

/// A zone of powercap with 262 kJ of range.
fn zone(path: &str, name: &str, micro_joules: u64) -> String {
    let root = format!("/sys/devices/virtual/powercap/{path}");
    let entry = path.rsplit('/').next().unwrap();
    format!(
        "file {root}/name {name}\nfile {root}/energy_uj {micro_joules}\n\
         file {root}/max_energy_range_uj 262143328850\n\
         file {root}/constraint_0_power_limit_uw 125000000\n\
         link /sys/class/powercap/{entry} {root}\n"
    )
}

/// Two readings a number of seconds apart, with what happens between them.
fn energy(recorded: &str, seconds: u64, happens: impl Fn(&Fake)) -> Seen<Energy> {
    let fake = Fake::recorded(recorded).unwrap();
    let before = read(&fake);
    fake.sleep(Duration::from_secs(seconds));
    happens(&fake);
    between(&before, &read(&fake), true)
}

fn set(fake: &Fake, path: &str, micro_joules: u64) {
    let path = format!("/sys/devices/virtual/powercap/{path}/energy_uj");
    fake.put(path, format!("{micro_joules}\n"));
}

fn joules(energy: &Seen<Energy>) -> f64 {
    energy.value().unwrap_or_else(|| panic!("{:?}", energy.reason())).joules
}

const PACKAGE: &str = "intel-rapl/intel-rapl:0";

#[test]
fn a_package_holds_its_cores_and_its_memory_is_added() {
    let machine = [
        "dir /sys/class/powercap/intel-rapl\n".to_owned(),
        zone(PACKAGE, "package-0", 1_000_000),
        zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "core", 500_000),
        zone("intel-rapl/intel-rapl:0/intel-rapl:0:1", "uncore", 100_000),
        zone("intel-rapl/intel-rapl:0/intel-rapl:0:2", "dram", 70_000),
    ];
    let found = energy(&machine.concat(), 10, |fake| {
        set(fake, PACKAGE, 101_000_000);
        set(fake, "intel-rapl/intel-rapl:0/intel-rapl:0:0", 80_500_000);
        set(fake, "intel-rapl/intel-rapl:0/intel-rapl:0:1", 5_100_000);
        set(fake, "intel-rapl/intel-rapl:0/intel-rapl:0:2", 20_070_000);
    });
    assert!((joules(&found) - 120.0).abs() < 1e-9);
    let found = found.value().unwrap();
    let parts: Vec<(&str, f64)> =
        found.parts.iter().map(|(name, joules)| (name.as_str(), joules.round())).collect();
    assert_eq!(parts, [("dram of package-0", 20.0), ("package-0", 100.0)]);
    assert_eq!((found.source.as_str(), found.watts().round()), ("powercap", 12.0));
    assert!(found.what.contains("not the drive"));
}

#[test]
fn a_counter_that_began_anew_is_followed() {
    let machine = zone(PACKAGE, "package-0", 262_143_000_000);
    let found = energy(&machine, 5, |fake| set(fake, PACKAGE, 9_671_150));
    assert!((joules(&found) - 10.0).abs() < 1e-6);
}

#[test]
fn a_span_that_may_hold_two_beginnings_tells_nothing() {
    let machine = zone(PACKAGE, "package-0", 1_000_000);
    // 125 W, three times that for moments: 262 kJ last 699 s.
    let found = energy(&machine, 690, |fake| set(fake, PACKAGE, 9_000_000));
    assert!((joules(&found) - 8.0).abs() < 1e-9);
    let found = energy(&machine, 710, |fake| set(fake, PACKAGE, 9_000_000));
    assert!(found.reason().unwrap().contains("more than once"), "{found:?}");
}

#[test]
fn two_sockets_are_both_counted() {
    let machine = [
        zone(PACKAGE, "package-0", 0),
        zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "dram", 0),
        zone("intel-rapl/intel-rapl:1", "package-1", 0),
        zone("intel-rapl/intel-rapl:1/intel-rapl:1:0", "dram", 0),
    ];
    let found = energy(&machine.concat(), 2, |fake| {
        set(fake, PACKAGE, 10_000_000);
        set(fake, "intel-rapl/intel-rapl:0/intel-rapl:0:0", 1_000_000);
        set(fake, "intel-rapl/intel-rapl:1", 20_000_000);
        set(fake, "intel-rapl/intel-rapl:1/intel-rapl:1:0", 2_000_000);
    });
    assert!((joules(&found) - 33.0).abs() < 1e-9);
    assert_eq!(found.value().unwrap().parts.len(), 4);
}

#[test]
fn the_same_package_by_another_way_is_left_out() {
    let both = [
        zone("intel-rapl-mmio/intel-rapl-mmio:0", "package-0", 0),
        zone(PACKAGE, "package-0", 0),
        zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "dram", 0),
        zone("intel-rapl-mmio/intel-rapl-mmio:0/intel-rapl-mmio:0:0", "dram", 0),
    ];
    let moved = |fake: &Fake| {
        set(fake, PACKAGE, 10_000_000);
        set(fake, "intel-rapl/intel-rapl:0/intel-rapl:0:0", 1_000_000);
        set(fake, "intel-rapl-mmio/intel-rapl-mmio:0", 10_000_000);
        set(fake, "intel-rapl-mmio/intel-rapl-mmio:0/intel-rapl-mmio:0:0", 1_000_000);
    };
    assert!((joules(&energy(&both.concat(), 2, moved)) - 11.0).abs() < 1e-9);
    // Alone it is the package.
    let alone = zone("intel-rapl-mmio/intel-rapl-mmio:0", "package-0", 0);
    let found = energy(&alone, 2, |fake| set(fake, "intel-rapl-mmio/intel-rapl-mmio:0", 3_000_000));
    assert!((joules(&found) - 3.0).abs() < 1e-9);
}

#[test]
fn a_zone_that_is_listed_twice_counts_once() {
    let machine = zone(PACKAGE, "package-0", 0)
        + "link /sys/class/powercap/intel-rapl:7 /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0\n";
    let found = energy(&machine, 2, |fake| set(fake, PACKAGE, 4_000_000));
    assert!((joules(&found) - 4.0).abs() < 1e-9);
}

#[test]
fn the_platform_is_never_added_to_packages() {
    let beside = zone(PACKAGE, "package-0", 0) + &zone("intel-rapl/intel-rapl:1", "psys", 0);
    let found = energy(&beside, 2, |fake| {
        set(fake, PACKAGE, 10_000_000);
        set(fake, "intel-rapl/intel-rapl:1", 25_000_000);
    });
    assert!((joules(&found) - 10.0).abs() < 1e-9);
    let alone = zone("intel-rapl/intel-rapl:1", "psys", 0);
    let found = energy(&alone, 2, |fake| set(fake, "intel-rapl/intel-rapl:1", 25_000_000));
    assert!((joules(&found) - 25.0).abs() < 1e-9);
}

#[test]
fn counters_that_are_roots_say_what_to_do() {
    let machine = "\
dir /sys/class/powercap
file /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/name package-0
closed /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj
link /sys/class/powercap/intel-rapl:0 /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0
";
    let found = energy(machine, 2, |_| {});
    let advice = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj";
    assert!(found.reason().unwrap().contains(advice), "{found:?}");
}

#[test]
fn nobody_who_did_not_ask_is_told_that_nothing_tells() {
    let fake = Fake::new();
    let reading = read(&fake);
    assert_eq!(between(&reading, &reading, false).reason(), Some(NOT_WATCHED));
    assert_eq!(between(&reading, &reading, true).reason(), Some(NO_SOURCE));
    assert_eq!(reading.source().reason(), Some(NO_SOURCE));
}

/// A laptop's supplies.
fn laptop(online: u32, status: &str, gauge: &str) -> String {
    let root = "/sys/class/power_supply";
    format!(
        "file {root}/AC/type Mains\nfile {root}/AC/online {online}\n\
         file {root}/BAT0/type Battery\nfile {root}/BAT0/status {status}\n{gauge}"
    )
}

#[test]
fn a_battery_that_discharges_tells() {
    let gauge = "file /sys/class/power_supply/BAT0/energy_now 40000000\n";
    let found = energy(&laptop(0, "Discharging", gauge), 60, |fake| {
        fake.put("/sys/class/power_supply/BAT0/energy_now", "39750000\n");
    });
    // A quarter of a watt-hour.
    assert!((joules(&found) - 900.0).abs() < 1e-6);
    assert_eq!(found.value().map(|energy| energy.watts().round()), Some(15.0));
    let gauge = "file /sys/class/power_supply/BAT0/charge_now 3000000\n\
                 file /sys/class/power_supply/BAT0/voltage_min_design 12000000\n\
                 file /sys/class/power_supply/BAT0/voltage_now 11500000\n";
    let found = energy(&laptop(0, "Discharging", gauge), 60, |fake| {
        fake.put("/sys/class/power_supply/BAT0/charge_now", "2990000\n");
        fake.put("/sys/class/power_supply/BAT0/voltage_now", "11300000\n");
    });
    assert!((joules(&found) - 432.0).abs() < 1e-6);
}

#[test]
fn a_battery_on_mains_or_with_a_coarse_gauge_tells_nothing() {
    let gauge = "file /sys/class/power_supply/BAT0/energy_now 40000000\n";
    for (online, status) in [(1, "Charging"), (1, "Full"), (1, "Discharging"), (0, "Charging")] {
        let found = energy(&laptop(online, status, gauge), 60, |_| {});
        assert!(found.reason().unwrap().contains("on mains"), "{online} {status}");
    }
    let found = energy(&laptop(0, "Discharging", gauge), 5, |_| {});
    assert!(found.reason().unwrap().contains("did not move in 5.0 s"), "{found:?}");
    let found = energy(&laptop(0, "Discharging", gauge), 5, |fake| {
        fake.put("/sys/class/power_supply/AC/online", "1\n");
    });
    assert!(found.reason().unwrap().contains("changed during the trial"), "{found:?}");
}

#[test]
fn counters_of_hwmon_are_named_and_drives_have_none() {
    let machine = "\
file /sys/class/hwmon/hwmon0/name nvme
file /sys/class/hwmon/hwmon0/temp1_input 30000
file /sys/class/hwmon/hwmon1/name amd_energy
file /sys/class/hwmon/hwmon1/energy1_input 1000000
file /sys/class/hwmon/hwmon1/energy1_label Esocket0
";
    let found = energy(machine, 2, |fake| {
        fake.put("/sys/class/hwmon/hwmon1/energy1_input", "31000000\n");
    });
    assert!((joules(&found) - 30.0).abs() < 1e-9);
    assert!(found.value().unwrap().parts.contains_key("amd_energy Esocket0"));
    let moment = "\
file /sys/class/hwmon/hwmon0/name amdgpu
file /sys/class/hwmon/hwmon0/power1_average 7000000
";
    let found = energy(moment, 2, |_| {});
    assert!(found.reason().unwrap().contains("amdgpu tells the power of a moment"), "{found:?}");
}

/// Energy by a meter's file between two moments of the fake's clock (2026-11-20T09:00:00Z and later).
fn metered(text: &str, seconds: u64) -> Seen<Energy> {
    let fake = Fake::new();
    fake.put("/home/me/meter.csv", text);
    let before = read(&fake);
    fake.sleep(Duration::from_secs(seconds));
    let after = read(&fake).with_meter(&fake, Some("/home/me/meter.csv"));
    between(&before, &after, true)
}

#[test]
fn a_meters_file_is_summed_over_the_trial() {
    // 10 W until the fourth second, then 20 W; a header, a line that is being written.
    let rows = |sign: char| {
        (0..=12).fold(format!("Time{sign}Volt{sign}Watts\n"), |text, second| {
            let watts = if second < 5 { 10 } else { 20 };
            let time = format!("2026-11-20T09:59:{:02}+01:00", 55 + second);
            let time =
                if second < 5 { time } else { format!("2026-11-20T09:00:{:02}Z", second - 5) };
            text + &format!("{time}{sign}230{sign}{watts}\n")
        })
    };
    for sign in [',', ';'] {
        let found = metered(&(rows(sign) + "2026-11-20T09:00:0"), 7);
        assert!((joules(&found) - 140.0).abs() < 1e-6, "{found:?}");
    }
    // Seconds since 1970; a slope from 10 to 30 W, of which the first half is the trial.
    let slope = "1795165200,10\n1795165204,30\n";
    assert!((joules(&metered(slope, 2)) - 30.0).abs() < 1e-6);
    let slope = slope.replace(',', "000,");
    assert!((joules(&metered(&slope, 2)) - 30.0).abs() < 1e-6);
}

#[test]
fn a_meters_file_that_does_not_cover_the_trial_says_so() {
    let seconds = |from: u64, to: u64| {
        let lines = (from..=to).map(|second| format!("{},5\n", 1_795_165_200 + second));
        lines.collect::<Vec<_>>().concat()
    };
    // The last second is the usual distance: its watts stand for it.
    assert!((joules(&metered(&seconds(0, 9), 10)) - 50.0).abs() < 1e-6);
    for (text, words) in [
        (seconds(0, 6), "ends 4.0 s before"),
        (seconds(3, 20), "begins 3.0 s after"),
        (seconds(0, 2) + &seconds(40, 60), "gap of 38.0 s"),
        ("hello\n".to_owned(), "no line with a time and watts"),
    ] {
        let took = if words.contains("gap") { 50 } else { 10 };
        let found = metered(&text, took);
        assert!(found.reason().unwrap().contains(words), "{words}: {found:?}");
    }
    let fake = Fake::new();
    let reading = read(&fake).with_meter(&fake, Some("/home/me/none.csv"));
    let found = between(&reading, &reading, true);
    assert_eq!(found.reason(), Some("the meter's file /home/me/none.csv: not there"));
}
