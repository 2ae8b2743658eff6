use super::*;
use crate::system::{Fake, machine};

/// Recorded files of each platform. The first line of a file is its name, the second the value of `virtualisation`.
const PLACES: &[(&str, &str)] = &[
    ("bare-metal", include_str!("../../../tests/fixtures/places/bare-metal.txt")),
    ("amazon-metal", include_str!("../../../tests/fixtures/places/amazon-metal.txt")),
    ("kvm", include_str!("../../../tests/fixtures/places/kvm.txt")),
    ("kvm-firecracker", include_str!("../../../tests/fixtures/places/kvm-firecracker.txt")),
    ("kvm-enlightened", include_str!("../../../tests/fixtures/places/kvm-enlightened.txt")),
    ("kvm-rhel6", include_str!("../../../tests/fixtures/places/kvm-rhel6.txt")),
    ("amazon-nitro", include_str!("../../../tests/fixtures/places/amazon-nitro.txt")),
    ("google", include_str!("../../../tests/fixtures/places/google.txt")),
    ("xen-pv", include_str!("../../../tests/fixtures/places/xen-pv.txt")),
    ("xen-hvm", include_str!("../../../tests/fixtures/places/xen-hvm.txt")),
    ("xen-dom0", include_str!("../../../tests/fixtures/places/xen-dom0.txt")),
    ("vmware", include_str!("../../../tests/fixtures/places/vmware.txt")),
    ("hyper-v", include_str!("../../../tests/fixtures/places/hyper-v.txt")),
    ("surface", include_str!("../../../tests/fixtures/places/surface.txt")),
    ("virtualbox", include_str!("../../../tests/fixtures/places/virtualbox.txt")),
    ("virtualbox-plain", include_str!("../../../tests/fixtures/places/virtualbox-plain.txt")),
    ("parallels", include_str!("../../../tests/fixtures/places/parallels.txt")),
    ("qemu-tcg", include_str!("../../../tests/fixtures/places/qemu-tcg.txt")),
    ("bhyve", include_str!("../../../tests/fixtures/places/bhyve.txt")),
    ("unknown", include_str!("../../../tests/fixtures/places/unknown.txt")),
    ("kvm-arm", include_str!("../../../tests/fixtures/places/kvm-arm.txt")),
    ("docker-on-kvm", include_str!("../../../tests/fixtures/places/docker-on-kvm.txt")),
    ("podman", include_str!("../../../tests/fixtures/places/podman.txt")),
    ("nspawn", include_str!("../../../tests/fixtures/places/nspawn.txt")),
    ("lxc", include_str!("../../../tests/fixtures/places/lxc.txt")),
    ("kubernetes", include_str!("../../../tests/fixtures/places/kubernetes.txt")),
    ("namespaces", include_str!("../../../tests/fixtures/places/namespaces.txt")),
    ("service", include_str!("../../../tests/fixtures/places/service.txt")),
];

fn told(text: &str, line: usize) -> &str {
    text.lines().nth(line).unwrap().strip_prefix("# ").unwrap()
}

#[test]
fn every_place_is_known_by_what_it_shows() {
    for (name, text) in PLACES {
        let fake = Fake::recorded(text).unwrap();
        let found = place(&fake).value().cloned().unwrap();
        assert_eq!(found.name(), told(text, 0), "{name}: {found:?}");
        let virtualisation = machine::machine(&fake).virtualisation;
        assert_eq!(virtualisation.value().unwrap(), told(text, 1), "{name}");
        for layer in &found.layers {
            assert!(!layer.signs.is_empty(), "{name}: what does it show by? {layer:?}");
        }
    }
}

#[test]
fn each_file_of_the_fixtures_is_walked() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/places");
    #[allow(clippy::disallowed_methods, reason = "the fixtures are files")]
    let files = std::fs::read_dir(directory).unwrap().count();
    assert_eq!(files, PLACES.len());
}

#[test]
fn each_known_hypervisor_has_what_it_shows_by() {
    for known in KNOWN {
        assert!(!known.signatures.is_empty(), "{}", known.name);
        let others = KNOWN.iter().filter(|other| other.name != known.name);
        let mut others = others.flat_map(|other| other.signatures);
        assert!(!others.any(|sign| known.signatures.contains(sign)), "{}", known.name);
    }
}

#[test]
fn signs_that_agree_are_all_told() {
    let (_, text) = PLACES.iter().find(|(name, _)| *name == "kvm").unwrap();
    let signs = place(&Fake::recorded(text).unwrap()).value().unwrap().signs();
    let wanted =
        ["CPUID: KVMKVMKVM", "DMI: QEMU Standard PC (Q35 + ICH9, 2009)", "clock source: kvm-clock"];
    assert_eq!(signs, wanted);
}

#[test]
fn what_the_kernel_says_of_weaknesses_and_of_the_frequency() {
    let fake = Fake::new();
    fake.put("/proc/cpuinfo", "processor : 0\n");
    fake.put("/sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n");
    fake.put("/sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable\n");
    fake.put("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "acpi-cpufreq\n");
    let found = place(&fake).value().cloned().unwrap();
    assert_eq!(found.frequency_driver.value().unwrap(), "acpi-cpufreq");
    assert_eq!(found.mitigations.value().unwrap()["mds"], "Vulnerable");
    assert_eq!(found.mitigated().unwrap(), "0 mitigated, 1 not affected, 1 open (mds)");
    assert_eq!((found.kind(), found.name().as_str()), (None, "bare metal"));
}

#[test]
fn a_machine_that_tells_nothing_is_no_bare_metal() {
    assert!(place(&Fake::new()).reason().is_some());
}
