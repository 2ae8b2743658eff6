//! Which option of a command line made a study invalid.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedWords {
    /// The option with its value, such as `--set queue_depth=1,4`.
    pub words: String,
    /// Path of the key, such as `factors/queue_depth`; `*` is any part. Empty if several.
    pub path: String,
}

impl TypedWords {
    pub fn new(words: impl Into<String>, path: impl Into<String>) -> Self {
        Self { words: words.into(), path: path.into() }
    }

    /// Returns whether the option sets the value at a path, or one around it.
    fn sets(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        let mut keys = self.path.split('/');
        let matches = keys.all(|key| parts.next().is_some_and(|part| key == "*" || key == part));
        !self.path.is_empty() && matches
    }

    /// Returns whether the option sets a part of the value at a path.
    fn is_below(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns whether a path has the same key at another place, such as the baseline's level of a factor.
    fn is_near(&self, path: &str) -> bool {
        let key = self.path.rsplit('/').next().filter(|key| !key.is_empty());
        key.is_some_and(|key| path.split('/').any(|part| part == key))
    }

    fn factor(&self) -> Option<&str> {
        self.path.strip_prefix(FACTORS)
    }
}

const FACTORS: &str = "factors/";

/// Renders a mistake (path, message, hint) in terms of the command line.
pub(super) fn in_typed_words(
    path: &str,
    message: &str,
    hint: Option<&str>,
    study: &str,
    typed: &[TypedWords],
) -> (String, Option<String>) {
    let is_of_levels = path.starts_with(FACTORS) || path.starts_with("baseline/");
    let hint = hint.map(|hint| if is_of_levels { as_option(hint) } else { hint.to_owned() });
    // Of several, the option with the longest path is the most specific.
    let setting = typed.iter().filter(|option| option.sets(path));
    if let Some(option) = setting.max_by_key(|option| option.path.len()) {
        // The option names its factor.
        let named = option.factor().map(|name| format!("{name}: "));
        let bare = named.and_then(|named| message.strip_prefix(&named));
        return (format!("{}: {}", option.words, bare.unwrap_or(message)), hint);
    }
    let join_options = |is_wanted: &dyn Fn(&TypedWords) -> bool| {
        let wanted = typed.iter().filter(|option| is_wanted(option));
        let mut words: Vec<&str> = wanted.map(|option| option.words.as_str()).collect();
        words.dedup();
        (!words.is_empty()).then(|| words.join(" "))
    };
    if let Some(words) = join_options(&|option| option.is_below(path)) {
        return (format!("{words}: {message}"), hint);
    }
    let suspects = join_options(&|option| option.is_near(path)).or_else(|| join_options(&|_| true));
    let head = match (suspects, dotted_key(path)) {
        (Some(words), Some(key)) => format!("{study} with {words}: {key}"),
        (Some(words), None) => format!("{study} with {words}"),
        (None, _) => study.to_owned(),
    };
    (format!("{head}: {message}"), hint)
}

/// Converts a path to a dotted key; `None` for the root.
fn dotted_key(path: &str) -> Option<String> {
    let is_key = |part: &&str| !part.is_empty() && *part != "?" && part.parse::<usize>().is_err();
    let parts: Vec<&str> = path.split('/').filter(is_key).collect();
    (!parts.is_empty()).then(|| parts.join("."))
}

/// Converts a hint for a file to one for the command line: `queue_depth = [1, 8]` to `--set queue_depth=1,8`.
fn as_option(hint: &str) -> String {
    let Some((before, rest)) = hint.split_once(" = [") else { return hint.to_owned() };
    let Some((levels, after)) = rest.split_once(']') else { return hint.to_owned() };
    let (lead, name) = before.rsplit_once(' ').unwrap_or(("", before));
    let levels: Vec<&str> = levels.split(',').map(|level| level.trim().trim_matches('"')).collect();
    let levels = levels.join(",");
    let option = if levels.contains(char::is_whitespace) {
        format!("--set '{name}={levels}'")
    } else {
        format!("--set {name}={levels}")
    };
    format!("{lead} {option}{after}").replace(" below [factors]", "").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str, message: &str, typed: &[(&str, &str)]) -> String {
        let typed: Vec<TypedWords> =
            typed.iter().map(|(words, path)| TypedWords::new(*words, *path)).collect();
        in_typed_words(path, message, None, "queue-depth", &typed).0
    }

    #[test]
    fn a_mistake_is_told_with_the_option_that_sets_its_key() {
        let typed = [
            ("--set queue_depth=1,x", "factors/queue_depth"),
            ("--set runtime=1s", "workload/*/*/runtime"),
        ];
        let of = |path, message| line(path, message, &typed);
        assert_eq!(
            of("factors/queue_depth/1", "queue_depth: no number"),
            "--set queue_depth=1,x: no number"
        );
        assert_eq!(of("workload/3/io/runtime", "too short"), "--set runtime=1s: too short");
        // The last of two values for a key counts.
        let twice = [
            ("--set queue_depth=1", "factors/queue_depth"),
            ("--set queue_depth=x", "factors/queue_depth"),
        ];
        assert_eq!(line("factors/queue_depth/0", "no", &twice), "--set queue_depth=x: no");
        assert_eq!(line("factors", "too many", &typed[..1]), "--set queue_depth=1,x: too many");
    }

    #[test]
    fn what_no_option_sets_is_told_with_the_key_and_the_options_that_it_may_come_from() {
        let typed = [
            ("--set queue_depth=2,4", "factors/queue_depth"),
            ("--set threads=1", "factors/threads"),
        ];
        assert_eq!(
            line("baseline/queue_depth", "queue_depth has no level \"1\"", &typed),
            "queue-depth with --set queue_depth=2,4: baseline.queue_depth: queue_depth has no level \"1\""
        );
        assert_eq!(
            line("workload/0/io/block_size", "no", &typed[..1]),
            "queue-depth with --set queue_depth=2,4: workload.io.block_size: no"
        );
        assert_eq!(
            line("recreate_per", "no", &[("--scratch", "")]),
            "queue-depth with --scratch: recreate_per: no"
        );
        assert_eq!(line("", "no", &typed[..1]), "queue-depth with --set queue_depth=2,4: no");
        assert_eq!(line("recreate_per", "no", &[]), "queue-depth: no");
    }

    #[test]
    fn hints_are_those_of_a_command_line() {
        let hint = |path, hint| in_typed_words(path, "", Some(hint), "", &[]).1.unwrap();
        assert_eq!(
            hint("factors/queue_depth/0", "list the levels: queue_depth = [1, 2, 4]"),
            "list the levels: --set queue_depth=1,2,4"
        );
        assert_eq!(
            hint("factors/mount", "add filesystem = [\"ext4\"] below [factors]"),
            "add --set filesystem=ext4"
        );
        assert_eq!(
            hint("factors/fill_level", "example: fill_level = [\"80%\"]"),
            "example: --set fill_level=80%"
        );
        assert_eq!(
            hint("baseline/queue_depth", "add the factor below [factors]: queue_depth = [1, 8]"),
            "add the factor: --set queue_depth=1,8"
        );
        assert_eq!(hint("factors/queue_depth", "remove one of the two"), "remove one of the two");
        assert_eq!(hint("stop", "example: interim_at = [6, 12]"), "example: interim_at = [6, 12]");
    }
}
