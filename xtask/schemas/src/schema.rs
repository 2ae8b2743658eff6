//! The schema of a type: what `serde` writes of its values. Objects may have more than the schema says, since documents
//! grow; a field that it knows is of its type.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use syn::{Expr, Fields, FieldsNamed, GenericArgument, Lit, PathArguments, Type};

use crate::attributes::{Said, renamed, said, words};
use crate::sources::{Declared, Kind, Sources, is_derived};

/// What each open type of a declaration is.
type Given = BTreeMap<String, Value>;
type Made = Result<Value, String>;

/// Types that are written as text by hand.
const TEXTS: [&str; 6] = ["BitRate", "Bytes", "Harm", "Loss", "Percent", "Time"];
/// What findings have below keys of their own, each that of a kind of work.
const OF_KINDS: &str = "OfKinds";
/// Modules that write a number as text, in base 16, so that no reader rounds it.
const DIGITS: &str = "digits";
/// How the name of a number ends, and in what it is then counted.
const UNITS: [(&str, &str); 9] = [
    ("_per_s", "per second"),
    ("_bytes", "in bytes"),
    ("_ns", "in nanoseconds"),
    ("_us", "in microseconds"),
    ("_ms", "in milliseconds"),
    ("_s", "in seconds"),
    ("_mhz", "in MHz"),
    ("_khz", "in kHz"),
    ("_celsius", "in degrees Celsius"),
];

/// Makes schemas, and keeps those that others refer to.
pub struct Maker<'s> {
    sources: &'s Sources,
    definitions: Map<String, Value>,
    /// The file of each definition: two types may have one name.
    homes: BTreeMap<String, String>,
    /// Fields of the document that are never left out.
    always: Vec<String>,
}

impl<'s> Maker<'s> {
    pub fn new(sources: &'s Sources) -> Self {
        Self { sources, definitions: Map::new(), homes: BTreeMap::new(), always: Vec::new() }
    }

    /// The schema of a document, which is one of no other.
    pub fn document(&mut self, file: &str, name: &str) -> Made {
        let declared = self.sources.find(file, &[name.to_owned()])?;
        // What an open type adds is not known here.
        let given = declared.open().into_iter().map(|open| (open, json!({}))).collect();
        if let Kind::Struct(own) = &declared.item
            && let Fields::Named(fields) = &own.fields
        {
            self.always = always(fields)?;
        }
        self.whole(declared, &given)
    }

    /// What refers to a type.
    pub fn reference(&mut self, file: &str, name: &str) -> Made {
        self.named(&[name.to_owned()], &[], file, &Given::new())
    }

    pub fn always(&self) -> &[String] {
        &self.always
    }

    /// What the schema of a document refers to.
    pub fn definitions(self) -> Map<String, Value> {
        self.definitions
    }

    fn of_type(&mut self, of: &Type, file: &str, given: &Given) -> Made {
        match of {
            Type::Reference(own) => self.of_type(&own.elem, file, given),
            Type::Paren(own) => self.of_type(&own.elem, file, given),
            Type::Slice(own) => Ok(list(&self.of_type(&own.elem, file, given)?)),
            Type::Array(own) => {
                let mut schema = list(&self.of_type(&own.elem, file, given)?);
                if let Expr::Lit(length) = &own.len
                    && let Lit::Int(length) = &length.lit
                {
                    let length: usize = length.base10_parse().map_err(|error| error.to_string())?;
                    schema["minItems"] = json!(length);
                    schema["maxItems"] = json!(length);
                }
                Ok(schema)
            }
            Type::Tuple(own) => {
                let items = own.elems.iter().map(|one| self.of_type(one, file, given));
                Ok(tuple(&items.collect::<Result<Vec<_>, _>>()?))
            }
            Type::Path(own) => self.of_path(&own.path, file, given),
            _ => Err(format!("{file}: a sort of type that is not known here")),
        }
    }

    fn of_path(&mut self, path: &syn::Path, file: &str, given: &Given) -> Made {
        let names: Vec<String> = path.segments.iter().map(|own| own.ident.to_string()).collect();
        let last = path.segments.last().ok_or("a type has no name")?;
        let arguments: Vec<&Type> = match &last.arguments {
            PathArguments::AngleBracketed(own) => {
                let types = own.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(own) => Some(own),
                    _ => None,
                });
                types.collect()
            }
            _ => Vec::new(),
        };
        let name = names.last().map(String::as_str).unwrap_or_default();
        if let ([_], Some(known)) = (&names[..], given.get(name)) {
            return Ok(known.clone());
        }
        let missing = || format!("{file}: {name} of what?");
        let mut inner = |at: Option<&&Type>| self.of_type(at.ok_or_else(missing)?, file, given);
        Ok(match name {
            "String" | "str" | "char" | "Path" | "PathBuf" => json!({ "type": "string" }),
            "bool" => json!({ "type": "boolean" }),
            "f32" | "f64" => json!({ "type": "number" }),
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
                json!({ "type": "integer", "minimum": 0 })
            }
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => json!({ "type": "integer" }),
            "Value" => json!({}),
            "Option" => or_null(inner(arguments.first())?),
            "Box" | "Arc" | "Rc" | "Cow" => inner(arguments.last())?,
            "Vec" | "VecDeque" | "BTreeSet" | "HashSet" => list(&inner(arguments.first())?),
            "BTreeMap" | "HashMap" => {
                json!({ "type": "object", "additionalProperties": inner(arguments.last())? })
            }
            name if TEXTS.contains(&name) => json!({ "type": "string" }),
            _ => self.named(&names, &arguments, file, given)?,
        })
    }

    /// A type of ours: what refers to it, or where it has open types what it is with those.
    fn named(&mut self, path: &[String], arguments: &[&Type], file: &str, given: &Given) -> Made {
        let sources = self.sources;
        let declared = sources.find(file, path)?;
        if let Kind::Alias(own) = &declared.item {
            return self.of_type(own, &declared.file, &Given::new());
        }
        let open = declared.open();
        if !open.is_empty() {
            let types = arguments.iter().map(|one| self.of_type(one, file, given));
            let types = types.collect::<Result<Vec<_>, _>>()?;
            return self.whole(declared, &open.into_iter().zip(types).collect());
        }
        let name = self.name(declared);
        if self.homes.insert(name.clone(), declared.file.clone()).is_none() {
            let schema = self.whole(declared, &Given::new())?;
            self.definitions.insert(name.clone(), schema);
        }
        Ok(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    /// The name of a definition: with those of as many modules as tell it from all others.
    fn name(&self, declared: &Declared) -> String {
        let is_free =
            |name: &String| self.homes.get(name).is_none_or(|home| *home == declared.file);
        let mut name = declared.name.clone();
        for module in declared.file.trim_end_matches(".rs").trim_end_matches("/mod").rsplit('/') {
            if is_free(&name) {
                break;
            }
            name = format!("{module}-{name}");
        }
        name
    }

    fn whole(&mut self, declared: &Declared, given: &Given) -> Made {
        let (name, file) = (&declared.name, declared.file.as_str());
        if !is_derived(declared) {
            return Err(format!("{file}: {name} says by itself how it is written"));
        }
        let said = said(declared.attributes()).map_err(|why| format!("{file}: {name}: {why}"))?;
        if let Some(into) = &said.into {
            let into = syn::parse_str(into).map_err(|error| format!("{file}: {name}: {error}"))?;
            return Ok(described(self.of_type(&into, file, given)?, &words(declared.attributes())));
        }
        let schema = match &declared.item {
            Kind::Struct(own) => self.fields(&own.fields, &said, file, given)?,
            Kind::Enum(own) => self.choice(own, &said, file, given)?,
            Kind::Alias(own) => self.of_type(own, file, given)?,
        };
        Ok(described(schema, &words(declared.attributes())))
    }

    fn fields(&mut self, fields: &Fields, said: &Said, file: &str, given: &Given) -> Made {
        match fields {
            Fields::Named(own) if said.transparent => {
                let only = own.named.first().ok_or_else(|| format!("{file}: transparent"))?;
                self.of_type(&only.ty, file, given)
            }
            Fields::Named(own) => self.object(own, said, file, given),
            Fields::Unnamed(own) => {
                let items = own.unnamed.iter().map(|one| self.of_type(&one.ty, file, given));
                let mut items = items.collect::<Result<Vec<_>, _>>()?;
                Ok(if items.len() == 1 { items.remove(0) } else { tuple(&items) })
            }
            Fields::Unit => Ok(json!({ "type": "null" })),
        }
    }

    fn object(&mut self, fields: &FieldsNamed, of: &Said, file: &str, given: &Given) -> Made {
        let mut properties = Map::new();
        let mut required: Vec<String> = Vec::new();
        let mut also: Vec<Value> = Vec::new();
        for field in &fields.named {
            let (name, own) = named(field, of)?;
            if own.skip {
                continue;
            }
            if own.flatten {
                also.extend(self.flattened(&field.ty, file, given)?);
                continue;
            }
            let schema = match own.with.as_deref() {
                Some(with) if with.ends_with(DIGITS) => {
                    json!({ "type": "string", "pattern": "^[0-9a-f]+$" })
                }
                Some(with) => return Err(format!("{file}: {name}: what does {with} write?")),
                None => self.of_type(&field.ty, file, given)?,
            };
            let text = with_unit(&words(&field.attrs), &name, &schema);
            properties.insert(name.clone(), described(schema, &text));
            if !own.may_lack && !own.default && !of.default {
                required.push(name);
            }
        }
        let mut schema =
            json!({ "type": "object", "properties": properties, "required": required });
        if !also.is_empty() {
            schema["allOf"] = json!(also);
        }
        Ok(schema)
    }

    /// What a field adds to those beside it; nothing where that is not known.
    fn flattened(&mut self, of: &Type, file: &str, given: &Given) -> Result<Option<Value>, String> {
        if let Type::Path(own) = of
            && own.path.is_ident(OF_KINDS)
        {
            return self.of_kinds().map(Some);
        }
        let schema = self.of_type(of, file, given)?;
        Ok(Some(schema).filter(|schema| *schema != json!({})))
    }

    fn of_kinds(&mut self) -> Made {
        let mut properties = Map::new();
        let sources = self.sources;
        for told in &sources.told {
            let own = list(&self.of_type(&told.of, &told.file, &Given::new())?);
            let text = format!("What work of the kind tells of each of its rows: `{}`.", told.key);
            properties.insert(told.key.clone(), described(own, &text));
        }
        if properties.is_empty() {
            return Err("no kind of work tells anything".to_owned());
        }
        Ok(json!({ "properties": properties }))
    }

    fn choice(&mut self, of: &syn::ItemEnum, said_of: &Said, file: &str, given: &Given) -> Made {
        let mut plain: Vec<(String, String)> = Vec::new();
        let mut others: Vec<Value> = Vec::new();
        for variant in &of.variants {
            let own = said(&variant.attrs)?;
            if own.skip {
                continue;
            }
            let name = variant.ident.to_string();
            let name = match &own.rename {
                Some(name) => name.clone(),
                None => renamed(&name, said_of.rename_all.as_deref())?,
            };
            let text = words(&variant.attrs);
            let is_plain = matches!(variant.fields, Fields::Unit);
            if is_plain && said_of.tag.is_none() && !said_of.untagged {
                plain.push((name, text));
                continue;
            }
            let inner = self.fields(&variant.fields, &own, file, given)?;
            let schema = match (&said_of.tag, &said_of.content) {
                _ if said_of.untagged || own.untagged => inner,
                (None, _) => object([(name.as_str(), inner)]),
                (Some(tag), Some(content)) if !is_plain => {
                    object([(tag.as_str(), json!({ "const": name })), (content.as_str(), inner)])
                }
                (Some(tag), _) if is_plain => object([(tag.as_str(), json!({ "const": name }))]),
                (Some(tag), _) => {
                    let mut schema = object([(tag.as_str(), json!({ "const": name }))]);
                    schema["allOf"] = json!([inner]);
                    schema
                }
            };
            others.push(described(schema, &text));
        }
        if !plain.is_empty() {
            others.push(chosen(&plain));
        }
        Ok(if others.len() == 1 { others.remove(0) } else { json!({ "anyOf": others }) })
    }
}

/// The name of a field as it is written, and what is said of it.
fn named(field: &syn::Field, of: &Said) -> Result<(String, Said), String> {
    let own = said(&field.attrs)?;
    let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = name.trim_start_matches("r#").to_owned();
    let name = match &own.rename {
        Some(name) => name.clone(),
        None => renamed(&name, of.rename_all.as_deref())?,
    };
    Ok((name, own))
}

/// The fields that are never left out.
fn always(fields: &FieldsNamed) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for field in &fields.named {
        let (name, own) = named(field, &Said::default())?;
        if !own.skip && !own.flatten && !own.may_lack {
            names.push(name);
        }
    }
    Ok(names)
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn tuple(items: &[Value]) -> Value {
    let length = items.len();
    json!({ "type": "array", "prefixItems": items, "minItems": length, "maxItems": length })
}

/// An object that has all of these.
fn object<'n>(fields: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// One word of several, with what each of them means.
fn chosen(plain: &[(String, String)]) -> Value {
    let names: Vec<&String> = plain.iter().map(|(name, _)| name).collect();
    let told = plain.iter().filter(|(_, text)| !text.is_empty());
    let told: Vec<String> = told.map(|(name, text)| format!("`{name}`: {text}")).collect();
    described(json!({ "enum": names }), &told.join(" "))
}

fn or_null(schema: Value) -> Value {
    match schema.get("type") {
        None if schema == json!({}) => schema,
        Some(Value::String(name)) if schema.get("anyOf").is_none() => {
            let name = json!([name, "null"]);
            let mut schema = schema;
            schema["type"] = name;
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

/// With these words before those that it has.
fn described(mut schema: Value, text: &str) -> Value {
    if !text.is_empty() {
        let known = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = if known.is_empty() { text.to_owned() } else { format!("{text} {known}") };
        schema["description"] = json!(text);
    }
    schema
}

/// The words of a field, and what a number is counted in.
fn with_unit(text: &str, name: &str, schema: &Value) -> String {
    let is_number = |schema: &Value| {
        let own = schema["type"].to_string();
        own.contains("integer") || own.contains("number")
    };
    let unit = UNITS.iter().find(|(end, _)| format!("_{name}").ends_with(end));
    match unit {
        Some((_, unit)) if is_number(schema) || is_number(&schema["items"]) => {
            let counted = unit.rsplit(' ').next().unwrap_or_default().to_lowercase();
            match text.trim_end_matches('.') {
                "" => format!("A number {unit}."),
                own if own.to_lowercase().contains(&counted) => text.to_owned(),
                own => format!("{own}, {unit}."),
            }
        }
        _ => text.to_owned(),
    }
}
