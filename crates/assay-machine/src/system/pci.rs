//! Names of PCI devices, from the database of the distribution.

use std::path::Path;

use assay_core::presence::Presence;

use super::System;

/// Paths of the database in distributions (packages pci.ids, hwdata).
const DATABASES: [&str; 3] =
    ["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids"];
const PACKED: [&str; 2] = ["/usr/share/misc/pci.ids.gz", "/usr/share/hwdata/pci.ids.gz"];

#[derive(Debug)]
pub struct PciNames {
    text: Presence<String>,
}

impl PciNames {
    /// Reads the database of the distribution, if it has one.
    pub fn read(system: &dyn System) -> Self {
        let found = DATABASES.iter().find_map(|path| system.read_bytes(Path::new(path)).ok());
        let text = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let has_packed = || PACKED.iter().any(|path| system.status(Path::new(path)).is_ok());
        let reason = if text.is_none() && has_packed() {
            "the PCI ID database is compressed; Assay reads only uncompressed files"
        } else {
            "no PCI ID database is installed (package pci.ids or hwdata)"
        };
        Self { text: Presence::from_option(text, reason) }
    }

    /// Name of a vendor and of one of its devices, by four-digit hexadecimal IDs.
    pub fn look_up(&self, vendor: &str, device: &str) -> [Presence<String>; 2] {
        let Presence::Present(text) = &self.text else {
            return [self.text.clone(), self.text.clone()];
        };
        let unknown = |number: &str| format!("the PCI ID database does not contain {number}");
        let mut lines = text.lines();
        let Some(name) = lines.find_map(|line| name_after(line, vendor)) else {
            return [Presence::absent(unknown(vendor)), Presence::absent(unknown(vendor))];
        };
        // The vendor's devices follow it, indented by one tab; two tabs are boards made with them.
        let mut device_lines = lines
            .take_while(|line| line.starts_with(['\t', '#']) || line.is_empty())
            .filter_map(|line| line.strip_prefix('\t').filter(|rest| !rest.starts_with('\t')));
        let device_name = device_lines.find_map(|line| name_after(line, device));
        [
            Presence::Present(name),
            Presence::from_option(device_name, unknown(&format!("{vendor}:{device}"))),
        ]
    }
}

/// Name in `8086  Intel Corporation`; `None` if the line has another ID.
fn name_after(line: &str, number: &str) -> Option<String> {
    let name = line.strip_prefix(number)?.strip_prefix("  ")?.trim();
    (number.len() == 4 && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    const TEXT: &str = "# a comment\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n\
        \t67df  Ellesmere [Radeon RX 470/480]\n\t\t1002 0b37  Radeon RX 480\n\
        \t0b37  Not that one\n8086  Intel Corporation\n\t1912  HD Graphics 530\n\
        C 03  Display controller\n\t00  VGA compatible controller\n";

    fn names(text: &str) -> PciNames {
        let fake = Fake::new();
        fake.put("/usr/share/hwdata/pci.ids", text);
        PciNames::read(&fake)
    }

    fn told(vendor: &str, device: &str) -> [String; 2] {
        names(TEXT).look_up(vendor, device).map(|seen| match seen {
            Presence::Present(name) => name,
            Presence::Absent(reason) => format!("({reason})"),
        })
    }

    #[test]
    fn numbers_have_names() {
        let amd = ["Advanced Micro Devices, Inc. [AMD/ATI]", "Ellesmere [Radeon RX 470/480]"];
        assert_eq!(told("1002", "67df"), amd);
        assert_eq!(told("8086", "1912"), ["Intel Corporation", "HD Graphics 530"]);
        // Subsystem names are not devices, and the next vendor's devices do not count.
        assert_eq!(told("1002", "0b37")[1], "Not that one");
        assert_eq!(told("1002", "1912")[1], "(the PCI ID database does not contain 1002:1912)");
        assert_eq!(told("dead", "beef")[0], "(the PCI ID database does not contain dead)");
        assert_eq!(told("8086", "00")[1], "(the PCI ID database does not contain 8086:00)");
    }

    #[test]
    fn without_a_database_the_numbers_stay_with_the_reason() {
        let none = PciNames::read(&Fake::new()).look_up("8086", "1912");
        assert!(none[0].reason().unwrap().contains("package pci.ids"));
        let fake = Fake::new();
        fake.put("/usr/share/misc/pci.ids.gz", "x");
        assert!(
            PciNames::read(&fake).look_up("8086", "1912")[1]
                .reason()
                .unwrap()
                .contains("compressed")
        );
    }
}
