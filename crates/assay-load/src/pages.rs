//! Memory pages of this process: filled once, then accessed repeatedly, with the time of each access.
//!
//! Accesses are drawn in advance: the measured path allocates nothing and draws nothing.

use std::io;
use std::ptr::{self, NonNull};

use crate::content::{Content, fill_piece};
use crate::random::{Purpose, below, generator};
use crate::spent::Spent;
use crate::{clock, new_histogram};
use hdrhistogram::Histogram;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;

/// Number of drawn accesses; then they repeat.
const DRAWN: usize = 1 << 17;
/// Flag of a drawn access that writes; the other bits are the number of the page.
const WRITES: u32 = 1 << 31;
/// Bytes between progress reports of the fill.
const STEP_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageJob {
    pub bytes: u64,
    pub content: Content,
    /// Exponent of Zipf's law for the popularity of pages; 0 for uniform accesses.
    pub skew: f64,
    pub written_percent: u8,
    /// Uncounted nanoseconds at the start.
    pub ramp_ns: u64,
    pub time_ns: u64,
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct PageOutcome {
    pub window_ns: u64,
    /// Time per access in nanoseconds, including reading the clock.
    pub latency_ns: Histogram<u64>,
    pub cpu_ns: u64,
    /// Nanoseconds that this thread was runnable and waited for a CPU, if the kernel counts them.
    pub waited_ns: Option<u64>,
}

pub struct PageSet {
    start: NonNull<u64>,
    bytes: usize,
    page: usize,
    drawn: Vec<u32>,
}

impl PageSet {
    /// Reserves the pages and draws the accesses; the pages are empty.
    pub fn new(job: &PageJob) -> io::Result<Self> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let page = page_size();
        let bytes = usize::try_from(job.bytes).map_err(|_| too_large())? / page * page;
        let pages = u32::try_from(bytes / page).ok().filter(|pages| *pages > 0 && *pages < WRITES);
        let drawn = draw_accesses(job, pages.ok_or_else(too_large)?);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at an address chosen by the kernel does not alias other memory.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
        let start = NonNull::new(start.cast::<u64>()).ok_or_else(too_large)?;
        let set = Self { start, bytes, page, drawn };
        // Pages are swapped one by one, not by the hundred. A kernel without huge pages refuses this.
        // SAFETY: advice about the mapping that was just made.
        let _ = unsafe { madvise(set.start.as_ptr().cast(), bytes, Advice::LinuxNoHugepage) };
        Ok(set)
    }

    fn bytes_at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().cast::<u8>().wrapping_add(offset)
    }

    /// Fills the pages in order; reports the filled bytes after each step.
    pub fn fill(&mut self, job: &PageJob, filled: &mut dyn FnMut(u64)) {
        let mut rng = generator(job.seed, 0, Purpose::Content);
        let mut done = 0;
        while done < self.bytes {
            let step = STEP_BYTES.min(self.bytes - done);
            // SAFETY: the bytes are inside of the zeroed mapping, and borrowed from `self` exclusively.
            let bytes = unsafe { std::slice::from_raw_parts_mut(self.bytes_at(done), step) };
            for piece in bytes.chunks_mut(self.page) {
                fill_piece(job.content, &mut rng, piece);
                // The kernel allocates a page only when it is written, even with zeros.
                // SAFETY: a byte of the piece; `write_volatile` forces the write.
                unsafe { piece.as_mut_ptr().write_volatile(piece[0]) };
            }
            done += step;
            filled(done as u64);
        }
    }

    /// Accesses pages during the ramp, then during the measured time.
    pub fn touch(&mut self, job: &PageJob) -> PageOutcome {
        let mut latency_ns = new_histogram();
        // Allocates its memory before the measurement.
        latency_ns.reset();
        let mut next = 0;
        self.access_for(job.ramp_ns, &mut next, |_| {});
        let before = Spent::now();
        let began_ns = clock::monotonic_ns();
        let ended_ns = self.access_for(job.time_ns, &mut next, |took_ns| {
            // Times above one hour count as one hour.
            latency_ns.saturating_record(took_ns.max(1));
        });
        let spent = Spent::now().since(&before);
        PageOutcome {
            window_ns: ended_ns.saturating_sub(began_ns),
            latency_ns,
            cpu_ns: spent.process_ns,
            waited_ns: spent.waited_ns,
        }
    }

    /// Accesses pages for a time, from draw `next` on; records each duration, and returns the end of the last access.
    fn access_for(&mut self, time_ns: u64, next: &mut usize, mut record: impl FnMut(u64)) -> u64 {
        let began_ns = clock::monotonic_ns();
        let mut last_ns = began_ns;
        while last_ns - began_ns < time_ns {
            let access = self.drawn[*next % DRAWN];
            *next = next.wrapping_add(1);
            self.access(access);
            let now_ns = clock::monotonic_ns();
            record(now_ns - last_ns);
            last_ns = now_ns;
        }
        last_ns
    }

    /// Reads a word of a page; a write access writes the same value back.
    #[inline]
    fn access(&mut self, access: u32) {
        let offset = (access & !WRITES) as usize * self.page;
        debug_assert!(offset < self.bytes);
        // SAFETY: the page is inside of the mapping, which is page-aligned and exclusively borrowed from `self`.
        unsafe {
            let word = self.start.as_ptr().add(offset / size_of::<u64>());
            let value = word.read_volatile();
            if access & WRITES != 0 {
                word.write_volatile(value);
            }
        }
    }
}

impl Drop for PageSet {
    fn drop(&mut self) {
        // SAFETY: unmaps the whole mapping of `new`; no slice outlives `self`. munmap fails only for an invalid range.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Draws the pages of accesses; [`WRITES`] is set if an access writes.
fn draw_accesses(job: &PageJob, pages: u32) -> Vec<u32> {
    let mut rng = generator(job.seed, 0, Purpose::Offsets);
    let mut mix = generator(job.seed, 0, Purpose::Mix);
    let law = (job.skew > 0.0).then(|| Ranks::new(job.skew, pages, &mut rng));
    let draw = |_| {
        let page = match &law {
            // A uniform number below 1, with the 53 bits of an `f64`.
            Some(law) => law.page(below(&mut rng, 1 << 53) as f64 / (1_u64 << 53) as f64),
            None => below(&mut rng, u64::from(pages)) as u32,
        };
        let writes = below(&mut mix, 100) < u64::from(job.written_percent);
        page | if writes { WRITES } else { 0 }
    };
    (0..DRAWN).map(draw).collect()
}

/// Zipf's law over pages with randomly placed ranks.
struct Ranks {
    /// Share of the accesses that go to the first ranks, each with those before it.
    sums: Vec<f64>,
    pages: Vec<u32>,
}

impl Ranks {
    /// Gives each page a random rank, with the cumulative shares of Zipf's law.
    fn new(exponent: f64, pages: u32, rng: &mut impl rand_core::Rng) -> Self {
        let mut sum = 0.0;
        let mut sums: Vec<f64> = Vec::with_capacity(pages as usize);
        for rank in 1..=pages {
            sum += f64::from(rank).powf(-exponent);
            sums.push(sum);
        }
        for part in &mut sums {
            *part /= sum;
        }
        let mut order: Vec<u32> = (0..pages).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, below(rng, last as u64 + 1) as usize);
        }
        Self { sums, pages: order }
    }

    /// The page that a uniform draw of 0 to 1 falls to.
    fn page(&self, draw: f64) -> u32 {
        let rank = self.sums.partition_point(|sum| *sum <= draw);
        self.pages[rank.min(self.pages.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn job() -> PageJob {
        PageJob {
            bytes: 4 << 20,
            content: Content::Random,
            skew: 0.0,
            written_percent: 30,
            ramp_ns: MS,
            time_ns: 20 * MS,
            seed: 7,
        }
    }

    #[test]
    fn every_access_of_the_window_is_timed() {
        let mut set = PageSet::new(&job()).unwrap();
        let mut told = Vec::new();
        set.fill(&job(), &mut |bytes| told.push(bytes));
        assert_eq!(told, [1 << 20, 2 << 20, 3 << 20, 4 << 20]);
        let done = set.touch(&job());
        assert!(done.window_ns >= 20 * MS && done.latency_ns.len() > 1000, "{}", done.window_ns);
        let sum = done.latency_ns.mean() * done.latency_ns.len() as f64;
        let share = sum / done.window_ns as f64;
        assert!((0.9..1.1).contains(&share), "accesses fill the window: {share}");
    }

    #[test]
    fn the_content_stays_as_it_was_filled() {
        let mut set = PageSet::new(&PageJob { content: "50%".parse().unwrap(), ..job() }).unwrap();
        let job = PageJob { content: "50%".parse().unwrap(), ..job() };
        set.fill(&job, &mut |_| {});
        let sample = |set: &PageSet| {
            // SAFETY: inside of the mapping, which was filled.
            unsafe { std::slice::from_raw_parts(set.bytes_at(0), 8192) }.to_vec()
        };
        let before = sample(&set);
        assert!(before[2048..4096].iter().all(|byte| *byte == 0));
        assert!(before[..2048].iter().any(|byte| *byte != 0));
        set.touch(&job);
        assert_eq!(sample(&set), before);
    }

    #[test]
    fn a_part_of_the_accesses_writes_and_all_lie_inside() {
        let drawn = draw_accesses(&job(), 1000);
        let writes = drawn.iter().filter(|access| **access & WRITES != 0).count();
        let share = writes as f64 / drawn.len() as f64;
        assert!((0.28..0.32).contains(&share), "{share}");
        assert!(drawn.iter().all(|access| access & !WRITES < 1000));
    }

    #[test]
    fn skew_gives_the_first_ranks_the_share_of_zipfs_law() {
        let counts = |skew: f64| {
            let mut counts = vec![0_u32; 1000];
            for access in draw_accesses(&PageJob { skew, ..job() }, 1000) {
                counts[(access & !WRITES) as usize] += 1;
            }
            counts.sort_unstable_by(|a, b| b.cmp(a));
            f64::from(counts[0]) / DRAWN as f64
        };
        // 1 / H(1000) = 1 / 7.4855.
        let first = counts(1.0);
        assert!((first - 0.1336).abs() < 0.005, "{first}");
        assert!(counts(0.0) < 0.002);
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        assert!(PageSet::new(&PageJob { bytes: 1, ..job() }).is_err());
        assert!(PageSet::new(&PageJob { bytes: u64::MAX, ..job() }).is_err());
    }

    #[test]
    fn a_draw_falls_to_the_rank_whose_share_it_is_in() {
        let mut rng = generator(3, 0, Purpose::Offsets);
        let law = Ranks::new(1.0, 3, &mut rng);
        // Shares of 1, 1/2 and 1/3: six, three and two elevenths.
        let rounded: Vec<f64> =
            law.sums.iter().map(|sum| (sum * 11.0 * 1e9).round() / 1e9).collect();
        assert_eq!(rounded, [6.0, 9.0, 11.0]);
        let mut sorted = law.pages.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2], "each page has one rank");
        for (draw, rank) in [(0.0, 0), (0.545, 0), (0.546, 1), (0.818, 1), (0.819, 2), (1.0, 2)] {
            assert_eq!(law.page(draw), law.pages[rank], "{draw}");
        }
    }

    #[test]
    fn ranks_lie_anywhere_and_where_is_the_seeds() {
        let pages = |seed| Ranks::new(0.9, 50, &mut generator(seed, 0, Purpose::Offsets)).pages;
        assert_eq!(pages(1), pages(1));
        assert_ne!(pages(1), pages(2));
        // Each place has each page some time, the first and the last one among them.
        for place in [0, 25, 49] {
            let seen: std::collections::BTreeSet<u32> =
                (0..600).map(|seed| pages(seed)[place]).collect();
            assert_eq!(seen.len(), 50, "{place}");
        }
    }

    #[test]
    fn a_set_has_whole_pages_and_accesses_go_on_where_they_were() {
        let page = page_size();
        let set = PageSet::new(&PageJob { bytes: 3 * page as u64 + 100, ..job() }).unwrap();
        assert_eq!((set.bytes, set.drawn.len()), (3 * page, DRAWN));
        let one = PageSet::new(&PageJob { bytes: page as u64, ..job() });
        let mut one = one.unwrap();
        one.fill(&job(), &mut |_| {});
        let (mut at, mut count) = (DRAWN - 1, 0);
        let began_ns = clock::monotonic_ns();
        let last_ns = one.access_for(2 * MS, &mut at, |_| count += 1);
        assert!(count > 1 && at == DRAWN - 1 + count, "{count} {at}");
        assert!(last_ns >= began_ns + 2 * MS);
        assert!(one.access_for(0, &mut at, |_| panic!("there is no time for one")) >= last_ns);
    }

    #[test]
    fn who_only_reads_writes_nothing_and_who_writes_always_does() {
        let share = |written_percent| {
            let all = draw_accesses(&PageJob { written_percent, ..job() }, 8);
            all.iter().filter(|access| **access & WRITES != 0).count()
        };
        assert_eq!((share(0), share(100)), (0, DRAWN));
    }
}
