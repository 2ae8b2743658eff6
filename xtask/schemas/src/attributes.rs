//! What stands above a type or a field: its words, and what they say to `serde`.

use syn::{Attribute, Expr, Lit, LitStr, Meta, Token};

/// What is said to `serde`, as far as it matters to what is written.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of serde")]
pub struct Said {
    pub rename: Option<String>,
    pub rename_all: Option<String>,
    pub tag: Option<String>,
    pub content: Option<String>,
    /// A type that is written in its place.
    pub into: Option<String>,
    /// A module or a function that writes it.
    pub with: Option<String>,
    pub skip: bool,
    /// Whether it is left out at times.
    pub may_lack: bool,
    /// Whether it may be missing where it is read: earlier versions did not have it.
    pub default: bool,
    pub flatten: bool,
    pub untagged: bool,
    pub transparent: bool,
}

pub fn said(attributes: &[Attribute]) -> Result<Said, String> {
    let mut said = Said::default();
    for attribute in attributes.iter().filter(|own| own.path().is_ident("serde")) {
        let read = attribute.parse_nested_meta(|meta| {
            let text = if meta.input.peek(Token![=]) {
                Some(meta.value()?.parse::<LitStr>()?.value())
            } else {
                None
            };
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "rename" => said.rename = text,
                "rename_all" => said.rename_all = text,
                "tag" => said.tag = text,
                "content" => said.content = text,
                "into" => said.into = text,
                "with" | "serialize_with" => said.with = text,
                "skip" | "skip_serializing" => said.skip = true,
                "skip_serializing_if" => said.may_lack = true,
                "default" => said.default = true,
                "flatten" => said.flatten = true,
                "untagged" => said.untagged = true,
                "transparent" => said.transparent = true,
                // Words for who reads.
                "from"
                | "try_from"
                | "deserialize_with"
                | "deny_unknown_fields"
                | "alias"
                | "bound"
                | "borrow"
                | "other"
                | "skip_deserializing" => {}
                other => return Err(meta.error(format!("`{other}` is not known here"))),
            }
            Ok(())
        });
        read.map_err(|error| error.to_string())?;
    }
    Ok(said)
}

/// The words above something, as one line.
pub fn words(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(own) if own.path.is_ident("doc") => match &own.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    // Names of other types are for who reads the source.
    lines.join(" ").replace("[`", "`").replace("`]", "`")
}

/// Whether a type is derived to be written.
pub fn is_written(attributes: &[Attribute]) -> bool {
    let mut written = false;
    for attribute in attributes.iter().filter(|own| own.path().is_ident("derive")) {
        // A word that cannot be read is no `Serialize`.
        let _ = attribute.parse_nested_meta(|meta| {
            written |= meta.path.segments.last().is_some_and(|own| own.ident == "Serialize");
            Ok(())
        });
    }
    written
}

/// A name as a rule of `serde` writes it; fields and variants alike.
pub fn renamed(name: &str, rule: Option<&str>) -> Result<String, String> {
    let joined = |sign: &str| parts(name).join(sign);
    Ok(match rule {
        None => name.to_owned(),
        Some("lowercase") => name.to_lowercase(),
        Some("snake_case") => joined("_"),
        Some("kebab-case") => joined("-"),
        Some("UPPERCASE") => name.to_uppercase(),
        Some("SCREAMING_SNAKE_CASE") => joined("_").to_uppercase(),
        Some(other) => return Err(format!("names after the rule {other} are not known here")),
    })
}

/// The words of a name, `LikeThis` or `like_this`.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut begins = true;
    for sign in name.chars() {
        if sign == '_' {
            begins = true;
            continue;
        }
        if begins || sign.is_uppercase() {
            parts.push(String::new());
        }
        begins = false;
        if let Some(last) = parts.last_mut() {
            last.extend(sign.to_lowercase());
        }
    }
    parts
}
