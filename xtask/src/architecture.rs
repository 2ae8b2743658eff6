//! The picture of the architecture, drawn from `crates/layers.txt`, which the tests of the walls read too.

use std::fmt::Write as _;
use std::fs;

use crate::build::root;
use crate::lab::Done;
use crate::lab::layers::{self, Crate, Layers, Room};

/// Where it stands.
pub const PICTURE: &str = "docs/figures/architecture.svg";

const WIDTH: usize = 1040;
const MARGIN: usize = 20;
const GAP: usize = 8;
const BOX: usize = 48;
const LINE: usize = 22;
/// Room on each side of a text in a box.
const PAD: usize = 12;
/// Columns of the list of crates: name, what it is, what it needs.
const COLUMNS: [usize; 3] = [MARGIN + PAD, 188, 490];
/// More than a letter of a name (14 px, bold) and of other text (12 px) is wide on the average.
const NAME: usize = 9;
const LETTER: usize = 7;

const STYLE: &str = "
text { font: 12px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.name { font-size: 14px; font-weight: 600 }
.muted { fill: #57606a }
rect { fill: #f6f8fa; stroke: #8c959f }
.back { fill: #ffffff; stroke: none }
.assay,
.assay-runner { fill: #ddf4ff; stroke: #0969da }
.assay-report { fill: #fff8c5; stroke: #9a6700 }
.assay-base,
.assay-claims,
.assay-fleet,
.assay-importers,
.assay-kinds,
.assay-machine,
.assay-study,
.assay-system,
.assay-verdict { fill: #dafbe1; stroke: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.muted { fill: #9ea7b3 }
rect { fill: #161b22; stroke: #6e7681 }
.back { fill: #0d1117; stroke: none }
.assay,
.assay-runner { fill: #0c2d6b; stroke: #58a6ff }
.assay-report { fill: #4b2900; stroke: #d29922 }
.assay-base,
.assay-claims,
.assay-fleet,
.assay-importers,
.assay-kinds,
.assay-machine,
.assay-study,
.assay-system,
.assay-verdict { fill: #033a16; stroke: #3fb950 }
}
";

/// The picture, as a file.
pub fn picture() -> Done<String> {
    let path = root().join(layers::PATH);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", layers::PATH))?;
    draw(&Layers::read(&text)?)
}

fn draw(house: &Layers) -> Done<String> {
    let mut page = Page { body: String::new(), y: MARGIN };
    page.heading("Rooms: a line uses only what stands in a lower row, and the leaves");
    for layer in &house.layers {
        page.row(layer, true)?;
    }
    let pairs: Vec<String> =
        house.never.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    page.note(&format!("Never, although below: {}.", pairs.join(", ")));
    page.heading("Leaves, all in assay-base: used by all, using nothing");
    if let Some(other) = house.leaves.iter().find(|leaf| leaf.crate_ != "assay-base") {
        return Err(format!("{}: the leaf {} is of another crate", layers::PATH, other.name));
    }
    page.row(&house.leaves, false)?;
    page.y += GAP;
    page.heading("Crates, and what each needs of the others");
    for one in &house.crates {
        page.crate_(one)?;
    }
    Ok(page.ended())
}

/// What was drawn, and how far down.
struct Page {
    body: String,
    y: usize,
}

impl Page {
    fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace("->", "\u{2192}");
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>");
    }

    fn heading(&mut self, text: &str) {
        self.text(MARGIN, self.y + 16, "name", text);
        self.y += LINE + GAP;
    }

    fn note(&mut self, text: &str) {
        self.text(MARGIN, self.y + 12, "muted", text);
        self.y += LINE + GAP;
    }

    /// Rooms side by side.
    fn row(&mut self, rooms: &[Room], with_crate: bool) -> Done<()> {
        let count = rooms.len().max(1);
        let width = (WIDTH - 2 * MARGIN - (count - 1) * GAP) / count;
        for (at, room) in rooms.iter().enumerate() {
            let (x, y) = (MARGIN + at * (width + GAP), self.y);
            let own = if with_crate { room.crate_.as_str() } else { "" };
            let name =
                room.name.len() * NAME + own.len() * LETTER + if with_crate { GAP } else { 0 };
            fits(&room.name, name, width - 2 * PAD)?;
            fits(&room.about, room.about.len() * LETTER, width - 2 * PAD)?;
            let _ = writeln!(
                self.body,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" rx=\"6\" class=\"{}\"/>",
                room.crate_
            );
            self.text(x + PAD, y + 20, "name", &room.name);
            if with_crate {
                let right = x + width - PAD;
                let _ = writeln!(
                    self.body,
                    "<text x=\"{right}\" y=\"{}\" class=\"muted\" text-anchor=\"end\">{own}</text>",
                    y + 20
                );
            }
            self.text(x + PAD, y + 38, "", &room.about);
        }
        self.y += BOX + GAP;
        Ok(())
    }

    /// A line of the list of crates, or several where it needs many.
    fn crate_(&mut self, one: &Crate) -> Done<()> {
        let ends = [COLUMNS[1], COLUMNS[2], WIDTH - MARGIN];
        let [first, second, third] = [0, 1, 2].map(|at| ends[at] - COLUMNS[at] - 4);
        fits(&one.name, one.name.len() * NAME, first)?;
        fits(&one.about, one.about.len() * LETTER, second)?;
        let y = self.y + 14;
        self.text(COLUMNS[0], y, "name", &one.name);
        self.text(COLUMNS[1], y, "", &one.about);
        for needs in lines_of(&one.needs, third / LETTER) {
            fits(&needs, needs.len() * LETTER, third)?;
            self.text(COLUMNS[2], self.y + 14, "muted", &needs);
            self.y += LINE;
        }
        Ok(())
    }

    fn ended(self) -> String {
        let height = self.y + MARGIN;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
             <!-- made by `cargo xtask pages` of crates/layers.txt -->\n\
             <title>Crates and rooms of Assay, top first</title>\n\
             <style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Names in lines of at most so many letters.
fn lines_of(names: &[String], most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for name in names {
        if !line.is_empty() && line.len() + name.len() + 3 > most {
            lines.push(format!("{line},"));
            line.clear();
        }
        line.push_str(if line.is_empty() { "" } else { ", " });
        line.push_str(name);
    }
    lines.push(if names.is_empty() { "none of them".to_owned() } else { line });
    lines
}

/// A text that would not fit is told, not cut.
fn fits(text: &str, needed: usize, room: usize) -> Done<()> {
    if needed <= room {
        return Ok(());
    }
    Err(format!("{}: `{text}` is too long for the picture", layers::PATH))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    const HOUSE: &str = "layer\nassay/cli: calls & prints\nlayer\nassay-study/plan: order -> trials\nnever\ncli: plan\nleaves\nassay-base/lines: of CSV\ncrates\nassay: commands -> assay-base\nassay-base: decides ->\n";

    #[test]
    fn every_room_and_crate_stands_in_the_picture_once() {
        let drawn = draw(&Layers::read(HOUSE).unwrap()).unwrap();
        for text in [">cli<", ">plan<", ">lines<", "calls &amp; prints", "order \u{2192} trials"] {
            assert_eq!(drawn.matches(text).count(), 1, "{text}: {drawn}");
        }
        let (cli, plan) = (drawn.find(">cli<").unwrap(), drawn.find(">plan<").unwrap());
        assert!(cli < plan && drawn.contains("Never, although below: cli \u{2192} plan."));
        assert_eq!(drawn.matches("<rect x=").count(), 3);
    }

    #[test]
    fn many_names_stand_in_several_lines() {
        let names = ["ab", "cd", "ef"].map(str::to_owned);
        assert_eq!(lines_of(&names, 11), ["ab, cd, ef"]);
        assert_eq!(lines_of(&names, 8), ["ab, cd,", "ef"]);
        assert_eq!(lines_of(&names, 1), ["ab,", "cd,", "ef"]);
        assert_eq!(lines_of(&[], 1), ["none of them"]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let long = "word ".repeat(40);
        for (short, longer) in [("calls & prints", &*long), ("order", &long), ("commands", &long)] {
            let told = draw(&Layers::read(&HOUSE.replace(short, longer)).unwrap()).unwrap_err();
            assert!(told.contains("too long"), "{told}");
        }
        let other = HOUSE.replace("assay-base/lines", "assay/lines");
        assert!(draw(&Layers::read(&other).unwrap()).unwrap_err().contains("another crate"));
    }
}
