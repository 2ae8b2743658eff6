//! One line a kind of work: all that is the same for each of them is made from it.

/// Finds the type of one kind in that of all kinds, and makes that of it.
macro_rules! of_kind {
    ($own:ty: $whole:ty, |$from:ident| $place:expr => $all:ident::$variant:ident) => {
        #[allow(
            unreachable_patterns,
            clippy::match_wildcard_for_single_variants,
            reason = "there may be one kind, or two"
        )]
        impl $own {
            pub fn of($from: &$whole) -> Option<&Self> {
                match &$place {
                    $all::$variant(own) => Some(own),
                    _ => None,
                }
            }

            pub fn of_mut($from: &mut $whole) -> Option<&mut Self> {
                match &mut $place {
                    $all::$variant(own) => Some(own),
                    _ => None,
                }
            }
        }

        impl From<$own> for $all {
            fn from(own: $own) -> Self {
                Self::$variant(own)
            }
        }
    };
}

/// Lets the type of all kinds do what that of each one does.
macro_rules! derefs {
    ($all:ident: $target:path, $($variant:ident $($own:ident)?,)+) => {
        impl std::ops::Deref for $all {
            type Target = dyn $target;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }

        impl std::ops::DerefMut for $all {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$variant(own) => own,)+
                }
            }
        }
    };
}

/// What is the same of all kinds that tell something of their own.
macro_rules! tells {
    ($($module:ident $variant:ident $facts:ident,)+) => {
        $(impl $module::$facts {
            pub fn subject(&self) -> Subject {
                Subject { workload: self.workload.clone(), arm: self.configuration.clone() }
            }
        })+

        impl Facts {
            pub fn subject(&self) -> Subject {
                match self {
                    $(Self::$variant(own) => own.subject(),)+
                }
            }
        }

        impl Planned {
            /// What it tells of its own beside its metrics, where its kind does.
            pub fn tells(&self) -> Option<&dyn tell::Tells> {
                match self {
                    $(Self::$variant(own) => Some(own),)+
                    _ => None,
                }
            }
        }
    };
}

/// Declares the kinds of work: `module = Variant`. The module has a type `Asked` that is a
/// [`WorkloadKind`](super::WorkloadKind), `Planned` that is a [`PlannedWork`](super::PlannedWork), and `Detail`: what it counts beside
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

        pub static KINDS: &[&Entry] = &[$(&<$module::Asked as WorkloadKind>::ENTRY,)+];

        pub static WORKLOAD: Fields = Fields {
            label: "a workload",
            rows: &[
                NAME,
                $(one_of(
                    <$module::Asked as WorkloadKind>::ABOUT.name,
                    Form::Table(<$module::Asked as WorkloadKind>::ENTRY.keys),
                    <$module::Asked as WorkloadKind>::ABOUT.summary,
                    <$module::Asked as WorkloadKind>::EXAMPLE,
                ),)+
                BACKGROUND,
                OPTIONAL,
            ],
        };

        impl Work {
            pub fn kind(&self) -> &'static Entry {
                match self {
                    $(Self::$variant(_) => &<$module::Asked as WorkloadKind>::ENTRY,)+
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
                    $(Self::$variant(_) => &<$module::Asked as WorkloadKind>::ENTRY,)+
                }
            }
        }

        $(
            of_kind!($module::Asked: Work, |work| *work => Work::$variant);
            of_kind!($module::Planned: Planned, |work| *work => Planned::$variant);
            of_kind!($module::Detail: Measured, |measured| measured.detail => Detail::$variant);
            $(of_kind!($module::$facts: Facts, |facts| *facts => Facts::$variant);)?
        )+

        impl Facts {
            pub fn kind(&self) -> &'static Entry {
                match self {
                    $($(Self::$variant($module::$facts { .. }) => {
                        &<$module::Asked as WorkloadKind>::ENTRY
                    })?)+
                }
            }

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

        derefs!(Work: WorkloadSpec, $($variant,)+);
        derefs!(Planned: PlannedWork, $($variant,)+);
        derefs!(Detail: Counts, $($variant,)+);
        derefs!(Facts: tell::OfRow, $($($variant $facts,)?)+);
        tells!($($($module $variant $facts,)?)+);
    };
}
