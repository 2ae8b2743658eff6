//! Encryption between a target and its drive: the CPU is then part of the comparison.

use std::path::Path;

use super::site::{Layer, Mount};
use super::{FileKind, System};

/// File systems that encrypt all data, by the kernel's name.
const BY_MOUNT: [(&str, &str); 5] = [
    ("fuse.gocryptfs", "gocryptfs"),
    ("fuse.encfs", "encfs"),
    ("fuse.cryfs", "cryfs"),
    ("fuse.securefs", "securefs"),
    ("ecryptfs", "ecryptfs"),
];
const DEVICE: (&str, &str) = ("crypt", "dm-crypt");
const DIRECTORY: &str = "fscrypt";

/// Encryption layers below a path, on these mounts and devices; the uppermost first. Drives and servers are not asked.
pub fn find(system: &dyn System, path: &Path, met: &[Mount], layers: &[Layer]) -> Vec<String> {
    let mut found = Vec::new();
    let is_directory = system.status(path).is_ok_and(|status| status.kind == FileKind::Directory);
    let directory = if is_directory { Some(path) } else { path.parent() };
    let policy = directory.and_then(|directory| system.encryption_of(directory).ok().flatten());
    found.extend(policy.map(|_| DIRECTORY.to_owned()));
    for mount in met {
        let known = BY_MOUNT.iter().find(|(filesystem, _)| *filesystem == mount.filesystem);
        found.extend(known.map(|(_, name)| (*name).to_owned()));
    }
    found.extend(layers.iter().filter(|layer| layer.kind == DEVICE.0).map(|_| DEVICE.1.to_owned()));
    found
}

/// Returns a note if the kernel encrypts with AES in software although the CPU has instructions for it.
pub fn software_aes(system: &dyn System) -> Option<String> {
    let cpu = system.read_text(Path::new("/proc/cpuinfo")).ok()?;
    // x86 and ARM name the line differently.
    let flags =
        cpu.lines().filter(|line| line.starts_with("flags") || line.starts_with("Features"));
    flags.flat_map(str::split_whitespace).find(|flag| *flag == "aes")?;
    let text = system.read_text(Path::new("/proc/crypto")).ok()?;
    // The kernel uses the implementation with the highest priority.
    let mut best: Option<(u64, &str)> = None;
    for entry in text.split("\n\n") {
        let field = |name: &str| {
            let mut lines = entry.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
        };
        let priority = field("priority").and_then(|text| text.parse().ok()).unwrap_or(0);
        if field("name") == Some("xts(aes)") && best.is_none_or(|(most, _)| priority > most) {
            best = field("driver").map(|driver| (priority, driver));
        }
    }
    let (_, driver) = best?;
    (driver.contains("generic") || driver.contains("-lib")).then(|| {
        format!(
            "the kernel encrypts in software ({driver}), although the CPU has AES instructions; load the accelerated \
             module (aesni_intel on x86)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn aes_in_software_is_told_where_the_processor_has_it() {
        let told = |flags: &str, drivers: &[(&str, u32)]| {
            let fake = Fake::new();
            fake.put("/proc/cpuinfo", format!("processor\t: 0\nflags\t\t: fpu {flags} sse\n"));
            let entry = |(driver, priority): &(&str, u32)| {
                format!(
                    "name         : xts(aes)\ndriver       : {driver}\npriority     : {priority}\n\n"
                )
            };
            let other =
                "name         : cbc(aes)\ndriver       : cbc-aes-aesni\npriority     : 900\n\n";
            fake.put("/proc/crypto", drivers.iter().map(entry).collect::<String>() + other);
            software_aes(&fake)
        };
        let generic = ("xts(ecb(aes-generic))", 100);
        assert!(told("aes", &[generic]).unwrap().contains("(xts(ecb(aes-generic)))"));
        assert!(told("aes", &[("xts(ecb(aes-lib))", 100)]).is_some());
        assert_eq!(told("aes", &[generic, ("xts-aes-aesni", 401)]), None);
        assert_eq!(told("vaes", &[generic]), None);
        assert_eq!(told("aes", &[]), None);
    }
}
