//! The simulated drive as a target: `simulated:lognormal,mean=100us,p99=400us,servers=1`.

use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::{Bytes, Time};
use assay_load::{BLOCK_BYTES, Law, LawShape, Lie, Store};

pub const PREFIX: &str = "simulated:";

/// Parses a law such as `lognormal,mean=100us,p99=1ms`, maybe with the announced and the usable size of a card.
pub fn law(text: &str) -> Outcome<Law> {
    let mut parts = text.split(',');
    let distribution = parts.next().unwrap_or_default();
    let (mut mean, mut p99, mut servers) = (None, None, 1);
    let (mut announced, mut usable, mut fault) = (None, None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("mean", value)) => mean = Some(time(value)?),
            Some(("p99", value)) => p99 = Some(time(value)?),
            Some(("servers", value)) => {
                servers =
                    value.parse().map_err(|_| mistake(text, "servers must be a whole number"))?;
            }
            Some(("announced_size", value)) => announced = Some(whole_blocks(text, value)?),
            Some(("usable_size", value)) => usable = Some(whole_blocks(text, value)?),
            Some(("fault", value)) => {
                let words = "fault must be wraps, drops or zeroes";
                fault = Some(Lie::find(value).ok_or_else(|| mistake(text, words))?);
            }
            _ => return Err(mistake(text, &format!("unknown part `{part}`"))),
        }
    }
    let mean_ns = mean.ok_or_else(|| mistake(text, "mean is missing"))?;
    let shape = match (distribution, p99) {
        ("fixed", None) => LawShape::Fixed { ns: mean_ns as u64 },
        ("lognormal", Some(p99_ns)) => LawShape::Lognormal { mean_ns, p99_ns },
        ("lognormal", None) => return Err(mistake(text, "p99 is missing")),
        ("exponential", None) => LawShape::Exponential { mean_ns },
        ("exponential", Some(_)) => {
            return Err(mistake(text, "an exponential law has no p99; remove p99"));
        }
        ("fixed", Some(_)) => return Err(mistake(text, "a fixed law has no p99; remove p99")),
        _ => return Err(mistake(text, "distribution must be lognormal, exponential or fixed")),
    };
    let law = Law::new(shape, servers).map_err(|error| mistake(text, &error.to_string()));
    let Some(claimed_bytes) = announced else {
        if usable.is_some() || fault.is_some() {
            return Err(mistake(text, "announced_size is missing; add announced_size=8GB"));
        }
        return law;
    };
    let held_bytes = usable.unwrap_or(claimed_bytes);
    if held_bytes > claimed_bytes {
        return Err(mistake(text, "usable_size cannot exceed announced_size"));
    }
    let store = Store { claimed_bytes, held_bytes, lie: fault.unwrap_or(Lie::Wraps) };
    Ok(Law { store: Some(store), ..law? })
}

/// Parses a size in whole blocks, at least sixteen.
fn whole_blocks(text: &str, size: &str) -> Outcome<u64> {
    let bytes = size.parse::<Bytes>().map_err(|error| mistake(text, &error.0))?;
    let whole = bytes.0 / BLOCK_BYTES * BLOCK_BYTES;
    if whole < 16 * BLOCK_BYTES {
        return Err(mistake(text, &format!("{size} is less than 64 KiB")));
    }
    Ok(whole)
}

fn time(text: &str) -> Outcome<f64> {
    text.parse::<Time>().map(|time| time.0 as f64).map_err(|error| Failure::mistake(error.0))
}

fn mistake(text: &str, what: &str) -> Failure {
    Failure::mistake(format!(
        "{PREFIX}{text}: {what}; use the form {PREFIX}lognormal,mean=100us,p99=400us,servers=1"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_read() {
        let law = law("lognormal,mean=100us,p99=400us,servers=4").unwrap();
        assert_eq!((law.servers, law.store), (4, None));
    }

    #[test]
    fn an_exponential_law_has_a_mean_alone() {
        let law = law("exponential,mean=200us").unwrap();
        assert_eq!(law.shape, LawShape::Exponential { mean_ns: 200_000.0 });
        assert_eq!(law.servers, 1);
    }

    #[test]
    fn a_card_may_say_more_than_it_holds() {
        let store = |text: &str| law(&format!("fixed,mean=1ms,{text}")).unwrap().store.unwrap();
        let lying = store("announced_size=64GB,usable_size=8GB,fault=drops");
        assert_eq!((lying.claimed_bytes, lying.held_bytes), (64_000_000_000, 8_000_000_000));
        assert_eq!(lying.lie, Lie::Drops);
        let honest = store("announced_size=64GiB");
        assert_eq!(honest.claimed_bytes, honest.held_bytes);
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
            "exponential",
            "exponential,mean=1us,p99=2us",
            "lognormal,mean=100us,p99=400us,servers=0",
            "lognormal,mean=4us,p99=1us",
            "fixed,mean=1ms,usable_size=8GB",
            "fixed,mean=1ms,announced_size=8GB,usable_size=64GB",
            "fixed,mean=1ms,announced_size=8GB,fault=smiles",
            "fixed,mean=1ms,announced_size=many",
            "fixed,mean=1ms,announced_size=1KiB",
        ] {
            let message = law(text).unwrap_err().message;
            assert!(!message.is_empty() && !message.contains('\n'), "{text}: {message}");
        }
    }
}
