use super::*;
use crate::system::Fake;
use crate::system::fake::machines;

fn present<T: Clone + std::fmt::Debug>(seen: &Presence<T>) -> T {
    seen.value().cloned().unwrap_or_else(|| panic!("{seen:?}"))
}

#[test]
fn a_desktop() {
    let found = machine(&machines::machine("sata-ssd"));
    assert_eq!(present(&found.kernel), "6.1.0-18-amd64");
    assert_eq!(present(&found.cpu), "Intel(R) Core(TM) i5-6500 CPU @ 3.20GHz");
    assert_eq!(
        (present(&found.logical_cpus), present(&found.governor)),
        (4, "powersave".to_owned())
    );
    assert_eq!((present(&found.memory_bytes), present(&found.swap_bytes)), (16_278_412 * 1024, 0));
    assert_eq!(present(&found.virtualisation), "none");
    assert_eq!(found.graphics, ["8086:1912"]);
    assert_eq!(present(&found.distribution), "Debian GNU/Linux 12 (bookworm)");
    let limits = present(&found.limits);
    assert_eq!(
        limits.into_iter().collect::<Vec<_>>(),
        [("memory.max".into(), "8589934592".into())]
    );
}

#[test]
fn a_guest_without_firmware_is_known_by_its_clock() {
    let found = machine(&machines::machine("vm-virtio"));
    assert_eq!(present(&found.virtualisation), "kvm guest");
    assert_eq!(present(&found.clocksource), "tsc");
    assert!(found.governor.reason().is_some() && found.limits.reason().is_some());
}

#[test]
fn an_emulator_is_known_by_its_signature_or_its_processor() {
    let fake = machines::machine("emulated");
    let found = machine(&fake);
    assert_eq!(present(&found.virtualisation), "emulated (qemu tcg)");
    assert_eq!(found.emulator(), Some("QEMU TCG"));
    assert_eq!(present(&found.cpu), "QEMU TCG CPU version 2.5+");
    fake.remove("/cpuid/hypervisor");
    assert_eq!(machine(&fake).emulator(), Some("QEMU TCG"), "by the name it makes up");
    fake.put("/proc/cpuinfo", "processor : 0\nmodel name : AMD EPYC\nflags : fpu hypervisor\n");
    assert_eq!(machine(&fake).emulator(), None);
    assert_eq!(
        present(&machine(&fake).virtualisation),
        "kvm guest",
        "the firmware names QEMU alone"
    );
    fake.put("/cpuid/hypervisor", "TCGTCGTCGTCG\n");
    assert_eq!(machine(&fake).emulator(), Some("QEMU TCG"), "by its signature");
    fake.put("/cpuid/hypervisor", "KVMKVMKVM");
    assert_eq!(present(&machine(&fake).virtualisation), "kvm guest");
}

#[test]
fn guests_and_containers_by_their_signs() {
    let fake = machines::machine("container-overlay");
    assert_eq!(present(&machine(&fake).virtualisation), "container (docker)");
    fake.put("/proc/1/environ", "PATH=/\0container=lxc\0");
    fake.put("/proc/cpuinfo", "processor : 0\nflags : fpu hypervisor sse\n");
    assert_eq!(present(&machine(&fake).virtualisation), "guest, container (lxc)");
    fake.put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
    assert_eq!(present(&machine(&fake).virtualisation), "kvm guest, container (lxc)");
    fake.put("/sys/hypervisor/type", "xen\n");
    assert_eq!(present(&machine(&fake).virtualisation), "xen guest, container (lxc)");
}

#[test]
fn processors_are_those_that_may_be_used() {
    let fake = machines::machine("sata-ssd");
    assert_eq!(present(&usable_processors(&fake)), 4, "nobody says that there are fewer");
    fake.put("/proc/self/status", "Name:\ta\nCpus_allowed:\tf\nCpus_allowed_list:\t0-1,3\n");
    assert_eq!(present(&usable_processors(&fake)), 3);
}

#[test]
fn a_board_is_known_by_its_name() {
    let found = machine(&machines::machine("sd-card"));
    assert_eq!(present(&found.cpu), "Raspberry Pi 4 Model B Rev 1.1");
    assert_eq!((present(&found.logical_cpus), found.architecture.as_str()), (2, "aarch64"));
}

#[test]
fn an_empty_machine_is_absent_throughout() {
    let found = machine(&Fake::new());
    assert!(found.kernel.reason().is_some() && found.memory_bytes.reason().is_some());
    assert!(found.virtualisation.reason().is_some() && found.graphics.is_empty());
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), found);
}

#[test]
fn what_the_running_kernel_calls_its_boot() {
    let fake = Fake::new();
    assert!(boot_id(&fake).unwrap_err().message.contains("cannot read the boot ID"));
    fake.put("/proc/sys/kernel/random/boot_id", "no id\n");
    assert!(boot_id(&fake).unwrap_err().message.contains("reports no boot ID"));
    fake.put("/proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
    assert_eq!(boot_id(&fake).unwrap(), "0123456789abcdef0123456789abcdef");
}
