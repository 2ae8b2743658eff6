//! Parses a line of timings: nine numbers, a whole line of xorg.conf, or the syntax of sway and niri.

use super::cvt::{MOST_COUNT, is_whole};
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

pub fn parse(text: &str) -> Outcome<ModeLine> {
    let words = words(text);
    let begin = words.iter().position(|word| word.eq_ignore_ascii_case("modeline"));
    let mut words = words[begin.map_or(0, |at| at + 1)..].iter().map(String::as_str).peekable();
    let is_name = |word: &&str| word.parse::<f64>().is_err();
    let name = words.next_if(is_name).map(str::to_owned);
    let clock = words.next().ok_or_else(|| wrong("the modeline has no clock"))?;
    let mut mode = Mode {
        clock_khz: clock_khz(clock)?,
        h: four(&mut words)?,
        v: four(&mut words)?,
        hsync: None,
        vsync: None,
        interlace: false,
        doublescan: false,
    };
    ordered(mode.h, "across", "hdisplay, hsyncstart, hsyncend, htotal")?;
    ordered(mode.v, "down", "vdisplay, vsyncstart, vsyncend, vtotal")?;
    for word in words {
        flag(&mut mode, word)?;
    }
    Ok(ModeLine { name, mode })
}

/// Splits a line into words; a text in double quotes is one word, without the quotes.
fn words(text: &str) -> Vec<String> {
    let parts = text.split('"').enumerate().flat_map(|(index, part)| {
        if index % 2 == 1 {
            vec![part.to_owned()]
        } else {
            part.split_whitespace().map(str::to_owned).collect()
        }
    });
    parts.filter(|word| !word.is_empty()).collect()
}

fn wrong(what: &str) -> Failure {
    Failure::mistake(format!("{what}: {SHAPE}"))
}

fn clock_khz(word: &str) -> Outcome<u64> {
    const MOST_MHZ: f64 = 1e6;
    let mhz: f64 = word.parse().map_err(|_| wrong(&format!("`{word}` is not a clock")))?;
    let khz = (mhz * 1e3).round();
    if khz >= 1.0 && mhz <= MOST_MHZ {
        Ok(khz as u64)
    } else {
        Err(wrong(&format!("`{word}` is not a clock in MHz")))
    }
}

fn four<'w>(words: &mut impl Iterator<Item = &'w str>) -> Outcome<[u32; 4]> {
    let mut numbers = [0; 4];
    for number in &mut numbers {
        let word = words.next().ok_or_else(|| wrong("the modeline has too few numbers"))?;
        let read = word.parse().ok().filter(|number| (1..=MOST_COUNT).contains(number));
        *number = read.ok_or_else(|| wrong(&format!("`{word}` is not a pixel or line count")))?;
    }
    Ok(numbers)
}

fn ordered(numbers: [u32; 4], way: &str, names: &str) -> Outcome<()> {
    if is_whole(numbers) {
        return Ok(());
    }
    let [shown, begin, end, total] = numbers;
    Err(Failure::mistake(format!(
        "{shown} {begin} {end} {total} do not increase; give {names} ({way}) in order, sync at least 1 wide"
    )))
}

fn flag(mode: &mut Mode, word: &str) -> Outcome<()> {
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
