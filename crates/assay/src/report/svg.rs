//! The one renderer of figures: SVG with real text, marks that carry what they say, and colours
//! that a page may set. Plain viewers read the colours from attributes, pages from classes.

mod frame;
mod marks;
mod pen;
mod scale;
mod theme;

use std::fmt::Write;

use self::frame::{Frame, Key, KeyOf, LINE, WIDTH};
use self::pen::{escaped, px, segment, shortened, text};
use self::scale::Tick;
pub use self::theme::{RULES, Theme, variables};
use super::figure::{Figure, Layout, Marks, Scale, SpanKind};

/// The figure as an `<svg>` element of a page whose style sheet has [`variables`] and [`RULES`].
/// Its title is for readers of pages by ear; the page prints it.
pub fn inline(figure: &Figure) -> String {
    element(figure, Theme::Light, "", 0.0)
}

/// The figure as a file of its own, with its title.
pub fn file(figure: &Figure, theme: Theme) -> String {
    let style = format!("<style>\nsvg{{{}}}\n{RULES}</style>\n", variables(theme));
    element(figure, theme, &style, 28.0)
}

/// The element; `top` is what is left free for a printed title.
fn element(figure: &Figure, theme: Theme, style: &str, top: f64) -> String {
    let frame = Frame::new(figure, top);
    let mut out = String::new();
    let id = &figure.id;
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" id=\"{id}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"12\" fill=\"{}\">\n",
        px(frame.height),
        theme.colour("ink"),
    );
    let described =
        figure.notes.iter().fold(figure.description.clone(), |told, note| told + " " + note);
    let _ = write!(
        out,
        "<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n{style}",
        escaped(&figure.title),
        escaped(&described),
    );
    if top > 0.0 {
        let _ = writeln!(
            out,
            "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{}\" fill=\"{}\"/>",
            px(frame.height),
            theme.colour("paper"),
        );
        let shown = shortened(&figure.title, (WIDTH - 16.0) * 0.8);
        text(
            &mut out,
            [8.0, 19.0],
            "start",
            " font-size=\"14\" font-weight=\"600\"",
            &shown,
            &figure.title,
        );
        out.push('\n');
    }
    draw(&mut out, &frame, theme);
    out.push_str("</svg>\n");
    out
}

/// Everything in the order in which it lies on the other.
fn draw(out: &mut String, frame: &Frame<'_>, theme: Theme) {
    out.push_str("<g class=\"legend\">");
    for key in &frame.keys {
        legend_key(out, frame, theme, key);
    }
    out.push_str("</g>\n");
    spans(out, frame, theme);
    guides(out, frame, theme);
    axes(out, frame, theme);
    for (index, series) in frame.figure.series.iter().enumerate() {
        marks::series(out, frame, theme, index, series);
    }
}

/// Attributes of words that stand back.
fn muted(theme: Theme) -> String {
    format!(" class=\"muted\" fill=\"{}\"", theme.colour("muted"))
}

fn legend_key(out: &mut String, frame: &Frame<'_>, theme: Theme, key: &Key) {
    let (x, y) = (key.x + 12.0, key.y + 10.0);
    let open = match key.of {
        KeyOf::Series(index) => format!("class=\"key\" data-series=\"{index}\""),
        _ => "class=\"note\"".to_owned(),
    };
    let _ = write!(
        out,
        "<g {open}><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"20\" fill-opacity=\"0\"/>",
        px(key.x),
        px(key.y),
        px(key.width)
    );
    match key.of {
        KeyOf::Series(index) => series_swatch(out, frame, theme, index, [x, y]),
        KeyOf::Guide { line: true } => {
            let _ = write!(
                out,
                "<path class=\"guide\" stroke=\"{}\" stroke-dasharray=\"3 3\" d=\"{}\"/>",
                theme.colour("ink"),
                segment([x - 9.0, y], [x + 9.0, y])
            );
        }
        KeyOf::Guide { line: false } => square(out, "margin", theme.colour("shade"), [x, y]),
        KeyOf::Span(kind) => {
            let (class, colour) = span_class(kind);
            square(out, class, theme.colour(colour), [x, y]);
        }
    }
    let shown = shortened(&key.name, 250.0);
    text(out, [key.x + 26.0, y + 4.0], "start", "", &shown, &key.name);
    out.push_str("</g>");
}

fn square(out: &mut String, class: &str, colour: &str, [x, y]: [f64; 2]) {
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"12\" fill=\"{colour}\"/>",
        px(x - 8.0),
        px(y - 6.0)
    );
}

fn series_swatch(
    out: &mut String,
    frame: &Frame<'_>,
    theme: Theme,
    index: usize,
    [x, y]: [f64; 2],
) {
    let series = &frame.figure.series[index];
    let (class, colour) = marks::class(series.colour);
    let colour = theme.colour(&colour);
    if matches!(series.marks, Marks::Bars(_) | Marks::Tiles(_)) {
        square(out, &class, colour, [x, y]);
        return;
    }
    let _ = write!(
        out,
        "<g class=\"{class}\" fill=\"{colour}\" stroke=\"{colour}\" stroke-width=\"1.5\">"
    );
    if matches!(series.marks, Marks::Line(_) | Marks::Steps(_)) {
        let line = segment([x - 11.0, y], [x + 11.0, y]);
        let _ = write!(
            out,
            "<path class=\"line\" fill=\"none\"{} d=\"{line}\"/>",
            marks::dash(series.shape)
        );
    }
    if !matches!(series.marks, Marks::Steps(_)) {
        let _ = write!(out, "<path d=\"{}\"/>", marks::marker([x, y], series.shape, 4.0));
    }
    out.push_str("</g>");
}

fn span_class(kind: SpanKind) -> (&'static str, &'static str) {
    match kind {
        SpanKind::Alternate => ("shade", "shade"),
        SpanKind::Ramp => ("ramp", "ramp"),
        SpanKind::Disturbed => ("disturbed", "disturbed"),
    }
}

fn spans(out: &mut String, frame: &Frame<'_>, theme: Theme) {
    let [_, mut top, _, mut bottom] = frame.plot;
    // Colours of tiles mean amounts: what else there is to tell stands above them.
    if frame.figure.series.iter().any(|series| !series.marks.tiles().is_empty()) {
        (top, bottom) = (top - 7.0, top - 2.0);
    }
    let mut free = f64::NEG_INFINITY;
    for span in &frame.figure.spans {
        let (from, to) = (frame.along.at(span.from), frame.along.at(span.to));
        let (class, colour) = span_class(span.kind);
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>",
            px(from),
            px(top),
            px((to - from).max(0.5)),
            px(bottom - top),
            theme.colour(colour),
            escaped(&span.text)
        );
        let (middle, half) = (f64::midpoint(from, to), pen::width_of(&span.label) / 2.0);
        if !span.label.is_empty() && half * 2.0 <= to - from && middle - half > free {
            text(out, [middle, top - 4.0], "middle", &muted(theme), &span.label, &span.label);
            free = middle + half + 4.0;
        }
    }
    out.push('\n');
}

fn guides(out: &mut String, frame: &Frame<'_>, theme: Theme) {
    let [left, top, right, bottom] = frame.plot;
    let across = if frame.figure.layout == Layout::Upright { [left, right] } else { [top, bottom] };
    for guide in &frame.figure.guides {
        let (from, to) = (frame.value.at(guide.from), frame.value.at(guide.to));
        let [x1, y1] = frame.point(across[0], from);
        let [x2, y2] = frame.point(across[1], to);
        if guide.from == guide.to {
            let _ = write!(
                out,
                "<path class=\"guide\" stroke=\"{}\" stroke-dasharray=\"3 3\" d=\"{}\"/>",
                theme.colour("ink"),
                segment([x1, y1], [x2, y2])
            );
        } else {
            let _ = write!(
                out,
                "<rect class=\"margin\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                px(x1.min(x2)),
                px(y1.min(y2)),
                px((x2 - x1).abs()),
                px((y2 - y1).abs()),
                theme.colour("shade")
            );
        }
    }
    out.push('\n');
}

/// Lines of the grid, ticks with their words, titles of the axes.
fn axes(out: &mut String, frame: &Frame<'_>, theme: Theme) {
    let figure = frame.figure;
    let upright = figure.layout == Layout::Upright;
    let (side, below) =
        if upright { (&frame.value, &frame.along) } else { (&frame.along, &frame.value) };
    let [left, top, right, bottom] = frame.plot;
    let names = |scale: &Scale| matches!(scale, Scale::Category(_));
    let mut grid = String::new();
    let aside = Frame::ticks_aside(side);
    let mut under = frame.ticks_below(below);
    if let Some(mirror) = &frame.mirror {
        let other = frame.ticks_below(mirror).into_iter();
        under.extend(other.filter(|tick| (tick.px - mirror.px[0]).abs() > 30.0));
    }
    if !names(&side.axis.scale) {
        aside.iter().for_each(|tick| grid.push_str(&segment([left, tick.px], [right, tick.px])));
    }
    if !names(&below.axis.scale) {
        under.iter().for_each(|tick| grid.push_str(&segment([tick.px, top], [tick.px, bottom])));
    }
    let _ = writeln!(
        out,
        "<path class=\"grid\" stroke=\"{}\" fill=\"none\" d=\"{grid}\"/>",
        theme.colour("grid")
    );
    let corner = format!(
        "{}{}",
        segment([left, top], [left, bottom]),
        segment([left, bottom], [right, bottom])
    );
    let _ = writeln!(
        out,
        "<path class=\"axis\" stroke=\"{}\" fill=\"none\" d=\"{corner}\"/>",
        theme.colour("axis")
    );
    aside.iter().for_each(|tick| aside_text(out, frame, theme, &side.axis.scale, tick));
    under.iter().for_each(|tick| below_text(out, frame, theme, tick));
    titles(out, frame, theme, &side.axis.title, &below.axis.title);
    out.push('\n');
}

fn titles(out: &mut String, frame: &Frame<'_>, theme: Theme, side: &str, below: &str) {
    let room = WIDTH - 20.0;
    text(out, [8.0, frame.heading], "start", &muted(theme), &shortened(side, room), side);
    let (middle, end) = (f64::midpoint(frame.plot[0], frame.plot[2]), frame.height - 8.0);
    text(out, [middle, end], "middle", &muted(theme), &shortened(below, room), below);
}

/// Words at the left of the plot; a heading begins at its very edge.
fn aside_text(out: &mut String, frame: &Frame<'_>, theme: Theme, scale: &Scale, tick: &Tick) {
    let left = frame.plot[0];
    let shown = shortened(&tick.text, left - 12.0);
    let heading = match scale {
        Scale::Category(slots) => slots.iter().any(|slot| slot.heading && slot.name == tick.text),
        _ => false,
    };
    if heading {
        let shown = shortened(&tick.text, WIDTH / 2.0);
        text(out, [8.0, tick.px + 4.0], "start", " font-weight=\"600\"", &shown, &tick.text);
    } else {
        let class = if matches!(scale, Scale::Category(_)) { String::new() } else { muted(theme) };
        text(out, [left - 6.0, tick.px + 4.0], "end", &class, &shown, &tick.text);
    }
}

/// Words below the plot, aslant where they do not fit side by side.
fn below_text(out: &mut String, frame: &Frame<'_>, theme: Theme, tick: &Tick) {
    let bottom = frame.plot[3];
    let shown = shortened(&tick.text, frame.name_room());
    if frame.aslant {
        let [x, y] = [px(tick.px + 4.0), px(bottom + 14.0)];
        let class = format!("{} transform=\"rotate(-35 {x} {y})\"", muted(theme));
        text(out, [tick.px + 4.0, bottom + 14.0], "end", &class, &shown, &tick.text);
    } else {
        text(out, [tick.px, bottom + LINE - 3.0], "middle", &muted(theme), &shown, &tick.text);
    }
}
