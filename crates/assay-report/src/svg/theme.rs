//! Colours, light and dark: the palette of Okabe and Ito, darkened on paper and lightened on dark ground.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// Background, text, lines and spans; then `c`: series; `h`: few to many; `n`, `b`, `w`: same, better, worse.
const LIGHT: &str = "\
--paper:#ffffff;--ink:#1b1f24;--muted:#57606a;--grid:#dde1e6;--axis:#8c959f;\
--shade:#e1e8ee;--ramp:#d8dee4;--disturbed:#ffd8b5;\
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#b0578a;--c4:#a97400;--c5:#2e8fc4;--c6:#7d7200;--c7:#4d5359;\
--h0:#e3eef8;--h1:#c3dbf0;--h2:#97c2e4;--h3:#63a3d2;--h4:#3582bd;--h5:#1a619e;--h6:#0c427a;--h7:#072650;\
--n0:#eceff2;--b0:#cfe6f5;--b1:#a3d0ec;--b2:#74b6e0;--w0:#fbe0cb;--w1:#f6bf95;--w2:#ef9d61;";
const DARK: &str = "\
--paper:#14181c;--ink:#e8eaed;--muted:#a7b0ba;--grid:#323a43;--axis:#6e7781;\
--shade:#2c3742;--ramp:#333c46;--disturbed:#6b3f1b;\
--c0:#56a9e0;--c1:#f0803c;--c2:#2bbf93;--c3:#d98fb8;--c4:#e69f00;--c5:#8fd0f5;--c6:#f0e442;--c7:#c9d1d9;\
--h0:#1f2f40;--h1:#213f5e;--h2:#24517d;--h3:#2a689f;--h4:#3f84bf;--h5:#66a2d5;--h6:#9fc8ea;--h7:#e2f0fb;\
--n0:#2a3138;--b0:#123a57;--b1:#0f4c78;--b2:#0b5f99;--w0:#4a2c14;--w1:#6d3a10;--w2:#8c4706;";

impl Theme {
    pub(super) fn colour(self, name: &str) -> &'static str {
        let declared = variables(self).split(';').filter_map(|it| it.split_once(':'));
        let mut values = declared.filter(|(property, _)| property.strip_prefix("--") == Some(name));
        values.next().map_or("#808080", |(_, colour)| colour)
    }
}

/// The colours as CSS custom properties: `--paper:#ffffff;--ink:...`.
pub fn variables(theme: Theme) -> &'static str {
    if theme == Theme::Light { LIGHT } else { DARK }
}

/// The style of the classes of a figure, which use the properties of [`variables`].
pub const RULES: &str = "\
.figure{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}
.figure text{fill:var(--ink);stroke:none}
.figure text.muted{fill:var(--muted)} .figure text.halo{stroke:var(--paper)}
.figure .grid{fill:none;stroke:var(--grid)} .figure .axis{fill:none;stroke:var(--axis)} .figure .guide{stroke:var(--ink)}
.figure .paper{fill:var(--paper)} .figure .shade{fill:var(--shade)}
.figure .ramp{fill:var(--ramp)} .figure .disturbed{fill:var(--disturbed)}
.figure .c0{fill:var(--c0);stroke:var(--c0)} .figure .c1{fill:var(--c1);stroke:var(--c1)}
.figure .c2{fill:var(--c2);stroke:var(--c2)} .figure .c3{fill:var(--c3);stroke:var(--c3)}
.figure .c4{fill:var(--c4);stroke:var(--c4)} .figure .c5{fill:var(--c5);stroke:var(--c5)}
.figure .c6{fill:var(--c6);stroke:var(--c6)} .figure .c7{fill:var(--c7);stroke:var(--c7)}
.figure .h0{fill:var(--h0)} .figure .h1{fill:var(--h1)} .figure .h2{fill:var(--h2)}
.figure .h3{fill:var(--h3)} .figure .h4{fill:var(--h4)} .figure .h5{fill:var(--h5)}
.figure .h6{fill:var(--h6)} .figure .h7{fill:var(--h7)} .figure .n0{fill:var(--n0)}
.figure .b0{fill:var(--b0)} .figure .b1{fill:var(--b1)} .figure .b2{fill:var(--b2)}
.figure .w0{fill:var(--w0)} .figure .w1{fill:var(--w1)} .figure .w2{fill:var(--w2)}
.figure .hollow{fill:var(--paper)}
.figure .line{fill:none} .figure .bare{stroke:none}
";
