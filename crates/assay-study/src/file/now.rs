//! The level `current`: replaced by the value at the start of the study.

use assay_core::exhibit::parts::distinct;
use assay_machine::factors::{self, Role};

use super::Study;
use super::levels::{same, spelled};
use super::without::Constraint;

pub const NOW: &str = "current";

/// Returns whether a factor can have this level: only settings can.
pub(super) fn may_be(factor: &str) -> bool {
    factors::has_role(factor, Role::Setting)
}

/// Returns the factors that have the level `current`, in the grid or in a configuration.
pub fn asked(study: &Study) -> Vec<String> {
    let mut found = Vec::new();
    for (name, levels) in &study.factors {
        let arms = study.configurations.iter().chain([&study.baseline]);
        let mut levels = levels.iter().chain(arms.filter_map(|arm| arm.get(name)));
        if may_be(name) && levels.any(|level| level == NOW) {
            found.push(name.clone());
        }
    }
    found
}

/// Replaces `current` by the level that was read. A factor without a readable level is omitted.
pub fn put(study: &mut Study, name: &str, seen: Result<String, String>) {
    match seen {
        Ok(level) => {
            let level = spelled(name, &level);
            replace_level(study, name, &level);
        }
        Err(reason) => remove_factor(study, name, reason),
    }
}

/// Removes the level if the study creates the device, because a new device has no current value.
pub fn remove_current(study: &mut Study, name: &str) {
    let levels = study.factors.get(name).cloned().unwrap_or_default();
    match levels.into_iter().find(|level| level != NOW) {
        // The first other level replaces `current` in the baseline, the configurations and the questions.
        Some(first) => replace_level(study, name, &first),
        None => remove_factor(study, name, "a device of the study has no current value".to_owned()),
    }
}

/// Replaces `current`, and other spellings of the level, wherever the study names the factor.
fn replace_level(study: &mut Study, name: &str, level: &str) {
    let is_current = |text: &String| text == NOW || same(name, text, level);
    if let Some(levels) = study.factors.get_mut(name) {
        for text in levels.iter_mut().filter(|text| is_current(text)) {
            level.clone_into(text);
        }
        *levels = distinct(levels.drain(..));
    }
    let arms = study.configurations.iter_mut().chain([&mut study.baseline]);
    for text in arms.filter_map(|arm| arm.get_mut(name)).filter(|text| is_current(text)) {
        level.clone_into(text);
    }
    remove_duplicates(study);
    for text in &mut study.exclude {
        let constraint = text.parse::<Constraint>().ok();
        if let Some(resolved) = constraint.and_then(|it| it.replaced(name, NOW, level)) {
            *text = resolved;
        }
    }
    let asked = study.question.iter_mut().flat_map(|ask| ask.levels_of(name));
    for text in asked.filter(|text| *text == NOW) {
        level.clone_into(text);
    }
}

/// Removes listed configurations that became empty or equal to an earlier one.
fn remove_duplicates(study: &mut Study) {
    let remaining = study.configurations.drain(..).filter(|arm| !arm.is_empty());
    study.configurations = distinct(remaining);
}

/// Removes a factor from the whole study, and stores the reason.
fn remove_factor(study: &mut Study, name: &str, reason: String) {
    study.factors.remove(name);
    study.baseline.remove(name);
    study.configurations.iter_mut().for_each(|arm| drop(arm.remove(name)));
    remove_duplicates(study);
    study.hard_to_change.retain(|factor| factor != name);
    let is_other = |text: &String| text.parse::<Constraint>().is_ok_and(|it| !it.names(name));
    study.exclude.retain(is_other);
    study.unavailable.insert(name.to_owned(), reason);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::text;

    fn study() -> Study {
        let text = "format = \"assay-study/1\"\ntitle = \"t\"\nmargin = \"2%\"\n\
            exclude = [\"scheduler = bfq and read_ahead > 128 KiB\", \"scheduler = none and queue_depth > 4\"]\n\
            [search]\nscheduler = [\"current\", \"none\", \"bfq\"]\n\
            read_ahead = [\"current\", \"128 KiB .. 512 KiB in doublings\"]\nqueue_depth = [1, 8]\n\
            [[workload]]\nname = \"one\"\n\
            io = { pattern = \"sequential\", mix = \"read\", block_size = \"4 KiB\", direct = false }\n";
        text::parse("test", text).unwrap()
    }

    #[test]
    fn what_is_set_comes_first_and_stands_once() {
        let mut own = study();
        assert_eq!(asked(&own), ["read_ahead", "scheduler"]);
        put(&mut own, "scheduler", Ok("bfq".to_owned()));
        put(&mut own, "read_ahead", Ok("256KiB".to_owned()));
        assert_eq!(own.factors["scheduler"], ["bfq", "none"]);
        assert_eq!(own.factors["read_ahead"], ["256 KiB", "128 KiB", "512 KiB"]);
        assert_eq!(own.exclude, study().exclude);
        assert!(asked(&own).is_empty() && own.unavailable.is_empty());
        assert_eq!(text::parse("again", &text::write(&own).unwrap()).unwrap(), own);
    }

    #[test]
    fn what_cannot_be_seen_is_left_out_with_its_reason_and_its_constraints() {
        let mut own = study();
        put(&mut own, "read_ahead", Err("no queue".to_owned()));
        assert!(!own.factors.contains_key("read_ahead"));
        assert_eq!(own.exclude, ["scheduler = none and queue_depth > 4"]);
        assert_eq!(own.unavailable["read_ahead"], "no queue");
        assert_eq!(text::stored("again", &text::write(&own).unwrap()).unwrap(), own);
    }

    #[test]
    fn on_what_is_made_for_a_study_the_first_level_stands_for_it() {
        let mut own = study();
        remove_current(&mut own, "scheduler");
        assert_eq!(own.factors["scheduler"], ["none", "bfq"]);
    }

    #[test]
    fn what_is_left_out_of_what_is_set_is_left_out_of_the_level_that_it_was() {
        let mut own = study();
        let written = "scheduler = current and queue_depth > 4";
        own.exclude =
            vec![written.to_owned(), "queue_depth != 1 and read_ahead!=current".to_owned()];
        put(&mut own, "scheduler", Ok("bfq".to_owned()));
        assert_eq!(own.exclude[0], "scheduler = bfq and queue_depth > 4");
        put(&mut own, "read_ahead", Ok("256 KiB".to_owned()));
        assert_eq!(own.exclude[1], "queue_depth != 1 and read_ahead != 256 KiB");
    }

    #[test]
    fn settings_that_are_listed_and_came_to_be_the_same_are_one() {
        let mut own = study();
        let arm = |scheduler: &str| {
            let levels =
                [("scheduler", scheduler), ("read_ahead", "128 KiB"), ("queue_depth", "1")];
            levels.into_iter().map(|(name, level)| (name.to_owned(), level.to_owned())).collect()
        };
        own.configurations = vec![arm("current"), arm("none"), arm("bfq")];
        put(&mut own, "scheduler", Ok("none".to_owned()));
        assert_eq!(own.configurations, [arm("none"), arm("bfq")]);
    }

    #[test]
    fn work_has_no_level_now() {
        let text = text::write(&study()).unwrap().replace("\"8\"", "\"current\"");
        let message = text::parse("test", &text).unwrap_err().message;
        assert!(message.contains("current"), "{message}");
    }
}
