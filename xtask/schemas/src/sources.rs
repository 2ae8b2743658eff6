//! The types of a tree, and which one a name means where it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{Attribute, Expr, Generics, ImplItem, Item, ItemImpl, Lit, Type, UseTree};

use crate::attributes;

/// What a file has that says something of documents.
const SIGNS: [&str; 3] = ["Serialize", "Shows for ", "type "];

/// A type where it is declared.
pub struct Declared {
    pub name: String,
    /// Its file, below the root.
    pub file: String,
    pub item: Kind,
}

pub enum Kind {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Alias(Type),
}

/// What a kind of work tells below a key of its own.
pub struct Told {
    pub key: String,
    pub file: String,
    pub of: Type,
}

#[derive(Default)]
pub struct Sources {
    types: BTreeMap<String, Vec<Declared>>,
    /// By file, what each name stands for that it uses.
    used: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    pub told: Vec<Told>,
}

impl Declared {
    pub fn attributes(&self) -> &[Attribute] {
        match &self.item {
            Kind::Struct(own) => &own.attrs,
            Kind::Enum(own) => &own.attrs,
            Kind::Alias(_) => &[],
        }
    }

    /// The names of its types that are open.
    pub fn open(&self) -> Vec<String> {
        let of =
            |generics: &Generics| generics.type_params().map(|own| own.ident.to_string()).collect();
        match &self.item {
            Kind::Struct(own) => of(&own.generics),
            Kind::Enum(own) => of(&own.generics),
            Kind::Alias(_) => Vec::new(),
        }
    }
}

impl Sources {
    /// Reads all crates of a tree.
    pub fn read(root: &Path) -> Result<Self, String> {
        let mut names = Vec::new();
        files(root, "crates", &mut names)?;
        let mut all = Self::default();
        for name in names {
            let text = fs::read_to_string(root.join(&name));
            let text = text.map_err(|error| format!("{name}: {error}"))?;
            if SIGNS.iter().any(|sign| text.contains(sign)) {
                all.add(&name, &text)?;
            }
        }
        Ok(all)
    }

    /// Adds the types of a file.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        let parsed = syn::parse_file(text).map_err(|error| format!("{file}: {error}"))?;
        for item in parsed.items {
            let (name, item) = match item {
                Item::Struct(own) => (own.ident.to_string(), Kind::Struct(own)),
                Item::Enum(own) => (own.ident.to_string(), Kind::Enum(own)),
                Item::Type(own) => (own.ident.to_string(), Kind::Alias(*own.ty)),
                Item::Use(own) => {
                    let used = self.used.entry(file.to_owned()).or_default();
                    leaves(&own.tree, &mut Vec::new(), used);
                    continue;
                }
                Item::Impl(own) => {
                    self.told.extend(told(file, &own));
                    continue;
                }
                _ => continue,
            };
            let all = self.types.entry(name.clone()).or_default();
            all.push(Declared { name, file: file.to_owned(), item });
        }
        Ok(())
    }

    /// The type that a path means in a file.
    pub fn find(&self, file: &str, path: &[String]) -> Result<&Declared, String> {
        let (first, rest) = path.split_first().ok_or("a type has no name")?;
        let used = self.used.get(file).and_then(|used| used.get(first));
        let whole: Vec<&String> = match used {
            Some(used) => used.iter().chain(rest).collect(),
            None => path.iter().collect(),
        };
        let (name, modules) = whole.split_last().ok_or("a type has no name")?;
        let all =
            self.types.get(*name).ok_or_else(|| format!("{file}: no type is called {name}"))?;
        if whole.len() == 1
            && let Some(own) = all.iter().find(|declared| declared.file == file)
        {
            return Ok(own);
        }
        // What is not derived is no part of a document, unless there is nothing else of the name.
        let is_alone = !all.iter().any(is_derived);
        let all: Vec<&Declared> = all.iter().filter(|own| is_alone || is_derived(own)).collect();
        let near = |declared: &Declared| nearness(&declared.file, file, modules);
        let nearest = all.iter().map(|declared| near(declared)).max();
        let mut fitting = all.into_iter().filter(|declared| Some(near(declared)) == nearest);
        match (fitting.next(), fitting.next()) {
            (Some(own), None) => Ok(own),
            (Some(own), Some(other)) => {
                Err(format!("{file}: {name} may be that of {} or of {}", own.file, other.file))
            }
            (None, _) => Err(format!("{file}: no type is called {name}")),
        }
    }
}

/// How well a declaration in a file fits modules that another one names: how many of them it lies in, whether they are
/// of one crate, and how far the way is that they share.
fn nearness(declared: &str, file: &str, modules: &[&String]) -> (usize, bool, usize) {
    let own = parts(declared);
    let named = modules.iter().filter(|module| own.contains(&module.replace('_', "-"))).count();
    let here = parts(file);
    let shared = own.iter().zip(&here).take_while(|(one, other)| one == other).count();
    let outside = modules.first().is_some_and(|first| first.starts_with("assay_"));
    (named, outside || own.get(1) == here.get(1), shared)
}

/// The parts of a path, without the ending of the file; `_` is `-`, as crates are called.
fn parts(file: &str) -> Vec<String> {
    file.trim_end_matches(".rs").split('/').map(|part| part.replace('_', "-")).collect()
}

/// Rust files below a folder, tests apart.
fn files(root: &Path, folder: &str, names: &mut Vec<String>) -> Result<(), String> {
    let listed = fs::read_dir(root.join(folder)).map_err(|error| format!("{folder}: {error}"))?;
    let mut below: Vec<(String, bool)> = Vec::new();
    for entry in listed {
        let entry = entry.map_err(|error| format!("{folder}: {error}"))?;
        let kind = entry.file_type().map_err(|error| format!("{folder}: {error}"))?;
        below.push((entry.file_name().to_string_lossy().into_owned(), kind.is_dir()));
    }
    below.sort();
    for (name, is_folder) in below {
        let path = format!("{folder}/{name}");
        if is_folder && name != "tests" && name != "target" {
            files(root, &path, names)?;
        } else if path.contains("/src/") && name.ends_with(".rs") && !name.ends_with("tests.rs") {
            names.push(path);
        }
    }
    Ok(())
}

/// What each name of a `use` stands for.
fn leaves(tree: &UseTree, way: &mut Vec<String>, used: &mut BTreeMap<String, Vec<String>>) {
    let mut add = |way: &[String], name: String, last: String| {
        // `use a::b::{self}` brings `b`.
        let path: Vec<String> =
            way.iter().cloned().chain((last != "self").then_some(last)).collect();
        let name = if name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        used.insert(name, path);
    };
    match tree {
        UseTree::Path(own) => {
            way.push(own.ident.to_string());
            leaves(&own.tree, way, used);
            way.pop();
        }
        UseTree::Name(own) => add(way, own.ident.to_string(), own.ident.to_string()),
        UseTree::Rename(own) => add(way, own.rename.to_string(), own.ident.to_string()),
        UseTree::Group(own) => {
            for tree in &own.items {
                leaves(tree, way, used);
            }
        }
        UseTree::Glob(_) => {}
    }
}

/// What an `impl Shows for Facts` says: below which key findings have them.
fn told(file: &str, own: &ItemImpl) -> Option<Told> {
    let (_, name, _) = own.trait_.as_ref()?;
    name.segments.last().filter(|last| last.ident == "Shows")?;
    let key = own.items.iter().find_map(|item| match item {
        ImplItem::Const(own) if own.ident == "KEY" => match &own.expr {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })?;
    Some(Told { key, file: file.to_owned(), of: (*own.self_ty).clone() })
}

/// Whether a type says by itself how it is written.
pub fn is_derived(declared: &Declared) -> bool {
    matches!(declared.item, Kind::Alias(_)) || attributes::is_written(declared.attributes())
}
