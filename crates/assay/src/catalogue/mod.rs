//! What every entry of a registry says of itself. Help, reference pages and `assay list` are made
//! from these; none is written by hand.

/// An entry's own words.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name: lower case, words joined by `-`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The rest, in plain sentences.
    pub text: &'static str,
}
