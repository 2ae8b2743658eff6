#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::places::of;

/// What could be changed, and the text with the change alone.
fn told(text: &str) -> Vec<String> {
    let around = |place: crate::places::Place| {
        let whole = [
            &text[..place.start],
            &place.before,
            &text[place.start..place.end],
            &place.after,
            &text[place.end..],
        ];
        assert!(syn::parse_file(&whole.concat().replace("{ON}", "on()")).is_ok(), "{place:?}");
        format!("{}: {}", place.line, place.what)
    };
    of(text).unwrap().into_iter().map(around).collect()
}

/// What is changed inside a function that returns nothing that could be made up.
fn inside(body: &str) -> Vec<String> {
    let text = format!("fn f(a: u8) -> Made {{\n{body}\n}}");
    told(&text).into_iter().map(|line| line.split_once(": ").unwrap().1.to_owned()).collect()
}

#[test]
fn every_operator_has_another_one() {
    for (old, new) in [
        ("<", "<="),
        ("<=", "<"),
        (">", ">="),
        (">=", ">"),
        ("==", "!="),
        ("!=", "=="),
        ("&&", "||"),
        ("||", "&&"),
        ("+", "-"),
        ("-", "+"),
        ("*", "/"),
        ("/", "*"),
        ("+=", "-="),
        ("-=", "+="),
    ] {
        let line = format!("a {old} b");
        assert_eq!(inside(&format!("{line};")), [format!("`{old}` to `{new}` in `{line}`")]);
    }
    assert!(inside("a % b; a & b; a << b; a = b; -a; *a;").is_empty());
}

#[test]
fn the_changed_text_keeps_what_belongs_together() {
    let text = "fn f() -> Made { a as usize <= b || c }";
    let [either, less] = &of(text).unwrap()[..] else { panic!() };
    assert_eq!(either.before, "(if {ON} { (a as usize <= b) && (c) } else { ");
    assert_eq!(less.before, "(if {ON} { (a as usize) < (b) } else { ");
    assert_eq!(&text[less.start..less.end], "a as usize <= b");
    assert_eq!(less.after, " })");
    assert_eq!(less.function, "f");
}

#[test]
fn conditions_and_guards_are_forced() {
    assert_eq!(inside("if a { b }"), ["condition `a` to true", "condition `a` to false"]);
    assert_eq!(
        inside("match a { b if c => d, e => g }"),
        ["guard `c` to true", "guard `c` to false"]
    );
    assert!(inside("if let Some(b) = a { b }").is_empty());
    assert_eq!(
        inside("if let Some(b) = a && b == c { b }"),
        ["`==` to `!=` in `b == c`"],
        "what binds a name stays"
    );
    assert!(inside("while a { b }").is_empty());
}

#[test]
fn numbers_grow_where_they_are_computed_with() {
    assert_eq!(inside("g(7_u8)"), ["7_u8 to 8u8"]);
    assert_eq!(inside("0xff"), ["0xff to 256"]);
    for silent in [
        "const B: u8 = 1 + 2;",
        "static B: u8 = 1;",
        "let b = [a; 4];",
        "let c: [u8; 3] = b;",
        "match a { 1 => b, 2..=3 => c }",
        "a.0",
        "g::<4>()",
        "const { 1 + 1 }",
        "1.5",
        "Vec::with_capacity(8)",
        "a.reserve(8)",
        "println!(\"{}\", 1 + 1)",
    ] {
        assert!(inside(silent).is_empty(), "{silent}: {:?}", inside(silent));
    }
}

#[test]
fn a_negation_and_a_call_can_be_left_out() {
    assert_eq!(inside("!a"), ["`!` removed from `!a`"]);
    assert_eq!(inside("a.b();"), ["`a.b();` removed"]);
    assert_eq!(inside("a.b()?;"), ["`a.b()?;` removed"]);
    assert!(inside("a.b()").is_empty());
    assert!(inside("let c = a.b();").is_empty());
    assert!(inside("a.reserve(b);").is_empty());
}

#[test]
fn a_function_returns_what_its_type_allows() {
    for (of, values) in [
        ("-> bool", vec!["true", "false"]),
        ("-> Option<u8>", vec!["None"]),
        ("-> Vec<u8>", vec!["Vec::new()"]),
        ("-> String", vec!["String::new()"]),
        ("-> &'static str", vec!["\"\""]),
        ("-> u64", vec!["0", "1"]),
        ("-> f64", vec!["0.0", "1.0"]),
        ("-> Result<bool, Wrong>", vec!["Ok(true)", "Ok(false)"]),
        ("-> fmt::Result", vec!["Ok(())"]),
        ("-> io::Result<()>", vec!["Ok(())"]),
        ("", vec!["()"]),
        ("-> Made", vec![]),
        ("-> Result<Made>", vec![]),
        ("-> impl Iterator<Item = u8>", vec![]),
    ] {
        let found = told(&format!("impl A {{ fn f() {of} {{ g() }} }}"));
        let expected: Vec<String> =
            values.iter().map(|value| format!("1: `f` returns `{value}`")).collect();
        assert_eq!(found, expected, "{of}");
    }
    assert!(told("const fn f() -> bool { g() }").is_empty());
    assert!(told("fn f() {}").is_empty());
    assert_eq!(told("fn f() -> bool { false }"), ["1: `f` returns `true`"], "that is what it does");
}

#[test]
fn tests_are_left_alone() {
    for silent in [
        "#[test] fn f() { a.b(); }",
        "#[cfg(test)] mod tests { fn f() { a.b(); } }",
        "#[cfg(any(test, feature = \"testing\"))] impl A { fn f() { a.b(); } }",
    ] {
        assert!(told(silent).is_empty(), "{silent}");
    }
    assert_eq!(told("#[cfg(unix)] mod c { fn f() -> bool { g() } }").len(), 2);
    assert_eq!(told("#[cfg(not(test))] fn f() -> bool { g() }").len(), 2);
}

#[test]
fn places_are_told_in_bytes_and_lines() {
    let text = "// größer\n\nfn f() -> Made {\n    \"ö\".g(a < b)\n}\n";
    let [place] = &of(text).unwrap()[..] else { panic!() };
    assert_eq!(place.line, 4);
    assert_eq!(&text[place.start..place.end], "a < b");
}

#[test]
fn what_is_no_rust_is_an_error() {
    assert!(of("fn f( {").is_err());
}
