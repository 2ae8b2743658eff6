//! One entry per parameter generates everything common to the parameters of all kinds of work.

use assay_core::catalogue::About;

use super::workload::{OwnParameter, Parameter, Written};

/// Sets a parameter from a level's text; else says in one line what to write instead.
type Set<K> = fn(&mut K, &str) -> Result<(), String>;

/// Additional texts of a parameter that may be a factor.
pub(super) struct OwnFactor<K> {
    text: &'static str,
    example: &'static str,
    is_work: bool,
    written: Option<Written>,
    set: Set<K>,
}

pub(super) const fn work<K>(
    text: &'static str,
    example: &'static str,
    set: Set<K>,
) -> OwnFactor<K> {
    OwnFactor { text, example, is_work: true, written: None, set }
}

pub(super) const fn choice<K>(
    text: &'static str,
    example: &'static str,
    set: Set<K>,
) -> OwnFactor<K> {
    OwnFactor { text, example, is_work: false, written: None, set }
}

impl<K> OwnFactor<K> {
    /// The same, with levels in a separate unit of amounts.
    pub(super) const fn written(self, how: Written) -> Self {
        let Self { text, example, is_work, written: _, set } = self;
        Self { text, example, is_work, written: Some(how), set }
    }

    pub(super) const fn named(self, name: &'static str, summary: &'static str) -> OwnParameter<K> {
        let Self { text, example, is_work, written, set } = self;
        let about = About { name, summary, text };
        OwnParameter { about: Parameter { about, example, is_work, written }, set }
    }
}

/// Parses a value of a closed set (an enum or a flag) as study files spell it; `choices` is for the error.
pub(super) fn parse_choice<T: serde::de::DeserializeOwned>(
    text: &str,
    choices: &str,
) -> Result<T, String> {
    let json = match text {
        "true" | "false" => text.to_owned(),
        other => serde_json::json!(other).to_string(),
    };
    serde_json::from_str(&json).map_err(|_| format!("unknown value `{text}`; use {choices}"))
}

pub(super) fn parse_whole(text: &str, most: u32) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("`{text}` is not a whole number from 1 to {most}"))
}

/// Declares the keys of a workload table: `name: type = a value to try levels on => { ... }`, with its attributes as a
/// field of the struct. In braces, in this order:
///
/// - `words`, `form`, `need` if a study cannot omit the key, `example`: the row of the key.
/// - `factor`: if studies may vary the key, as [`work`] or [`choice`], and how its levels are `written`.
///
/// Fields without a key follow as `beside { ... }`. Factors without a row go to `factors { name, words => ... }` before
/// and after the keys. Generates the struct, its default, and [`DeclaredKeys`].
macro_rules! keys {
    (
        $(factors { $($first:expr, $first_words:expr => $first_factor:expr,)+ })?
        $(#[$of:meta])*
        pub struct $own:ident {
            $(
                $(#[$attribute:meta])*
                $name:ident: $type:ty = $some:expr => {
                    words: $words:expr,
                    form: $form:expr,
                    $(need: $need:expr,)?
                    example: $example:expr,
                    $(factor: $factor:expr,)?
                }
            )+
        }
        $(beside {
            $(
                $(#[$more:meta])*
                $beside:ident: $beside_type:ty = $beside_some:expr,
            )+
        })?
        $(factors { $($last:expr, $last_words:expr => $last_factor:expr,)+ })?
    ) => {
        $(#[$of])*
        pub struct $own {
            $($(#[$attribute])* pub $name: $type,)+
            $($($(#[$more])* pub $beside: $beside_type,)+)?
        }

        impl Default for $own {
            fn default() -> Self {
                Self { $($name: $some,)+ $($($beside: $beside_some,)+)? }
            }
        }

        impl crate::workload::DeclaredKeys for $own {
            const KEYS: &'static [assay_core::catalogue::keys::Field] =
                &[$(assay_core::catalogue::keys::Field {
                    $(need: $need,)?
                    ..assay_core::catalogue::keys::field(stringify!($name), $form, $words, $example)
                },)+];

            #[allow(clippy::unit_arg, reason = "a factor sets one field or says why not, in one line")]
            const FACTORS: &'static [crate::workload::OwnParameter<Self>] = &[
                $($(crate::keys::OwnFactor::<$own>::named($first_factor, $first, $first_words),)+)?
                $($(crate::keys::OwnFactor::<$own>::named($factor, stringify!($name), $words),)?)+
                $($(crate::keys::OwnFactor::<$own>::named($last_factor, $last, $last_words),)+)?
            ];
        }
    };
}

pub(super) use keys;

/// The runtime of trials set by the key `runtime`: the default, and the limit of a quick check.
macro_rules! runtime {
    () => {
        fn time(&self) -> Option<Time> {
            self.runtime
        }

        fn set_span(&mut self, time: Option<Time>, _: Option<Time>) {
            self.runtime = time;
        }
    };
    ($usual:ident, $quick:ident) => {
        runtime!();

        fn settle(&mut self) {
            self.runtime = self.runtime.or(Some($usual));
        }

        fn make_quick(&mut self, _: Option<Bytes>) {
            self.runtime = Some(self.runtime.map_or($quick, |time| time.min($quick)));
        }
    };
}

pub(super) use runtime;

pub(super) use assay_load::names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_of_its_set_and_says_what_to_write_otherwise() {
        assert_eq!([parse_choice("true", ""), parse_choice("false", "")], [Ok(true), Ok(false)]);
        let told = parse_choice::<bool>("maybe", "true or false").unwrap_err();
        assert_eq!(told, "unknown value `maybe`; use true or false");
        assert_eq!(parse_choice("text", ""), Ok("text".to_owned()));
    }

    #[test]
    fn a_whole_number_has_its_limits() {
        assert_eq!([parse_whole("1", 64), parse_whole("64", 64)], [Ok(1), Ok(64)]);
        for wrong in ["0", "65", "-1", "1.5", "many", ""] {
            assert!(parse_whole(wrong, 64).unwrap_err().ends_with("from 1 to 64"), "{wrong}");
        }
    }
}
