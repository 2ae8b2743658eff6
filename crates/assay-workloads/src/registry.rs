//! One line per kind of work generates everything common to all kinds.

/// Converts a type over all kinds to that of one kind.
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

/// Delegates the enum of all kinds to the type of each one.
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

macro_rules! tells {
    ($($module:ident $variant:ident $facts:ident,)+) => {
        $(impl $module::$facts {
            pub fn subject(&self) -> Subject {
                Subject { workload: self.workload.clone(), arm: self.configuration.clone() }
            }
        })+

        impl WorkFacts {
            pub fn subject(&self) -> Subject {
                match self {
                    $(Self::$variant(own) => own.subject(),)+
                }
            }
        }

        impl WorkPlan {
            /// Its facts and rules besides its metrics, if its kind has any.
            pub fn tells(&self) -> Option<&dyn tell::Tells> {
                match self {
                    $(Self::$variant(own) => Some(own),)+
                    _ => None,
                }
            }
        }
    };
}

/// Declares the kinds of work: `module = Variant(spec, plan, detail)` with three types of the module: a
/// [`WorkloadKind`](super::WorkloadKind), a [`PlannedWork`](super::PlannedWork), and its own counts.
/// `tells` adds the type of its own findings, which [`Shows`](super::tell::Shows).
macro_rules! kinds {
    ($($module:ident = $variant:ident($spec:ident, $plan:ident, $detail:ident)
        $(tells $facts:ident)?,)+) => {
        $(pub mod $module;)+

        /// Work as a study requests it.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant, reason = "a study has few of them")]
        pub enum Work {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::$spec),)+
        }

        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WorkPlan {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::$plan),)+
        }

        /// Counters of a single kind of work.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum WorkDetail {
            $(#[doc = concat!("Of the kind `", stringify!($module), "`.")]
            $variant($module::$detail),)+
        }

        /// Facts of a kind of work on a row, besides its metrics.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        pub enum WorkFacts {
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

        /// The figures of facts, in the order of the kinds.
        static FIGURES: &[Option<&tell::FactsFigure>] =
            &[$($(<$module::$facts as tell::Shows>::FIGURE,)?)+];

        pub static KINDS: &[&KindEntry] = &[$(&<$module::$spec as WorkloadKind>::ENTRY,)+];

        pub static WORKLOAD: Fields = Fields {
            label: "a workload",
            rows: &[
                NAME,
                $(one_of(
                    <$module::$spec as WorkloadKind>::ABOUT.name,
                    Form::Table(<$module::$spec as WorkloadKind>::ENTRY.keys),
                    <$module::$spec as WorkloadKind>::ABOUT.summary,
                    <$module::$spec as WorkloadKind>::EXAMPLE,
                ),)+
                BACKGROUND,
                OPTIONAL,
            ],
        };

        impl Work {
            pub fn kind(&self) -> &'static KindEntry {
                match self {
                    $(Self::$variant(_) => &<$module::$spec as WorkloadKind>::ENTRY,)+
                }
            }

            /// Sets a parameter from a level's text; `None` without this parameter.
            pub fn set(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
                match self {
                    $(Self::$variant(own) => set(own, name, level),)+
                }
            }
        }

        impl WorkPlan {
            pub fn kind(&self) -> &'static KindEntry {
                match self {
                    $(Self::$variant(_) => &<$module::$spec as WorkloadKind>::ENTRY,)+
                }
            }
        }

        $(
            of_kind!($module::$spec: Work, |work| *work => Work::$variant);
            of_kind!($module::$plan: WorkPlan, |work| *work => WorkPlan::$variant);
            of_kind!($module::$detail: Measured, |measured| measured.detail => WorkDetail::$variant);
            $(of_kind!($module::$facts: WorkFacts, |facts| *facts => WorkFacts::$variant);)?
        )+

        impl WorkFacts {
            pub fn kind(&self) -> &'static KindEntry {
                match self {
                    $($(Self::$variant($module::$facts { .. }) => {
                        &<$module::$spec as WorkloadKind>::ENTRY
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

            /// The exhibit of all facts of the first one's kind; `None` without facts.
            pub fn exhibit(all: &[Self], rows: &dyn tell::RowSource) -> Option<Exhibit> {
                match all.first()? {
                    $($(Self::$variant($module::$facts { .. }) => {
                        let own: Vec<&$module::$facts> =
                            all.iter().filter_map($module::$facts::of).collect();
                        Some(<$module::$facts as tell::Shows>::exhibit(&own, rows))
                    })?)+
                }
            }

            /// The next value of a map, if its key is that of a kind with facts.
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
        derefs!(WorkPlan: PlannedWork, $($variant,)+);
        derefs!(WorkDetail: Counts, $($variant,)+);
        derefs!(WorkFacts: tell::OfRow, $($($variant $facts,)?)+);
        tells!($($($module $variant $facts,)?)+);
    };
}
