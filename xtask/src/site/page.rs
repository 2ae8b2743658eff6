//! One page: Markdown becomes the middle of it, and a frame stands around that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

use super::{LED_TO, STYLE};
use crate::lab::Done;

/// What leads out of the folder, and is not followed.
const OUTSIDE: [&str; 3] = ["http://", "https://", "mailto:"];

pub struct Page {
    pub title: String,
    body: String,
    /// Names of its headings, and the words of those that it is divided by.
    pub places: BTreeSet<String>,
    parts: Vec<(String, String)>,
    /// What it leads to and what it shows.
    pub links: Vec<String>,
}

impl Page {
    /// Reads a page of the tree. Pictures that are there light and dark are shown as the reader likes it.
    pub fn read(name: &str, text: &str, there: &BTreeSet<&str>) -> Done<Self> {
        let mut events = Vec::new();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                // What is left out is for those who write.
                Event::Html(own) if own.trim_start().starts_with("<!--") => {}
                Event::Html(own) => return Err(format!("what is to be shown of {own:?}?")),
                Event::InlineHtml(own) => events.push(Event::Text(own)),
                event => events.push(event),
            }
        }
        let mut page = Self {
            title: name.to_owned(),
            body: String::new(),
            places: BTreeSet::new(),
            parts: Vec::new(),
            links: Vec::new(),
        };
        page.name_headings(&mut events);
        let pictures =
            |dark: &str| there.contains(beside(name, dark).as_str()) && !text.contains(dark);
        page.lead(&mut events, &pictures);
        html::push_html(&mut page.body, events.into_iter());
        Ok(page)
    }

    /// A list of pages by their titles, a part a folder.
    pub fn of_list(title: &str, pages: &BTreeMap<String, Self>) -> Self {
        let mut body = format!("<h1>{}</h1>\n", escaped(title));
        let folder = |name: &str| name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let folders: BTreeSet<String> = pages.keys().map(|name| folder(name)).collect();
        let mut parts = Vec::new();
        for own in folders {
            let words = if own.is_empty() { "top" } else { own.as_str() };
            let place = words.replace('/', "-");
            let _ = writeln!(body, "<h2 id=\"{place}\">{}</h2>\n<ul>", escaped(words));
            for (name, page) in pages.iter().filter(|(name, _)| folder(name) == own) {
                let _ = writeln!(body, "<li><a href=\"{name}\">{}</a></li>", escaped(&page.title));
            }
            body.push_str("</ul>\n");
            parts.push((place, words.to_owned()));
        }
        let places = parts.iter().map(|(place, _)| place.clone()).collect();
        let links = pages.keys().cloned().collect();
        Self { title: title.to_owned(), body, places, parts, links }
    }

    /// Gives each heading the name by which pages lead to it, and takes the first as the title.
    fn name_headings(&mut self, events: &mut [Event<'_>]) {
        let mut is_titled = false;
        for at in 0..events.len() {
            let (Event::Start(Tag::Heading { level, .. }), rest) = (&events[at], &events[at + 1..])
            else {
                continue;
            };
            let level = *level;
            let own =
                rest.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
            let words: String = own.filter_map(words).collect();
            let name = self.free(&anchor(&words));
            if !is_titled && level == HeadingLevel::H1 {
                self.title.clone_from(&words);
                is_titled = true;
            }
            if level == HeadingLevel::H2 {
                self.parts.push((name.clone(), words));
            }
            self.places.insert(name.clone());
            if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
                *id = Some(CowStr::from(name));
            }
        }
    }

    /// A name that no other heading has.
    fn free(&self, name: &str) -> String {
        let more = (1..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(more);
        names.find(|name| !self.places.contains(name)).unwrap_or_default()
    }

    /// Turns links to pages of the tree into links to those of the folder, and notes where all lead.
    fn lead(&mut self, events: &mut [Event<'_>], has_dark: &dyn Fn(&str) -> bool) {
        for at in 0..events.len() {
            match &mut events[at] {
                // An address of mail is written as one, and leads to no page.
                Event::Start(Tag::Link { link_type: LinkType::Email, .. }) => {}
                Event::Start(Tag::Link { dest_url, .. }) if is_inside(dest_url) => {
                    *dest_url = CowStr::from(turned(dest_url));
                    self.links.push(dest_url.to_string());
                }
                Event::Start(Tag::Image { dest_url, .. }) if is_inside(dest_url) => {
                    let light = dest_url.to_string();
                    self.links.push(light.clone());
                    let dark = light.replace("-light.", "-dark.");
                    let mut end = events[at..].iter();
                    let end = end.position(|event| matches!(event, Event::End(TagEnd::Image)));
                    if let (true, Some(end)) = (light != dark && has_dark(&dark), end) {
                        let words: String = events[at..at + end].iter().filter_map(words).collect();
                        let picture = in_two(&light, &dark, &words);
                        events[at] = Event::InlineHtml(CowStr::from(picture));
                        for event in &mut events[at + 1..=at + end] {
                            *event = Event::Text(CowStr::Borrowed(""));
                        }
                        self.links.push(dark);
                    }
                }
                _ => {}
            }
        }
    }

    /// The page with what stands around it.
    pub fn whole(&self, name: &str) -> String {
        let up = "../".repeat(name.matches('/').count());
        let title = escaped(&self.title);
        let led_to = LED_TO.iter().map(|(words, to)| {
            let here = if *to == name { " aria-current=\"page\"" } else { "" };
            format!("<li><a href=\"{up}{to}\"{here}>{words}</a></li>")
        });
        let led_to: Vec<String> = led_to.collect();
        let parts = self.parts.iter();
        let parts: Vec<String> = parts
            .map(|(place, words)| format!("<li><a href=\"#{place}\">{}</a></li>", escaped(words)))
            .collect();
        let parts = if parts.len() < 2 {
            String::new()
        } else {
            format!("<nav aria-label=\"Contents\"><ul>{}</ul></nav>\n", parts.concat())
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"stylesheet\" href=\"{up}{STYLE}\">\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">To the contents</a>\n\
             <header><nav aria-label=\"Pages\"><ul>{}</ul></nav></header>\n{parts}\
             <main id=\"main\" tabindex=\"-1\">\n{}</main>\n\
             <footer><p>assay {}. This page runs no script and loads nothing from elsewhere.</p></footer>\n\
             </body>\n</html>\n",
            led_to.concat(),
            self.body,
            env!("CARGO_PKG_VERSION"),
        )
    }
}

/// Where a page of the tree lies: `README.md` is what a server shows of its folder.
pub fn placed(name: &str) -> String {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let folder = stem.strip_suffix("README").filter(|rest| rest.is_empty() || rest.ends_with('/'));
    folder.map_or_else(|| format!("{stem}.html"), |folder| format!("{folder}index.html"))
}

/// A path that is told from a page.
pub fn beside(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Above the top there is nothing: that leads nowhere.
            ".." if parts.is_empty() => parts.push(".."),
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name that a heading has in a link, as forges make it.
fn anchor(words: &str) -> String {
    let words = words.trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn words(event: &Event<'_>) -> Option<String> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        Event::SoftBreak => Some(" ".to_owned()),
        _ => None,
    }
}

fn is_inside(link: &str) -> bool {
    !OUTSIDE.iter().any(|start| link.starts_with(start))
}

/// A link to a page of the tree, as one to where that lies.
fn turned(link: &str) -> String {
    let (path, place) = link.find('#').map_or((link, ""), |at| link.split_at(at));
    let path = if is_page(path) { placed(path) } else { path.to_owned() };
    format!("{path}{place}")
}

fn in_two(light: &str, dark: &str, words: &str) -> String {
    let [light, dark, words] = [light, dark, words].map(escaped);
    format!(
        "<picture><source srcset=\"{dark}\" media=\"(prefers-color-scheme: dark)\">\
         <img src=\"{light}\" alt=\"{words}\"></picture>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Whether a name is one of Markdown.
pub fn is_page(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|own| own == "md")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_headings_its_links_and_none_of_what_is_for_writers() {
        let text = "<!-- made -->\n\n# What `it` is\n\nSee [x](docs/README.md#one), a <b> of \"c\".\n\n\
                    ## One\n\n## One\n\n![p](a-light.png)\n\n| a |\n|---|\n| 1 < 2 |\n";
        let there = BTreeSet::from(["a-light.png", "a-dark.png"]);
        let page = Page::read("README.md", text, &there).unwrap();
        assert_eq!(page.title, "What it is");
        assert_eq!(page.links, ["docs/index.html#one", "a-light.png", "a-dark.png"]);
        let places: Vec<&str> = page.places.iter().map(String::as_str).collect();
        assert_eq!(places, ["one", "one-1", "what-it-is"]);
        for part in ["<h2 id=\"one-1\">", "&lt;b&gt;", "<picture>", "1 &lt; 2"] {
            assert!(page.body.contains(part), "no {part}: {}", page.body);
        }
        assert!(!page.body.contains("made"), "{}", page.body);
        let whole = page.whole("docs/a/b.html");
        assert!(whole.contains("href=\"../../style.css\"") && whole.contains("href=\"#one-1\""));
        let told = Page::read("a.md", "<div>\n", &there).err().unwrap();
        assert!(told.contains("div"), "{told}");
    }

    #[test]
    fn a_page_that_shows_both_pictures_shows_them_as_they_are() {
        let text = "![p](a-light.png) ![p](a-dark.png)\n";
        let page = Page::read("README.md", text, &BTreeSet::from(["a-light.png", "a-dark.png"]));
        assert!(!page.unwrap().body.contains("<picture>"));
    }

    #[test]
    fn a_page_lies_where_it_lay() {
        let names = ["README.md", "docs/guide.md", "docs/figures/README.md", "docs/NOREADME.md"];
        let expected =
            ["index.html", "docs/guide.html", "docs/figures/index.html", "docs/NOREADME.html"];
        assert_eq!(names.map(placed), expected);
        assert_eq!(beside("docs/a/b.html", "../c.html"), "docs/c.html");
        assert_eq!(beside("a.html", "../c.html"), "../c.html");
    }
}
