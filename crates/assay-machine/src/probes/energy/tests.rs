//! Recorded machines, each with the correct sum.

use std::time::Duration;

use crate::system::Fake;

use super::*;

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

/// Two readings a number of seconds apart; `happens` runs between them.
fn energy(recorded: &str, seconds: u64, happens: impl Fn(&Fake)) -> Presence<Energy> {
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

fn joules(energy: &Presence<Energy>) -> f64 {
    energy.value().unwrap_or_else(|| panic!("{:?}", energy.reason())).joules
}

const PACKAGE: &str = "intel-rapl/intel-rapl:0";

#[test]
fn a_file_of_something_else_is_known_and_a_log_that_begins_is_not() {
    let fake = Fake::new();
    fake.put("/passwd", "root:x:0:0\nnobody:x:1:1\n").put("/new.csv", "time,watts\n");
    fake.put("/good.csv", "time,watts\n1795165200,4.2\n1795165201,4.3\n");
    fake.put("/mwh.csv", "time,energy_wh\n1795165200,4.2\n");
    let mistaken = |path: &str| meter::mistaken(&fake, Path::new(path));
    assert!(mistaken("/passwd").unwrap().starts_with("no line has a time and watts"));
    assert!(mistaken("/mwh.csv").is_some());
    for path in ["/new.csv", "/good.csv", "/not-yet.csv"] {
        assert_eq!(mistaken(path), None, "{path}");
    }
}

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
    assert!(super::super::is_not_recorded(&between(&reading, &reading, false)));
    assert_eq!(between(&reading, &reading, true).reason(), Some(NO_SOURCE));
    assert_eq!(reading.source().reason(), Some(NO_SOURCE));
}

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
    assert!(found.reason().unwrap().contains("in 5.0 s"), "{found:?}");
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
    assert!(found.reason().unwrap().contains("amdgpu reports only"), "{found:?}");
}

#[test]
fn what_a_card_holds_is_counted_once_and_two_cards_are_both_there() {
    let counter = |number: u32, name: &str, place: &str, entries: &[(u32, &str)]| {
        let root = format!("/sys/class/hwmon/hwmon{number}");
        let device = format!("/sys/devices/{place}");
        let mut text =
            format!("file {root}/name {name}\ndir {device}\nlink {root}/device {device}\n");
        for (index, label) in entries {
            text.extend([format!("file {root}/energy{index}_input 0\n")]);
            if !label.is_empty() {
                text.extend([format!("file {root}/energy{index}_label {label}\n")]);
            }
        }
        text
    };
    let machine = [
        counter(0, "xe", "card0", &[(1, "card"), (2, "pkg")]),
        counter(1, "xe", "card1", &[(1, "card"), (2, "pkg")]),
        counter(2, "xe", "card2", &[(2, "pkg")]),
        counter(3, "i915", "card3", &[(1, "")]),
        counter(4, "i915_gt0", "card3", &[(1, "")]),
        counter(5, "i915_gt0", "card4", &[(1, "")]),
        counter(6, "amd_energy", "board", &[(1, "Ecore000"), (2, "Esocket0"), (3, "Esocket1")]),
    ];
    let found = energy(&machine.concat(), 2, |fake| {
        for (device, index) in
            [(0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (3, 1), (4, 1), (5, 1), (6, 1), (6, 2), (6, 3)]
        {
            let file = format!("/sys/class/hwmon/hwmon{device}/energy{index}_input");
            fake.put(&file, "10000000\n");
        }
    });
    assert!((joules(&found) - 70.0).abs() < 1e-9, "{found:?}");
    let parts: Vec<&str> = found.value().unwrap().parts.keys().map(String::as_str).collect();
    let known = [
        "amd_energy Esocket0",
        "amd_energy Esocket1",
        "i915 energy1",
        "i915_gt0 energy1",
        "xe card",
        "xe card 2",
        "xe pkg",
    ];
    assert_eq!(parts, known);
}

#[test]
fn a_card_does_not_stand_in_for_packages_that_may_not_be_read() {
    let closed = "\
dir /sys/class/powercap
file /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/name package-0
closed /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj
link /sys/class/powercap/intel-rapl:0 /sys/devices/virtual/powercap/intel-rapl/intel-rapl:0
file /sys/class/hwmon/hwmon0/name xe
file /sys/class/hwmon/hwmon0/energy1_input 0
file /sys/class/hwmon/hwmon0/energy1_label card
";
    let card = |fake: &Fake| {
        fake.put("/sys/class/hwmon/hwmon0/energy1_input", "10000000\n");
    };
    let found = energy(closed, 2, card);
    assert!(found.reason().unwrap().contains("sudo chmod a+r"), "{found:?}");
    let source = read(&Fake::recorded(closed).unwrap()).source();
    assert!(source.reason().unwrap().contains("sudo chmod a+r"), "{source:?}");
    // A battery holds the packages and more.
    let gauge = "file /sys/class/power_supply/BAT0/energy_now 40000000\n";
    let found = energy(&(closed.to_owned() + &laptop(0, "Discharging", gauge)), 60, |fake| {
        fake.put("/sys/class/power_supply/BAT0/energy_now", "39750000\n");
    });
    assert!((joules(&found) - 900.0).abs() < 1e-6);
}

#[test]
fn memory_without_a_limit_does_not_silence_its_package() {
    let machine = |most: u64| {
        let memory = zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "dram", 0)
            .replace("_power_limit_uw 125000000", "_power_limit_uw 0")
            .replace("262143328850", "65712999613");
        let root = "/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/intel-rapl:0:0";
        let most = format!("file {root}/constraint_0_max_power_uw {most}\n");
        zone(PACKAGE, "package-0", 0) + &memory + &most
    };
    let after = |most: u64, seconds: u64| {
        energy(&machine(most), seconds, |fake| set(fake, PACKAGE, 9_000_000))
    };
    // Without any limit 200 W: 328 s.
    assert!((joules(&after(0, 320)) - 9.0).abs() < 1e-9);
    assert!(after(0, 340).reason().unwrap().contains("more than once"));
    assert!((joules(&after(30_000_000, 600)) - 9.0).abs() < 1e-9);
}

/// Energy by a meter's file between two moments of the fake's clock (2026-11-20T09:00:00Z and later).
fn metered(text: &str, seconds: u64) -> Presence<Energy> {
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
    // Unix time; power rises from 10 to 30 W, and the trial is the first half.
    let slope = "1795165200,10\n1795165201,15\n1795165202,20\n1795165203,25\n1795165204,30\n";
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
        (seconds(3, 20), "starts 3.0 s after"),
        ("1795165200,5\n1795165209,5\n".to_owned(), "2 lines during the trial"),
        (seconds(0, 2) + &seconds(40, 60), "gap of 38.0 s"),
        ("hello\n".to_owned(), "no line has a time and watts"),
    ] {
        let took = if words.contains("gap") { 50 } else { 10 };
        let found = metered(&text, took);
        assert!(found.reason().unwrap().contains(words), "{words}: {found:?}");
    }
    let fake = Fake::new();
    let reading = read(&fake).with_meter(&fake, Some("/home/me/none.csv"));
    let found = between(&reading, &reading, true);
    assert_eq!(found.reason(), Some("the meter's file /home/me/none.csv: not found"));
}

#[test]
fn columns_of_a_meter_are_taken_by_what_they_hold() {
    let file = |header: &str, row: &str| {
        let rows = (0..=10).map(|second| format!("{},{row}\n", 1_795_165_200 + second));
        metered(&rows.fold(format!("{header}\n"), |text, row| text + &row), 10)
    };
    for (header, row) in [
        ("time,power factor,apparent power (VA),power", "0.9,7,5"),
        ("time,total power,Watts", "9,5"),
        ("time,Reactive Power [var],Active Power [W]", "9,5"),
        ("time,Watt hours,Wh,Energy (W h),Power (mW)", "1,2,3,5000"),
        ("time,Power_kW", "0.005"),
        ("time,milliwatts", "5000"),
        ("when it was: time,value", "5"),
    ] {
        let found = file(header, row);
        assert!((joules(&found) - 50.0).abs() < 1e-6, "{header}: {found:?}");
    }
    for header in ["time,Wh", "time,power factor", "time,apparent power", "time,kWh"] {
        let found = file(header, "5");
        assert!(found.reason().unwrap().contains("no power column"), "{header}: {found:?}");
    }
}

#[test]
fn a_meter_needs_lines_in_the_trial_and_may_be_late_at_its_ends() {
    let every = |distance: usize, from: u64| {
        let times = (from..from + 60).step_by(distance);
        times.fold(String::new(), |text, at| text + &format!("{},5\n", 1_795_165_200 + at))
    };
    assert!((joules(&metered(&every(5, 0), 10)) - 50.0).abs() < 1e-6);
    let found = metered(&every(8, 0), 10);
    assert!(found.reason().unwrap().contains("2 lines during the trial"), "{found:?}");
    assert!((joules(&metered(&every(2, 4), 10)) - 50.0).abs() < 1e-6);
    let found = metered(&every(2, 5), 10);
    assert!(found.reason().unwrap().contains("starts 5.0 s after"), "{found:?}");
}

#[test]
fn times_far_away_do_no_harm() {
    let sample = |at_ns| meter::MeterSample { at_ns, watts: 1.0 };
    let samples = [sample(0), sample(u64::MAX / 2), sample(u64::MAX)];
    assert!(meter::joules(&samples, u64::MAX - 10, u64::MAX).is_err());
    assert!(meter::joules(&samples, 0, u64::MAX).is_ok());
}
