use super::*;
use assay_core::study::presets;
use assay_core::system::Fake;

fn preset() -> Study {
    presets::find("boot").unwrap().unwrap()
}

/// A machine with systemd that may be restarted.
fn machine() -> Fake {
    let fake = Fake::new();
    fake.put("/run/systemd/system/x", "")
        .put("/etc/systemd/system/x", "")
        .put("/usr/bin/assay", "elf");
    fake.put("/var/lib/assay/x", "").put("/var/log/journal/x", "");
    fake.put("/proc/sys/kernel/random/boot_id", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa\n");
    fake.install("systemctl").install("journalctl");
    fake
}

fn refusal(fake: &Fake) -> String {
    propose(fake, preset(), 5, "/var/lib/assay/results".into()).unwrap_err().message
}

#[test]
fn what_cannot_be_restarted_is_refused_with_the_reason() {
    let fake = machine();
    fake.put("/.dockerenv", "");
    assert!(refusal(&fake).contains("container"), "{}", refusal(&fake));
    let fake = Fake::new();
    assert!(refusal(&fake).contains("systemd is not the first program"), "{}", refusal(&fake));
}
