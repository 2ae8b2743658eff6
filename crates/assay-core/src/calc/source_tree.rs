//! Generates a C source tree, so all machines compile the same code without a download: modules with a header each,
//! files with structures, tables, loops, switches and recursion, a main program that calls all of them, and a Makefile.

use crate::draws::Draws;
use std::fmt::Write as _;

/// Fixed seed, independent of the seed of the study, so the tree is always the same.
const SEED: u64 = 20_121_019;
const FILES_PER_MODULE: u64 = 8;
/// Functions per file, without the one that calls them.
const FUNCTIONS: usize = 12;

pub type TreeFile = (String, String);

/// Returns a tree with `count` C files, plus the main program.
pub fn files(count: u64) -> Vec<TreeFile> {
    let mut draws = Draws::new(SEED, "tree");
    let modules: Vec<u64> = (0..count.div_ceil(FILES_PER_MODULE)).collect();
    let files_in = |module: u64| FILES_PER_MODULE.min(count - module * FILES_PER_MODULE);
    let mut tree = vec![file("Makefile", MAKEFILE), file("include/common.h", COMMON)];
    for module in &modules {
        tree.push((format!("include/m{module}.h"), header(*module, files_in(*module))));
        for index in 0..files_in(*module) {
            tree.push((format!("src/m{module}/f{index}.c"), source(*module, index, &mut draws)));
        }
    }
    tree.push(("src/main.c".to_owned(), program(&modules, files_in)));
    tree
}

fn file(path: &str, text: &str) -> TreeFile {
    (path.to_owned(), text.to_owned())
}

fn header(module: u64, count: u64) -> String {
    let mut functions = String::new();
    for index in 0..count {
        let _ = write!(
            functions,
            "uint64_t m{module}_f{index}(struct m{module}_state *state, uint64_t seed);\n\
             uint64_t m{module}_mix{index}(uint64_t value);\n"
        );
    }
    format!(
        "#ifndef M{module}_H\n#define M{module}_H\n\n#include \"common.h\"\n\n\
         struct m{module}_state {{\n    uint64_t sum;\n    uint32_t calls[{count}];\n    \
         struct ring ring;\n}};\n\n{functions}\n#endif\n"
    )
}

/// Returns the text of one C file: private functions, and two public ones.
fn source(module: u64, index: u64, draws: &mut Draws) -> String {
    let mut kinds: Vec<usize> = (0..FUNCTIONS).map(|number| number % TEMPLATES.len()).collect();
    draws.shuffle(&mut kinds);
    let mut text = format!(
        "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n#include \"common.h\"\n\
         #include \"m{module}.h\"\n"
    );
    for (number, kind) in kinds.iter().enumerate() {
        text.push('\n');
        text.push_str(&function(TEMPLATES[*kind], &format!("part{number}"), draws));
    }
    let calls: Vec<String> = (0..FUNCTIONS)
        .map(|number| format!("    sum = mixed(sum ^ part{number}(seed + {number}));\n"))
        .collect();
    let calls = calls.concat();
    // Calls another file of the module, so the compiler cannot drop code.
    let before = if index > 0 {
        format!("    sum ^= m{module}_mix{}(sum);\n", index - 1)
    } else {
        String::new()
    };
    let turn = draws.below(61) + 1;
    text + &format!(
        "\nuint64_t m{module}_mix{index}(uint64_t value)\n{{\n    \
         return mixed(value + {turn}) ^ (value >> {turn});\n}}\n\n\
         uint64_t m{module}_f{index}(struct m{module}_state *state, uint64_t seed)\n{{\n    \
         uint64_t sum = state->sum;\n{calls}{before}    state->calls[{index}]++;\n    \
         ring_push(&state->ring, (uint32_t)sum);\n    state->sum = sum;\n    return sum;\n}}\n"
    )
}

/// Words of the texts that the program parses.
const WORDS: [&str; 10] =
    ["count", "= 17;", "name", "\\\"text\\\"", "(a + b)", "* 3", "while", "0x1f", "// end", "{ }"];

/// Fills a template with random numbers, and with a table or words.
fn function(template: &str, name: &str, draws: &mut Draws) -> String {
    let mut number = |least: u64, most: u64| (least + draws.below(most - least + 1)).to_string();
    let sized = template
        .replace("NAME", name)
        .replace("SIZE", &number(12, 40))
        .replace("SMALL", &number(3, 9))
        .replace("ODD", &format!("0x{:x}u", number(1 << 20, 1 << 31).parse().unwrap_or(1) | 1_u64));
    if sized.contains("TABLE") {
        let rows: Vec<String> = (0..16)
            .map(|_| (0..8).map(|_| number(0, u64::from(u32::MAX)) + "u").collect::<Vec<_>>())
            .map(|row| format!("    {},\n", row.join(", ")))
            .collect();
        return sized.replace("TABLE", &rows.concat());
    }
    let words: Vec<&str> = (0..24).map(|_| WORDS[draws.below(10) as usize]).collect();
    sized.replace("WORDS", &words.join(" "))
}

fn program(modules: &[u64], functions_in: impl Fn(u64) -> u64) -> String {
    let (mut includes, mut states, mut calls) = (String::new(), String::new(), String::new());
    for module in modules {
        let _ = writeln!(includes, "#include \"m{module}.h\"");
        let _ = writeln!(states, "static struct m{module}_state state{module};");
        for index in 0..functions_in(*module) {
            let _ =
                writeln!(calls, "    sum ^= m{module}_f{index}(&state{module}, sum + {index});");
        }
    }
    format!(
        "#include <inttypes.h>\n#include <stdio.h>\n\n{includes}\n{states}\nint main(void)\n{{\n    \
         uint64_t sum = 1;\n{calls}    printf(\"%016\" PRIx64 \"\\n\", sum);\n    return 0;\n}}\n"
    )
}

/// GNU make: objects next to their sources, after all headers.
const MAKEFILE: &str = include_str!("source_tree/Makefile");

const COMMON: &str = include_str!("source_tree/common.h");

/// Kinds of functions; words in capitals are replaced.
const TEMPLATES: [&str; 10] = [
    include_str!("source_tree/table.c"),
    include_str!("source_tree/matrices.c"),
    include_str!("source_tree/list.c"),
    include_str!("source_tree/heap.c"),
    include_str!("source_tree/tokens.c"),
    include_str!("source_tree/search_tree.c"),
    include_str!("source_tree/ring.c"),
    include_str!("source_tree/checksum.c"),
    include_str!("source_tree/common_part.c"),
    include_str!("source_tree/calls.c"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::digest::{hexadecimal, sha256};

    use super::*;

    #[test]
    fn the_tree_is_the_same_everywhere_and_always() {
        let text: String = files(20).into_iter().map(|(path, text)| path + "\n" + &text).collect();
        // A change of this text invalidates comparisons with older times.
        assert_eq!(&hexadecimal(&sha256(text))[..16], "d16d00ad17cdda13");
    }

    #[test]
    fn it_has_as_many_files_as_asked_and_each_is_another() {
        for count in [1, 8, 9, 100] {
            let tree = files(count);
            let sources = || {
                tree.iter().filter(|(path, _)| path.starts_with("src/m") && path != "src/main.c")
            };
            assert_eq!(sources().count() as u64, count);
            let texts: BTreeSet<&String> = sources().map(|(_, text)| text).collect();
            assert_eq!(texts.len() as u64, count);
            let lines: usize = sources().map(|(_, text)| text.lines().count()).sum();
            assert!(
                (200..500).contains(&(lines / count as usize)),
                "{lines} lines of {count} files"
            );
        }
    }

    #[test]
    fn no_word_of_a_template_is_left() {
        for (path, text) in files(12) {
            for word in ["NAME", "ODD", "SMALL", "WORDS", "TABLE}"] {
                assert!(!text.contains(word), "{path}: {word}");
            }
        }
    }
}
