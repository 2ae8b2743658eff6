//! The page: lines for a terminal of at least 40 x 12. A pure function, which can be tested as text.

mod devices;
mod histograms;
mod history;
mod machine;

use super::State;
use super::words::{self, RARE, USUAL, clock};
use crate::store::progress::StudyProgress;
use assay_core::quantity::units::show;

/// Smallest terminal on which the page is readable.
const SMALLEST: (usize, usize) = (40, 12);

// Codes of ECMA-48 (select graphic rendition).
const BOLD: &str = "1";
const DIM: &str = "2";
const REVERSED: &str = "7";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BLUE: &str = "34";
const MAGENTA: &str = "35";
const CYAN: &str = "36";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStyle {
    /// Whether to use colors, which never carry information alone.
    pub colour: bool,
    pub blocks: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageView {
    pub disk: usize,
    /// Position of the class shown alone, in the order of classes.
    pub class: Option<usize>,
    pub paused: bool,
    pub help: bool,
}

impl PageView {
    /// Shows the next class alone, and all classes after the last one.
    pub fn next_class(&mut self) {
        let next = self.class.map_or(0, |class| class + 1);
        self.class = (next < USUAL.len() + RARE.len()).then_some(next);
    }

    pub fn next_disk(&mut self, state: &State) {
        self.disk = (self.disk + 1) % state.shown().len().max(1);
    }
}

pub struct Page<'a> {
    pub state: &'a State,
    pub strip: Option<&'a StudyProgress>,
    pub view: &'a PageView,
    pub looks: PageStyle,
    /// Total duration in seconds, if limited.
    pub length_s: Option<u64>,
}

impl Page<'_> {
    /// Returns the lines of a terminal, one per row, with escape sequences for colors.
    pub fn draw(&self, wide: usize, high: usize) -> Vec<String> {
        let (columns, rows) = SMALLEST;
        let mut lines = if wide < columns || high < rows {
            vec![format!("terminal too small: needs {columns} x {rows}")]
        } else if self.view.help {
            help_lines(high)
        } else {
            self.lines(wide, high)
        };
        lines.resize(high, String::new());
        lines.iter().map(|line| clip(line, wide)).collect()
    }

    fn lines(&self, wide: usize, high: usize) -> Vec<String> {
        let shown = self.state.shown();
        let chosen = shown.get(self.view.disk).or(shown.first()).copied().unwrap_or_default();
        let mut lines = vec![self.title(chosen, wide)];
        lines.extend(self.study(wide));
        let room = high - lines.len() - 2;
        let shares = Shares::new(self, &shown, chosen, room);
        lines.extend(devices::table(self, &shown, chosen, wide, shares.devices));
        if shares.apart {
            lines.push(String::new());
        }
        lines.extend(histograms::section(self, chosen, wide, shares.latency));
        if shares.apart {
            lines.push(String::new());
        }
        lines.extend(history::of_disks(self, &shown, chosen, wide, shares.history));
        lines.extend(machine::section(self, wide, &shares));
        lines.truncate(high - 2);
        lines.resize(high - 2, String::new());
        lines.push(self.warning(wide));
        lines.push(self.keys(wide));
        lines
    }

    fn title(&self, chosen: usize, wide: usize) -> String {
        let disk = &self.state.disks[chosen];
        let time = clock(self.state.whole.seconds().round() as u64);
        let left = self.length_s.map(|length| format!(" of {}", clock(length))).unwrap_or_default();
        let right = format!("{}{time}{left} ", if self.view.paused { "PAUSED  " } else { "" });
        let room = wide.saturating_sub(right.chars().count() + 1);
        let left = cut(&format!(" assay watch  {}  ({})", disk.name, disk.words), room);
        paint(REVERSED, &format!("{left:<room$} {right}"))
    }

    /// Returns lines on a running study: title and progress, then the current activity.
    fn study(&self, wide: usize) -> Vec<String> {
        let Some(strip) = self.strip else { return Vec::new() };
        let left = strip.left_s.map(|left| format!(", {} left", clock(left))).unwrap_or_default();
        let position = match strip.planned {
            0 => String::new(),
            planned => format!("trial {} of {planned}{left}  ", (strip.done + 1).min(planned)),
        };
        let title = cut(&strip.title, wide.saturating_sub(position.len() + 9));
        let title = self.bold(CYAN, &format!("{title}  "));
        vec![format!(" study  {title}{position}"), cut(&format!("        {}", strip.now), wide)]
    }

    fn warning(&self, wide: usize) -> String {
        let warnings = words::warnings(self.state, self.strip);
        let [first, more @ ..] = warnings.as_slice() else { return String::new() };
        let more = if more.is_empty() { "" } else { &format!(" (and {} more)", more.len()) };
        self.bold(RED, &cut(&format!(" ! {first}{more}"), wide))
    }

    fn keys(&self, wide: usize) -> String {
        let text = if self.strip.is_some_and(|strip| strip.own) {
            " Ctrl-C end the study  q leave the page  p pause  r reset  c class  d device  ? help"
        } else {
            " q quit  p pause  r reset  c class  d device  ? help"
        };
        paint(DIM, &cut(text, wide))
    }

    fn bold(&self, colour: &str, text: &str) -> String {
        paint(BOLD, &self.tint(colour, text))
    }

    fn tint(&self, colour: &str, text: &str) -> String {
        if self.looks.colour { paint(colour, text) } else { text.to_owned() }
    }
}

/// Page height from which the history gets lines before the histograms are complete.
const ROOM_FOR_HISTORY: usize = 20;

struct Shares {
    devices: usize,
    latency: usize,
    history: usize,
    processors: usize,
    users: usize,
    heat: bool,
    apart: bool,
}

impl Shares {
    /// Assigns lines by importance: one for the machine and a few for devices, then the histograms as far as they have
    /// rows, then users, CPUs and all devices.
    fn new(page: &Page<'_>, shown: &[usize], chosen: usize, room: usize) -> Self {
        let fixed = machine::fixed_lines(page);
        let mut left = room.saturating_sub(fixed);
        let mut take = |wanted: usize| {
            let taken = wanted.min(left);
            left -= taken;
            taken
        };
        let mut devices = take(1 + shown.len().min(3));
        let mut users = take(1);
        // One line of history each, if the histograms still show their shape.
        let early = usize::from(room >= ROOM_FOR_HISTORY);
        let mut history = take(early);
        let mut processors = take(early.min(machine::processor_lines(page)));
        let latency = take(histograms::wanted_lines(page, chosen));
        users += take(machine::user_lines(page).saturating_sub(users).min(7));
        devices += take(shown.len().saturating_sub(3));
        let heat = machine::has_heat(page) || take(1) == 1;
        processors += take(machine::processor_lines(page).saturating_sub(processors));
        history += take(shown.len().saturating_sub(history));
        let apart = take(2) == 2;
        Self { devices, latency, history, processors, users, heat, apart }
    }
}

/// Returns the explanation of the keys, as far as it fits.
fn help_lines(high: usize) -> Vec<String> {
    let mut lines: Vec<String> = HELP.lines().map(str::to_owned).collect();
    lines.resize(high - 1, String::new());
    lines.push(paint(DIM, " any key: back"));
    lines
}

fn paint(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Shortens a text, whose remaining characters do not move the cursor.
fn cut(text: &str, columns: usize) -> String {
    let mut text = show::clean(text);
    if let Some((end, _)) = text.char_indices().nth(columns) {
        let kept = text[..end].char_indices().nth_back(1).map_or(0, |(index, _)| index);
        text.replace_range(kept.., "..");
    }
    text
}

/// Cuts a line at the terminal's width, without breaking an escape sequence.
fn clip(line: &str, columns: usize) -> String {
    let (mut clipped, mut used, mut is_escape) = (String::new(), 0, false);
    for sign in line.chars() {
        is_escape |= sign == '\x1b';
        if is_escape || used < columns {
            clipped.push(sign);
        }
        used += usize::from(!is_escape);
        is_escape &= sign != 'm';
    }
    clipped
}

/// Returns a bar for a share, with at least one mark if it is not zero.
fn bar(share: f64, columns: usize, blocks: bool) -> String {
    const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if !blocks {
        let full = (share * columns as f64).round() as usize;
        let trace = if full == 0 && share > 0.0 { "." } else { "" };
        return "#".repeat(full) + trace;
    }
    let eighths = ((share * columns as f64 * 8.0).round() as usize).max(usize::from(share > 0.0));
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = (eighths % 8).checked_sub(1) {
        bar.push(PARTS[part]);
    }
    bar
}

const HELP: &str = " assay watch: live activity of block devices

 q, Esc, Ctrl-C   quit and restore the terminal
 p, Space         pause the page; counting continues
 r                reset histograms and totals
 c                show one class with both intervals; press again for the next
 d, Tab           next device
 ?                this help

 r/s, w/s, f/s, d/s   reads, writes, flushes, discards completed per second
 queue            mean number of requests in flight
 busy             share of the time with requests in flight
 latency          from arrival in the block layer to completion, since the
                  start; bars are shares of a class
 in the device    from issue to the driver until completion
 pressure         share of the time in which a task waited for the resource
 cpu              user and system time over the last two minutes
 history          bytes read and written per second, over time
 programs         bytes through block devices; caches are written back later";

#[cfg(test)]
mod tests;
