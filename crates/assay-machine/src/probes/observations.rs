//! The list of the probes, made into what runs them and what is stored of them.

/// Makes of a list of probes, in which each stands with the name of its module:
///
/// * `Probes`, which lets them read around a trial, what stands first furthest from the run;
/// * `Evidence`, which holds what each of them observed, under its name;
/// * `PROBES`, what they say of themselves, with those that look around a whole study.
macro_rules! observations {
    (
        around trials { $($(#[$stored:meta])* $name:ident: $probe:ty,)+ }
        around studies { $($other:ident,)+ }
    ) => {
        /// What was observed around one trial, which is all that the rules of trust read of it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct Evidence {
            $(
                #[doc = concat!("What the probe in the module `", stringify!($name), "` observed.")]
                $(#[$stored])*
                #[serde(default = "not_recorded", skip_serializing_if = "is_not_recorded")]
                pub $name: Presence<<$probe as Probe>::Observed>,
            )+
            /// Nanoseconds that the readings took, by the name of the probe.
            #[serde(default, rename = "probe_ns", skip_serializing_if = "BTreeMap::is_empty")]
            pub probe_ns: BTreeMap<String, u64>,
        }

        impl Evidence {
            pub fn absent(reason: &str) -> Self {
                Self {
                    $($name: <$probe as Probe>::nothing(reason),)+
                    probe_ns: BTreeMap::new(),
                }
            }

            /// Observations that reports tell field by field, as they are stored.
            pub fn plain(&self) -> Vec<(&'static Entry, Presence<Value>)> {
                let mut found = Vec::new();
                $(
                    if $name::PROBE.presentation == Presentation::FieldByField && !is_not_recorded(&self.$name) {
                        found.push((&$name::PROBE, as_value(&self.$name)));
                    }
                )+
                found
            }
        }

        /// All probes of a session. Some stay at work from one trial to the next.
        #[derive(Default)]
        pub struct Probes {
            $($name: $probe,)+
            costs: Costs,
        }

        impl Probes {
            const LOOKS: &'static [fn(&mut Self, Moment, &Scene<'_>)] = &[
                $(|probes, moment, scene| {
                    timed(&$name::PROBE, &mut probes.$name, &mut probes.costs, moment, scene);
                },)+
            ];

            /// Reads what is to be read at a moment: before the run in the order of the list, then reversed.
            pub fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
                let all = Self::LOOKS.iter();
                if moment.is_before() {
                    all.for_each(|look| look(self, moment, scene));
                } else {
                    all.rev().for_each(|look| look(self, moment, scene));
                }
            }

            /// What was observed around the trial; the next one may begin.
            pub fn evidence(&mut self, scene: &Scene<'_>) -> Evidence {
                let costs = self.costs.take();
                Evidence {
                    $($name: self.$name.observed(scene),)+
                    // Simulated time passes in no time.
                    probe_ns: if scene.is_simulated() { BTreeMap::new() } else { costs },
                }
            }
        }

        pub static PROBES: &[&Entry] = &[$(&$name::PROBE,)+ $(&$other::PROBE,)+];
    };
}
pub(super) use observations;
