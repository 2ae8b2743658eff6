//! Options of `assay check` that run the bundled study of a kind of work instead of the speed study.

use assay_core::failure::Failure;

use super::{KINDS, KindEntry, Needs, Work, WorkFacts};

/// An option of `assay check`. Its name is that of the kind and of its bundled study.
#[derive(Debug)]
pub struct CheckOption {
    /// Help text: its question, and when it fails.
    pub help: &'static str,
    /// Allowed values; `None` for a switch.
    pub values: Option<Values>,
    pub examples: &'static [OptionExample],
    /// Whether its work runs before that of other options.
    pub goes_first: bool,
    pub gates: &'static [OptionGate],
}

#[derive(Debug)]
pub struct Values {
    /// The values separated by bars; the first is the default.
    pub names: &'static str,
    /// Applies one of them to the work of the bundled study.
    pub set: fn(&mut Work, &str),
}

impl Values {
    pub fn all(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split('|')
    }

    pub fn usual(&self) -> &'static str {
        self.all().next().unwrap_or(self.names)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct OptionExample {
    pub line: &'static str,
    pub does: &'static str,
}

/// A condition on the facts of a place, and the resulting exit of the command.
#[derive(Debug)]
pub struct OptionGate {
    pub is_met: fn(&WorkFacts) -> bool,
    /// The failure of the command, given the names of the places.
    pub failure: fn(&str) -> Failure,
}

/// Kinds whose bundled study has an option, each with it, in the order of [`KINDS`].
pub fn by_option() -> impl Iterator<Item = (&'static KindEntry, &'static CheckOption)> {
    KINDS.iter().filter_map(|kind| Some((*kind, kind.check_option?)))
}

/// The first of these options whose work uses a whole target.
pub fn taking_all() -> Option<&'static str> {
    let mut kinds = by_option().map(|(kind, _)| kind);
    kinds.find(|kind| takes_all(kind)).map(|kind| kind.about.name)
}

pub fn takes_all(kind: &KindEntry) -> bool {
    (kind.sample)().needs() == Needs::Whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_has_words_and_each_of_its_values_makes_other_work() {
        for (kind, option) in by_option() {
            let name = kind.about.name;
            assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{name}");
            for OptionExample { line, does } in option.examples {
                assert!(line.contains(&format!("assay check --{name}")), "{name}: {line}");
                assert!(!does.is_empty() && !does.ends_with('.'), "{name}: {does}");
            }
            let Some(values) = &option.values else { continue };
            assert_eq!(values.all().next(), Some(values.usual()));
            let mut made: Vec<Work> = Vec::new();
            for value in values.all() {
                let mut work = (kind.sample)();
                (values.set)(&mut work, value);
                assert!(!made.contains(&work), "{name}={value} is another value");
                made.push(work);
            }
            assert!(made.len() > 1, "{name}: a switch needs no values");
        }
    }

    #[test]
    fn a_value_leaves_work_of_other_kinds_as_it_is() {
        for (own, option) in by_option() {
            for kind in KINDS.iter().filter(|kind| kind.about.name != own.about.name) {
                for value in option.values.iter().flat_map(Values::all) {
                    let mut work = (kind.sample)();
                    (option.values.as_ref().unwrap().set)(&mut work, value);
                    assert_eq!(work, (kind.sample)(), "{value}");
                }
            }
        }
    }

    #[test]
    fn what_takes_all_of_a_place_is_told_from_what_does_not() {
        assert!(
            taking_all().is_some_and(|name| by_option().any(|(kind, _)| kind.about.name == name))
        );
        let all: Vec<&str> =
            KINDS.iter().filter(|kind| takes_all(kind)).map(|kind| kind.about.name).collect();
        assert!(!all.is_empty() && !all.contains(&"io"), "{all:?}");
    }
}
