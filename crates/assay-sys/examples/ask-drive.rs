//! Prints what drives answer, in the form of a recorded machine (`answer DEVICE QUESTION HEX`), for
//! the fixtures of `assay-system`: `cargo run -p assay-sys --example ask-drive -- /dev/sda /dev/nvme0n1`.
//! Only asks; pages of identity carry serial numbers.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use assay_sys::{AtaQuestion, ask_ata, nvme_health_log};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for name in std::env::args().skip(1) {
        let device = File::open(&name)?;
        match nvme_health_log(device.as_fd()) {
            Ok(page) => writeln!(out, "answer {name} health-log {}", hexadecimal(&page))?,
            Err(error) => writeln!(out, "# {name} health-log: {error}")?,
        }
        for question in AtaQuestion::ALL {
            let asked = question.name();
            match ask_ata(device.as_fd(), question) {
                Ok(bytes) => writeln!(out, "answer {name} {asked} {}", hexadecimal(&bytes))?,
                Err(error) => writeln!(out, "# {name} {asked}: {error}")?,
            }
        }
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
