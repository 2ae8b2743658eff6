//! The terminal: alternate screen, keys, and restoration on every exit.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::watch::page::{Page, PageStyle};
use assay_core::failure::Outcome;

/// The stream that shows a page, and its terminal's previous modes.
static OPENED: Mutex<Option<(TerminalStream, Termios)>> = Mutex::new(None);

// Control sequences of xterm.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
const CLOSE: &str = "\x1b[?1049l\x1b[?25h";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[2K";
/// Size if the terminal reports none.
const USUAL_SIZE: (u16, u16) = (80, 24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalStream {
    Output,
    /// Standard error if standard output is redirected.
    Errors,
}

impl TerminalStream {
    fn print(self, text: &str) -> io::Result<()> {
        match self {
            Self::Output => {
                let mut output = io::stdout().lock();
                output.write_all(text.as_bytes())?;
                output.flush()
            }
            Self::Errors => io::stderr().write_all(text.as_bytes()),
        }
    }

    fn size(self) -> (u16, u16) {
        let size = match self {
            Self::Output => tcgetwinsize(io::stdout()),
            Self::Errors => tcgetwinsize(io::stderr()),
        };
        let size = size.map(|size| (size.ws_col, size.ws_row));
        size.ok().filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL_SIZE)
    }

    /// Returns the source of keys: standard input, or the page's terminal if standard input is redirected.
    fn keys(self) -> Box<dyn AsFd> {
        match self {
            _ if io::stdin().is_terminal() => Box::new(io::stdin()),
            Self::Output => Box::new(io::stdout()),
            Self::Errors => Box::new(io::stderr()),
        }
    }

    /// Stores the terminal's modes before the first change: `restore_terminal` restores them after any failure or signal.
    fn open(self) -> io::Result<()> {
        let modes = tcgetattr(self.keys())?;
        let mut raw = modes.clone();
        raw.make_raw();
        *OPENED.lock().unwrap_or_else(PoisonError::into_inner) = Some((self, modes));
        tcsetattr(self.keys(), OptionalActions::Now, &raw)?;
        self.print(OPEN)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    /// Ctrl-C, for which the terminal sends no signal in this mode.
    Interrupt,
    Pause,
    Reset,
    Class,
    Device,
    Help,
    /// Another key or a resize: redraw.
    Other,
}

/// A terminal with a page; restored on drop.
pub struct Screen {
    stream: TerminalStream,
    /// Columns and rows of the last page.
    size: (u16, u16),
    pub style: PageStyle,
    keys: bool,
}

impl Screen {
    pub fn open(stream: TerminalStream, style: PageStyle) -> Outcome<Self> {
        restore_on_panic();
        let screen = Self { stream, size: stream.size(), style, keys: true };
        match stream.open() {
            Ok(()) => Ok(screen),
            Err(error) => Err(refused!("cannot draw on the terminal: {error}")),
        }
    }

    pub fn draw(&mut self, page: &Page<'_>) -> io::Result<()> {
        self.size = self.stream.size();
        let (columns, rows) = self.size;
        let lines = page.draw(columns.into(), rows.into());
        let lines = lines.join(&format!("\r\n{CLEAR_LINE}"));
        self.stream.print(&format!("{HOME}{CLEAR_LINE}{lines}"))
    }

    /// Returns the next key within a time; a changed size counts as a key, so that the caller draws again.
    pub fn key(&mut self, wait: Duration) -> Option<Key> {
        match self.read(wait) {
            Ok(None) if self.stream.size() != self.size => Some(Key::Other),
            Ok(key) => key,
            Err(_) => {
                // The terminal has hung up.
                self.keys = false;
                None
            }
        }
    }

    fn read(&self, wait: Duration) -> io::Result<Option<Key>> {
        let keys = self.stream.keys();
        if !is_readable(&keys, wait)? {
            return Ok(None);
        }
        let mut byte = [0];
        if rustix::io::read(&keys, &mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Escape alone is a key; an escape sequence has no meaning here.
        if byte == [ESCAPE] && is_readable(&keys, Duration::ZERO)? {
            rustix::io::read(&keys, &mut [0; 32])?;
            return Ok(Some(Key::Other));
        }
        Ok(Some(key_of_byte(byte[0])))
    }

    pub const fn has_keys(&self) -> bool {
        self.keys
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Returns whether input arrives within a time. Fails if the terminal has hung up.
fn is_readable(keys: &dyn AsFd, wait: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(keys.as_fd(), PollFlags::IN)];
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
    let ready = match poll(&mut polled, Some(&wait)) {
        // After a signal, the caller checks which one it was.
        Err(rustix::io::Errno::INTR) => return Ok(false),
        other => other?,
    };
    if polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(ready > 0)
}

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;

fn key_of_byte(byte: u8) -> Key {
    match byte {
        CTRL_C => Key::Interrupt,
        b'q' | b'Q' | ESCAPE => Key::Quit,
        b'p' | b' ' => Key::Pause,
        b'r' => Key::Reset,
        b'c' => Key::Class,
        b'd' | b'\t' => Key::Device,
        b'?' | b'h' => Key::Help,
        _ => Key::Other,
    }
}

/// Restores the terminal if it shows a page, also for exits that drop nothing.
pub fn restore_terminal() {
    let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((stream, modes)) = opened {
        // If the terminal is gone, nobody can read an error.
        let _ = stream.print(CLOSE);
        let _ = tcsetattr(stream.keys(), OptionalActions::Now, &modes);
    }
}

/// Restores the terminal before a panic prints its message.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore_terminal();
            previous_hook(info);
        }));
    });
}
