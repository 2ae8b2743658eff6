//! `kernel-log`: the kernel logged hardware errors or hung tasks.

use assay_core::catalogue::About;
use assay_study::results::record::Trial;

use super::{ALL, Case, Rule, RuleCheck};

const DEVICES: [&str; 9] = ["sd", "vd", "loop", "nvme", "mmcblk", "dm-", "md", "zram", "sr"];
const LONGEST: usize = 120;

pub static RULE: Rule = Rule {
    about: About {
        name: "kernel-log",
        summary: "the kernel logged hardware errors, resets or hung tasks during the trial",
        text: "These kernel warnings and errors mark a trial as disturbed: I/O errors, aborted and failed commands, \
               controller and bus resets, links that went down or became slower, hung tasks, lockups, machine checks, \
               overheating and clock faults. Assay ignores all other messages, and messages about block devices \
               outside the target's device stack or about ATA and USB ports of other drives.",
    },
    changes: ALL,
    check: RuleCheck::Event(event),
    ..Rule::NONE
};

/// The first line of the kernel log that reports hardware trouble or hung tasks and may concern the target.
fn event(case: &Case<'_>, trial: &Trial) -> Option<String> {
    let lines = trial.evidence.kernel_log.value()?;
    let line = lines.iter().find(|line| line.is_telling() && is_ours(case, &line.text))?;
    let mut text: String = line.text.chars().take(LONGEST).collect();
    text.retain(|letter| !letter.is_control());
    let text = text.trim_end_matches(['.', ' ']);
    Some(format!("the kernel logged: {text}"))
}

/// Whether a line names a device or port of the target, or none at all.
fn is_ours(case: &Case<'_>, text: &str) -> bool {
    if let Some(port) = port(text) {
        return case.site.drives.iter().any(|drive| drive.ports.iter().any(|own| own == port));
    }
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let mut named = words.filter(|word| is_device(word)).chain(called_device(text)).peekable();
    let drives = case.site.drives.iter().map(|drive| drive.name.as_str());
    let layers = case.site.layers.iter().map(|layer| layer.name.as_str());
    let own: Vec<&str> = drives.chain(layers).collect();
    let is_own = |word: &str| own.iter().any(|own| belongs_to(word, own));
    named.peek().is_none() || named.any(is_own)
}

/// The port at the beginning of a line: `ata1.00: failed command`, `usb 2-1: reset`.
fn port(text: &str) -> Option<&str> {
    let (head, _) = text.split_once(": ")?;
    let ata = head.split('.').next().filter(|name| {
        let number = name.strip_prefix("ata");
        number.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
    });
    head.strip_prefix("usb ").or(ata)
}

fn called_device(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    words.find(|word| ["dev", "(device"].contains(word))?;
    words.next().map(|word| word.trim_end_matches([',', ':', ')']))
}

/// Whether a name belongs to a drive, one of its partitions, or its controller.
fn belongs_to(word: &str, drive: &str) -> bool {
    let is_numbered = drive.ends_with(|sign: char| sign.is_ascii_digit());
    let prefix = if is_numbered { format!("{drive}p") } else { drive.to_owned() };
    let number = word.strip_prefix(&prefix);
    let is_partition = number.is_some_and(|rest| rest.bytes().all(|sign| sign.is_ascii_digit()));
    let is_controller = drive.strip_prefix(word).is_some_and(|rest| rest.starts_with('n'));
    word == drive || is_partition || is_controller
}

/// `sda`, `loop7`, `nvme0n1`; not `sdhci`, and not `nvme` alone.
fn is_device(word: &str) -> bool {
    let found = DEVICES.iter().find_map(|kind| Some((*kind, word.strip_prefix(kind)?)));
    let Some((kind, rest)) = found else { return false };
    let letters = rest.trim_end_matches(|sign: char| sign.is_ascii_digit());
    match kind {
        "sd" | "vd" => matches!(letters.as_bytes(), [b'a'..=b'z'] | [b'a'..=b'z', b'a'..=b'z']),
        _ => rest.starts_with(|sign: char| sign.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::kernel_log::KernelLine;

    use super::super::testing::Bench;
    use super::*;

    fn logged(text: &'static str) -> Bench {
        Bench::read().first(1, move |trial| {
            let line = |text: &str| KernelLine { level: 4, text: text.to_owned() };
            let lines = vec![line("hrtimer: interrupt took 7000 ns"), line(text)];
            trial.evidence.kernel_log = Presence::Present(lines);
        })
    }

    #[test]
    fn speaks_of_what_concerns_the_target_or_the_machine() {
        let bench = logged("I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0");
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "the kernel logged: I/O error, dev sda, sector 8 op 0x0:(READ) flags 0x0, in 1 of 3 \
             trials"
        );
        assert!(bench.disturbances(&RULE)[0].is_some());
        for text in [
            "ata1: hard resetting link",
            "ata1: limiting SATA link speed to 3.0 Gbps",
            "INFO: task dd:77 blocked for more than 120 seconds.",
            "mce: [Hardware Error]: Machine check events logged",
            "INFO: task jbd2/sda1-8:77 blocked for more than 120 seconds.",
            "EXT4-fs error (device sda1): ext4_find_entry: inode #2",
            "mce: Uncorrected error",
        ] {
            assert!(logged(text).disturbances(&RULE)[0].is_some(), "{text}");
        }
    }

    #[test]
    fn ports_that_lead_to_the_drive_are_heard_and_others_are_not() {
        let told = |text: &'static str, ports: &[&str]| {
            let ports = ports.iter().map(|port| (*port).to_owned()).collect();
            let bench = logged(text).site(|site| site.drives[0].ports = ports);
            bench.disturbances(&RULE)[0].is_some()
        };
        let usb = "usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd";
        let ata = "ata2.00: failed command: READ FPDMA QUEUED";
        assert!(told(usb, &["2-1"]) && told(ata, &["ata2"]));
        assert!(!told(usb, &["2-1.4", "ata1"]) && !told(ata, &["ata21"]));
        assert!(!told(usb, &[]) && !told(ata, &[]));
    }

    #[test]
    fn silent_on_other_devices_and_on_noise() {
        for text in [
            "I/O error, dev loop7, sector 8 op 0x0:(READ) flags 0x0",
            "Buffer I/O error on dev sdb, logical block 0, async page read",
            "I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0",
            "I/O error, dev nbd0, sector 0 op 0x0:(READ) flags 0x0",
            "Buffer I/O error on dev rbd0, logical block 0, async page read",
            "EXT4-fs error (device xvda1): ext4_find_entry: inode #2",
            "workqueue: fill_page_cache_func hogged CPU for >10000us 4 times",
            "loop: Write error at byte offset 0, length 4096",
            "XFS (loop3): log I/O error -5",
            "nvme nvme0: I/O 12 QID 3 timeout, aborting",
            "pcieport 0000:00:1c.0: AER: Correctable error message received",
            "e1000e: eth0 NIC Link is Down",
        ] {
            assert_eq!(logged(text).judge(&RULE), None, "{text}");
        }
        assert_eq!(Bench::read().judge(&RULE), None);
    }
}
