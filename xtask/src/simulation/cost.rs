//! What one study costs: planning and writing its table, reading it, judging it.

use std::time::{Duration, Instant};

use super::chance::Chance;
use super::seam::{self, Question};
use super::world::{self, World};
use assay_testkit::Done;

const STUDIES: u32 = 200;

/// A line for each of two sizes.
pub fn lines(seed: u32) -> Done<Vec<String>> {
    [(2, 6), (8, 10)].into_iter().map(|(arms, replicates)| line(seed, arms, replicates)).collect()
}

fn line(seed: u32, arms: usize, replicates: usize) -> Done<String> {
    let world = World::null(arms, replicates);
    let question = Question::of(arms, world.turns);
    let [mut made, mut read, mut judged] = [Duration::ZERO; 3];
    for number in 0..STUDIES {
        let start = Instant::now();
        let trials = world::run(&world, &mut Chance::new(seed, number, "cost")?);
        let text = seam::table(&trials, &question.labels);
        made += start.elapsed();
        let start = Instant::now();
        let measured = seam::read(&text, &question)?;
        read += start.elapsed();
        let start = Instant::now();
        let found = seam::judge(measured);
        judged += start.elapsed();
        drop(found);
    }
    let [made, read, judged] =
        [made, read, judged].map(|time| time.as_secs_f64() * 1e6 / f64::from(STUDIES));
    Ok(format!(
        "one study with {arms} configurations, n = {replicates}: {made:.0} us to plan and write, \
         {read:.0} us to read, {judged:.0} us to analyze"
    ))
}
