//! The machine around the devices: CPUs, pressure, memory, temperature, programs.

use super::history::{level, signs};
use super::{DIM, GREEN, Page, Shares, cut, paint};
use crate::watch::sampler::{CpuShares, User};
use crate::watch::words::{percent, rate};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;

/// Returns the number of fixed lines: CPUs, pressure with memory, and temperature if known.
pub(super) fn fixed_lines(page: &Page<'_>) -> usize {
    2 + usize::from(has_heat(page))
}

pub(super) fn has_heat(page: &Page<'_>) -> bool {
    let whole = &page.state.whole;
    let slowed = whole.throttle_events.value().is_some_and(|events| *events > 0);
    slowed || page.state.last.sensors.value().is_some()
}

const HEAD: usize = 11;

pub(super) fn processor_lines(page: &Page<'_>) -> usize {
    page.state.last.processors.value().map_or(0, |all| all.len().div_ceil(2))
}

pub(super) fn user_lines(page: &Page<'_>) -> usize {
    let users = &page.state.last.users;
    users.busiest.len().max(1) + usize::from(users.hidden > 0)
}

pub(super) fn section(page: &Page<'_>, wide: usize, shares: &Shares) -> Vec<String> {
    let mut lines = vec![all_processors(page, wide)];
    lines.extend(each_processor(page, wide, shares.processors));
    lines.push(pressure(page, wide));
    if shares.heat {
        lines.push(heat(page, wide));
    }
    lines.extend(programs(page, wide, shares.users));
    lines
}

/// Returns one character per CPU, or per group of CPUs (mean), and then the totals.
fn all_processors(page: &Page<'_>, wide: usize) -> String {
    let head = format!("{:<HEAD$}", " cpu");
    let (Some(cpus), Some(load)) = (page.state.last.processors.value(), page.state.last.load())
    else {
        let reason = page.state.last.processors.reason().unwrap_or_default();
        return cut(&format!("{head}{reason}"), wide);
    };
    let sums = format!(
        " user {} sys {} wait {} steal {}",
        percent(load.user),
        percent(load.system),
        percent(load.iowait),
        percent(load.steal)
    );
    let room = wide.saturating_sub(HEAD + sums.len() + 2);
    let each = cpus.len().div_ceil(room.max(1)).max(1);
    let mean = |group: &[CpuShares]| {
        let sum = group.iter().fold(CpuShares::default(), |sum, cpu| sum.plus(cpu));
        sum.divided_by(group.len() as f64).busy()
    };
    let signs: String = cpus.chunks(each).map(|it| level(mean(it), page.looks.blocks)).collect();
    let signs = page.tint(GREEN, &format!("[{signs}]"));
    head + &signs + &cut(&sums, wide.saturating_sub(HEAD + 2))
}

/// Returns the recent load of each CPU, two per line, and its current load.
fn each_processor(page: &Page<'_>, wide: usize, lines: usize) -> Vec<String> {
    let Some(loads) = page.state.last.processors.value() else { return Vec::new() };
    let columns = wide.saturating_sub(2) / 2;
    let length = columns.saturating_sub(HEAD + 8);
    let cpu = |(number, load): (usize, &CpuShares)| {
        let past = signs(&page.state.past_of_processor(number), length, page.looks.blocks);
        let (name, past) = (format!("  cpu {number}"), page.tint(GREEN, &past));
        format!("{name:<HEAD$}{past} {:>6} ", percent(load.busy()))
    };
    let texts: Vec<String> = loads.iter().enumerate().map(cpu).collect();
    texts.chunks(2).take(lines).map(<[String]>::concat).collect()
}

fn pressure(page: &Page<'_>, wide: usize) -> String {
    let words = match &page.state.last.pressure {
        Presence::Present(pressure) => format!(
            "io {} (all {}) cpu {} memory {}",
            percent(pressure.io),
            percent(pressure.io_full),
            percent(pressure.cpu),
            percent(pressure.memory)
        ),
        Presence::Absent(reason) => reason.clone(),
    };
    let memory = page.state.last.memory.value().map(|memory| {
        format!("  used {}, dirty {}", percent(memory.used()), show::bytes(memory.dirty_bytes))
    });
    let memory = memory.unwrap_or_default();
    cut(&format!("{:<HEAD$}{words}{memory}", " pressure"), wide)
}

fn heat(page: &Page<'_>, wide: usize) -> String {
    let words = match &page.state.last.sensors {
        Presence::Present(sensors) => {
            // The hottest come first, because not all may fit.
            let mut sensors: Vec<_> = sensors.iter().collect();
            sensors.sort_by(|left, right| right.celsius.total_cmp(&left.celsius));
            let texts = sensors.iter().map(|it| format!("{} {:.0} C", it.name, it.celsius));
            texts.collect::<Vec<_>>().join("  ")
        }
        Presence::Absent(reason) => reason.clone(),
    };
    let throttled = page.state.whole.throttle_events.value().filter(|events| **events > 0);
    let throttled = throttled.map(|events| format!("throttled {events} times  "));
    cut(&format!("{:<HEAD$}{}{words}", " heat", throttled.unwrap_or_default()), wide)
}

fn programs(page: &Page<'_>, wide: usize, lines: usize) -> Vec<String> {
    let users = &page.state.last.users;
    let mut program_lines: Vec<String> = users
        .busiest
        .iter()
        .enumerate()
        .take(lines)
        .map(|(index, user)| cut(&program(page, index == 0, user), wide))
        .collect();
    if program_lines.is_empty() {
        program_lines.push(format!("{:<HEAD$}no I/O by programs", " programs"));
    }
    if users.hidden > 0 {
        let hidden =
            format!("{:<HEAD$}{} of other users hidden; run as root to see all", "", users.hidden);
        program_lines.push(paint(DIM, &cut(&hidden, wide)));
    }
    program_lines
}

fn program(page: &Page<'_>, is_first: bool, user: &User) -> String {
    let head = if is_first { " programs" } else { "" };
    let speed = |bytes: u64| rate(page.state.last.per_s(bytes));
    let on = if user.on.is_empty() { String::new() } else { format!("  on {}", user.on.join(" ")) };
    format!(
        "{head:<HEAD$}{:<16}{:>8}  r {:>10}  w {:>10}{on}",
        user.name,
        user.pid,
        speed(user.read_bytes),
        speed(user.written_bytes)
    )
}
