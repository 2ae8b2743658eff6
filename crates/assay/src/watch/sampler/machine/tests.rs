use super::*;
use assay_machine::probes::{memory as of_memory, pressure as of_pressure};
use assay_machine::system::{Fake, System};

#[test]
fn shares_add_up_and_the_sum_of_all_is_no_processor() {
    let fake = Fake::new();
    fake.put("/proc/stat", "cpu  9 9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 1\n");
    let before = load::read(&fake);
    fake.put("/proc/stat", "cpu  9 9 9 9 9 9 9 9\ncpu0 10 10 5 50 10 3 2 10 0 0\n");
    let after = load::read(&fake);
    let found = loads(&before, &after);
    let load = CpuShares { user: 0.2, system: 0.1, iowait: 0.1, steal: 0.1 };
    assert_eq!(found, Presence::Present(vec![load]));
    assert_eq!(loads(&after, &after), Presence::Present(vec![CpuShares::default()]));
}

#[test]
fn pressure_comes_from_the_totals_and_a_kernel_without_them_is_told() {
    let fake = Fake::new();
    let none = of_pressure::machine(&fake);
    let reason = pressure(&none, &none, 1).reason().map(str::to_owned).unwrap();
    assert!(
        reason.starts_with("/proc/pressure: not found") && reason.contains("psi=1"),
        "{reason}"
    );
    let text = |some: u64, full: u64| {
        format!("some avg10=0.00 avg60=0.00 total={some}\nfull avg10=0.00 total={full}\n")
    };
    for name in ["cpu", "io", "memory"] {
        fake.put(format!("/proc/pressure/{name}"), text(1000, 10));
    }
    let before = of_pressure::machine(&fake);
    fake.put("/proc/pressure/io", text(251_000, 100_010));
    let found = pressure(&before, &of_pressure::machine(&fake), 1_000_000_000);
    let found = found.value().unwrap();
    assert_eq!((found.cpu, found.io, found.io_full, found.memory), (0.0, 0.25, 0.1, 0.0));
}

#[test]
fn sensors_have_their_labels_and_zones_stand_in() {
    let fake = Fake::new();
    assert!(sensors(&fake, true).reason().unwrap().contains("no sensor"));
    fake.put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    fake.put("/sys/class/thermal/thermal_zone0/temp", "-1500\n");
    let zone = SensorValue { name: "x86_pkg_temp".to_owned(), celsius: -1.5 };
    assert_eq!(sensors(&fake, true), Presence::Present(vec![zone]));
    fake.put("/sys/class/hwmon/hwmon0/name", "nvme\n");
    fake.put("/sys/class/hwmon/hwmon0/temp1_input", "41850\n");
    fake.put("/sys/class/hwmon/hwmon0/temp1_label", "Composite\n");
    let drive = SensorValue { name: "nvme Composite".to_owned(), celsius: 41.85 };
    assert_eq!(sensors(&fake, true), Presence::Present(vec![drive]));
    let zone = sensors(&fake, false).value().unwrap()[0].name.clone();
    assert_eq!(zone, "x86_pkg_temp", "a drive is not asked");
}

#[test]
fn levels_stay_and_swapping_is_a_difference_in_pages_of_the_machine() {
    let fake = Fake::new();
    let levels = "MemTotal: 1000 kB\nMemAvailable: 250 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n\
                  Dirty: 8 kB\nWriteback: 4 kB\nWritebackTmp: 9 kB\n";
    fake.put("/proc/meminfo", levels).put("/proc/vmstat", "pswpin 2\npswpout 3\n");
    let before = of_memory::machine(&fake);
    fake.put("/proc/vmstat", "pswpin 2\npswpout 5\n");
    let after = of_memory::machine(&fake);
    let found = memory(&before, &after);
    let found = found.value().unwrap();
    assert_eq!((found.used(), found.swap_used_bytes), (0.75, 60 * 1024));
    assert_eq!((found.dirty_bytes, found.writeback_bytes), (8192, 4096));
    assert_eq!((found.swapped_in_bytes, found.swapped_out_bytes), (0, 2 * fake.page_bytes()));
    fake.put("/proc/meminfo", "MemTotal: 1 kB\n");
    assert_eq!(memory(&before, &of_memory::machine(&fake)).value(), None);
}
