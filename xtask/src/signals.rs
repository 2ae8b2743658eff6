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
        ("ended before the first signal came", endings.by_itself),
        ("asked when the last trial had ended, the result is complete", endings.too_late),
        ("asked to end, everything put back by then", endings.asked),
        ("ended at once by a third signal, put back by `assay restore`", endings.at_once),
        ("killed, put back by `assay restore`", endings.killed),
        ("of the last two, where there was something to put back", endings.put_back),
    ];
    format!(
        "# Impatient hands\n\n\
         Every shipped study that changes the machine, on a loop device that it makes (`--scratch`), ended by\n\
         one to three signals (INT, TERM, HUP, QUIT, in a quarter of the runs KILL as the last), the\n\
         first within 6 s, each next one within 0.1 s or within 2 s (`cargo xtask signals --count {count}`).\n\
         Whoever is asked puts everything back before the end and exits with 130, or with 0 where the last\n\
         trial had ended: then the result holds every trial of its plan. A third signal ends it at once:\n\
         exit code 4, `assay restore` is named and puts everything back, as it does after KILL; a\n\
         second recovery finds nothing to do. Compared with before are settings of devices, `/proc/sys/vm`,\n\
         mounts, loop devices, partitions, files and journals; at the first difference the script ends with\n\
         an error and writes no page.\n\n{FACTS}\n\n{}",
        bench::counts(&rows)
    )
}
