//! The simulated drive as a target: `simulated:lognormal,mean=100us,p99=400us,servers=1`.

use assay_load::{Law, LawShape};

use crate::failure::{Failure, Outcome};
use crate::quantity::Time;

/// What a target's name begins with when it is simulated.
pub const PREFIX: &str = "simulated:";

/// Reads the law of a simulated drive (the text after the prefix).
pub fn law(text: &str) -> Outcome<Law> {
    let mut parts = text.split(',');
    let shape = parts.next().unwrap_or_default();
    let (mut mean, mut p99, mut servers) = (None, None, 1);
    for part in parts {
        match part.split_once('=') {
            Some(("mean", value)) => mean = Some(time(value)?),
            Some(("p99", value)) => p99 = Some(time(value)?),
            Some(("servers", value)) => {
                servers = value.parse().map_err(|_| mistake(text, "servers is a whole number"))?;
            }
            _ => return Err(mistake(text, &format!("`{part}` is not known"))),
        }
    }
    let mean_ns = mean.ok_or_else(|| mistake(text, "mean is missing"))?;
    let shape = match (shape, p99) {
        ("fixed", None) => LawShape::Fixed { ns: mean_ns as u64 },
        ("lognormal", Some(p99_ns)) => LawShape::Lognormal { mean_ns, p99_ns },
        ("lognormal", None) => return Err(mistake(text, "p99 is missing")),
        ("fixed", Some(_)) => return Err(mistake(text, "a fixed latency has no p99")),
        _ => return Err(mistake(text, "the law is lognormal or fixed")),
    };
    Law::new(shape, servers).map_err(|error| mistake(text, &error.to_string()))
}

fn time(text: &str) -> Outcome<f64> {
    text.parse::<Time>().map(|time| time.0 as f64).map_err(|error| Failure::mistake(error.0))
}

fn mistake(text: &str, what: &str) -> Failure {
    Failure::mistake(format!(
        "{PREFIX}{text}: {what}; write it like {PREFIX}lognormal,mean=100us,p99=400us,servers=1"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_read() {
        let law = law("lognormal,mean=100us,p99=400us,servers=4").unwrap();
        assert_eq!(law.servers, 4);
    }

    #[test]
    fn a_law_that_is_none_says_how_to_write_one() {
        for text in [
            "",
            "normal,mean=1us",
            "lognormal",
            "lognormal,mean=1us",
            "lognormal,mean=x,p99=2us",
            "fixed,mean=1us,p99=2us",
            "lognormal,mean=100us,p99=400us,servers=0",
            "lognormal,mean=4us,p99=1us",
        ] {
            let message = law(text).unwrap_err().message;
            assert!(!message.is_empty() && !message.contains('\n'), "{text}: {message}");
        }
    }
}
