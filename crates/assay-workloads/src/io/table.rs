//! One unit a parameter: what of it only reads and writes have is made from it; the rest is made where it is
//! for all kinds.

/// Declares the parameters: `name: type = its value where nothing is said => { ... }`, with its attributes
/// as a field of [`IoSpec`]. In braces, in this order, what is not its own may be left out:
///
/// - `words`, `form`, `need`, `example`: its key in `io`.
/// - `background`: that a background load has the key too, and what of it is other there.
/// - `factor`: that it may be a factor, as [`work`] or [`choice`].
/// - `job`: how the engine is told of it, where it is no part of every job.
/// - `told`: what is told of it in a list of what is run; nothing where it is usual.
/// - `fio`: what fio is told of it.
/// - `kept`: its name again where plans keep it. The first eight stand in plans in the order in which
///   their hashes have always covered them; what is newer follows, and is left out where it is the
///   default of its type, so that the hashes of older plans hold.
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

        /// What plans keep of [`IoPlan`], in the order that their hash covers.
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
            $($(#[serde(default, skip_serializing_if = "crate::keys::is_default")] $kept: $type,)?)+
            /// Where there are several, of which `size_bytes` is the largest.
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
                    $($($kept: planned.$kept,)?)+
                    sizes: planned.block_size.one().is_none().then(|| planned.block_size.clone()),
                }
            }
        }

        impl From<StoredIoPlan> for IoPlan {
            fn from(own: StoredIoPlan) -> Self {
                let one = Bytes(u64::from(own.size_bytes));
                let granted = IoSpec {
                    pattern: own.pattern,
                    mix: own.mix,
                    block_size: own.sizes.unwrap_or_else(|| one.into()),
                    queue_depth: own.depth,
                    threads: own.threads,
                    sync: own.sync,
                    compressibility: own.content,
                    direct: own.direct,
                    $($($kept: own.$kept,)?)+
                    ..IoSpec::default()
                };
                let mut planned = Self::new(granted, own.engine);
                planned.asked_depth = own.asked_depth;
                planned
            }
        }
    };
}
