//! Samples of report texts for documentation pages, and words of a picture.

use crate::Done;

pub const PAGES: [&str; 3] = ["README.md", "docs/tutorial.md", "docs/howto/commands-and-ci.md"];

pub const REPORTS: &str = "crates/assay-report/tests/fixtures/findings";

/// Lines of a page that a picture shows.
const SHOWN: usize = 40;

/// Updates the samples of a page: a block that begins with "```text REPORT last N" gets the last N lines of a report.
pub fn refreshed(page: &str, report: impl Fn(&str) -> Done<String>) -> Done<String> {
    let mut lines = Vec::new();
    let mut is_sample = false;
    for line in page.lines() {
        if is_sample {
            is_sample = line != "```";
            if is_sample {
                continue;
            }
        }
        lines.push(line.to_owned());
        if let ["```text", name, "last", count] = line.split(' ').collect::<Vec<_>>()[..] {
            is_sample = true;
            let count: usize =
                count.parse().map_err(|_| format!("{line}: not a number of lines"))?;
            let text = report(name)?;
            let all: Vec<&str> = text.lines().collect();
            lines
                .extend(all[all.len().saturating_sub(count)..].iter().map(|&line| line.to_owned()));
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// The first words of an HTML page, without those of its figures.
pub fn words_of_page(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html.split_once("<body").map_or(html, |(_, body)| body);
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push('\n');
        let hidden = ["svg", "style", "script"].into_iter().find(|name| tag.starts_with(name));
        let after = match hidden {
            Some(name) => tag.split_once(&format!("</{name}>")).map(|(_, after)| after),
            None => tag.split_once('>').map(|(_, after)| after),
        };
        rest = after.unwrap_or_default();
    }
    let lines = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
    lines.take(SHOWN).collect::<Vec<_>>().join("\n") + "\n"
}
