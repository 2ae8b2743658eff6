//! The latency law of the simulated engine.

use std::f64::consts::TAU;

use crate::random::{Purpose, at, key, unit};
use crate::{LoadError, Store};

/// The 99% quantile of the standard normal distribution.
const Z99: f64 = 2.326_347_874_040_840_8;

/// How long one server of the simulated engine takes for one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LawShape {
    Lognormal {
        mean_ns: f64,
        /// 99% quantile in nanoseconds: from 1 to about 14.97 times the mean.
        p99_ns: f64,
    },
    /// Exponential service times: with Poisson arrivals and one server, M/M/1.
    Exponential {
        mean_ns: f64,
    },
    Fixed {
        ns: u64,
    },
}

/// What the simulated engine simulates: a queue before equal servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    pub shape: LawShape,
    /// Number of servers: operations served at the same time, at least 1.
    pub servers: u32,
    pub store: Option<Store>,
}

impl Law {
    /// A law that can be simulated.
    ///
    /// # Errors
    /// No server, a time below 1 ns, or a ratio of p99 to mean that no lognormal law has.
    pub fn new(shape: LawShape, servers: u32) -> Result<Self, LoadError> {
        let law = Self { shape, servers, store: None };
        law.sampler(0, 0).map(|_| law)
    }

    /// The draws of one thread of a job with this seed; also the check of the law.
    pub(crate) fn sampler(&self, seed: u64, thread: u32) -> Result<LawSampler, LoadError> {
        if !(1..=1 << 20).contains(&self.servers) {
            return Err(LoadError::Invalid(format!(
                "a simulated engine needs 1 to 1048576 servers, not {}",
                self.servers
            )));
        }
        let form = match self.shape {
            LawShape::Fixed { ns: 0 } => {
                return Err(LoadError::Invalid(
                    "a simulated service time must be at least 1 ns".to_owned(),
                ));
            }
            LawShape::Fixed { ns } => LawForm::Fixed(ns),
            LawShape::Lognormal { mean_ns, p99_ns } => lognormal(mean_ns, p99_ns)?,
            LawShape::Exponential { mean_ns } if mean_ns >= 1.0 && mean_ns.is_finite() => {
                LawForm::Exponential { mean_ns }
            }
            LawShape::Exponential { mean_ns } => return Err(no_mean(mean_ns)),
        };
        Ok(LawSampler { key: key(seed, thread, Purpose::Latency), form })
    }
}

/// Parameters of the lognormal law with this mean and 99% quantile. `mean = exp(m + s^2/2)` and `p99 = exp(m + z s)`
/// give `ln(p99/mean) = z s - s^2/2`; the smaller root counts: the other median is far below any device's.
fn lognormal(mean_ns: f64, p99_ns: f64) -> Result<LawForm, LoadError> {
    if !(mean_ns >= 1.0 && mean_ns.is_finite() && p99_ns.is_finite()) {
        return Err(no_mean(mean_ns));
    }
    let discriminant = Z99 * Z99 - 2.0 * (p99_ns / mean_ns).ln();
    if !(p99_ns >= mean_ns && discriminant >= 0.0) {
        let largest = (Z99 * Z99 / 2.0).exp();
        return Err(LoadError::Invalid(format!(
            "the p99 of a lognormal latency must be 1 to {largest:.2} times the mean, not {:.2} times",
            p99_ns / mean_ns
        )));
    }
    let sigma = Z99 - discriminant.sqrt();
    let mu = mean_ns.ln() - sigma * sigma / 2.0;
    Ok(LawForm::Lognormal { mu, sigma })
}

fn no_mean(mean_ns: f64) -> LoadError {
    LoadError::Invalid(format!("a simulated mean latency must be at least 1 ns, not {mean_ns}"))
}

#[derive(Clone, Copy, Debug)]
enum LawForm {
    Fixed(u64),
    Exponential { mean_ns: f64 },
    Lognormal { mu: f64, sigma: f64 },
}

/// Service times by operation index: the same index gives the same time in any order of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LawSampler {
    key: u64,
    form: LawForm,
}

impl LawSampler {
    /// Service time of operation `index` in nanoseconds, at least 1.
    pub(crate) fn service_ns(&self, index: u64) -> u64 {
        match self.form {
            LawForm::Fixed(ns) => ns,
            LawForm::Exponential { mean_ns } => {
                let share = 1.0 - unit(at(self.key, index)); // in (0, 1]: its logarithm is finite
                ((-share.ln() * mean_ns).round() as u64).max(1)
            }
            LawForm::Lognormal { mu, sigma } => {
                let ns = (mu + sigma * self.normal(index)).exp().round();
                (ns as u64).max(1)
            }
        }
    }

    /// Standard normal draw by the exact Box-Muller method.
    fn normal(&self, index: u64) -> f64 {
        let radius = 1.0 - unit(at(self.key, 2 * index)); // in (0, 1]: its logarithm is finite
        let turn = unit(at(self.key, 2 * index + 1));
        (-2.0 * radius.ln()).sqrt() * (TAU * turn).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(mean_ns: f64, p99_ns: f64) -> LawShape {
        LawShape::Lognormal { mean_ns, p99_ns }
    }

    #[test]
    fn unsolvable_laws_are_refused_with_the_bounds() {
        let text = |shape, servers| Law::new(shape, servers).unwrap_err().to_string();
        assert!(text(shape(100.0, 1500.0), 1).contains("1 to 14.97 times the mean, not 15.00"));
        assert!(text(shape(100.0, 99.0), 1).contains("not 0.99 times"));
        assert!(text(shape(f64::NAN, 99.0), 1).contains("at least 1 ns"));
        assert!(text(shape(100.0, f64::INFINITY), 1).contains("at least 1 ns"));
        assert!(text(LawShape::Fixed { ns: 0 }, 1).contains("at least 1 ns"));
        for mean_ns in [0.5, f64::NAN, f64::INFINITY] {
            assert!(text(LawShape::Exponential { mean_ns }, 1).contains("at least 1 ns"));
        }
        assert!(text(LawShape::Fixed { ns: 1 }, 0).contains("servers"));
    }

    #[test]
    fn bounds_themselves_are_laws() {
        assert!(Law::new(shape(100.0, 100.0), 1).is_ok());
        assert!(Law::new(shape(100.0, 1496.0), 1).is_ok());
    }

    #[test]
    fn parameters_reproduce_mean_and_quantile() {
        let Ok(LawForm::Lognormal { mu, sigma }) = lognormal(80_000.0, 400_000.0) else {
            panic!("a solvable law");
        };
        assert!(((mu + sigma * sigma / 2.0).exp() / 80_000.0 - 1.0).abs() < 1e-12);
        assert!(((mu + Z99 * sigma).exp() / 400_000.0 - 1.0).abs() < 1e-12);
        assert!(sigma < Z99);
    }

    #[test]
    fn exponential_draws_have_the_moments_and_the_tail_of_their_law() {
        let sampler =
            Law::new(LawShape::Exponential { mean_ns: 1e6 }, 1).unwrap().sampler(3, 0).unwrap();
        let n = 200_000_u64;
        let draws: Vec<f64> = (0..n).map(|index| sampler.service_ns(index) as f64 / 1e6).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let square = draws.iter().map(|draw| draw * draw).sum::<f64>() / n as f64;
        // Four standard errors: sqrt(1/n), sqrt(20/n).
        assert!((mean - 1.0).abs() < 4.0 / (n as f64).sqrt(), "{mean}");
        assert!((square - 2.0).abs() < 4.0 * (20.0 / n as f64).sqrt(), "{square}");
        let beyond = draws.iter().filter(|draw| **draw > 100_f64.ln()).count() as f64;
        let expected = n as f64 / 100.0;
        assert!((beyond - expected).abs() < 4.0 * expected.sqrt(), "{beyond}");
    }

    #[test]
    fn normal_draws_have_the_moments_of_the_standard_normal() {
        let law = Law::new(shape(1e5, 2e5), 1).unwrap();
        let sampler = law.sampler(11, 0).unwrap();
        let n = 200_000_u64;
        let moment = |power| (0..n).map(|i| sampler.normal(i).powi(power)).sum::<f64>() / n as f64;
        // Four standard errors each: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n).
        for (power, expected, variance) in
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0_f64)]
        {
            let found = moment(power);
            let allowed = 4.0 * (variance / n as f64).sqrt();
            assert!((found - expected).abs() < allowed, "moment {power}: {found}");
        }
    }
}
