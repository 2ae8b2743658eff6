//! The types of a tree, and which one a name means where it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{Attribute, Expr, Generics, ImplItem, Item, ItemImpl, Lit, Type, UseTree};

use crate::attributes;

/// What a file has that says something of documents.
const SIGNS: [&str; 4] = ["Serialize", "Shows for ", "type ", "pub use "];
/// Modules that may hand on a type, one to the next.
const MOST_HANDS: usize = 8;

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
    /// By module, its crate first.
    files: BTreeMap<Vec<String>, String>,
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
        self.files.entry(module_of(file)).or_insert_with(|| file.to_owned());
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
                    self.told.extend(told(file, own));
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
        self.sought(file, path, MOST_HANDS)
    }

    fn sought(&self, file: &str, path: &[String], hands: usize) -> Result<&Declared, String> {
        let (first, rest) = path.split_first().ok_or("a type has no name")?;
        if rest.is_empty()
            && let Some(own) = self.declared(file, first)
        {
            return Ok(own);
        }
        let whole: Vec<String> = match self.used.get(file).and_then(|used| used.get(first)) {
            Some(used) => used.iter().chain(rest).cloned().collect(),
            None => path.to_vec(),
        };
        let (name, modules) = whole.split_last().ok_or("a type has no name")?;
        let home = self.files.get(&absolute(file, modules));
        if let Some(home) = home.filter(|home| *home != file) {
            if let Some(own) = self.declared(home, name) {
                return Ok(own);
            }
            // It is handed on from elsewhere.
            if hands > 0 && self.used.get(home).is_some_and(|used| used.contains_key(name)) {
                return self.sought(home, std::slice::from_ref(name), hands - 1);
            }
        }
        Err(format!("{file}: no type is called {}", whole.join("::")))
    }

    fn declared(&self, file: &str, name: &str) -> Option<&Declared> {
        self.types.get(name)?.iter().find(|own| own.file == file)
    }
}

/// The module that a file is, its crate first.
fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<String> = parts(file).into_iter().filter(|part| part != "src").collect();
    let is_whole = |part: &String| ["lib", "main", "mod"].contains(&part.as_str());
    parts.pop_if(|part| is_whole(part));
    parts.drain(..1.min(parts.len()));
    parts
}

/// The module that a path means in a file.
fn absolute(file: &str, path: &[String]) -> Vec<String> {
    let mut module = module_of(file);
    for (at, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" => module.truncate(1),
            "self" => {}
            "super" => {
                module.pop();
            }
            part if at == 0 && part.starts_with("assay") => module = vec![part.replace('_', "-")],
            part => module.push(part.replace('_', "-")),
        }
    }
    module
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
        } else if path.contains("/src/") && is_source(&name) {
            names.push(path);
        }
    }
    Ok(())
}

/// Whether it is a file of code that is no test.
fn is_source(name: &str) -> bool {
    let name = Path::new(name);
    let is_test = name.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
    name.extension().is_some_and(|own| own == "rs") && !is_test
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
fn told(file: &str, own: ItemImpl) -> Option<Told> {
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
    Some(Told { key, file: file.to_owned(), of: *own.self_ty })
}

/// Whether a type says by itself how it is written.
pub fn is_derived(declared: &Declared) -> bool {
    matches!(declared.item, Kind::Alias(_)) || attributes::is_written(declared.attributes())
}
