//! A tree of C that is generated, so that nothing is downloaded and every machine compiles the same:
//! modules with a header each, files with structures, tables, loops, switches and recursion, a main
//! program that calls all of them, and a Makefile.

use crate::draws::Draws;

/// The tree is the same everywhere and always: a seed of its own, whatever the study's is.
const SEED: u64 = 20_121_019;
/// Files of a module.
const OF_A_MODULE: u64 = 8;
/// Functions of a file beside the one that calls them.
const FUNCTIONS: usize = 12;

/// A file of a tree: its path and its text.
pub type TreeFile = (String, String);

/// A tree with so many C files beside the main program.
pub fn files(count: u64) -> Vec<TreeFile> {
    let mut draws = Draws::new(SEED, "tree");
    let modules: Vec<u64> = (0..count.div_ceil(OF_A_MODULE)).collect();
    let of = |module: u64| OF_A_MODULE.min(count - module * OF_A_MODULE);
    let mut tree = vec![file("Makefile", MAKEFILE), file("include/common.h", COMMON)];
    for module in &modules {
        tree.push((format!("include/m{module}.h"), header(*module, of(*module))));
        for index in 0..of(*module) {
            let text = source(*module, index, &mut draws);
            tree.push((format!("src/m{module}/f{index}.c"), text));
        }
    }
    tree.push(("src/main.c".to_owned(), program(&modules, of)));
    tree
}

fn file(path: &str, text: &str) -> TreeFile {
    (path.to_owned(), text.to_owned())
}

fn header(module: u64, count: u64) -> String {
    let functions: Vec<String> = (0..count)
        .map(|index| {
            format!(
                "uint64_t m{module}_f{index}(struct m{module}_state *state, uint64_t seed);\n\
                 uint64_t m{module}_mix{index}(uint64_t value);\n"
            )
        })
        .collect();
    let functions = functions.concat();
    format!(
        "#ifndef M{module}_H\n#define M{module}_H\n\n#include \"common.h\"\n\n\
         struct m{module}_state {{\n    uint64_t sum;\n    uint32_t calls[{count}];\n    \
         struct ring ring;\n}};\n\n{functions}\n#endif\n"
    )
}

/// One file: functions of its own, and two that others call.
fn source(module: u64, index: u64, draws: &mut Draws) -> String {
    let mut kinds: Vec<usize> = (0..FUNCTIONS).map(|own| own % TEMPLATES.len()).collect();
    draws.shuffle(&mut kinds);
    let mut text = format!(
        "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n#include \"common.h\"\n\
         #include \"m{module}.h\"\n"
    );
    for (own, kind) in kinds.iter().enumerate() {
        text.push('\n');
        text.push_str(&function(TEMPLATES[*kind], &format!("part{own}"), draws));
    }
    let calls: Vec<String> = (0..FUNCTIONS)
        .map(|own| format!("    sum = mixed(sum ^ part{own}(seed + {own}));\n"))
        .collect();
    let calls = calls.concat();
    // Another file of the module is called, too: nothing of it can be left out by the compiler.
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

/// Words of texts that are taken apart.
const WORDS: [&str; 10] =
    ["count", "= 17;", "name", "\\\"text\\\"", "(a + b)", "* 3", "while", "0x1f", "// end", "{ }"];

/// A function of one of the kinds, with drawn numbers, tables and words.
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

fn program(modules: &[u64], of: impl Fn(u64) -> u64) -> String {
    let includes: Vec<String> =
        modules.iter().map(|module| format!("#include \"m{module}.h\"\n")).collect();
    let includes = includes.concat();
    let states: Vec<String> = modules
        .iter()
        .map(|module| format!("static struct m{module}_state state{module};\n"))
        .collect();
    let states = states.concat();
    let calls: Vec<String> = modules
        .iter()
        .flat_map(|module| (0..of(*module)).map(move |index| (module, index)))
        .map(|(module, index)| {
            format!("    sum ^= m{module}_f{index}(&state{module}, sum + {index});\n")
        })
        .collect();
    let calls = calls.concat();
    format!(
        "#include <inttypes.h>\n#include <stdio.h>\n\n{includes}\n{states}\nint main(void)\n{{\n    \
         uint64_t sum = 1;\n{calls}    printf(\"%016\" PRIx64 \"\\n\", sum);\n    return 0;\n}}\n"
    )
}

/// GNU make: objects beside their sources, all of them after any header.
const MAKEFILE: &str = "\
CC ?= cc
CFLAGS ?= -O2 -pipe -Wall -Iinclude
SOURCES := $(wildcard src/*.c src/*/*.c)
OBJECTS := $(SOURCES:.c=.o)
HEADERS := $(wildcard include/*.h)

all: program

program: $(OBJECTS)
\t$(CC) -o $@ $(OBJECTS)

%.o: %.c $(HEADERS)
\t$(CC) $(CFLAGS) -c -o $@ $<

clean:
\trm -f program $(OBJECTS)

.PHONY: all clean
";

const COMMON: &str = "\
#ifndef COMMON_H
#define COMMON_H

#include <stddef.h>
#include <stdint.h>

#define RING_SIZE 32u
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct ring {
    uint32_t values[RING_SIZE];
    uint32_t head;
    uint32_t tail;
};

struct node {
    struct node *left;
    struct node *right;
    uint32_t key;
    uint32_t weight;
};

struct link {
    struct link *next;
    uint64_t value;
};

enum token { TOKEN_END, TOKEN_SPACE, TOKEN_NUMBER, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN };

static inline uint64_t mixed(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 29;
    return value;
}

static inline void ring_push(struct ring *ring, uint32_t value)
{
    ring->values[ring->head++ % RING_SIZE] = value;
    if (ring->head - ring->tail > RING_SIZE)
        ring->tail = ring->head - RING_SIZE;
}

static inline uint32_t ring_pop(struct ring *ring)
{
    return ring->tail == ring->head ? 0 : ring->values[ring->tail++ % RING_SIZE];
}

#endif
";

/// Kinds of functions; words in capitals are replaced.
const TEMPLATES: [&str; 10] = [
    // Looks into a table.
    "\
static const uint32_t NAME_table[] = {
TABLE};

static uint64_t NAME(uint64_t seed)
{
    uint64_t sum = seed ^ ODD;
    for (size_t i = 0; i < ARRAY_LENGTH(NAME_table) * SMALL; i++) {
        uint32_t at = (uint32_t)(sum >> 7) % ARRAY_LENGTH(NAME_table);
        sum = mixed(sum + NAME_table[at] * (i + 1));
    }
    return sum;
}
",
    // Multiplies matrices.
    "\
static uint64_t NAME(uint64_t seed)
{
    uint32_t a[SIZE][SIZE], b[SIZE][SIZE];
    uint64_t trace = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = (uint32_t)(seed >> (i % 13)) + (uint32_t)j;
            b[j][i] = (uint32_t)(seed >> (j % 11)) ^ ODD;
        }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            uint64_t cell = 0;
            for (int k = 0; k < SIZE; k++)
                cell += (uint64_t)a[i][k] * b[k][j];
            if (i == j)
                trace += cell;
            else if (cell % SMALL == 0)
                trace ^= cell;
        }
    return trace;
}
",
    // Turns a list around.
    "\
static uint64_t NAME(uint64_t seed)
{
    struct link pool[SIZE];
    struct link *first = NULL, *turned = NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(pool); i++) {
        pool[i].value = mixed(seed + i * ODD);
        pool[i].next = first;
        first = &pool[i];
    }
    while (first) {
        struct link *next = first->next;
        if (first->value % SMALL) {
            first->next = turned;
            turned = first;
        }
        first = next;
    }
    for (struct link *at = turned; at; at = at->next)
        sum = sum * 31 + at->value;
    return sum;
}
",
    // Sorts by a heap.
    "\
static void NAME_sink(uint32_t *heap, size_t from, size_t count)
{
    for (;;) {
        size_t child = 2 * from + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[from] >= heap[child])
            return;
        uint32_t kept = heap[from];
        heap[from] = heap[child];
        heap[child] = kept;
        from = child;
    }
}

static uint64_t NAME(uint64_t seed)
{
    uint32_t heap[SIZE * SMALL];
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(heap); i++)
        heap[i] = (uint32_t)mixed(seed + i) % ODD;
    for (size_t i = ARRAY_LENGTH(heap) / 2; i-- > 0;)
        NAME_sink(heap, i, ARRAY_LENGTH(heap));
    for (size_t left = ARRAY_LENGTH(heap); left > 1; left--) {
        sum = sum * 33 + heap[0];
        heap[0] = heap[left - 1];
        NAME_sink(heap, 0, left - 1);
    }
    return sum;
}
",
    // Takes a text apart.
    "\
static enum token NAME_token(char letter)
{
    switch (letter) {
    case 0:
        return TOKEN_END;
    case 32:
        return TOKEN_SPACE;
    case 34:
        return TOKEN_TEXT;
    default:
        if (letter >= 48 && letter <= 57)
            return TOKEN_NUMBER;
        return (letter | 32) >= 97 && (letter | 32) <= 122 ? TOKEN_WORD : TOKEN_SIGN;
    }
}

static uint64_t NAME(uint64_t seed)
{
    static const char text[] = \"WORDS\";
    uint64_t counts[TOKEN_SIGN + 1] = {0};
    enum token before = TOKEN_SPACE;
    for (const char *at = text; *at; at++) {
        enum token now = NAME_token(*at);
        if (now != before || now == TOKEN_SIGN)
            counts[now] += (uint64_t)(at - text) ^ (seed % ODD);
        before = now;
    }
    for (size_t i = 1; i < ARRAY_LENGTH(counts); i++)
        counts[0] = counts[0] * SIZE + counts[i];
    return counts[0];
}
",
    // Grows a tree and walks it.
    "\
static uint32_t NAME_depth(const struct node *node)
{
    if (!node)
        return 0;
    uint32_t left = NAME_depth(node->left), right = NAME_depth(node->right);
    return 1 + (left > right ? left : right);
}

static uint64_t NAME(uint64_t seed)
{
    struct node pool[SIZE];
    struct node *root = NULL;
    memset(pool, 0, sizeof(pool));
    for (size_t i = 0; i < ARRAY_LENGTH(pool); i++) {
        struct node **at = &root;
        pool[i].key = (uint32_t)mixed(seed ^ (i * ODD));
        while (*at) {
            (*at)->weight++;
            at = pool[i].key < (*at)->key ? &(*at)->left : &(*at)->right;
        }
        *at = &pool[i];
    }
    return ((uint64_t)NAME_depth(root) << SMALL) + (root ? root->weight : 0);
}
",
    // Passes values through a ring.
    "\
static uint64_t NAME(uint64_t seed)
{
    struct ring ring = {{0}, 0, 0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SIZE * SMALL; i++) {
        ring_push(&ring, (uint32_t)mixed(seed + i));
        if (i % SMALL == 0)
            sum += ring_pop(&ring) ^ ODD;
    }
    while (ring.tail != ring.head)
        sum = (sum << 1 | sum >> 63) ^ ring_pop(&ring);
    return sum;
}
",
    // A checksum by a table that it makes.
    "\
static uint64_t NAME(uint64_t seed)
{
    uint32_t table[256], sum = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ ODD : value >> 1;
        table[i] = value;
    }
    for (uint32_t i = 0; i < SIZE * SMALL; i++) {
        unsigned char byte = (unsigned char)(seed >> (i % 57));
        sum = table[(sum ^ byte) & 255] ^ sum >> 8;
    }
    return ~sum;
}
",
    // The longest common part of two texts.
    "\
static uint64_t NAME(uint64_t seed)
{
    static const char one[] = \"WORDS\";
    char other[SIZE * SMALL];
    uint16_t lengths[2][sizeof(one) + 1];
    memset(lengths, 0, sizeof(lengths));
    for (size_t i = 0; i < sizeof(other); i++)
        other[i] = one[(seed + i * SMALL) % sizeof(one)];
    for (size_t i = 1; i <= sizeof(other); i++)
        for (size_t j = 1; j <= sizeof(one); j++) {
            uint16_t *now = lengths[i & 1];
            const uint16_t *before = lengths[(i - 1) & 1];
            if (other[i - 1] == one[j - 1])
                now[j] = (uint16_t)(before[j - 1] + 1);
            else
                now[j] = before[j] > now[j - 1] ? before[j] : now[j - 1];
        }
    return lengths[sizeof(other) & 1][sizeof(one)] * (uint64_t)ODD;
}
",
    // Calls by a table.
    "\
static uint64_t NAME_add(uint64_t sum, uint64_t value) { return sum + value * SMALL; }
static uint64_t NAME_turn(uint64_t sum, uint64_t value) { return (sum << 7 | sum >> 57) ^ value; }
static uint64_t NAME_cut(uint64_t sum, uint64_t value) { return (sum & ~value) - ODD; }

static uint64_t NAME(uint64_t seed)
{
    static uint64_t (*const steps[])(uint64_t, uint64_t) = {NAME_add, NAME_turn, NAME_cut};
    uint64_t sum = seed;
    for (uint32_t i = 0; i < SIZE; i++)
        sum = steps[mixed(sum + i) % ARRAY_LENGTH(steps)](sum, i);
    return sum;
}
",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::digest::{hexadecimal, sha256};

    use super::*;

    #[test]
    fn the_tree_is_the_same_everywhere_and_always() {
        let text: String = files(20).into_iter().map(|(path, text)| path + "\n" + &text).collect();
        // A change of this makes times of before and after incomparable.
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
