//! One entry per parameter: generates the parts specific to reads and writes; `keys!` generates those of all kinds.

/// Declares the parameters: `name: type = default => { ... }`, with its attributes for the field of [`IoSpec`]. In
/// braces, in this order, optional parts:
///
/// - `words`, `form`, `need`, `example`: its key in `io`.
/// - `background`: a background load also has the key, with the given differences.
/// - `factor`: studies may vary it, as [`work`] or [`choice`].
/// - `job`: how to set it on the engine, unless every job has it.
/// - `told`: its words in a list of workloads; empty for the default.
/// - `fio`: its fio options.
/// - `kept`: its name again if plans store it. The first eight are stored in the order that hashes of plans have always
///   covered; newer ones follow, and defaults are omitted to preserve the hashes of older plans.
macro_rules! parameters {
    ($(
        $(#[$attribute:meta])*
        $name:ident: $type:ty = $some:expr => {
            words: $words:expr,
            form: $form:expr,
            $(need: $need:expr,)?
            example: $example:expr,
            $(background: { $($other:tt)* },)?
            $(factor: $factor:expr,)?
            $(job: $job:expr,)?
            $(told: $told:expr,)?
            $(fio: $fio:expr,)?
            $(kept: $kept:ident,)?
        }
    )+) => {
        keys! {
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct IoSpec {
                $(
                    $(#[$attribute])*
                    $name: $type = $some => {
                        words: $words,
                        form: $form,
                        $(need: $need,)?
                        example: $example,
                        $(factor: $factor,)?
                    }
                )+
            }
        }

        pub(super) const BACKGROUND: &[Field] = &[$($(Field {
            $($other)*
            ..field(stringify!($name), $form, $words, $example)
        },)?)+];

        pub(super) const JOB: &[fn(&IoSpec, &mut Job)] = &[$($($job,)?)+];

        pub(super) const TOLD: &[fn(&IoSpec) -> Option<String>] = &[$($($told,)?)+];

        pub(super) const FIO: &[fn(&IoSpec) -> Vec<String>] = &[$($($fio,)?)+];

        /// The stored part of [`IoPlan`], in the order of its hash.
        #[derive(Serialize, Deserialize)]
        pub(super) struct StoredIoPlan {
            engine: Engine,
            pattern: Pattern,
            mix: Mix,
            size_bytes: u32,
            depth: u32,
            threads: u32,
            asked_depth: u32,
            sync: WriteSync,
            content: Content,
            direct: bool,
            $($(#[serde(default, skip_serializing_if = "assay_core::json::is_default")] $kept: $type,)?)+
            /// Several sizes; `size_bytes` is the largest.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            sizes: Option<Size>,
        }

        impl From<IoPlan> for StoredIoPlan {
            fn from(planned: IoPlan) -> Self {
                Self {
                    engine: planned.engine,
                    pattern: planned.pattern,
                    mix: planned.mix,
                    size_bytes: planned.size_bytes(),
                    depth: planned.queue_depth,
                    threads: planned.threads,
                    asked_depth: planned.asked_depth,
                    sync: planned.sync,
                    content: planned.compressibility,
                    direct: planned.direct,
                    // Entries with `kept` are stored under their own names.
                    $($($kept: planned.$kept,)?)+
                    sizes: planned.block_size.one().is_none().then(|| planned.block_size.clone()),
                }
            }
        }

        impl From<StoredIoPlan> for IoPlan {
            fn from(stored: StoredIoPlan) -> Self {
                let size = Bytes(u64::from(stored.size_bytes));
                let granted = IoSpec {
                    pattern: stored.pattern,
                    mix: stored.mix,
                    block_size: stored.sizes.unwrap_or_else(|| size.into()),
                    queue_depth: stored.depth,
                    threads: stored.threads,
                    sync: stored.sync,
                    compressibility: stored.content,
                    direct: stored.direct,
                    $($($kept: stored.$kept,)?)+
                    ..IoSpec::default()
                };
                let mut planned = Self::new(granted, stored.engine);
                planned.asked_depth = stored.asked_depth;
                planned
            }
        }
    };
}
