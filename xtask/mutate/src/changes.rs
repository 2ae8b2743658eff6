//! What may be put in the place of what: operators, and what a function may return instead.

use syn::{BinOp, GenericArgument, PathArguments, ReturnType, Type};

/// The operator that stands instead of another one, both as they are written.
pub fn operator(of: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match of {
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::Eq(_) => ("==", "!="),
        BinOp::Ne(_) => ("!=", "=="),
        BinOp::And(_) => ("&&", "||"),
        BinOp::Or(_) => ("||", "&&"),
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::Mul(_) => ("*", "/"),
        BinOp::Div(_) => ("/", "*"),
        BinOp::AddAssign(_) => ("+=", "-="),
        BinOp::SubAssign(_) => ("-=", "+="),
        BinOp::MulAssign(_) => ("*=", "/="),
        BinOp::DivAssign(_) => ("/=", "*="),
        _ => return None,
    })
}

/// Whether it changes what stands on its left.
pub fn assigns(of: &BinOp) -> bool {
    matches!(
        of,
        BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_)
    )
}

/// What a function of this type may return without doing anything.
pub fn returns(of: &ReturnType) -> Vec<String> {
    match of {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, of) => values(of),
    }
}

fn values(of: &Type) -> Vec<String> {
    let told = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => told(&["()"]),
        Type::Reference(to) if to.mutability.is_none() => match &*to.elem {
            Type::Path(path) if path.path.is_ident("str") => told(&["\"\""]),
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match last.ident.to_string().as_str() {
                "bool" => told(&["true", "false"]),
                "Option" => told(&["None"]),
                "Vec" => told(&["Vec::new()"]),
                "String" => told(&["String::new()"]),
                "BTreeMap" | "BTreeSet" | "HashMap" | "HashSet" | "Duration" => {
                    told(&["Default::default()"])
                }
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64"
                | "i128" | "isize" => told(&["0", "1"]),
                "f32" | "f64" => told(&["0.0", "1.0"]),
                "Result" | "Done" => first_argument(&last.arguments)
                    .map_or_else(|| told(&["()"]), values)
                    .into_iter()
                    .map(|value| format!("Ok({value})"))
                    .collect(),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn first_argument(of: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(of) = of else { return None };
    of.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}
