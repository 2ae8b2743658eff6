//! The macro that turns the list of probes into their runner and their stored form.

/// Generates, from a list of probes with their module names:
///
/// * `Probes`, which runs them around a trial, the first one furthest from the run;
/// * `Evidence`, which contains their observations under their names;
/// * `PROBES`, their descriptions, including those of probes around a whole study.
macro_rules! observations {
    (
        around trials { $($(#[$stored:meta])* $name:ident: $probe:ty,)+ }
        around studies { $($other:ident,)+ }
    ) => {
        /// Observations around one trial: the only input of the trust rules about it.
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

            /// Recorded observations of the probes that reports show field by field, as stored.
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

            /// Runs the readings of a moment: before the run in the order of the list, then reversed.
            pub fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
                let all = Self::LOOKS.iter();
                if moment.is_before() {
                    all.for_each(|look| look(self, moment, scene));
                } else {
                    all.rev().for_each(|look| look(self, moment, scene));
                }
            }

            /// Returns what was observed around the trial, and forgets it before the next one.
            pub fn evidence(&mut self, scene: &Scene<'_>) -> Evidence {
                let costs = self.costs.take();
                Evidence {
                    $($name: self.$name.observed(scene),)+
                    // Readings around a simulated trial cost nothing.
                    probe_ns: if scene.is_simulated() { BTreeMap::new() } else { costs },
                }
            }
        }

        pub static PROBES: &[&Entry] = &[$(&$name::PROBE,)+ $(&$other::PROBE,)+];
    };
}
pub(super) use observations;
