//! `cargo xtask signals`: every study that changes the machine, ended by impatient hands.

use crate::bench;
use crate::kills::{FACTS, recorded};
use crate::lab::Done;
use crate::lab::kills::hands::{self, Endings};
use crate::options::Options;

/// The moments and signals are drawn from this.
const SEED: u64 = 20_261_122;

/// Sends signals, looks what is left, and says what was seen.
pub fn run(options: &Options) -> Done<bool> {
    recorded(options, "signals.md", |binary, count, tell| {
        hands::impatient(binary, count, SEED, tell).map(|endings| page(count, &endings))
    })
}

fn page(count: u32, endings: &Endings) -> String {
    let rows = [
        ("ended before the first signal", endings.by_itself),
        ("signaled after the last trial, complete result", endings.too_late),
        ("signaled, everything restored at exit", endings.asked),
        ("ended at once by a third signal, restored by `assay restore`", endings.at_once),
        ("killed, restored by `assay restore`", endings.killed),
        ("of the last two, runs with something to restore", endings.put_back),
    ];
    format!(
        "# Repeated signals\n\n\
         The script ends every shipped study that changes the machine, on a loop device (`--scratch`), with\n\
         one to three signals (INT, TERM, HUP, QUIT; in a quarter of the runs, the last is KILL): the first\n\
         within 6 s, each further signal within 0.1 s or 2 s (`cargo xtask signals --count {count}`). After\n\
         one signal, Assay must restore everything and exit with code 130, or with code 0 and a complete\n\
         result if the last trial had ended. A third signal must end the study at once with exit code 4 and\n\
         a message that names `assay restore`, which must restore everything, as after KILL; a second\n\
         restore must find nothing to do. The script compares device settings, `/proc/sys/vm`, mounts, loop\n\
         devices, partitions, files and journals with their original state; at the first difference, it\n\
         ends with an error and writes no page.\n\n{FACTS}\n\n{}",
        bench::counts(&rows)
    )
}
