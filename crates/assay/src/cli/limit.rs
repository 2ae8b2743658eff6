//! `--limit` of `run` and `plan`: what the work may not exceed, its memory or its response.

use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::Bytes;
use assay_study::study::limit::Limit;
use assay_study::study::{AskKind, Study};

/// The key of a study that a limit sets: something stays below that of a response.
pub(super) fn key(limit: Option<&str>) -> &'static str {
    let is_of_response = limit.is_some_and(|text| text.contains('<'));
    if is_of_response { "question/*/slo" } else { "workload/*/*/memory_limit" }
}

/// Gives a study its limit: that of the response where it looks for the most load, else that of memory.
///
/// # Errors
/// The user's mistake where it is no such limit, or nothing of the study has one.
pub(super) fn put(study: &mut Study, text: &str) -> Outcome<()> {
    let wrong = |message: String| Failure::mistake(format!("--limit: {message}"));
    let asks = study.question.iter_mut().find(|ask| ask.kind == AskKind::MaxRate);
    if let Some(ask) = asks {
        let limit: Limit = text.parse().map_err(wrong)?;
        ask.slo = Some(limit.to_string());
        return Ok(());
    }
    let most: Bytes = text.parse::<Bytes>().map_err(|error| wrong(error.to_string()))?;
    let limited = study.workload.iter_mut().map(|own| own.work.limit_memory(most));
    if limited.filter(|limited| *limited).count() == 0 {
        return Err(wrong(
            "this study has no limit; memory has one in workloads of kind pages, as in small-memory, and the response \
             in load-limit"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::study::presets;

    fn with(name: &str, limit: &str) -> Outcome<Study> {
        let mut study = presets::find(name).unwrap()?;
        put(&mut study, limit).map(|()| study)
    }

    #[test]
    fn a_limit_is_one_of_memory_or_of_the_response() {
        let told = with("max-rate", "p99<2ms").unwrap();
        assert_eq!(told.question[0].slo.as_deref(), Some("p99 < 2 ms"));
        let before = presets::find("small-memory").unwrap().unwrap();
        assert_ne!(with("small-memory", "32MiB").unwrap().workload, before.workload);
        for (name, limit, told) in [
            ("max-rate", "64MiB", "--limit: `64MiB` is not a response limit"),
            ("small-memory", "p99<2ms", "--limit: "),
            ("queue-depth", "64MiB", "--limit: this study has no limit"),
        ] {
            let message = with(name, limit).unwrap_err().message;
            assert!(message.starts_with(told), "{name}: {message}");
        }
    }

    #[test]
    fn what_was_typed_is_told_beside_the_key_that_it_sets() {
        assert_eq!(key(Some("p99 < 2ms")), "question/*/slo");
        assert_eq!(key(Some("64MiB")), "workload/*/*/memory_limit");
        assert_eq!(key(None), key(Some("64MiB")));
    }
}
