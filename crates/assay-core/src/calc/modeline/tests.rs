use proptest::prelude::*;

use super::cvt::Blanking;
use super::solve::MOST_STEPS;
use super::*;
use crate::presence::Presence;

const T221: Limits =
    Limits { clock_max_mhz: Some(165.0), h_khz: Some([31.0, 105.0]), v_hz: Some([12.0, 60.0]) };
const ARTICLE: &str = "Modeline \"3840x2400@17.1\" 165.00 3840 3848 3880 4008 2400 2402 2404 2406 \
                       +hsync +vsync";

fn found(highest: &Highest, timing: &str) -> SolvedMode {
    let row = highest.timings.iter().find(|row| row.timing == timing).unwrap();
    row.found.value().unwrap_or_else(|| panic!("{row:?}")).clone()
}

fn told(text: &str) -> String {
    parse(text).unwrap_err().message
}

#[test]
fn the_t221_gets_17_3_hz() {
    let highest = highest([3840, 2400], T221, &TIMINGS).unwrap();
    assert_eq!(highest.best, "rb2");
    let best = found(&highest, "rb2");
    assert_eq!((best.nominal_hz, best.figures.clock_mhz), (17.3, 164.114));
    assert_eq!([best.figures.total_pixels, best.figures.total_lines], [3920, 2420]);
    let first = found(&highest, "rb1");
    assert_eq!(first.nominal_hz, 17.0);
    assert_eq!(format!("{:.3}", first.figures.v_hz), "16.975");
}

#[test]
fn the_retina_screen_gets_48_8_hz() {
    let limits =
        Limits { clock_max_mhz: None, h_khz: Some([30.0, 90.0]), v_hz: Some([30.0, 60.0]) };
    let highest = highest([2880, 1800], limits, &TIMINGS).unwrap();
    // rb2 is as fast; more monitors know rb1.
    assert_eq!(highest.best, "rb1");
    assert_eq!(found(&highest, "rb2").nominal_hz, 48.8);
    let best = found(&highest, "rb1");
    assert_eq!((best.nominal_hz, best.figures.clock_mhz), (48.8, 273.25));
    assert_eq!([best.figures.total_pixels, best.figures.total_lines], [3040, 1842]);
    assert_eq!(format!("{:.3}", best.figures.h_khz), "89.885");
}

#[test]
fn the_articles_own_lines() {
    let table = include_str!("../../../../../reference/modelines.csv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.contains('x') && !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .filter(|row: &Vec<&str>| row[0] != "name" && row.len() == 17)
        .collect();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let number = |index: usize| row[index].parse::<f64>().unwrap();
        let limits = Limits {
            clock_max_mhz: None,
            h_khz: Some([number(10), number(11)]),
            v_hz: Some([number(12), number(13)]),
        };
        let check = check(parse(&row[1..10].join(" ")).unwrap(), limits, &TIMINGS);
        assert_eq!(format!("{:.3}", check.figures.h_khz), row[14]);
        assert_eq!(format!("{:.3}", check.figures.v_hz), row[15]);
        assert_eq!(check.fits, row[16] == "yes");
        // Both articles could have had more.
        assert!(check.better.value().unwrap().is_better);
    }
}

#[test]
fn the_t221_line_fits_and_rb2_is_better() {
    let check = check(parse(ARTICLE).unwrap(), T221, &TIMINGS);
    assert!(check.fits);
    assert_eq!(check.name.as_deref(), Some("3840x2400@17.1"));
    assert_eq!(format!("{:.1}", check.figures.active_percent), "95.6");
    let better = check.better.value().unwrap();
    assert_eq!((better.timing, better.is_better), ("rb2", true));
    // Without the version of 2013 no mode is better.
    let known = super::check(parse(ARTICLE).unwrap(), T221, &[Timing::Rb1, Timing::Cvt]);
    assert!(!known.better.value().unwrap().is_better);
    let free = super::check(parse(ARTICLE).unwrap(), Limits::default(), &TIMINGS);
    assert!(free.fits && free.better.reason().unwrap().contains("no limits"));
}

#[test]
fn a_line_that_does_not_fit_says_by_how_much() {
    let limits = Limits { clock_max_mhz: Some(160.0), v_hz: Some([18.0, 60.0]), ..T221 };
    let check = check(parse(ARTICLE).unwrap(), limits, &TIMINGS);
    assert!(!check.fits);
    let verdicts: Vec<String> = check.limits.iter().map(CheckedLimit::verdict).collect();
    assert_eq!(verdicts, ["5 MHz above", "fits", "0.89 Hz below"]);
}

#[test]
fn a_blanking_of_ones_own() {
    let own = Timing::Fixed(Blanking { pixels: 168, lines: 6 });
    let highest = highest([3840, 2400], T221, &[own]).unwrap();
    let found = found(&highest, "fixed");
    assert_eq!((found.nominal_hz, found.mode.h[3], found.mode.v[3]), (17.1, 4008, 2406));
    let least = Timing::Fixed(Blanking { pixels: 3, lines: 3 }).mode([640, 480], 60.0).unwrap();
    assert_eq!((least.h, least.v), ([640, 641, 642, 643], [480, 481, 482, 483]));
}

/// Lines as everybody who computes them prints them: `cvt`, `cvt -r`, and the sheet of the standard.
const KNOWN: [(Timing, [u32; 2], f64, &str); 9] = [
    (Timing::Cvt, [640, 480], 60.0, "23.75 640 664 720 800 480 483 487 500 -hsync +vsync"),
    (Timing::Cvt, [1024, 768], 60.0, "63.50 1024 1072 1176 1328 768 771 775 798 -hsync +vsync"),
    (
        Timing::Cvt,
        [1280, 1024],
        60.0,
        "109.00 1280 1368 1496 1712 1024 1027 1034 1063 -hsync +vsync",
    ),
    (
        Timing::Cvt,
        [1680, 1050],
        60.0,
        "146.25 1680 1784 1960 2240 1050 1053 1059 1089 -hsync +vsync",
    ),
    (
        Timing::Cvt,
        [1920, 1080],
        60.0,
        "173.00 1920 2048 2248 2576 1080 1083 1088 1120 -hsync +vsync",
    ),
    (
        Timing::CvtR,
        [1680, 1050],
        60.0,
        "119.00 1680 1728 1760 1840 1050 1053 1059 1080 +hsync -vsync",
    ),
    (
        Timing::CvtR,
        [1920, 1080],
        60.0,
        "138.50 1920 1968 2000 2080 1080 1083 1088 1111 +hsync -vsync",
    ),
    (
        Timing::Rb1,
        [1920, 1080],
        60.0,
        "138.50 1920 1968 2000 2080 1080 1083 1088 1111 +hsync -vsync",
    ),
    (
        Timing::Rb2,
        [1920, 1080],
        60.0,
        "133.320 1920 1928 1960 2000 1080 1097 1105 1111 +hsync -vsync",
    ),
];

#[test]
fn known_modes_have_the_lines_that_everybody_prints() {
    for (timing, size, rate, line) in KNOWN {
        let mode = timing.mode(size, rate).unwrap();
        assert_eq!(mode, parse(line).unwrap().mode, "{timing:?} {size:?}");
    }
}

#[test]
fn blanking_is_what_of_a_line_and_of_a_picture_is_not_shown() {
    let figures = |line: &str| parse(line).unwrap().mode.figures();
    let article = figures(ARTICLE);
    assert_eq!([article.blank_pixels, article.blank_lines], [168, 6]);
    assert_eq!([article.total_pixels, article.total_lines], [4008, 2406]);
    // No blanking: the sync ends at the active part.
    let least = figures("25 640 640 641 641 480 480 481 481");
    assert_eq!([least.blank_pixels, least.blank_lines], [1, 1]);
}

/// 3/10 before the sync, 2/10 sync, at least a pixel and a line of each.
#[test]
fn a_blanking_of_ones_own_is_divided_as_that_of_version_1() {
    let mode = |pixels, lines| {
        let own = Timing::Fixed(Blanking { pixels, lines });
        own.mode([1920, 1080], 60.0).map(|mode| (mode.h, mode.v))
    };
    assert_eq!(
        mode(160, 30),
        Some(([1920, 1968, 2000, 2080], [1080, 1089, 1095, 1110])),
        "as rb1 has its pixels"
    );
    assert_eq!(mode(9, 4), Some(([1920, 1922, 1923, 1929], [1080, 1081, 1082, 1084])));
    // A blanking without room for front porch, sync and back porch is invalid.
    assert!(mode(2, 30).is_some() && mode(1, 30).is_none() && mode(160, 1).is_none());
}

#[test]
fn what_stops_a_mode_is_named() {
    let told =
        |size, limits, timings: &[Timing]| highest(size, limits, timings).unwrap_err().message;
    let sixty = Limits { clock_max_mhz: None, h_khz: Some([30.0, 90.0]), v_hz: Some([59.0, 60.0]) };
    let text = told([2880, 1800], sixty, &[Timing::Rb1]);
    assert!(text.contains("rb1 has 109.") && text.contains("more than --h allows"), "{text}");
    let low = Limits { clock_max_mhz: Some(10.0), ..T221 };
    let text = told([3840, 2400], low, &TIMINGS);
    assert!(text.contains("MHz more than --clock allows"), "{text}");
    let high = Limits { v_hz: Some([9000.0, 9001.0]), ..Limits::default() };
    assert!(told([640, 480], high, &TIMINGS).contains("never reaches"));
    assert!(told([640, 480], Limits::default(), &TIMINGS).contains("--clock, --h, --v"));
    let text = at([640, 480], 5000.0, T221, &TIMINGS).unwrap_err().message;
    assert!(text.contains("no mode at 5000 Hz"), "{text}");
}

#[test]
fn lines_as_people_paste_them() {
    let line = parse(ARTICLE).unwrap();
    assert_eq!((line.mode.hsync, line.mode.vsync), (Some(Sign::Positive), Some(Sign::Positive)));
    let forms = Forms::new(&line.mode, line.name.as_deref(), None);
    assert_eq!(forms.xorg, ARTICLE);
    for (program, text) in forms.lines().into_iter().take(3) {
        assert_eq!(parse(text).unwrap().mode, line.mode, "{program}: {text}");
    }
    let bare = parse("25.18 640 656 752 800 480 490 492 525 -hsync -vsync interlace").unwrap();
    assert!(bare.name.is_none() && bare.mode.interlace);
    assert_eq!(format!("{:.2}", bare.mode.figures().v_hz), "119.90");
    let twice = parse("12.588 320 336 384 400 240 245 246 262 doublescan").unwrap();
    assert_eq!(format!("{:.2}", twice.mode.figures().v_hz), "60.06");
    let check = check(twice, T221, &TIMINGS);
    assert!(check.better.reason().unwrap().contains("doublescan"));
    assert!(check.forms.remarks.iter().any(|remark| remark.contains("not support doublescan")));
}

#[test]
fn lines_that_are_none() {
    assert!(told("").contains("no clock"));
    assert!(told("165.00 3840 3848").contains("too few"));
    assert!(told("0 1 2 3 4 1 2 3 4").contains("clock"));
    assert!(told("165 3840 3848 3880 4008 2400 2402 2404 x").contains("`x`"));
    assert!(told("165 3840 3848 3880 4008 2400 2402 2404 0").contains("`0`"));
    assert!(told("165 3840 3800 3880 4008 2400 2402 2404 2406").contains("do not increase"));
    assert!(told("165 3840 3848 3848 4008 2400 2402 2404 2406").contains("do not increase"));
    assert!(told("165 3840 3848 3880 4008 2400 2402 2404 2406 +csync").contains("`+csync`"));
    assert!(told("NaN 1 2 3 4 1 2 3 4").contains("clock"));
}

#[test]
fn the_kernels_form_and_what_it_cannot_say() {
    let forms = |timing: Timing, rate| {
        let mode = timing.mode([1920, 1080], rate).unwrap();
        Forms::new(&mode, None, Some((timing, rate)))
    };
    let of = |timing, rate| forms(timing, rate).kernel;
    assert_eq!(of(Timing::Cvt, 60.0), "video=DP-1:1920x1080M@60");
    assert_eq!(of(Timing::Rb1, 60.0), "video=DP-1:1920x1080MR@60");
    assert_eq!(of(Timing::Rb2, 17.3), "video=DP-1:1920x1080MR@17");
    let loss = |timing, rate| forms(timing, rate).remarks.join(" ");
    assert!(loss(Timing::Rb1, 60.0).contains("nearly this mode"));
    assert!(loss(Timing::Rb1, 59.94).contains("not this mode"));
    assert!(loss(Timing::Rb2, 60.0).contains("not this mode"));
}

#[test]
fn reduced_blanking_that_no_standard_rate_has_is_said_so() {
    let remarks = |timing: Timing, size, rate| timing.remarks(size, rate).join(" ");
    assert!(remarks(Timing::Rb1, [3840, 2400], 17.0).contains("multiples of 60 Hz"));
    assert_eq!(remarks(Timing::Rb1, [3840, 2400], 120.0), "");
    assert!(remarks(Timing::Rb2, [3840, 2400], 60.0).contains("2013"));
    assert!(remarks(Timing::Cvt, [1366, 768], 60.0).contains("rounded up to 1368"));
    assert_eq!(Timing::Rb2.mode([1366, 768], 60.0).unwrap().h[0], 1366);
}

#[test]
fn ranges_are_read() {
    assert_eq!(range("31-105", "kHz", ""), Ok([31.0, 105.0]));
    assert_eq!(range("31 kHz - 105.5kHz", "kHz", ""), Ok([31.0, 105.5]));
    assert!(range("60-12", "Hz", "").unwrap_err().contains("use 12-60"));
    assert!(range("60", "Hz", "12-60").unwrap_err().contains("12-60"));
    assert!(range("0-60", "Hz", "").is_err() && range("-60", "Hz", "").is_err());
}

fn timing() -> impl Strategy<Value = Timing> {
    let own = (3_u32..400, 3_u32..80)
        .prop_map(|(pixels, lines)| Timing::Fixed(Blanking { pixels, lines }));
    prop_oneof![Just(Timing::Rb1), Just(Timing::Rb2), Just(Timing::Cvt), Just(Timing::CvtR), own]
}

fn limits() -> impl Strategy<Value = Limits> {
    (
        proptest::option::of(5.0..700.0_f64),
        proptest::option::of((10.0..60.0_f64, 1.0..200.0_f64)),
        proptest::option::of((1.0..60.0_f64, 0.5..150.0_f64)),
    )
        .prop_map(|(clock_max_mhz, h, v)| {
            let range = |(low, more): (f64, f64)| [low, low + more];
            Limits { clock_max_mhz, h_khz: h.map(range), v_hz: v.map(range) }
        })
}

proptest! {
    #[test]
    fn what_is_found_fits_and_a_step_more_does_not(
        timing in timing(),
        limits in limits(),
        width in 64_u32..5000,
        height in 64_u32..4000,
        more in 1_u32..200,
    ) {
        prop_assume!(!limits.is_empty());
        let fits = |mode: &Mode| limits.misfits(&mode.figures()).is_empty();
        let Ok(highest) = highest([width, height], limits, &[timing]) else {
            // Nothing fits: then no rate at all does.
            for step in 1..1200 {
                let mode = timing.mode([width, height], f64::from(step) / 10.0);
                prop_assert!(!mode.is_some_and(|mode| fits(&mode)), "{step}");
            }
            return Ok(());
        };
        let Presence::Present(found) = &highest.timings[0].found else { panic!() };
        prop_assert!(fits(&found.mode));
        let step = (found.nominal_hz * 10.0).round();
        let steps = [step + 1.0, step + f64::from(more)];
        for step in steps.into_iter().filter(|step| *step <= f64::from(MOST_STEPS)) {
            let mode = timing.mode([width, height], step / 10.0);
            prop_assert!(!mode.is_some_and(|mode| fits(&mode)), "{step}");
        }
    }

    #[test]
    fn a_printed_line_means_the_same_when_checked(
        timing in timing(),
        width in 8_u32..8000,
        height in 8_u32..6000,
        rate in 1.0..300.0_f64,
    ) {
        let Some(mode) = timing.mode([width, height], rate) else { return Ok(()) };
        let forms = Forms::new(&mode, None, Some((timing, rate)));
        for (_, line) in forms.lines().into_iter().take(3) {
            let check = check(parse(line).unwrap(), Limits::default(), &TIMINGS);
            prop_assert_eq!(&check.mode, &mode);
            prop_assert_eq!(check.figures, mode.figures());
        }
    }

    #[test]
    fn the_real_rate_is_never_above_the_nominal_one(
        timing in timing(),
        width in 64_u32..5000,
        height in 64_u32..4000,
        step in 100_u32..2000,
    ) {
        let rate = f64::from(step) / 10.0;
        if let Some(mode) = timing.mode([width, height], rate) {
            prop_assert!(mode.figures().v_hz <= rate * (1.0 + 1e-6));
        }
    }

    #[test]
    fn nothing_that_is_pasted_panics(text in "[-+0-9a-zA-Z\"{};. ]{0,80}") {
        let _ = parse(&text);
    }
}
