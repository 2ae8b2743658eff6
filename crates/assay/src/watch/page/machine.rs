//! The machine around the devices: CPUs, pressure, memory, temperature, programs.

use super::history::{HEAD, level_char, sparkline};
use super::{DIM, GREEN, LineShares, Page, cut, paint};
use crate::watch::sampler::{CpuShares, User};
use crate::watch::words::{percent, rate};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;

/// Returns the number of fixed lines: CPUs, pressure with memory, and temperature if known.
pub(super) fn fixed_lines(page: &Page<'_>) -> usize {
    2 + usize::from(has_temperature(page))
}

/// Returns whether a temperature is known, or a CPU was throttled by heat.
pub(super) fn has_temperature(page: &Page<'_>) -> bool {
    let throttle_events = page.state.whole.throttle_events.value();
    throttle_events.is_some_and(|events| *events > 0) || page.state.last.sensors.value().is_some()
}

pub(super) fn processor_lines(page: &Page<'_>) -> usize {
    page.state.last.processors.value().map_or(0, |all| all.len().div_ceil(2))
}

pub(super) fn user_lines(page: &Page<'_>) -> usize {
    let users = &page.state.last.users;
    users.busiest.len().max(1) + usize::from(users.hidden > 0)
}

pub(super) fn section(page: &Page<'_>, width: usize, shares: &LineShares) -> Vec<String> {
    let mut lines = vec![all_processors(page, width)];
    lines.extend(each_processor(page, width, shares.processors));
    lines.push(pressure_line(page, width));
    if shares.temperature {
        lines.push(temperature_line(page, width));
    }
    lines.extend(program_lines(page, width, shares.users));
    lines
}

/// Returns one character per CPU, or per group of CPUs (mean), and then the totals.
fn all_processors(page: &Page<'_>, width: usize) -> String {
    let head = format!("{:<HEAD$}", " cpu");
    let (Some(cpus), Some(load)) = (page.state.last.processors.value(), page.state.last.load())
    else {
        let reason = page.state.last.processors.reason().unwrap_or_default();
        return cut(&format!("{head}{reason}"), width);
    };
    let totals = format!(
        " user {} sys {} wait {} steal {}",
        percent(load.user),
        percent(load.system),
        percent(load.iowait),
        percent(load.steal)
    );
    // The brackets around the characters take two columns.
    let room = width.saturating_sub(HEAD + totals.len() + 2);
    let group_size = cpus.len().div_ceil(room.max(1)).max(1);
    let mut levels = String::new();
    for group in cpus.chunks(group_size) {
        let mean_busy = group.iter().map(CpuShares::busy).sum::<f64>() / group.len() as f64;
        levels.push(level_char(mean_busy, page.style.blocks));
    }
    let levels = page.tint(GREEN, &format!("[{levels}]"));
    head + &levels + &cut(&totals, width.saturating_sub(HEAD + 2))
}

/// Returns the recent load of each CPU, two per line, and its current load.
fn each_processor(page: &Page<'_>, width: usize, lines: usize) -> Vec<String> {
    let Some(loads) = page.state.last.processors.value() else { return Vec::new() };
    let columns = width.saturating_sub(2) / 2;
    let length = columns.saturating_sub(HEAD + 8);
    let mut texts = Vec::new();
    for (number, load) in loads.iter().enumerate() {
        let past = sparkline(&page.state.past_of_processor(number), length, page.style.blocks);
        let (name, past) = (format!("  cpu {number}"), page.tint(GREEN, &past));
        texts.push(format!("{name:<HEAD$}{past} {:>6} ", percent(load.busy())));
    }
    texts.chunks(2).take(lines).map(<[String]>::concat).collect()
}

fn pressure_line(page: &Page<'_>, width: usize) -> String {
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
    cut(&format!("{:<HEAD$}{words}{}", " pressure", memory.unwrap_or_default()), width)
}

fn temperature_line(page: &Page<'_>, width: usize) -> String {
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
    cut(&format!("{:<HEAD$}{}{words}", " heat", throttled.unwrap_or_default()), width)
}

/// Returns a line for each of the busiest programs, at most `limit`, and a line for hidden ones.
fn program_lines(page: &Page<'_>, width: usize, limit: usize) -> Vec<String> {
    let users = &page.state.last.users;
    let mut lines = Vec::new();
    for (index, user) in users.busiest.iter().take(limit).enumerate() {
        let head = if index == 0 { " programs" } else { "" };
        lines.push(cut(&program_line(page, head, user), width));
    }
    if lines.is_empty() {
        lines.push(format!("{:<HEAD$}no I/O by programs", " programs"));
    }
    if users.hidden > 0 {
        let hidden =
            format!("{:<HEAD$}{} of other users hidden; run as root to see all", "", users.hidden);
        lines.push(paint(DIM, &cut(&hidden, width)));
    }
    lines
}

fn program_line(page: &Page<'_>, head: &str, user: &User) -> String {
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
