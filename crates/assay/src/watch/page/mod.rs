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
    pub progress: Option<&'a StudyProgress>,
    pub view: &'a PageView,
    pub style: PageStyle,
    /// Total duration in seconds, if limited.
    pub length_s: Option<u64>,
}

impl Page<'_> {
    /// Returns the lines of a terminal, one per row, with escape sequences for colors.
    pub fn draw(&self, width: usize, height: usize) -> Vec<String> {
        let (columns, rows) = SMALLEST;
        let mut lines = if width < columns || height < rows {
            vec![format!("terminal too small: needs {columns} x {rows}")]
        } else if self.view.help {
            help_lines(height)
        } else {
            self.activity_lines(width, height)
        };
        lines.resize(height, String::new());
        lines.iter().map(|line| clip(line, width)).collect()
    }

    fn activity_lines(&self, width: usize, height: usize) -> Vec<String> {
        let shown = self.state.shown();
        let selected = shown.get(self.view.disk).or(shown.first()).copied().unwrap_or_default();
        let mut lines = vec![self.title(selected, width)];
        lines.extend(self.study_lines(width));
        // The last two lines are for warnings and keys.
        let room = height - lines.len() - 2;
        let shares = LineShares::new(self, &shown, selected, room);
        lines.extend(devices::table(self, &shown, selected, width, shares.devices));
        if shares.blank_lines {
            lines.push(String::new());
        }
        lines.extend(histograms::section(self, selected, width, shares.latency));
        if shares.blank_lines {
            lines.push(String::new());
        }
        lines.extend(history::disk_lines(self, &shown, selected, width, shares.history));
        lines.extend(machine::section(self, width, &shares));
        lines.truncate(height - 2);
        lines.resize(height - 2, String::new());
        lines.push(self.warning(width));
        lines.push(self.keys(width));
        lines
    }

    fn title(&self, selected: usize, width: usize) -> String {
        let disk = &self.state.disks[selected];
        let time = clock(self.state.whole.seconds().round() as u64);
        let length = self.length_s.map(|length| format!(" of {}", clock(length)));
        let paused = if self.view.paused { "PAUSED  " } else { "" };
        let right = format!("{paused}{time}{} ", length.unwrap_or_default());
        let room = width.saturating_sub(right.chars().count() + 1);
        let left = cut(&format!(" assay watch  {}  ({})", disk.name, disk.words), room);
        paint(REVERSED, &format!("{left:<room$} {right}"))
    }

    /// Returns lines on a running study: title and progress, then the current activity.
    fn study_lines(&self, width: usize) -> Vec<String> {
        let Some(progress) = self.progress else { return Vec::new() };
        let left =
            progress.left_s.map(|left| format!(", {} left", clock(left))).unwrap_or_default();
        let position = match progress.planned {
            0 => String::new(),
            planned => format!("trial {} of {planned}{left}  ", (progress.done + 1).min(planned)),
        };
        let title = cut(&progress.title, width.saturating_sub(position.len() + 9));
        let title = self.bold(CYAN, &format!("{title}  "));
        vec![format!(" study  {title}{position}"), cut(&format!("        {}", progress.now), width)]
    }

    fn warning(&self, width: usize) -> String {
        let warnings = words::warnings(self.state, self.progress);
        let [first, more @ ..] = warnings.as_slice() else { return String::new() };
        let more = if more.is_empty() { "" } else { &format!(" (and {} more)", more.len()) };
        self.bold(RED, &cut(&format!(" ! {first}{more}"), width))
    }

    fn keys(&self, width: usize) -> String {
        let text = if self.progress.is_some_and(|progress| progress.is_own) {
            " Ctrl-C end the study  q leave the page  p pause  r reset  c class  d device  ? help"
        } else {
            " q quit  p pause  r reset  c class  d device  ? help"
        };
        paint(DIM, &cut(text, width))
    }

    fn bold(&self, colour: &str, text: &str) -> String {
        paint(BOLD, &self.tint(colour, text))
    }

    fn tint(&self, colour: &str, text: &str) -> String {
        if self.style.colour { paint(colour, text) } else { text.to_owned() }
    }
}

/// Page height from which the history gets lines before the histograms are complete.
const ROOM_FOR_HISTORY: usize = 20;

const FIRST_DEVICES: usize = 3;
/// Maximum number of programs after the first one.
const MORE_USERS: usize = 7;

/// Number of lines of each part of the page.
struct LineShares {
    devices: usize,
    latency: usize,
    history: usize,
    processors: usize,
    users: usize,
    temperature: bool,
    blank_lines: bool,
}

impl LineShares {
    /// Assigns lines by importance: one for the machine and a few for devices, then the histograms as far as they have
    /// rows, then users, CPUs and all devices.
    fn new(page: &Page<'_>, shown: &[usize], selected: usize, room: usize) -> Self {
        let fixed = machine::fixed_lines(page);
        let mut left = room.saturating_sub(fixed);
        let mut take = |wanted: usize| {
            let taken = wanted.min(left);
            left -= taken;
            taken
        };
        // A heading and the first devices.
        let mut devices = take(1 + shown.len().min(FIRST_DEVICES));
        let mut users = take(1);
        // One line of history each, if the histograms still show their shape.
        let one_if_room = usize::from(room >= ROOM_FOR_HISTORY);
        let mut history = take(one_if_room);
        let mut processors = take(one_if_room.min(machine::processor_lines(page)));
        let latency = take(histograms::wanted_lines(page, selected));
        users += take(machine::user_lines(page).saturating_sub(users).min(MORE_USERS));
        devices += take(shown.len().saturating_sub(FIRST_DEVICES));
        // The fixed lines include a known temperature; with room left, a line explains an unknown one.
        let temperature = machine::has_temperature(page) || take(1) == 1;
        processors += take(machine::processor_lines(page).saturating_sub(processors));
        history += take(shown.len().saturating_sub(history));
        let blank_lines = take(2) == 2;
        Self { devices, latency, history, processors, users, temperature, blank_lines }
    }
}

/// Returns the explanation of the keys, as far as it fits.
fn help_lines(height: usize) -> Vec<String> {
    let mut lines: Vec<String> = HELP.lines().map(str::to_owned).collect();
    lines.resize(height - 1, String::new());
    lines.push(paint(DIM, " any key: back"));
    lines
}

fn paint(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Shortens a text to a number of columns, and removes control characters, which could move the cursor.
fn cut(text: &str, columns: usize) -> String {
    let mut text = show::clean(text);
    if let Some((end, _)) = text.char_indices().nth(columns) {
        // Two dots replace the last two characters that fit.
        let dots = text[..end].char_indices().nth_back(1).map_or(0, |(index, _)| index);
        text.replace_range(dots.., "..");
    }
    text
}

/// Cuts a line at the terminal's width, without breaking an escape sequence.
fn clip(line: &str, columns: usize) -> String {
    let mut clipped = String::new();
    let (mut used, mut is_escape) = (0, false);
    for character in line.chars() {
        if character == '\x1b' {
            is_escape = true;
        }
        if is_escape || used < columns {
            clipped.push(character);
        }
        if !is_escape {
            used += 1;
        } else if character == 'm' {
            is_escape = false;
        }
    }
    clipped
}

/// Returns a bar for a share, with at least one mark if it is not zero.
fn bar(share: f64, columns: usize, blocks: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if !blocks {
        let full = (share * columns as f64).round() as usize;
        return if full == 0 && share > 0.0 { ".".to_owned() } else { "#".repeat(full) };
    }
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
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
