//! The terminal: its other screen, its keys, and how it is put back on every way out.

use std::io::{self, IsTerminal, Stderr, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::watch::page::{Looks, Page};
use assay_core::failure::{Failure, Outcome};

static ON_ERRORS: AtomicBool = AtomicBool::new(false);
static ON_OUTPUT: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    /// Standard error, where standard output goes elsewhere.
    Errors,
}

enum Opened {
    Output(Stdout),
    Errors(Stderr),
}

impl Stream {
    fn open(self) -> Opened {
        match self {
            Self::Output => Opened::Output(io::stdout()),
            Self::Errors => Opened::Errors(io::stderr()),
        }
    }

    fn flag(self) -> &'static AtomicBool {
        match self {
            Self::Output => &ON_OUTPUT,
            Self::Errors => &ON_ERRORS,
        }
    }

    fn put_back(self) {
        if self.flag().swap(false, Ordering::SeqCst) {
            // There is nobody to tell where the terminal is gone.
            let _ = execute!(self.open(), LeaveAlternateScreen, cursor::Show);
            let _ = disable_raw_mode();
        }
    }
}

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Output(stream) => stream.write(bytes),
            Self::Errors(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Output(stream) => stream.flush(),
            Self::Errors(stream) => stream.flush(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    /// Ctrl-C, which the terminal does not turn into a signal meanwhile.
    Interrupt,
    Pause,
    Reset,
    Class,
    Device,
    Help,
    /// Another key, or another size of the terminal: draw again.
    Other,
}

/// The terminal while a page is on it; put back when dropped.
pub struct Screen {
    stream: Stream,
    terminal: Terminal<CrosstermBackend<Opened>>,
    pub looks: Looks,
    keys: bool,
    /// Whether they come from standard input; else from the controlling terminal.
    from_input: bool,
}

impl Screen {
    pub fn open(stream: Stream, looks: Looks) -> Outcome<Self> {
        let refused = |error: io::Error| {
            stream.put_back();
            Failure::refused(format!("cannot draw on the terminal: {error}"))
        };
        put_back_on_panic();
        stream.flag().store(true, Ordering::SeqCst);
        enable_raw_mode().map_err(refused)?;
        execute!(stream.open(), EnterAlternateScreen, cursor::Hide).map_err(refused)?;
        let terminal = Terminal::new(CrosstermBackend::new(stream.open())).map_err(refused)?;
        let from_input = io::stdin().is_terminal();
        Ok(Self { stream, terminal, looks, keys: true, from_input })
    }

    pub fn draw(&mut self, page: &Page<'_>) -> io::Result<()> {
        self.terminal.draw(|frame| page.draw(frame)).map(|_| ())
    }

    /// The next key, if one comes in time.
    pub fn key(&mut self, wait: Duration) -> io::Result<Option<Key>> {
        if !self.keys {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let there = if self.from_input { typed(wait) } else { event::poll(wait) };
        if !there.inspect_err(|_| self.keys = false)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) => (key.kind != KeyEventKind::Release).then(|| meaning(key)),
            _ => Some(Key::Other),
        })
    }

    pub const fn has_keys(&self) -> bool {
        self.keys
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.stream.put_back();
    }
}

/// Whether a key was typed in time. A terminal that has hung up is told before the library asks it:
/// that would be asked for ever.
fn typed(wait: Duration) -> io::Result<bool> {
    readable(Duration::ZERO)?;
    // What came together is read together: some of it may wait inside the library.
    if event::poll(Duration::ZERO)? {
        return Ok(true);
    }
    Ok(readable(wait)? && event::poll(Duration::ZERO)?)
}

fn readable(wait: Duration) -> io::Result<bool> {
    let input = io::stdin();
    let mut looked = [PollFd::new(&input, PollFlags::IN)];
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
    let ready = match poll(&mut looked, Some(&wait)) {
        // A signal: the caller looks what it was.
        Err(rustix::io::Errno::INTR) => return Ok(false),
        other => other?,
    };
    if looked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    Ok(ready > 0)
}

fn meaning(key: KeyEvent) -> Key {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Key::Quit,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Char('r') => Key::Reset,
        KeyCode::Char('c') => Key::Class,
        KeyCode::Char('d') | KeyCode::Tab => Key::Device,
        KeyCode::Char('?' | 'h') => Key::Help,
        _ => Key::Other,
    }
}

/// Puts the terminal back, whichever stream has a page: for ends that drop nothing.
pub fn put_back() {
    Stream::Output.put_back();
    Stream::Errors.put_back();
}

/// Restores the terminal before a panic prints its message.
fn put_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            put_back();
            before(info);
        }));
    });
}
