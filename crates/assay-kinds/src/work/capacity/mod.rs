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
            "fast: check a sample in minutes; full: write and read every block; fast by default",
            "mode = \"full\"",
        ),
        field(
            "runtime",
            Form::Time { least: Time(1) },
            "maximum time of a trial; Assay checks the data written by then; 10 minutes by default for fast",
            "runtime = \"5 min\"",
        ),
    ],
};

pub const CLAIMED: Metric = metric(
    "capacity_announced_bytes",
    Better::Higher,
    "claimed capacity",
    "announced capacity of the target, or free space of a filesystem",
)
.amount();

pub const HELD: Metric = metric(
    "capacity_usable_bytes",
    Better::Higher,
    "capacity",
    "usable capacity, with a bound if sampled; absent if fake capacity was found but not located, or if memory may \
     have served the reads",
)
.amount();

const CHECKED: Metric = metric(
    "capacity_checked_blocks",
    Better::Higher,
    "checked blocks",
    "number of 4 KiB blocks that Assay wrote and read back",
)
.amount();

const WRONG: Metric = metric(
    "capacity_wrong_blocks",
    Better::Lower,
    "wrong blocks",
    "number of checked blocks with wrong data, before any retry",
)
.amount();

impl Kind for Asked {
    const ABOUT: About = About {
        name: "capacity",
        summary: "test for counterfeit capacity",
        text: "Assay writes blocks whose 512-byte sectors contain the run, their position and a checksum. After all \
               writes, Assay reads them past the page cache. A fast probe writes one block per stretch of the device \
               twice, including the last one. Then it writes a contiguous zone at the start, longer than a stretch: \
               wherever addresses wrap around, some block falls into that zone. A full probe writes everything, and a \
               sample of it again. Assay rewrites wrong blocks and repeats the test with as much data in between \
               before it counts them; then it locates the end of the usable capacity. A block with data of another \
               position is a wrap; zeros or old data are lost writes; its first version is a lost rewrite; a few \
               flipped bits are corruption. If memory may have served the reads, Assay reports that instead of a pass: \
               for a loop device on the page cache, without direct I/O, or with an unknown host cache. A sample \
               reports its bound. Assay overwrites a device, so name it with --destroy; in a directory it fills the \
               free space except a fiftieth with a file and removes it. If the free space belongs to a counterfeit \
               card, writing may destroy existing data on it.",
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
            Probe::Fast => "writes a sample of all blocks and reads it back".to_owned(),
            Probe::Full => "writes every block and reads it back".to_owned(),
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
            return Err("this would overwrite the whole target without permission".to_owned());
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
