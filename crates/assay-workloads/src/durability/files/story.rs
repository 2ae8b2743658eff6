//! The shortest counterexample of a lost file.

use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::judge::LostFile;
use super::script::{Call, CutMoment, FileScript};
use crate::durability::judge::Found;

/// The guarantee, its time, and the state found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLoss {
    pub name: String,
    /// The number of the guaranteed file from 1; `None` if the name was guaranteed to be free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<u64>,
    /// The calls that caused and guaranteed the state, from 1, and their descriptions.
    pub made_call: u64,
    pub made_by: String,
    pub acknowledged_call: u64,
    pub acknowledged_by: String,
    /// Returned calls at the power loss; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_call: Option<u64>,
    pub found: Found,
    /// The number of the file found, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<u64>,
}

impl FileLoss {
    /// For a broken guarantee; without a moment, there was no power loss.
    pub fn new(script: &FileScript, lost: &LostFile, moment: Option<CutMoment>) -> Self {
        let call_words =
            |at: usize| script.calls.get(at).map_or("", |call: &Call| call.words()).to_owned();
        let number = |file: u32| u64::from(file) + 1;
        Self {
            name: lost.name.to_string(),
            file: lost.wanted.map(number),
            made_call: lost.made as u64 + 1,
            made_by: call_words(lost.made),
            acknowledged_call: lost.promised as u64 + 1,
            acknowledged_by: call_words(lost.promised),
            crash_call: moment.map(|moment| moment.returned as u64),
            found: lost.found,
            other: lost.other.map(number),
        }
    }

    /// Calls from the one that caused the state to the crash; without a crash, longer than all others.
    pub fn length(&self) -> u64 {
        self.crash_call.unwrap_or(u64::MAX).saturating_sub(self.made_call)
    }

    pub fn words(&self) -> String {
        let Self { name, made_by, acknowledged_by: promised_by, .. } = self;
        let state = match self.file {
            Some(file) => format!("file {} has the name `{name}`", show::count(file)),
            None => format!("`{name}` does not exist"),
        };
        let cut = match self.crash_call {
            Some(call) => format!("the crash follows call {}", show::count(call)),
            None => "no crash occurred".to_owned(),
        };
        let other = match (self.other, self.found) {
            (Some(other), Found::Undeleted | Found::Older | Found::Foreign) => {
                format!(" (file {})", show::count(other))
            }
            _ => String::new(),
        };
        format!(
            "Shortest counterexample: after call {} ({made_by}), {state}; call {} ({promised_by}) \
             acknowledged this; {cut}; the drive has {}{other}.",
            show::count(self.made_call),
            show::count(self.acknowledged_call),
            self.found.words()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::FileShape;
    use super::*;
    use crate::durability::sync::Sync;

    #[test]
    fn a_story_says_which_calls_made_and_promised_it_and_what_is_there() {
        let shape = FileShape { sync: Sync::Fsync, rounds: 3, most_bytes: 100, seed: 1 };
        let script = FileScript::from_shape(&shape);
        let Call::Create { name, file } = script.calls[0] else { panic!("{:?}", script.calls) };
        let lost = LostFile {
            name,
            wanted: Some(file),
            found: Found::Missing,
            other: None,
            made: 0,
            promised: 2,
        };
        let moment = CutMoment { returned: 5, begun: 7 };
        let own = FileLoss::new(&script, &lost, Some(moment));
        assert_eq!(
            own.words(),
            format!(
                "Shortest counterexample: after call 1 (creation), file 1 has the name `{name}`; call 3 (sync of \
                 the file) acknowledged this; the crash follows call 5; the drive has no file with this name."
            )
        );
        let back = LostFile { wanted: None, found: Found::Undeleted, other: Some(7), ..lost };
        let longer = FileLoss::new(&script, &back, None);
        let words = longer.words();
        assert!(words.contains("no crash occurred") && words.contains("does not exist"));
        assert!(words.ends_with("removed data (file 8)."), "{words}");
        assert!(own.length() < longer.length());
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<FileLoss>(&text).unwrap(), own);
    }
}
