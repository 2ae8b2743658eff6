//! A load as a study file writes it, and in sentences: where each number comes from, how far it is from what was
//! recorded, and what no study says.

use super::{Access, Act, Load, MOST, Part};
use crate::quantity::Bytes;
use crate::quantity::units::show;

/// From here on a distance is one that a reader should know of.
const FAR: f64 = 0.1;
/// And from here on a rate in whole numbers.
const ROUNDED: f64 = 0.05;

impl Load {
    /// The area and the workload, in the form of a study file.
    pub fn tables(&self) -> String {
        let mut text =
            format!("area       = {{ size = \"{}\" }}\n\n[[workload]]\n", Bytes(self.area_bytes));
        text += "name = \"fitted\"\n";
        let line = |(key, part): (&str, &Part)| {
            [key, " = { ", &part.keys(self.sync_every), " }\n"].concat()
        };
        text.extend(["io", "background"].into_iter().zip(&self.parts).map(line));
        text
    }

    /// Where each number comes from, and how far the load is from what was recorded: a sentence each.
    pub fn sources(&self) -> Vec<String> {
        let mut told = vec![format!(
            "pattern: {} of the requests stand in rows of 8 or more, each beginning where one of the 16 before it ended",
            show::share(self.in_rows)
        )];
        for (name, part) in ["", "background, "].into_iter().zip(&self.parts) {
            told.extend(part.sources().into_iter().map(|text| format!("{name}{text}")));
        }
        if let Some(every) = self.sync_every {
            let (writes, syncs) = (show::count(self.writes), show::count(self.syncs));
            told.push(format!(
                "sync: {writes} writes over {syncs} flushes and forced writes, to the nearest: one for each {every}"
            ));
        }
        told
    }

    /// What a study cannot say of what was recorded, a sentence each.
    pub fn unsaid(&self) -> Vec<String> {
        let mut told = vec![
            "which request waits for which, and what changes with the time: the load is the same from its beginning \
             to its end"
                .to_owned(),
        ];
        if self.parts.len() > 1 {
            told.push(
                "where rows and scattered requests lie to each other: each have half of the area"
                    .to_owned(),
            );
        }
        for part in &self.parts {
            part.unsaid(&mut told);
        }
        if self.syncs > 0 && self.sync_every.is_none() {
            let syncs = show::count(self.syncs);
            told.push(format!("{syncs} flushes and forced writes: nothing writes here"));
        }
        let counts = [
            (self.left_out, "requests without a time or a place"),
            (self.clipped, "requests larger than 16 MiB, which are 16 MiB here"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        told.extend(counts.map(|(count, words)| format!("{} {words}", show::count(count))));
        if self.beyond > 0 {
            told.push(format!(
                "{} requests behind the first {} with a place",
                show::count(self.beyond),
                show::count(MOST as u64)
            ));
        }
        told
    }
}

impl Part {
    /// The keys of a table of reads and writes.
    fn keys(&self, sync_every: Option<u64>) -> String {
        let pattern = if self.rows.is_some() { "sequential" } else { "random" };
        let mut keys = vec![
            format!("pattern = \"{pattern}\""),
            format!("mix = \"{}\"", self.mix_words()),
            format!("size = \"{}\"", self.size_words()),
        ];
        if self.rows == Some(true) {
            keys.push("apart = \"positions\"".to_owned());
        }
        keys.extend(self.align.map(|unit| format!("align = \"{}\"", Bytes(unit))));
        let law = self.access.as_ref().map(|(law, _)| &law.access);
        let law = law.filter(|law| **law != Access::Uniform);
        keys.extend(law.map(|law| format!("access = \"{law}\"")));
        if let Some(arrivals) = &self.arrivals {
            let law = if arrivals.is_poisson { "poisson" } else { "fixed" };
            keys.push(format!("rate = \"{}/s\", arrivals = \"{law}\"", arrivals.per_s));
        }
        keys.push(format!("depth = {}", self.depth));
        match sync_every.filter(|_| self.writes()) {
            Some(1) => keys.push("sync = \"each-write\"".to_owned()),
            Some(every) => keys.push(format!("sync = \"each-{every}-writes\"")),
            None => {}
        }
        keys.join(", ")
    }

    pub(super) fn mix_words(&self) -> String {
        let shares = || Act::ALL.into_iter().zip(&self.mix).filter(|(_, share)| **share > 0);
        if let Some((act, _)) = shares().find(|(_, share)| **share == 100) {
            return act.word().to_owned();
        }
        let all: Vec<String> =
            shares().map(|(act, share)| format!("{share} % {}", act.word())).collect();
        all.join(", ")
    }

    fn reads(&self) -> u8 {
        self.mix.first().copied().unwrap_or_default()
    }

    fn size_words(&self) -> String {
        let [reads, others] = self.sizes.each_ref().map(|sizes| size_list(sizes));
        match self.reads() {
            0 => others,
            100 => reads,
            _ if reads == others => reads,
            _ => format!("read {reads}; write {others}"),
        }
    }

    fn sources(&self) -> Vec<String> {
        let by_direction = ["reads", "all else"].into_iter().zip(self.size_distances);
        let has = [self.reads() > 0, self.reads() < 100];
        let distances = by_direction.zip(has).filter(|(_, has)| *has);
        let distances: Vec<String> =
            distances.map(|((name, far), _)| format!("{} of {name}", distance(far))).collect();
        let mut told = vec![
            format!(
                "mix: counts by class in whole percent; no share differs by more than {}",
                show::share(self.mix_distance)
            ),
            format!(
                "size: what one in a hundred has, the others as the nearest of these; Kolmogorov's distance {}; the \
                 mean size is {} times the recorded one",
                distances.join(", "),
                show::ratio(self.mean_ratio)
            ),
        ];
        if let Some((law, met)) = &self.access {
            told.push(format!(
                "access: the highest likelihood of how often each place was met, among uniform, zipf and zones, by \
                 Schwarz's criterion; working set {} places recorded, {} by the law; shares below a place differ by at \
                 most {}",
                show::count(*met),
                show::count(law.places.round() as u64),
                show::share(law.distance)
            ));
        }
        match &self.arrivals {
            Some(arrivals) => told.push(format!(
                "rate and arrivals: the inverse of the mean gap (maximum likelihood), by the law of the smaller \
                 distance; Kolmogorov's distance of the gaps {}",
                distance(arrivals.distance)
            )),
            None => told.push("no rate: all requests have the same time".to_owned()),
        }
        told.push(match self.in_flight {
            Some(most) if most > self.depth => format!(
                "depth: of the {} that were in flight at once as many as a study may ask for, or as 1 GiB holds",
                show::count(most as u64)
            ),
            Some(_) => "depth: the most that were in flight at once".to_owned(),
            None => "depth: a guess, as the recording does not say when requests ended".to_owned(),
        });
        told.push(format!("area: from the first place to the last one{}", self.untouched_words()));
        told
    }

    fn untouched_words(&self) -> String {
        if self.untouched > 0.0 {
            format!(", without the {} of it that nothing touched", show::share(self.untouched))
        } else {
            String::new()
        }
    }

    fn unsaid(&self, told: &mut Vec<String>) {
        if self.untouched > 0.0 {
            told.push("how far apart the touched places lie on the device".to_owned());
        }
        if self.area_bytes < self.given_bytes {
            let what = if self.rows.is_some() { "rows" } else { "scattered requests" };
            let (own, given) = (Bytes(self.area_bytes), Bytes(self.given_bytes));
            told.push(format!("that {what} kept to {own}: they have {given} here"));
        }
        let mut others = self.mix.iter().skip(1).filter(|share| **share > 0);
        if others.next().is_some() && others.next().is_some() {
            told.push("sizes of writes apart from those of trims and zeroing".to_owned());
        }
        if let Some((law, _)) = &self.access {
            if matches!(law.access, Access::Zipf(_)) {
                told.push(
                    "which places are met most: by zipf each trial draws them anew".to_owned(),
                );
            }
            if law.distance > FAR {
                told.push(format!(
                    "where in the area requests go: shares below a place are {} off",
                    show::share(law.distance)
                ));
            }
        }
        if let Some(arrivals) = &self.arrivals {
            if arrivals.distance > FAR {
                told.push(format!(
                    "bursts and pauses: the gaps are {} from the nearer law",
                    distance(arrivals.distance)
                ));
            }
            if (arrivals.per_s as f64 / arrivals.mean_per_s - 1.0).abs() > ROUNDED {
                let (met, here) = (arrivals.mean_per_s, arrivals.per_s as f64);
                let [met, here] = [met, here].map(show::per_second);
                told.push(format!("a rate of {met} in a second: it is {here} here"));
            }
        }
    }
}

/// `4 KiB`, or `4 KiB 70 %, 64 KiB 30 %`.
fn size_list(sizes: &[(u32, u8)]) -> String {
    let bytes = |size: u32| Bytes(u64::from(size));
    match sizes {
        [(size, _)] => bytes(*size).to_string(),
        all => {
            let part = |(size, share): &(u32, u8)| format!("{} {share} %", bytes(*size));
            all.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

fn distance(far: f64) -> String {
    format!("{far:.3}")
}
