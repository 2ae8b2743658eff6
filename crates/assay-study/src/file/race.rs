//! Checks a race (R15): one kind of work, one metric, random replicates.

use assay_core::quantity::metric::{Statistic, class};

use super::text::mistakes::{Mistakes, ValuePlaces};
use super::{Order, Stop, StopRule, Study};

pub const FEWEST: u32 = 3;

pub const REPLICATES: u32 = 20;

/// Maximum number of replicates, because each interim analysis reads all of them.
pub const MOST: u32 = 100;

/// Settings above which a screen may go before a race.
pub const MOST_UNSCREENED: usize = 40;

/// Default metric of a race under a production workload: readers wait for their data.
pub const OTHERS_PRIMARY: &str = "block_read_mean_ns";

pub fn check(study: &Study, places: &ValuePlaces, mistakes: &mut Mistakes) {
    if mistakes.is_wrong("stop/rule") || mistakes.is_wrong("stop/indifference_zone") {
        return;
    }
    let found = if study.stop.rule == StopRule::Best {
        find_mistake(study)
    } else {
        let Stop { indifference_zone, screen, confirm, .. } = study.stop;
        let keys = [
            ("stop/indifference_zone", indifference_zone.is_some()),
            ("stop/screen", screen),
            ("stop/confirm", confirm),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(path, _)| requires_race(path))
    };
    if let Some((path, message, hint)) = found.filter(|(path, ..)| !mistakes.is_wrong(path)) {
        mistakes.add(path, places.find(path).value, message, Some(hint));
    }
}

fn requires_race(path: &'static str) -> (&'static str, String, String) {
    let key = path.trim_start_matches("stop/");
    let hint = format!("add rule = \"best\" (--until best), or remove {key}");
    (path, format!("{key} requires rule best"), hint)
}

/// Returns path, message and hint of the first mistake.
fn find_mistake(study: &Study) -> Option<(&'static str, String, String)> {
    let fail = |path, message: &str, hint: &str| Some((path, message.to_owned(), hint.to_owned()));
    if study.workload.len() > 1 {
        let names: Vec<&str> =
            study.workload.iter().map(|workload| workload.name.as_str()).collect();
        let message =
            format!("a race needs exactly one workload; this study has {}", names.join(", "));
        return fail("stop/rule", &message, "keep only one workload, or remove the rule");
    }
    if study.workload.iter().any(|workload| workload.work.is_others()) {
        let key = format!("primary_metric = \"{OTHERS_PRIMARY}\", or the metric of another class");
        let Some(primary) = &study.primary_metric else {
            let message = "a race needs one primary metric, but each class of production requests has its own";
            return fail("stop/rule", message, &format!("add {key}"));
        };
        // Traffic of other processes is not an effect of a setting, and the confirmation compares means of classes.
        if class(primary).is_none_or(|(_, what)| what != Statistic::Mean) {
            let message = format!(
                "a race under a production workload compares the mean latency of a request class, not {primary}"
            );
            return fail("primary_metric", &message, &format!("use {key}"));
        }
    }
    if study.order != Order::Random {
        let message = format!("a race needs random order, not {}", study.order.name());
        return fail("order", &message, "write order = \"random\", or remove order");
    }
    if study.replicates < FEWEST {
        let message =
            format!("a race needs at least {FEWEST} replicates before it drops a configuration");
        return fail("replicates", &message, "example: replicates = 20");
    }
    if study.replicates > MOST {
        let message = format!("a race has at most {MOST} replicates");
        return fail("replicates", &message, "example: replicates = 20");
    }
    if study.gate.is_some() {
        let message = "a race cannot have a gate, but the confirmation of its winner can";
        return fail("stop/rule", message, "remove the gate, or the rule");
    }
    if study.stop.ci_half_width.is_some() {
        let message = "a race does not use ci_half_width";
        return fail("stop/ci_half_width", message, "use indifference_zone = \"2%\" instead");
    }
    if study.stop.screen && !study.configurations.is_empty() {
        let message = "a screen needs a grid, but this study lists its configurations";
        return fail("stop/screen", message, "remove screen, or [[configurations]]");
    }
    if study.aa_control == Some(true) {
        let message = "a race cannot have an A/A control, because the control would compete";
        return fail("aa_control", message, "write aa_control = false, or remove aa_control");
    }
    if !study.question.is_empty() {
        let message = "a race cannot answer questions, because elimination biases the numbers";
        return fail("stop/rule", message, "remove the questions, or the rule");
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::file::{StopRule, text};
    use assay_core::quantity::Percent;

    const RACE: &str = "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 20\nmargin = \"5%\"\n\
        stop = { rule = \"best\", indifference_zone = \"2%\" }\n[factors]\nqueue_depth = [1, 2]\n[[workload]]\n\
        name = \"one\"\nio = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }\n";

    #[test]
    fn a_race_is_read_as_it_is_written() {
        let study = text::parse("test", RACE).unwrap();
        assert_eq!(study.stop.rule, StopRule::Best);
        assert_eq!(study.stop.indifference_zone, Some(Percent(2.0)));
        assert_eq!(text::parse("again", &text::write(&study).unwrap()).unwrap(), study);
    }

    #[test]
    fn a_screen_is_read_as_it_is_written_and_is_none_by_default() {
        let text = RACE.replace("indifference_zone = \"2%\"", "screen = true");
        let study = text::parse("test", &text).unwrap();
        assert!(study.stop.screen);
        assert_eq!(text::parse("again", &text::write(&study).unwrap()).unwrap(), study);
        let plain = text::parse("test", RACE).unwrap();
        assert!(!plain.stop.screen && !text::write(&plain).unwrap().contains("screen"));
    }

    #[test]
    fn under_others_work_settings_win_by_the_number_of_one_class() {
        let live = |head: &str| {
            let text = format!(
                "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 20\n{head}\
                 stop = {{ rule = \"best\" }}\n[factors]\nscheduler = [\"none\", \"bfq\"]\n[[workload]]\n\
                 name = \"live\"\nproduction = {{}}\n"
            );
            text::parse("test", &text)
        };
        let failure = live("").unwrap_err();
        assert!(failure.message.contains("each class of production requests"), "{failure}");
        assert!(failure.message.contains(super::OTHERS_PRIMARY), "{failure}");
        let named = live("primary_metric = \"block_write_mean_ns\"\n").unwrap();
        assert_eq!(named.primary_metric.as_deref(), Some("block_write_mean_ns"));
        for other in ["block_read_iops", "block_read_p99_ns", "iops"] {
            let failure = live(&format!("primary_metric = \"{other}\"\n")).unwrap_err();
            let told = format!("not {other}");
            assert!(failure.message.contains(&told), "{failure}");
        }
    }

    #[test]
    fn what_makes_no_race_is_told_with_what_to_write() {
        let other = "[[workload]]\nname = \"two\"\n\
            io = { pattern = \"random\", mix = \"write\", block_size = \"4 KiB\" }\n";
        let two = format!("{RACE}{other}");
        let with = |key: &str| RACE.replace("[factors]", &format!("{key}\n[factors]"));
        let cases = [
            (two, "one workload"),
            (with("order = \"chained\""), "random order"),
            (RACE.replace("= 20", "= 2"), "at least 3 replicates"),
            (RACE.replace("= 20", "= 101"), "at most 100 replicates"),
            (with("gate = { max_regression = \"5%\" }"), "cannot have a gate"),
            (with("aa_control = true"), "cannot have an A/A control"),
            (RACE.replace("indifference_zone", "ci_half_width"), "does not use"),
            (RACE.replace("rule = \"best\", ", ""), "indifference_zone requires rule best"),
            (
                RACE.replace("rule = \"best\", indifference_zone = \"2%\"", "screen = true"),
                "screen requires rule",
            ),
            (
                with("configurations = [{ queue_depth = 1 }, { queue_depth = 2 }]")
                    .replace("indifference_zone = \"2%\"", "screen = true"),
                "lists its configurations",
            ),
        ];
        for (text, wanted) in cases {
            let failure = text::parse("test", &text).unwrap_err();
            assert!(failure.message.contains(wanted), "{wanted}: {failure}");
        }
    }
}
