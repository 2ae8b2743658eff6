//! Where a source text can be changed.
//!
//! Not in what is computed while compiling (constants, lengths, patterns), not in attributes, not in
//! what macros are given, and not in tests.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ExprBinary, ExprUnary, Lit, Meta, Signature, Stmt, UnOp};

use crate::changes;

/// What asks whether a change is on.
const ON: &str = "{ON}";
/// How much of the source is shown.
const LONGEST: usize = 60;

/// One change that could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    /// The function that it stands in.
    pub function: String,
    /// The piece of the text that stays, in bytes.
    pub start: usize,
    pub end: usize,
    /// For the reader.
    pub what: String,
    /// What is put before the piece, and after it.
    pub before: String,
    pub after: String,
}

/// All changes of a text, in its order.
pub fn of(text: &str) -> syn::Result<Vec<Place>> {
    let file = syn::parse_file(text)?;
    let mut walk = Walk { text, function: String::new(), found: Vec::new() };
    walk.visit_file(&file);
    Ok(walk.found)
}

struct Walk<'a> {
    text: &'a str,
    function: String,
    found: Vec<Place>,
}

impl Walk<'_> {
    fn piece(&self, of: &impl Spanned) -> &str {
        self.text.get(range(of)).unwrap_or_default()
    }

    fn add(&mut self, at: &impl Spanned, range: Range<usize>, what: String, around: [String; 2]) {
        let [before, after] = around;
        let (line, function) = (at.span().start().line, self.function.clone());
        let (start, end) = (range.start, range.end);
        self.found.push(Place { line, function, start, end, what, before, after });
    }

    /// Another expression instead.
    fn instead(&mut self, of: &impl Spanned, what: String, changed: &str) {
        let around = [format!("(if {ON} {{ {changed} }} else {{ "), " })".to_owned()];
        self.add(of, range(of), what, around);
    }

    fn binary(&mut self, of: &ExprBinary) {
        let Some((old, new)) = changes::operator(&of.op) else { return };
        if has_let(&of.left) || has_let(&of.right) {
            return;
        }
        let (left, right) = (self.piece(&*of.left), self.piece(&*of.right));
        let what = format!("`{old}` to `{new}` in `{}`", shown(self.piece(of)));
        if changes::assigns(&of.op) {
            let changed = format!("{left} {new} ({right})");
            self.instead(of, what, &changed);
        } else {
            let changed = format!("({left}) {new} ({right})");
            self.instead(of, what, &changed);
        }
    }

    fn unary(&mut self, of: &ExprUnary) {
        if matches!(of.op, UnOp::Not(_)) {
            let what = format!("`!` removed from `{}`", shown(self.piece(of)));
            let changed = self.piece(&*of.expr).to_owned();
            self.instead(of, what, &changed);
        }
    }

    /// A condition that always holds, and one that never does.
    fn condition(&mut self, of: &Expr, kind: &str) {
        if has_let(of) {
            return;
        }
        let text = shown(self.piece(of));
        let always = [format!("({ON} || ("), "))".to_owned()];
        let never = [format!("(!{ON} && ("), "))".to_owned()];
        for (value, around) in [("true", always), ("false", never)] {
            self.add(of, range(of), format!("{kind} `{text}` to {value}"), around);
        }
    }

    fn body(&mut self, signature: &Signature, block: &Block) {
        let is_left = signature.constness.is_some() || signature.asyncness.is_some();
        if is_left || signature.ident == "main" || block.stmts.is_empty() {
            return;
        }
        let inside = range(&block.brace_token.span.open()).end;
        let own = self.text.get(inside..range(&block.brace_token.span.close()).start);
        for value in changes::returns(&signature.output) {
            // It does so already.
            if own.is_some_and(|own| own.trim() == value) {
                continue;
            }
            let what = format!("`{}` returns `{value}`", signature.ident);
            let around = [format!(" if {ON} {{ return {value}; }}"), String::new()];
            self.add(&signature.ident, inside..inside, what, around);
        }
    }

    fn inside(&mut self, signature: &Signature, walk: impl FnOnce(&mut Self)) {
        // What constants are made of is computed by the compiler.
        if signature.constness.is_some() {
            return;
        }
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        walk(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item_fn(&mut self, of: &'ast syn::ItemFn) {
        if is_of_tests(&of.attrs) {
            return;
        }
        self.inside(&of.sig, |walk| {
            walk.body(&of.sig, &of.block);
            walk.visit_block(&of.block);
        });
    }

    fn visit_impl_item_fn(&mut self, of: &'ast syn::ImplItemFn) {
        if is_of_tests(&of.attrs) {
            return;
        }
        self.inside(&of.sig, |walk| {
            walk.body(&of.sig, &of.block);
            walk.visit_block(&of.block);
        });
    }

    fn visit_trait_item_fn(&mut self, of: &'ast syn::TraitItemFn) {
        let Some(block) = &of.default else { return };
        self.inside(&of.sig, |walk| {
            walk.body(&of.sig, block);
            walk.visit_block(block);
        });
    }

    fn visit_item_mod(&mut self, of: &'ast syn::ItemMod) {
        if !is_of_tests(&of.attrs) {
            visit::visit_item_mod(self, of);
        }
    }

    fn visit_item_impl(&mut self, of: &'ast syn::ItemImpl) {
        if !is_of_tests(&of.attrs) {
            visit::visit_item_impl(self, of);
        }
    }

    fn visit_stmt(&mut self, of: &'ast Stmt) {
        if let Stmt::Expr(call, Some(_)) = of
            && let Some(method) = bare_call(call)
            && !["reserve", "shrink_to_fit"].contains(&method.as_str())
        {
            let what = format!("`{}` removed", shown(self.piece(of)));
            let around = [format!("if !{ON} {{ "), " }".to_owned()];
            self.add(of, range(of), what, around);
        }
        visit::visit_stmt(self, of);
    }

    fn visit_expr_if(&mut self, of: &'ast syn::ExprIf) {
        self.condition(&of.cond, "condition");
        visit::visit_expr_if(self, of);
    }

    fn visit_arm(&mut self, of: &'ast syn::Arm) {
        if let Some((_, guard)) = &of.guard {
            self.condition(guard, "guard");
        }
        visit::visit_arm(self, of);
    }

    fn visit_expr_binary(&mut self, of: &'ast ExprBinary) {
        self.binary(of);
        visit::visit_expr_binary(self, of);
    }

    fn visit_expr_unary(&mut self, of: &'ast ExprUnary) {
        self.unary(of);
        visit::visit_expr_unary(self, of);
    }

    fn visit_expr_lit(&mut self, of: &'ast syn::ExprLit) {
        if let Lit::Int(number) = &of.lit
            && let Ok(value) = number.base10_parse::<u64>()
            && let Some(next) = value.checked_add(1)
        {
            let changed = format!("{next}{}", number.suffix());
            self.instead(of, format!("{} to {changed}", self.piece(of)), &changed);
        }
    }

    fn visit_expr_repeat(&mut self, of: &'ast syn::ExprRepeat) {
        self.visit_expr(&of.expr);
    }

    fn visit_expr_method_call(&mut self, of: &'ast syn::ExprMethodCall) {
        // How much room is made beforehand changes nothing.
        if of.method != "reserve" {
            visit::visit_expr_method_call(self, of);
        }
    }

    fn visit_expr_call(&mut self, of: &'ast syn::ExprCall) {
        if !self.piece(&*of.func).ends_with("with_capacity") {
            visit::visit_expr_call(self, of);
        }
    }

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn range(of: &impl Spanned) -> Range<usize> {
    of.span().byte_range()
}

/// The name of the method that a statement calls, whatever becomes of its result.
fn bare_call(of: &Expr) -> Option<String> {
    match of {
        Expr::MethodCall(call) => Some(call.method.to_string()),
        Expr::Try(tried) => bare_call(&tried.expr),
        _ => None,
    }
}

/// Whether a condition binds names: it can stand in a chain of `&&` alone.
fn has_let(of: &Expr) -> bool {
    match of {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => {
            has_let(left) || has_let(right)
        }
        _ => false,
    }
}

/// Whether attributes say that something is compiled for tests.
fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let text = list.tokens.to_string();
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            !text.starts_with("not") && words.any(|word| ["test", "testing"].contains(&word))
        }
        _ => false,
    })
}

/// A piece of source on one line.
fn shown(piece: &str) -> String {
    let line = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}
