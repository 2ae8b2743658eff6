//! Whether a target holds what it says.

#[cfg(test)]
mod certain_tests;
mod detail;
mod limit;
mod option;
mod planned;
mod tell;
#[cfg(test)]
mod testing;
mod verdict;
mod words;

use assay_base::catalogue::About;
use assay_base::catalogue::keys::{Fields, Form, field};
use assay_base::quantity::metric::metric;
use assay_base::quantity::{Better, Bytes, Metric, Time};
use assay_load::{CapacityShape, capacity_costs};
use serde::{Deserialize, Serialize};

use super::Work;
use super::check_option::CheckOption;
use super::io::Content;
use super::kind::{self, Complaints, InStudy, Judged, Kind, Needs, OwnParameter, Touch};
use super::place::{Offer, Run};

pub use detail::Detail;
pub use limit::Limit;
pub use planned::Planned;
pub use tell::Facts;
pub use verdict::{Told, Verdict, told};

/// Time of a fast probe at most, where nothing else is said.
const FAST_BOUND: Time = Time(600_000_000_000);
/// A full pass takes as long as it takes: some days of a large card.
const FULL_BOUND: Time = Time(30 * 86_400 * 1_000_000_000);

/// How much is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// A sample of the whole, and a zone at its beginning.
    #[default]
    Fast,
    /// Every block.
    Full,
}

impl Probe {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Full => "full",
        }
    }

    pub fn find(name: &str) -> Option<Self> {
        [Self::Fast, Self::Full].into_iter().find(|own| own.name() == name)
    }
}

/// A look at what a target holds, as a study asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// How much is looked at.
    #[serde(default)]
    pub mode: Probe,
    /// Time of a trial at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Time>,
}

static KEYS: Fields = Fields {
    label: "capacity",
    rows: &[
        field(
            "mode",
            Form::Word(|| vec!["fast", "full"]),
            "fast: a sample of the whole in minutes; full: every block is written and read; fast by \
             default",
            "mode = \"full\"",
        ),
        field(
            "runtime",
            Form::Time { least: Time(1) },
            "time of a trial at most: what was written by then is looked at; 10 minutes of a fast probe",
            "runtime = \"5 min\"",
        ),
    ],
};

pub const CLAIMED: Metric = metric(
    "capacity_announced_bytes",
    Better::Higher,
    "claimed capacity",
    "bytes that the target says it holds, or that a file system has free",
)
.amount();

pub const HELD: Metric = metric(
    "capacity_usable_bytes",
    Better::Higher,
    "capacity",
    "bytes that the target was found to hold, of a sample with a bound that stands beside it; absent where \
     a lie was found and not measured, and where memory may have answered",
)
.amount();

const CHECKED: Metric = metric(
    "capacity_checked_blocks",
    Better::Higher,
    "blocks looked at",
    "blocks of 4 KiB that were written and read again",
)
.amount();

const WRONG: Metric = metric(
    "capacity_wrong_blocks",
    Better::Lower,
    "wrong blocks",
    "those of them that did not hold what was written there, before they were tried again",
)
.amount();

impl Kind for Asked {
    const ABOUT: About = About {
        name: "capacity",
        summary: "whether the target holds what it says",
        text: "Blocks are written that say, in each 512 bytes, which run they are of and where they belong, \
               with a checksum; after all of them were written they are read again, past the page cache. \
               A fast probe writes one block of each stretch of the whole twice, the last one among them, and \
               then a zone at the beginning in one piece, which is longer than the stretches: wherever a \
               device begins to wrap onto its beginning, one of its blocks falls into the zone. A full one \
               writes everything, and a sample of it once more. What is wrong is written again, with as much between writing and \
               reading, before it counts; then it is found out from where on nothing is held. A block that \
               holds what was written elsewhere is a wrap, zeros or what lay there before are lost writes, \
               what was written there first is a lost rewrite, and some turned bits are damage. Where memory \
               may have answered in the place of the medium, because a loop device goes through the page cache \
               or direct I/O is refused, or where a host's cannot be seen, it says so and not that it holds. A \
               sample speaks with its bound. A device is overwritten, so it must be named \
               with --destroy; in a directory a file of its own takes the free space but a fiftieth, and is \
               removed. Where the free space belongs to a card that lies, writing to it may hit what lies \
               on the card.",
    };
    const KEYS: &'static Fields = &KEYS;
    const EXAMPLE: &'static str = "capacity = { mode = \"fast\" }";
    const PARAMETERS: &'static [OwnParameter<Self>] = &[];
    const METRICS: &'static [&'static [Metric]] = &[&[HELD, CLAIMED, CHECKED, WRONG]];
    const JUDGED: &'static [Judged] = &[Judged::Machine, Judged::Medium];
    const CHECK_OPTION: Option<&'static CheckOption> = Some(&option::OPTION);

    fn sample() -> Self {
        Self { mode: Probe::Fast, runtime: None }
    }
}

/// What the passes do to the target.
const TOUCH: Touch =
    Touch { reads: true, writes: Some(Content::Random), finds: None, clears: false, direct: true };

impl kind::Asks for Asked {
    fn words(&self) -> String {
        match self.mode {
            Probe::Fast => "a sample of all blocks is written and read again".to_owned(),
            Probe::Full => "every block is written and read again".to_owned(),
        }
    }

    fn needs(&self) -> Needs {
        Needs::Whole
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    fn complain(&self, _: &str, _: &InStudy<'_>, _: &mut dyn Complaints) {}

    fn time(&self) -> Option<Time> {
        self.runtime
    }

    fn set_span(&mut self, time: Option<Time>, _: Option<Time>) {
        self.runtime = time;
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn settle(&mut self) {
        let bound = if self.mode == Probe::Full { FULL_BOUND } else { FAST_BOUND };
        self.runtime = self.runtime.or(Some(bound));
    }

    fn hurry(&mut self, _: Option<Bytes>) {
        self.mode = Probe::Fast;
        self.runtime = Some(self.runtime.map_or(FAST_BOUND, |own| own.min(FAST_BOUND)));
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::Planned, Option<String>), String> {
        if !offer.area.written {
            return Err("all of it would be overwritten, and that was not allowed".to_owned());
        }
        let bytes = whole_blocks(offer.area.length);
        let between = offer.between.cloned();
        let planned = Planned { full: self.mode == Probe::Full, bytes, between };
        Ok((planned.into(), None))
    }

    /// What a step of the pass takes, of pieces and single blocks as there will be of both.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        let area = run.medium.area;
        if !area.written {
            return Ok(None);
        }
        let bytes = whole_blocks(area.length);
        let shape = CapacityShape::of(bytes, self.mode == Probe::Full);
        let job = planned::job(run, shape, 0);
        let costs = capacity_costs(&job, &planned::target(run), run.medium.law.as_ref());
        let costs = costs.map_err(|error| error.to_string())?;
        Ok(Some((planned::whole_ns(&shape, costs) / planned::steps(&shape)).max(1)))
    }

    fn costs_like(&self, other: &Work) -> bool {
        Self::of(other).is_some_and(|other| other.mode == self.mode)
    }
}

/// Bytes of the whole blocks among so many.
fn whole_blocks(bytes: u64) -> u64 {
    bytes / assay_load::BLOCK_BYTES * assay_load::BLOCK_BYTES
}
