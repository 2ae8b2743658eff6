//! One line a kind of work: all that is the same for each of them is made from it.

/// Declares the kinds of work: `module = Variant`. The module has a type `Asked` that is a
/// [`Kind`](super::Kind), `Planned` that [`Runs`](super::Runs), and `Detail`: what it counts beside
/// what all work measures. What `tells Facts` of its own has that type, too, which
/// [`Shows`](super::tell::Shows).
macro_rules! kinds {
    ($($module:ident = $variant:ident $(tells $facts:ident)?,)+) => {
        $(pub mod $module;)+

        /// Work as a study asks for it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant, reason = "a study has few of them")]
        pub enum Work {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::Asked),)+
        }

        /// Work as it will be run.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Planned {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::Planned),)+
        }

        /// What only one kind of work counts.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Detail {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::Detail),)+
        }

        /// What a kind of work tells of a row of its own, beside its metrics.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        pub enum Facts {
            $($(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::$facts),)?)+
        }

        /// The schemas of the facts of each kind, by key.
        #[cfg(feature = "schema")]
        pub fn facts_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "properties": {
                $($((<$module::$facts as tell::Shows>::KEY):
                    generator.subschema_for::<Vec<$module::$facts>>(),)?)+
            } })
        }

        /// The figures of what kinds tell, in the order of the kinds.
        static FIGURES: &[Option<&tell::FactsFigure>] =
            &[$($(<$module::$facts as tell::Shows>::FIGURE,)?)+];

        pub static KINDS: &[&Entry] = &[$(&<$module::Asked as Kind>::ENTRY,)+];

        pub static WORKLOAD: Fields = Fields {
            label: "a workload",
            rows: &[
                NAME,
                $(one_of(
                    <$module::Asked as Kind>::ABOUT.name,
                    Form::Table(<$module::Asked as Kind>::KEYS),
                    <$module::Asked as Kind>::ABOUT.summary,
                    <$module::Asked as Kind>::EXAMPLE,
                ),)+
                BACKGROUND,
                OPTIONAL,
            ],
        };

        impl Work {
            pub fn kind(&self) -> &'static Entry {
                match self {
                    $(Self::$variant(_) => &<$module::Asked as Kind>::ENTRY,)+
                }
            }

            /// Sets a parameter from a level's text; none where it has no such parameter.
            pub fn set(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
                match self {
                    $(Self::$variant(own) => set(own, name, level),)+
                }
            }
        }

        impl Planned {
            pub fn kind(&self) -> &'static Entry {
                match self {
                    $(Self::$variant(_) => &<$module::Asked as Kind>::ENTRY,)+
                }
            }
        }

        $(
            #[allow(
                unreachable_patterns,
                clippy::match_wildcard_for_single_variants,
                reason = "there may be one kind, or two"
            )]
            impl $module::Asked {
                /// What is asked for, where the work is of this kind.
                pub fn of(work: &Work) -> Option<&Self> {
                    match work {
                        Work::$variant(own) => Some(own),
                        _ => None,
                    }
                }

                pub fn of_mut(work: &mut Work) -> Option<&mut Self> {
                    match work {
                        Work::$variant(own) => Some(own),
                        _ => None,
                    }
                }
            }

            #[allow(
                unreachable_patterns,
                clippy::match_wildcard_for_single_variants,
                reason = "there may be one kind, or two"
            )]
            impl $module::Planned {
                /// What is planned, where the work is of this kind.
                pub fn of(work: &Planned) -> Option<&Self> {
                    match work {
                        Planned::$variant(own) => Some(own),
                        _ => None,
                    }
                }

                pub fn of_mut(work: &mut Planned) -> Option<&mut Self> {
                    match work {
                        Planned::$variant(own) => Some(own),
                        _ => None,
                    }
                }
            }

            #[allow(
                unreachable_patterns,
                clippy::match_wildcard_for_single_variants,
                reason = "there may be one kind, or two"
            )]
            impl $module::Detail {
                /// What was counted, where the work was of this kind.
                pub fn of(measured: &Measured) -> Option<&Self> {
                    match &measured.detail {
                        Detail::$variant(own) => Some(own),
                        _ => None,
                    }
                }

                pub fn of_mut(measured: &mut Measured) -> Option<&mut Self> {
                    match &mut measured.detail {
                        Detail::$variant(own) => Some(own),
                        _ => None,
                    }
                }
            }
        )+

        $(impl From<$module::Asked> for Work {
            fn from(own: $module::Asked) -> Self {
                Self::$variant(own)
            }
        })+

        $(impl From<$module::Planned> for Planned {
            fn from(own: $module::Planned) -> Self {
                Self::$variant(own)
            }
        })+

        $(impl From<$module::Detail> for Detail {
            fn from(own: $module::Detail) -> Self {
                Self::$variant(own)
            }
        })+

        impl Facts {
            pub fn kind(&self) -> &'static Entry {
                match self {
                    $($(Self::$variant($module::$facts { .. }) => {
                        &<$module::Asked as Kind>::ENTRY
                    })?)+
                }
            }

            /// Below which key findings have them.
            pub fn key(&self) -> &'static str {
                match self {
                    $($(Self::$variant($module::$facts { .. }) => {
                        <$module::$facts as tell::Shows>::KEY
                    })?)+
                }
            }

            /// What the kind of the first of them shows of all that are its own; none where there are none.
            pub fn exhibit(all: &[Self], rows: &dyn tell::Rows) -> Option<Exhibit> {
                match all.first()? {
                    $($(Self::$variant($module::$facts { .. }) => {
                        let own: Vec<&$module::$facts> =
                            all.iter().filter_map($module::$facts::of).collect();
                        Some(<$module::$facts as tell::Shows>::exhibit(&own, rows))
                    })?)+
                }
            }

            /// The next value of a map, where its key is that of a kind that tells something.
            ///
            /// # Errors
            /// It is not what that kind tells.
            pub fn read<'de, A: serde::de::MapAccess<'de>>(
                key: &str,
                map: &mut A,
            ) -> Result<Option<Vec<Self>>, A::Error> {
                $($(if key == <$module::$facts as tell::Shows>::KEY {
                    let own: Vec<$module::$facts> = map.next_value()?;
                    return Ok(Some(own.into_iter().map(Self::$variant).collect()));
                })?)+
                Ok(None)
            }
        }

        $($(
            #[allow(
                unreachable_patterns,
                clippy::match_wildcard_for_single_variants,
                reason = "there may be one kind, or two"
            )]
            impl $module::$facts {
                pub fn of(facts: &Facts) -> Option<&Self> {
                    match facts {
                        Facts::$variant(own) => Some(own),
                        _ => None,
                    }
                }
            }

            impl From<$module::$facts> for Facts {
                fn from(own: $module::$facts) -> Self {
                    Self::$variant(own)
                }
            }
        )?)+

        impl std::ops::Deref for Facts {
            type Target = dyn tell::OfRow;

            fn deref(&self) -> &Self::Target {
                match self {
                    $($(Self::$variant(own @ $module::$facts { .. }) => own,)?)+
                }
            }
        }

        impl std::ops::DerefMut for Facts {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $($(Self::$variant(own @ $module::$facts { .. }) => own,)?)+
                }
            }
        }

        impl std::ops::Deref for Work {
            type Target = dyn Asks;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }

        impl std::ops::DerefMut for Work {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }

        impl std::ops::Deref for Planned {
            type Target = dyn Runs;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }

        impl std::ops::DerefMut for Planned {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }

        impl std::ops::Deref for Detail {
            type Target = dyn Counts;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }
    };
}
