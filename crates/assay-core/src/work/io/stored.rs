//! Reads and writes as plans keep them. The hash of a plan covers the order of these fields.

use serde::{Deserialize, Serialize};

use super::{Asked, Content, Engine, Mix, Pattern, Planned, WriteSync};
use crate::quantity::Bytes;
use crate::work::Kind as _;

/// What is kept of [`Planned`]; what is asked for of engine and time stands in the study alone.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Planned")]
pub(super) struct Stored {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<u64>,
}

impl From<Planned> for Stored {
    fn from(planned: Planned) -> Self {
        Self {
            engine: planned.engine,
            pattern: planned.pattern,
            mix: planned.mix,
            size_bytes: planned.size_bytes(),
            depth: planned.depth,
            threads: planned.threads,
            asked_depth: planned.asked_depth,
            sync: planned.sync,
            content: planned.content,
            direct: planned.direct,
            operations: planned.operations,
        }
    }
}

impl From<Stored> for Planned {
    fn from(own: Stored) -> Self {
        let granted = Asked {
            pattern: own.pattern,
            mix: own.mix,
            size: Bytes(u64::from(own.size_bytes)),
            depth: own.depth,
            threads: own.threads,
            sync: own.sync,
            content: own.content,
            direct: own.direct,
            operations: own.operations,
            ..Asked::sample()
        };
        let mut planned = Self::new(granted, own.engine);
        planned.asked_depth = own.asked_depth;
        planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Time;
    use crate::work::io::AskedEngine;

    const TEXT: &str = "{\"engine\":\"io_uring\",\"pattern\":\"spread\",\"mix\":\"70/30\",\
         \"size_bytes\":8192,\"depth\":16,\"threads\":2,\"asked_depth\":64,\"sync\":\"each-write\",\
         \"content\":\"50 %\",\"direct\":false,\"operations\":100}";

    fn read(text: &str) -> Planned {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_a_plan_keeps_is_written_as_it_was_read() {
        let without = TEXT.replace(",\"operations\":100", "");
        for text in [TEXT, without.as_str()] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
        let planned = read(TEXT);
        assert_eq!((planned.engine, planned.asked_depth), (Engine::IoUring, 64));
        assert_eq!((planned.size, planned.size_bytes()), (Bytes(8192), 8192));
    }

    #[test]
    fn what_was_planned_is_what_is_read_back() {
        let asked = Asked {
            depth: 8,
            engine: AskedEngine::IoUring,
            time: Some(Time(5)),
            ramp: Some(Time(1)),
            ..Asked::sample()
        };
        let planned = Planned::new(asked, Engine::IoUring);
        assert_eq!(read(&serde_json::to_string(&planned).unwrap()), planned);
    }

    #[test]
    fn what_is_missing_of_a_stranger_is_told() {
        let error =
            serde_json::from_str::<Planned>(&TEXT.replace("\"depth\":16,", "")).unwrap_err();
        assert!(error.to_string().contains("missing field `depth`"), "{error}");
    }
}
