//! Parses a line of timings: nine numbers, a whole line of xorg.conf, or the syntax of sway and niri.

use super::cvt::{MOST_COUNT, is_valid};
use super::{Mode, Sign};
use crate::failure::{Failure, Outcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeLine {
    pub name: Option<String>,
    pub mode: Mode,
}

/// Error for a line that is not a modeline.
const SHAPE: &str = "give the clock in MHz, then four horizontal and four vertical numbers, such \
                     as '165.00 3840 3848 3880 4008 2400 2402 2404 2406 +hsync +vsync'";

/// Parses a modeline of Xorg, sway or niri, with or without the keyword and a name before the clock.
pub fn parse(text: &str) -> Outcome<ModeLine> {
    let words = split_words(text);
    // Skips all up to the keyword, if there is one.
    let keyword = words.iter().position(|word| word.eq_ignore_ascii_case("modeline"));
    let mut words = words[keyword.map_or(0, |at| at + 1)..].iter().map(String::as_str).peekable();
    let is_name = |word: &&str| word.parse::<f64>().is_err();
    let name = words.next_if(is_name).map(str::to_owned);
    let clock = words.next().ok_or_else(|| wrong("the modeline has no clock"))?;
    let mut mode = Mode {
        clock_khz: parse_clock_khz(clock)?,
        h: take_four(&mut words)?,
        v: take_four(&mut words)?,
        ..Mode::default()
    };
    require_order(mode.h, "across", "hdisplay, hsyncstart, hsyncend, htotal")?;
    require_order(mode.v, "down", "vdisplay, vsyncstart, vsyncend, vtotal")?;
    for word in words {
        apply_flag(&mut mode, word)?;
    }
    Ok(ModeLine { name, mode })
}

/// Splits a line into words; a text in double quotes is one word, without the quotes.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        // Every second part was between quotes.
        if index.is_multiple_of(2) {
            words.extend(part.split_whitespace().map(str::to_owned));
        } else if !part.is_empty() {
            words.push(part.to_owned());
        }
    }
    words
}

fn wrong(what: &str) -> Failure {
    Failure::mistake(format!("{what}: {SHAPE}"))
}

fn parse_clock_khz(word: &str) -> Outcome<u64> {
    const MOST_MHZ: f64 = 1e6;
    let mhz: f64 = word.parse().map_err(|_| wrong(&format!("`{word}` is not a clock")))?;
    let khz = (mhz * 1e3).round();
    if khz >= 1.0 && mhz <= MOST_MHZ {
        Ok(khz as u64)
    } else {
        Err(wrong(&format!("`{word}` is not a clock in MHz")))
    }
}

fn take_four<'w>(words: &mut impl Iterator<Item = &'w str>) -> Outcome<[u32; 4]> {
    let mut numbers = [0; 4];
    for number in &mut numbers {
        let word = words.next().ok_or_else(|| wrong("the modeline has too few numbers"))?;
        let read = word.parse().ok().filter(|number| (1..=MOST_COUNT).contains(number));
        *number = read.ok_or_else(|| wrong(&format!("`{word}` is not a pixel or line count")))?;
    }
    Ok(numbers)
}

fn require_order(numbers: [u32; 4], way: &str, names: &str) -> Outcome<()> {
    if is_valid(numbers) {
        return Ok(());
    }
    let [shown, begin, end, total] = numbers;
    Err(Failure::mistake(format!(
        "{shown} {begin} {end} {total} do not increase; give {names} ({way}) in order, sync at least 1 wide"
    )))
}

fn apply_flag(mode: &mut Mode, word: &str) -> Outcome<()> {
    match word.to_ascii_lowercase().as_str() {
        "+hsync" => mode.hsync = Some(Sign::Positive),
        "-hsync" => mode.hsync = Some(Sign::Negative),
        "+vsync" => mode.vsync = Some(Sign::Positive),
        "-vsync" => mode.vsync = Some(Sign::Negative),
        "interlace" => mode.interlace = true,
        "doublescan" => mode.doublescan = true,
        // The end of niri's section.
        ";" | "}" => {}
        _ => {
            return Err(Failure::mistake(format!(
                "unknown flag `{word}`; use +hsync or -hsync, +vsync or -vsync, interlace, doublescan"
            )));
        }
    }
    Ok(())
}
