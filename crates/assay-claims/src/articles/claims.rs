//! What the articles conclude: the rows of `claims.csv`.

use assay_base::failure::{Failure, Outcome};
use assay_base::reference::Library;
use assay_base::reference::sheet::{Printed, Row};

/// The table of claims.
pub const CLAIMS: &str = "claims.csv";

/// One conclusion of an article.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Number of the article.
    pub article: String,
    /// Title of the text within it.
    pub title: String,
    /// What it concludes, in short.
    pub claim: String,
    /// The published table that can speak to it.
    pub data: String,
    /// What that table would have to show.
    pub expected: String,
}

/// All claims, in the order of the table.
pub fn claims(library: &Library) -> Outcome<Vec<Claim>> {
    library.sheet(CLAIMS)?.rows().map(claim).collect()
}

fn claim(row: Row<'_>) -> Outcome<Claim> {
    let word = |column: &str| {
        let text = row.text(column)?;
        if text.is_empty() {
            return Err(row.broken(&format!("{column} is empty; say it")));
        }
        Ok(text.to_owned())
    };
    Ok(Claim {
        article: word("article")?,
        title: word("title")?,
        claim: word("claim")?,
        data: word("data")?,
        expected: word("expected_direction")?,
    })
}

impl Claim {
    /// A failure that names this claim.
    pub fn broken(&self, what: &str) -> Failure {
        Failure::mistake(format!("{CLAIMS}: `{}`: {what}", self.claim))
    }

    /// The number behind a sign in what is expected: `percent<80`.
    pub fn limit(&self, sign: char) -> Outcome<Printed> {
        let behind = self.expected.rsplit_once(sign).map(|(_, rest)| rest.trim());
        let what = || self.broken(&format!("`{}` has no number behind `{sign}`", self.expected));
        behind.and_then(Printed::parse).ok_or_else(what)
    }

    /// The numbers in the claim's own words, exactly as many as are wanted.
    pub fn numbers<const N: usize>(&self) -> Outcome<[Printed; N]> {
        let found = Printed::all(&self.claim);
        let have = found.len();
        found.try_into().map_err(|_| self.broken(&format!("{have} numbers where {N} are meant")))
    }

    /// Whether a word stands in what is expected.
    pub fn expects(&self, word: &str) -> bool {
        words(&self.expected).any(|one| one == word)
    }

    pub fn expected_words(&self) -> Vec<&str> {
        words(&self.expected).collect()
    }

    /// Whether a word stands in the claim.
    pub fn names(&self, word: &str) -> bool {
        words(&self.claim).any(|one| one.eq_ignore_ascii_case(word))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
