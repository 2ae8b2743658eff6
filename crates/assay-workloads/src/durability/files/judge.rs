//! Judges acknowledged file operations: names that do not refer to their file, and incomplete files.

use super::contents::{Content, Listing};
use super::script::{CutMoment, FileName, FileScript};
use super::standing::{NameState, PossibleFiles, RenamedFile};
use crate::durability::judge::{self, Found, Missing, Unpromised};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostFile {
    pub name: FileName,
    /// The acknowledged file of the name; `None` if the removal of the name was acknowledged.
    pub wanted: Option<u32>,
    pub found: Found,
    /// The file found instead, if it belongs to the run.
    pub other: Option<u32>,
    /// The call that gave the name its acknowledged state.
    pub made: usize,
    pub promised: usize,
}

impl Missing for LostFile {
    fn found(&self) -> Found {
        self.found
    }
}

pub type Judgement = judge::CutJudgement<LostFile>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFate {
    /// None of its calls was in progress.
    Sure,
    There,
    Gone,
    /// The content matches no call.
    Torn,
}

impl FileScript {
    /// Compares the directory after a power loss with the acknowledged operations.
    pub fn judge(&self, listing: &Listing, moment: CutMoment) -> Judgement {
        let possible = PossibleFiles::after_cut(self, moment);
        let content_of = |name: &FileName| listing.get(&name.to_string()).copied();
        let mut lost = Vec::new();
        // The last call that concerns each name, and the fate of the name.
        let mut fates = Vec::new();
        for (name, states) in &possible.names {
            match possible.judge_name(*name, states, content_of(name)) {
                Ok(fate) => fates.push((states.last().map_or(0, |last| last.call), fate)),
                Err(found) => lost.push(possible.lost_file(*name, states, found, content_of(name))),
            }
        }
        // The state of each name may be possible although a renamed file has none of its names.
        let reported: Vec<FileName> = lost.iter().map(|lost| lost.name).collect();
        for moved in &possible.moved {
            let has_file =
                |name: &FileName| content_of(name).and_then(Content::file) == Some(moved.file);
            if !moved.names.iter().any(|name| reported.contains(name) || has_file(name)) {
                lost.extend(possible.missing_file(moved));
            }
        }
        lost.sort_by_key(|lost| (lost.made, lost.name));
        Judgement { lost, unpromised: count_fates(fates) }
    }

    /// The judgment if nothing is readable: everything acknowledged is missing.
    pub fn lose_all(&self, moment: CutMoment) -> Judgement {
        let possible = PossibleFiles::after_cut(self, moment);
        let mut lost = Vec::new();
        for (name, states) in &possible.names {
            if states.iter().all(|state| state.file.is_some()) {
                lost.push(possible.lost_file(*name, states, Found::Unreachable, None));
            }
        }
        lost.sort_by_key(|lost| (lost.made, lost.name));
        Judgement { lost, unpromised: Unpromised::default() }
    }
}

impl PossibleFiles {
    /// The fate of the calls in progress, as the content under a name shows; `Err` if no state allows this content.
    fn judge_name(
        &self,
        name: FileName,
        states: &[NameState],
        seen: Option<Content>,
    ) -> Result<FileFate, Found> {
        let is_possible = |file: Option<u32>| states.iter().any(|state| state.file == file);
        // A file whose content was not acknowledged may contain anything.
        let may_be_torn =
            states.iter().any(|state| state.file.is_some_and(|file| !self.is_synced(file)));
        let must_be_free = states.iter().all(|state| state.file.is_none());
        // The order matters: allowed states first, then what an unsynced file excuses, then the kind of loss.
        match seen {
            None if is_possible(None) => Ok(self.allowed_fate(states, None)),
            Some(Content::Whole(file)) if is_possible(Some(file)) => {
                Ok(self.allowed_fate(states, Some(file)))
            }
            None => Err(Found::Missing),
            Some(_) if may_be_torn => Ok(FileFate::Torn),
            Some(Content::Whole(file)) if !self.ever.contains(&(name, file)) => Err(Found::Foreign),
            Some(_) if must_be_free => Err(Found::Undeleted),
            Some(Content::Whole(_)) => Err(Found::Older),
            Some(Content::Strange) => Err(Found::Foreign),
            Some(Content::Part(_)) => Err(Found::Torn),
            Some(Content::Empty) => Err(Found::Empty),
            Some(Content::Unreadable) => Err(Found::Unreadable),
        }
    }

    fn allowed_fate(&self, states: &[NameState], file: Option<u32>) -> FileFate {
        if states.len() <= 1 && file.is_none_or(|number| self.is_synced(number)) {
            return FileFate::Sure;
        }
        let newest = states.last().and_then(|last| last.file);
        if newest == file { FileFate::There } else { FileFate::Gone }
    }

    /// Describes a lost name: the file that it should have, and the calls that set and acknowledged this.
    fn lost_file(
        &self,
        name: FileName,
        states: &[NameState],
        found: Found,
        seen: Option<Content>,
    ) -> LostFile {
        let other = seen.and_then(Content::file);
        // The state with the file that is there, else the first one that the error contradicts.
        let has_other = |state: &&NameState| state.file.is_some() && state.file == other;
        let is_broken = |state: &&NameState| state.file.is_some() == (found != Found::Undeleted);
        let state = states.iter().find(has_other).or_else(|| states.iter().find(is_broken));
        let NameState { file: wanted, call: made } = state.copied().unwrap_or_default();
        let content_call = wanted.and_then(|file| self.synced.get(&file).copied());
        let is_wrong_name =
            matches!(found, Found::Missing | Found::Undeleted | Found::Older | Found::Unreachable);
        // A wrong name breaks the promise of the directory, wrong content that of the file.
        let promised = if is_wrong_name {
            self.names_promised.or(content_call)
        } else {
            content_call.or(self.names_promised)
        };
        LostFile { name, wanted, found, other, made, promised: promised.unwrap_or(made) }
    }

    /// The loss of a renamed file that exists under none of its names.
    fn missing_file(&self, moved: &RenamedFile) -> Option<LostFile> {
        Some(LostFile {
            name: *moved.names.first()?,
            wanted: Some(moved.file),
            found: Found::Missing,
            other: None,
            made: moved.call,
            promised: self.names_promised?,
        })
    }
}

/// Counts calls in progress, in the order of the calls.
fn count_fates(mut fates: Vec<(usize, FileFate)>) -> Unpromised {
    fates.sort_by_key(|(call, _)| *call);
    let mut unpromised = Unpromised::default();
    for (_, fate) in fates {
        match fate {
            FileFate::Sure => {}
            FileFate::There => {
                unpromised.present += 1;
                unpromised.out_of_order += u64::from(unpromised.missing > 0);
            }
            FileFate::Gone => unpromised.missing += 1,
            FileFate::Torn => unpromised.torn += 1,
        }
    }
    unpromised
}

#[cfg(test)]
mod tests {
    use super::super::script::Call;
    use super::*;
    use crate::durability::judge::CutOutcome;
    use crate::durability::sync::Sync;

    fn name(text: &str) -> FileName {
        FileName::find(text).unwrap()
    }

    /// `file-00` is created and replaced, `file-01` created, `file-00` renamed to `file-02`, `file-01` removed; files
    /// 0, 1, 2 are synced, file 3 is not.
    fn script() -> FileScript {
        let [a, beside, b, c, d] =
            ["file-00", "file-00.new", "file-01", "file-02", "file-03"].map(name);
        let written = |name, file| [Call::Create { name, file }, Call::Write { file }];
        let calls = [
            &written(a, 0)[..],
            &[Call::SyncFile { file: 0 }],
            &written(b, 1),
            &[Call::SyncFile { file: 1 }, Call::SyncNames],
            &written(beside, 2),
            &[Call::SyncFile { file: 2 }, Call::Rename { from: beside, to: a }, Call::SyncNames],
            &[Call::Rename { from: a, to: c }, Call::Remove { name: b }, Call::SyncNames],
            &written(d, 3),
        ];
        let calls: Vec<Call> = calls.concat();
        assert_eq!(calls.len(), 17);
        FileScript { sync: Sync::Fsync, calls, lengths: vec![100; 4], rounds: vec![7, 12, 15, 17] }
    }

    fn listing(of: &[(&str, Content)]) -> Listing {
        of.iter().map(|(name, content)| ((*name).to_owned(), *content)).collect()
    }

    fn judged(of: &[(&str, Content)], returned: usize, begun: usize) -> Judgement {
        script().judge(&listing(of), CutMoment { returned, begun })
    }

    fn found(own: &Judgement) -> Vec<(String, Found)> {
        own.lost.iter().map(|lost| (lost.name.to_string(), lost.found)).collect()
    }

    const WHOLE: [Content; 4] =
        [Content::Whole(0), Content::Whole(1), Content::Whole(2), Content::Whole(3)];

    #[test]
    fn what_was_promised_is_there_or_it_is_told_what_is() {
        let one = |content: Content| {
            let own = judged(&[("file-00", content), ("file-01", WHOLE[1])], 7, 7);
            assert_eq!(own.unpromised, Unpromised::default());
            found(&own)
        };
        assert_eq!(one(WHOLE[0]), []);
        for (content, what) in [
            (Content::Part(0), Found::Torn),
            (Content::Empty, Found::Empty),
            (Content::Strange, Found::Foreign),
            (Content::Unreadable, Found::Unreadable),
            (WHOLE[1], Found::Foreign),
        ] {
            assert_eq!(one(content), [("file-00".to_owned(), what)]);
        }
        let gone = judged(&[("file-01", WHOLE[1])], 7, 7);
        let wanted = LostFile {
            name: name("file-00"),
            wanted: Some(0),
            found: Found::Missing,
            other: None,
            made: 0,
            promised: 6,
        };
        assert_eq!((gone.lost.clone(), gone.outcome()), (vec![wanted], CutOutcome::Lost));
        // Before the sync of the names returned, names may be missing, but not contents.
        assert_eq!(found(&judged(&[], 6, 7)), []);
        assert_eq!(found(&judged(&[("file-01", WHOLE[1])], 6, 7)), []);
        let torn = judged(&[("file-00", Content::Part(0))], 6, 7);
        assert_eq!(found(&torn), [("file-00".to_owned(), Found::Torn)]);
        assert_eq!((torn.lost[0].promised, torn.lost[0].other), (2, Some(0)));
        let torn = judged(&[("file-00", Content::Empty)], 6, 7);
        assert_eq!((torn.lost[0].promised, torn.lost[0].found), (2, Found::Empty));
    }

    #[test]
    fn a_replaced_name_stands_for_the_old_or_the_new_file() {
        let at = |content: Option<Content>, returned| {
            let own: Vec<(&str, Content)> =
                content.map(|own| ("file-00", own)).into_iter().collect();
            let all = [&own[..], &[("file-01", WHOLE[1])]].concat();
            found(&judged(&all, returned, 12))
        };
        let told = |what| [("file-00".to_owned(), what)];
        for (content, what) in [(None, Found::Missing), (Some(Content::Part(2)), Found::Torn)] {
            assert_eq!(at(content, 10), told(what));
        }
        assert_eq!([at(Some(WHOLE[0]), 11), at(Some(WHOLE[2]), 11)], [vec![], vec![]]);
        assert_eq!(at(Some(WHOLE[0]), 12), told(Found::Older), "the new one was promised");
        let left = judged(
            &[("file-00", WHOLE[2]), ("file-00.new", WHOLE[2]), ("file-01", WHOLE[1])],
            12,
            12,
        );
        assert_eq!(found(&left), [("file-00.new".to_owned(), Found::Undeleted)]);
    }

    #[test]
    fn a_moved_file_is_somewhere_and_a_removed_one_does_not_come_back() {
        let kept = ("file-01", WHOLE[1]);
        for under_way in [&[("file-00", WHOLE[2]), kept][..], &[("file-02", WHOLE[2]), kept]] {
            assert_eq!(found(&judged(under_way, 12, 15)), []);
        }
        let nowhere = judged(&[kept], 12, 15);
        assert_eq!(found(&nowhere), [("file-00".to_owned(), Found::Missing)]);
        assert_eq!((nowhere.lost[0].made, nowhere.lost[0].promised), (10, 11));
        let back = judged(&[("file-02", WHOLE[2]), kept], 15, 15);
        assert_eq!(found(&back), [("file-01".to_owned(), Found::Undeleted)]);
        assert_eq!((back.lost[0].wanted, back.lost[0].other), (None, Some(1)));
        assert_eq!(found(&judged(&[("file-02", WHOLE[2])], 15, 15)), []);
    }

    #[test]
    fn where_nothing_can_be_reached_all_that_was_promised_is_lost() {
        let lost = |returned, begun| found(&script().lose_all(CutMoment { returned, begun }));
        assert_eq!(lost(6, 7), [], "no name was promised");
        let of = |names: &[&str]| -> Vec<(String, Found)> {
            names.iter().map(|own| ((*own).to_owned(), Found::Unreachable)).collect()
        };
        assert_eq!(lost(7, 7), of(&["file-00", "file-01"]));
        assert_eq!(lost(15, 17), of(&["file-02"]));
    }

    #[test]
    fn what_was_not_promised_may_be_anything_and_is_told_apart() {
        let kept = ("file-02", WHOLE[2]);
        let told = |of: &[(&str, Content)]| {
            let own = judged(&[of, &[kept]].concat(), 15, 17);
            assert_eq!(own.lost, []);
            let Unpromised { present: there, missing: gone, torn, out_of_order: ahead } =
                own.unpromised;
            (own.outcome(), [there, gone, torn, ahead])
        };
        assert_eq!(told(&[]), (CutOutcome::AllGone, [0, 1, 0, 0]));
        assert_eq!(told(&[("file-03", WHOLE[3])]), (CutOutcome::AllThere, [1, 0, 0, 0]));
        for content in
            [Content::Part(3), Content::Empty, Content::Strange, Content::Unreadable, WHOLE[0]]
        {
            assert_eq!(told(&[("file-03", content)]), (CutOutcome::Torn, [0, 0, 1, 0]));
        }
        // The removal survived although the earlier rename did not.
        let ahead = judged(&[("file-00", WHOLE[2])], 12, 15);
        assert_eq!((ahead.lost, ahead.unpromised.out_of_order), (vec![], 1));
        let others = judged(&[kept, ("lost+found", Content::Strange)], 15, 15);
        assert_eq!(
            (found(&others), others.outcome()),
            (vec![], CutOutcome::Quiet),
            "nobody's name"
        );
    }
}
