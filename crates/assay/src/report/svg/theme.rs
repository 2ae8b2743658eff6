//! Colours, light and dark: the palette of Okabe and Ito, darkened on paper where it would be too
//! pale to see and lightened on dark ground.

/// Light or dark ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// Name of the CSS property, light, dark.
pub(super) const COLOURS: [(&str, &str, &str); 31] = [
    ("paper", "#ffffff", "#14181c"),
    ("ink", "#1b1f24", "#e8eaed"),
    ("muted", "#57606a", "#a7b0ba"),
    ("grid", "#dde1e6", "#323a43"),
    ("axis", "#8c959f", "#6e7781"),
    ("shade", "#eef1f4", "#1f262d"),
    ("ramp", "#d8dee4", "#333c46"),
    ("disturbed", "#ffd8b5", "#5a3416"),
    ("c0", "#0072b2", "#56a9e0"),
    ("c1", "#d55e00", "#f0803c"),
    ("c2", "#009e73", "#2bbf93"),
    ("c3", "#b0578a", "#d98fb8"),
    ("c4", "#a97400", "#e69f00"),
    ("c5", "#2e8fc4", "#8fd0f5"),
    ("c6", "#7d7200", "#f0e442"),
    ("c7", "#4d5359", "#c9d1d9"),
    ("h0", "#e3eef8", "#17222e"),
    ("h1", "#c3dbf0", "#1b3550"),
    ("h2", "#97c2e4", "#1f4a73"),
    ("h3", "#63a3d2", "#26639a"),
    ("h4", "#3582bd", "#3a80bd"),
    ("h5", "#1a619e", "#629fd3"),
    ("h6", "#0c427a", "#9cc5e8"),
    ("h7", "#072650", "#e2f0fb"),
    ("n0", "#eceff2", "#2a3138"),
    ("b0", "#cfe6f5", "#123a57"),
    ("b1", "#a3d0ec", "#0f4c78"),
    ("b2", "#74b6e0", "#0b5f99"),
    ("w0", "#fbe0cb", "#4a2c14"),
    ("w1", "#f6bf95", "#6d3a10"),
    ("w2", "#ef9d61", "#8c4706"),
];

impl Theme {
    /// A colour by its name.
    pub(super) fn colour(self, name: &str) -> &'static str {
        let found = COLOURS.iter().find(|(own, ..)| *own == name);
        found.map_or("#808080", |(_, light, dark)| if self == Self::Light { light } else { dark })
    }
}

/// The colours as CSS custom properties: `--paper:#ffffff;--ink:...`.
pub fn variables(theme: Theme) -> String {
    let declared = COLOURS.iter().map(|(name, ..)| format!("--{name}:{};", theme.colour(name)));
    declared.collect()
}

/// What the classes of a figure look like; they read the properties of [`variables`].
pub const RULES: &str = "\
.figure{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:12px}
.figure text{fill:var(--ink);stroke:none}
.figure .muted{fill:var(--muted)}
.figure .paper{fill:var(--paper)}
.figure .grid{stroke:var(--grid)}
.figure .axis{stroke:var(--axis)}
.figure .guide{stroke:var(--ink)}
.figure .margin,.figure .shade{fill:var(--shade)}
.figure .ramp{fill:var(--ramp)}
.figure .disturbed{fill:var(--disturbed)}
.figure .s0{fill:var(--c0);stroke:var(--c0)}
.figure .s1{fill:var(--c1);stroke:var(--c1)}
.figure .s2{fill:var(--c2);stroke:var(--c2)}
.figure .s3{fill:var(--c3);stroke:var(--c3)}
.figure .s4{fill:var(--c4);stroke:var(--c4)}
.figure .s5{fill:var(--c5);stroke:var(--c5)}
.figure .s6{fill:var(--c6);stroke:var(--c6)}
.figure .s7{fill:var(--c7);stroke:var(--c7)}
.figure .h0{fill:var(--h0)}
.figure .h1{fill:var(--h1)}
.figure .h2{fill:var(--h2)}
.figure .h3{fill:var(--h3)}
.figure .h4{fill:var(--h4)}
.figure .h5{fill:var(--h5)}
.figure .h6{fill:var(--h6)}
.figure .h7{fill:var(--h7)}
.figure .n0{fill:var(--n0)}
.figure .b0{fill:var(--b0)}
.figure .b1{fill:var(--b1)}
.figure .b2{fill:var(--b2)}
.figure .w0{fill:var(--w0)}
.figure .w1{fill:var(--w1)}
.figure .w2{fill:var(--w2)}
.figure .line{fill:none}
.figure .hollow{fill:var(--paper)}
";
