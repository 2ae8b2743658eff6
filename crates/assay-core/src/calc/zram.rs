//! Swap in compressed memory: the memory cost of a size, the gain of a share of memory.
//!
//! The kernel's documentation (admin-guide/blockdev/zram) expects a ratio of 2, advises at most twice the memory, and
//! puts the overhead at about 0.1% of the size.

use serde::Serialize;

use crate::failure::{Failure, Outcome};

/// Memory of an empty device, as a share of its size.
const OVERHEAD: f64 = 0.001;
const PAGE: u64 = 4096;
/// zram-generator's default: half of memory, at most 4 GiB.
const GENERATOR_MOST: u64 = 4 << 30;

#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub memory_bytes: u64,
    /// Bytes stored per byte that they take.
    pub ratio: f64,
    /// Size, or the share of memory that a full device may take.
    pub wanted: ZramSize,
    pub algorithm: String,
    pub device: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ZramSize {
    Size(u64),
    /// The size that takes this share of memory (0 to 1) when full.
    Share(f64),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Zram {
    pub memory_bytes: u64,
    /// Bytes stored per byte that they take; assumed, not measured.
    pub ratio: f64,
    pub size_bytes: u64,
    /// Memory of the full device, bytes.
    pub cost_bytes: u64,
    /// The same as a share of memory, in percent.
    pub cost_percent: f64,
    /// Memory gained: size minus cost; negative for a loss.
    pub gain_bytes: i64,
    /// Size that zram-generator takes by default.
    pub generator_default_bytes: u64,
    pub examples: Vec<Example>,
    pub warnings: Vec<String>,
    pub generator_file: String,
    /// Commands that make the device until the next start.
    pub commands: Vec<String>,
}

/// The same size filled with data of a measured ratio.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    pub content: &'static str,
    /// Algorithm; `None` if it does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<&'static str>,
    /// Measured ratio; `None` for zeros, which take no space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    pub cost_bytes: u64,
}

/// Source of the ratios in [`Example`].
pub const MEASURED: &str = "measured on Linux 6.18 with 64 MiB each, bytes stored / bytes used; results depend on the data";

const RATIOS: [(&str, Option<&str>, Option<f64>); 6] = [
    ("zeros", None, None),
    ("text", Some("lzo-rle"), Some(1.86)),
    ("text", Some("lz4"), Some(1.80)),
    ("executables", Some("lzo-rle"), Some(2.03)),
    ("executables", Some("lz4"), Some(1.93)),
    ("random bytes", None, Some(1.0)),
];

pub fn compute(question: &Question) -> Outcome<Zram> {
    let Question { memory_bytes, ratio, wanted, .. } = *question;
    let wrong = |what: &str| Err(Failure::mistake(what));
    if memory_bytes < PAGE {
        return wrong("--memory is less than a page; use a value such as 512 MiB");
    }
    if ratio < 1.0 {
        return wrong("--ratio is below 1; use 1: zram stores incompressible data unchanged");
    }
    let exact_bytes = match wanted {
        ZramSize::Size(bytes) => bytes,
        ZramSize::Share(share) if share > 0.0 && share <= 1.0 => {
            (share * memory_bytes as f64 / (1.0 / ratio + OVERHEAD)) as u64
        }
        ZramSize::Share(_) => return wrong("--share: use 1% to 100% of memory"),
    };
    let size_bytes = exact_bytes / PAGE * PAGE;
    if size_bytes == 0 {
        return wrong("the device would be smaller than a page; use a larger --size or --share");
    }
    let cost_bytes = cost(size_bytes, Some(ratio));
    let (generator_file, commands) = file_and_commands(question, size_bytes);
    Ok(Zram {
        memory_bytes,
        ratio,
        size_bytes,
        cost_bytes,
        cost_percent: 100.0 * cost_bytes as f64 / memory_bytes as f64,
        gain_bytes: (i128::from(size_bytes) - i128::from(cost_bytes)) as i64,
        generator_default_bytes: (memory_bytes / 2).min(GENERATOR_MOST),
        examples: examples(size_bytes),
        warnings: warnings(memory_bytes, size_bytes, cost_bytes),
        generator_file,
        commands,
    })
}

/// Memory of the full device; `ratio` is `None` for zeros, which take no space.
fn cost(size_bytes: u64, ratio: Option<f64>) -> u64 {
    let stored = ratio.map_or(0.0, |ratio| size_bytes as f64 / ratio);
    (stored + OVERHEAD * size_bytes as f64).round() as u64
}

fn examples(size_bytes: u64) -> Vec<Example> {
    let example = |(content, algorithm, ratio)| {
        let cost_bytes = cost(size_bytes, ratio);
        Example { content, algorithm, ratio, cost_bytes }
    };
    RATIOS.into_iter().map(example).collect()
}

fn warnings(memory: u64, size: u64, cost: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if size > memory.saturating_mul(2) {
        warnings.push(
            "The size is more than twice the memory. The kernel documentation advises against such \
             a size at the expected ratio of 2."
                .to_owned(),
        );
    }
    if cost >= memory {
        warnings.push("A full device would use all memory; make it smaller.".to_owned());
    }
    if cost >= size {
        warnings.push("At this ratio, the device uses more memory than it stores.".to_owned());
    }
    warnings
}

/// The configuration of systemd's zram-generator, and commands to the same effect.
fn file_and_commands(question: &Question, size: u64) -> (String, Vec<String>) {
    let Question { algorithm, device, .. } = question;
    let mib = (size >> 20).max(1);
    let file = format!(
        "[zram{device}]\nzram-size = {mib}\ncompression-algorithm = {algorithm}\nswap-priority = 100\n"
    );
    let commands = vec![
        format!("modprobe zram num_devices={}", device + 1),
        format!("echo {algorithm} > /sys/block/zram{device}/comp_algorithm"),
        format!("echo {size} > /sys/block/zram{device}/disksize"),
        format!("mkswap /dev/zram{device}"),
        format!("swapon -p 100 /dev/zram{device}"),
    ];
    (file, commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(wanted: ZramSize) -> Question {
        let algorithm = "lz4".to_owned();
        Question { memory_bytes: 512 << 20, ratio: 2.0, wanted, algorithm, device: 0 }
    }

    #[test]
    fn a_size_costs_its_share_and_a_thousandth() {
        let answer = compute(&question(ZramSize::Size(256 << 20))).unwrap();
        assert_eq!(answer.cost_bytes, (128 << 20) + 268_435);
        assert_eq!(answer.gain_bytes, (128 << 20) - 268_435);
        assert_eq!(answer.generator_default_bytes, 256 << 20);
        assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
        assert!(answer.commands.contains(&"echo 268435456 > /sys/block/zram0/disksize".to_owned()));
        assert!(answer.generator_file.contains("zram-size = 256\n"));
        let random = answer.examples.iter().find(|one| one.content == "random bytes").unwrap();
        assert_eq!(random.cost_bytes, (256 << 20) + 268_435);
    }

    #[test]
    fn a_share_of_memory_is_what_a_full_device_takes() {
        let answer = compute(&question(ZramSize::Share(0.5))).unwrap();
        assert!((answer.cost_percent - 50.0).abs() < 0.001, "{}", answer.cost_percent);
        assert!(answer.size_bytes.is_multiple_of(PAGE));
    }

    #[test]
    fn too_much_is_said_so() {
        let told = |wanted| compute(&question(wanted)).unwrap().warnings.join(" ");
        assert!(told(ZramSize::Size(1025 << 20)).contains("twice"));
        assert!(!told(ZramSize::Size(1000 << 20)).contains("twice"));
        assert!(told(ZramSize::Size(2 << 30)).contains("all memory"));
        let random = Question { ratio: 1.0, ..question(ZramSize::Size(1 << 20)) };
        assert!(
            compute(&random).unwrap().warnings.join(" ").contains("more memory than it stores")
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |question: Question| compute(&question).unwrap_err().message;
        assert!(refused(question(ZramSize::Size(1))).contains("--size"));
        assert!(refused(question(ZramSize::Share(0.0))).contains("--share"));
        assert!(refused(question(ZramSize::Share(1.1))).contains("--share"));
        let bad = Question { ratio: 0.5, ..question(ZramSize::Share(0.5)) };
        assert!(refused(bad).contains("--ratio"));
        let bad = Question { memory_bytes: 0, ..question(ZramSize::Share(0.5)) };
        assert!(refused(bad).contains("--memory"));
    }
}
