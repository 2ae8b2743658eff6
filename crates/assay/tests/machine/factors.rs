//! Factors on real loop devices: they take effect, are put back, and survive being killed.

use std::path::Path;

use crate::lab::kills;
use crate::lab::volume::Filesystem;
use crate::turn::{Need, require};

/// Kills in CI; `cargo xtask kills --count 200` does more, and its output is kept in docs.
const KILLS: u32 = 20;

#[test]
fn a_study_killed_at_any_moment_is_put_back_and_loses_no_trial() {
    let test = "factors::a_study_killed_at_any_moment_is_put_back_and_loses_no_trial";
    let Some(_turn) = require(test, &[Need::Volume(Filesystem::Ext4)]) else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let mut lines = Vec::new();
    let kills = kills::kill(program, KILLS, 20_261_120, |line| lines.push(line.to_owned()));
    let kills = kills.unwrap_or_else(|error| panic!("{error}\n{}", lines.join("\n")));
    assert_eq!(kills.killed + kills.ended, KILLS);
    assert!(kills.put_back > KILLS / 4 && kills.trials > 0, "{kills:?}\n{}", lines.join("\n"));
}
