//! The shipped studies: TOML files under `studies/`, read like any other.

use assay_core::failure::Outcome;
use assay_workloads::check_option;

use super::printed::{FAMILIES, SpeedClass};
use super::{Study, text};

struct Preset {
    name: &'static str,
    group: &'static str,
    path: &'static str,
    text: &'static str,
}

/// Groups of studies, each named like its file.
macro_rules! presets {
    ($list:ident in $folder:literal: $($group:literal: [$($name:literal,)+])+) => {
        const $list: &[Preset] = &[$($(Preset {
            name: $name,
            group: $group,
            path: concat!($folder, $name, ".toml"),
            text: include_str!(concat!("../../", $folder, $name, ".toml")),
        },)+)+];
    };
}

presets! { PRESETS in "studies/":
    "Drive": [
        "check", "capacity", "sustained", "burst", "large-files", "surface", "flash", "queue-depth", "block-size",
        "load-curve", "max-rate", "pts-iops", "pts-throughput", "pts-latency", "pts-write-saturation",
    ]
    "Settings": ["schedulers", "read-ahead", "write-cache", "starvation", "tunable", "tune",]
    "Filesystems, layers": [
        "filesystems", "small-files", "usb-stick", "fill-level", "compression", "encryption", "btrfs-profile",
        "raid-chunk", "raid-resync",
    ]
    "Memory, CPU, network": ["small-memory", "stack-size", "compile", "platform", "bufferbloat",]
    "Operations": ["production", "durability", "energy", "boot",]
}

// Requirements on a place: published bounds.
presets! { FITNESS in "studies/fitness/":
    "Requirements": ["etcd", "postgresql", "video-4k", "nas-client",]
}

/// The study of a class of SD cards; a comment starts the part for application classes.
const SD_CLASS: &str = include_str!("../../studies/fitness/sd-class.toml");
const APPLICATION_CLASSES: &str = "\n# Only application classes";
/// A target to boot from needs class A1.
const BOOT_DRIVE: (&str, &str) = ("boot-drive", "A1");

/// The default study of `assay check`: the first.
pub fn check() -> Outcome<Study> {
    read(&PRESETS[0])
}

pub fn is_of_check(name: &str) -> bool {
    name == PRESETS[0].name || check_option::by_option().any(|(kind, _)| kind.about.name == name)
}

/// Returns whether a title is that of a shipped study, so the user did not choose it.
pub fn is_title(title: &str) -> bool {
    PRESETS.iter().any(|preset| preset.text.contains(&format!("\"{title}\"\n")))
}

pub fn find(name: &str) -> Option<Outcome<Study>> {
    if let Some(preset) = PRESETS.iter().chain(FITNESS).find(|preset| preset.name == name) {
        return Some(read(preset));
    }
    let (name, class) = named_classes().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(read_class(name, class))
}

pub fn group(name: &str) -> Option<&'static str> {
    PRESETS.iter().chain(FITNESS).find(|preset| preset.name == name).map(|preset| preset.group)
}

pub fn fitness() -> impl Iterator<Item = (&'static str, Outcome<Study>)> {
    let files = FITNESS.iter().map(|preset| (preset.name, read(preset)));
    files.chain(named_classes().map(|(name, class)| (name, read_class(name, class))))
}

/// Classes of SD cards by the names of their studies; `boot-drive` is another name of a class.
fn named_classes() -> impl Iterator<Item = (&'static str, &'static SpeedClass)> {
    let classes = || FAMILIES.iter().copied().flatten();
    let (name, class) = BOOT_DRIVE;
    let boot = classes().filter(move |known| known.name == class).map(move |known| (name, known));
    boot.chain(classes().map(|known| (known.name, known)))
}

/// Fills in the study of a class of SD cards.
fn read_class(name: &'static str, class: &'static SpeedClass) -> Outcome<Study> {
    let [reads, writes] = class.iops;
    // The limits of A2 assume a command queue.
    let depth = if class.name == "A2" { 32 } else { 1 };
    let without_iops = SD_CLASS.split(APPLICATION_CLASSES).next().unwrap_or_default();
    let template = if reads > 0.0 { SD_CLASS } else { without_iops };
    let purpose = if name == BOOT_DRIVE.0 { ", enough for a boot drive" } else { "" };
    let text = template
        .replace("{CLASS}", class.name)
        .replace("{NAME}", name)
        .replace("{PURPOSE}", purpose)
        .replace("{SOURCE}", class.source())
        .replace("{DEPTH}", &depth.to_string())
        .replace("{WRITE}", &class.write_mb_s.to_string())
        .replace("{READS}", &reads.to_string())
        .replace("{WRITES}", &writes.to_string());
    text::parse("studies/fitness/sd-class.toml", &text)
}

pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// All shipped studies except those about fitness, by name.
pub fn all() -> impl Iterator<Item = (&'static str, Outcome<Study>)> {
    PRESETS.iter().map(|preset| (preset.name, read(preset)))
}

fn read(preset: &Preset) -> Outcome<Study> {
    text::parse(preset.path, preset.text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_option_of_check_has_a_study_of_its_name_and_of_work_of_its_kind() {
        let mut asked = 0;
        for (kind, _) in super::check_option::by_option() {
            let name = kind.about.name;
            let study = super::find(name).unwrap().unwrap();
            assert!(study.workload.iter().all(|own| own.work.kind().about.name == name), "{name}");
            assert_eq!(study.kind(), "check");
            asked += 1;
        }
        assert!(asked > 0);
        let kind = |name: &str| super::find(name).unwrap().unwrap().kind();
        assert_eq!((kind("check"), kind("queue-depth")), ("check", "study"));
    }

    #[test]
    fn every_preset_reads_and_says_its_name() {
        for (name, study) in super::all() {
            assert_eq!(study.unwrap().preset.as_deref(), Some(name));
            assert!(super::find(name).is_some());
            assert!(super::group(name).is_some_and(|group| !group.is_empty()), "{name}");
        }
        assert!(super::find("no-such-preset").is_none());
    }

    /// Every bound has a publisher.
    #[test]
    #[ignore = "nightly: 1 s"]
    fn whether_a_place_is_good_enough_is_told_by_bounds_with_their_source() {
        let mut seen = 0;
        for (name, study) in super::fitness() {
            let study = study.unwrap();
            assert_eq!(
                (study.preset.as_deref(), study.requirements.as_deref()),
                (Some(name), Some(name))
            );
            assert!(super::PRESETS.iter().all(|own| own.name != name), "{name} is two studies");
            assert!(super::find(name).is_some() && !study.question.is_empty(), "{name}");
            for ask in &study.question {
                let published = ask.published.as_deref().unwrap_or_default();
                assert!(published.contains("https://"), "{name}: {}", ask.ask);
                assert_eq!(ask.kind, crate::file::AskKind::Bound);
                seen += 1;
            }
        }
        assert!(seen > 4, "{seen}");
    }

    #[test]
    fn questions_ask_about_levels_that_there_are() {
        let mut asked = 0;
        for (name, study) in super::all() {
            let study = study.unwrap();
            for ask in &study.question {
                asked += 1;
                // Factors without levels in the file get them on the command line.
                let levels =
                    |factor: &String| study.factors.get(factor).cloned().unwrap_or_default();
                let own = ask.factor.iter().flat_map(levels).collect::<Vec<_>>();
                let named = ask.level.iter().chain(&ask.versus).chain(&ask.between);
                assert!(named.clone().all(|level| own.contains(level)), "{name}: {}", ask.ask);
                assert!(ask.at.iter().all(|(factor, level)| levels(factor).contains(level)));
                // Questions without a published answer are allowed in these presets only.
                let own = study.articles.is_empty() || name == "compression";
                assert!(ask.published.is_some() || own, "{name}: {}", ask.ask);
            }
        }
        assert!(asked >= 20, "{asked}");
    }

    /// The article is about a whole disk, so its seconds are compared with the encrypted device only.
    #[test]
    fn encryption_asks_of_the_device_what_the_article_says_of_its_disk() {
        let study = super::find("encryption").unwrap().unwrap();
        let seconds = |ask: &&crate::file::Ask| {
            ask.published.as_deref().is_some_and(|text| text.contains("6.832 s"))
        };
        let asked: Vec<_> = study.question.iter().filter(seconds).collect();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(asked[0].level.as_deref(), Some("dm-crypt"));
        assert_eq!(asked[0].metric.as_deref(), Some("machine_cpu_s_per_gib"));
        // With the author's own digits.
        let table = include_str!("../../../../reference/encryption.csv");
        let text = study.question[0].published.as_deref().unwrap();
        for digits in ["244.16", "225.84"] {
            assert!(
                text.contains(digits) && table.contains(&format!(",{digits},")),
                "{digits}: {text}"
            );
        }
    }

    /// The claim is about data per memory, and memory packed outside of a limit counts too.
    #[test]
    fn small_memory_asks_for_what_a_byte_of_memory_holds() {
        let study = super::find("small-memory").unwrap().unwrap();
        let fits = study.question.iter().find(|ask| ask.ask.contains("more data fit")).unwrap();
        assert_eq!(fits.metric.as_deref(), Some("working_set_per_memory"));
    }

    /// The first lines name purpose, duration, requirements and lost data.
    #[test]
    fn a_preset_that_loses_data_says_so_first() {
        for super::Preset { name, text, .. } in super::PRESETS.iter().chain(super::FITNESS) {
            let head: String = text.lines().take_while(|line| line.starts_with('#')).collect();
            let minutes = head.contains("minute") || head.contains("budget");
            assert!(minutes, "{name} does not say how long it takes");
            let is_formatted = text.lines().any(|line| line.starts_with("filesystem"));
            if is_formatted && text.contains("[factors]") {
                assert!(head.contains("destroys all data on"), "{name}");
            }
        }
    }
}
