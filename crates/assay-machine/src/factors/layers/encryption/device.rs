//! dm-crypt: a LUKS2 volume below RAID and file system, made and opened by cryptsetup.

use std::path::{Path, PathBuf};

use crate::system::journal::{Mark, Undo};
use crate::system::{Act, Key, System, devices, signatures};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;

use super::{
    CIPHER_FACTOR, CONVERSION, CONVERSION_FACTOR, DEFAULTS, DM_CRYPT, ENCRYPTION_FACTOR, FLAGS,
    QUEUES_FACTOR, SECTOR_FACTOR, flags, kernel_lacks, sector, split_cipher,
};
use crate::factors::Factor;
use crate::factors::guard::Builder;
use crate::factors::layers::{
    Base, ByHand, Commands, Device, Layer, Made, Recipe, Wish, missing_program,
};

const PROGRAM: &str = "cryptsetup";
const MODULE: &str = "dm-crypt";
const HEADER_BYTES: u64 = 16 << 20;
/// Bytes that in-place encryption takes from a device: existing data must leave room for the header.
const SHIFT_BYTES: u64 = 2 * HEADER_BYTES;
/// The smallest device on which there is room for anything.
const SMALLEST: Bytes = Bytes(32 << 20);
/// Stands for the name under which the volume is opened.
const NAME: &str = "NAME";
const LABEL: &str = "LABEL";

pub(in crate::factors) struct EncryptedDevices;

struct EncryptedVolume {
    /// Cipher and key size in bits; `None` if cryptsetup chooses.
    cipher: Option<(String, String)>,
    sector: Option<Bytes>,
    flags: Vec<&'static str>,
    /// Whether existing data on the device is encrypted in place.
    in_place: bool,
}

struct MisplacedOption(&'static str);

impl Layer for EncryptedDevices {
    fn noun(&self) -> &'static str {
        "encrypted device"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const {
            &[
                &ENCRYPTION_FACTOR,
                &CIPHER_FACTOR,
                &SECTOR_FACTOR,
                &QUEUES_FACTOR,
                &CONVERSION_FACTOR,
            ]
        }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        if wish.asked(&ENCRYPTION_FACTOR)? != DM_CRYPT {
            let options: [&dyn Factor; 3] = [&CIPHER_FACTOR, &SECTOR_FACTOR, &QUEUES_FACTOR];
            let misplaced = options.into_iter().find(|factor| wish.asked(*factor).is_some())?;
            return Some(Box::new(MisplacedOption(misplaced.about().name)));
        }
        let cipher = wish.asked(&CIPHER_FACTOR).map(|level| {
            let (cipher, bits) = split_cipher(level);
            // XTS splits its key into two.
            let usual = if cipher.contains("-xts") { "512" } else { "256" };
            (cipher.to_owned(), bits.unwrap_or(usual).to_owned())
        });
        Some(Box::new(EncryptedVolume {
            cipher,
            sector: wish.asked(&SECTOR_FACTOR).and_then(sector),
            flags: wish.asked(&QUEUES_FACTOR).and_then(flags).unwrap_or_default(),
            in_place: wish.asked(&CONVERSION_FACTOR) == Some(CONVERSION.1),
        }))
    }

    fn choices(&self) -> Vec<String> {
        vec![DM_CRYPT.to_owned()]
    }

    fn least(&self, bytes: u64) -> u64 {
        bytes.saturating_add(HEADER_BYTES)
    }

    fn ample(&self, bytes: u64) -> u64 {
        bytes.saturating_add(SHIFT_BYTES)
    }
}

impl EncryptedVolume {
    /// The cryptsetup command that creates the volume: empty, or in place from existing data, which shrinks.
    fn creation_words(&self) -> Vec<String> {
        let shift = format!("{}M", SHIFT_BYTES >> 20);
        let words: &[&str] = if self.in_place {
            &["reencrypt", "--encrypt", "--reduce-device-size", &shift]
        } else {
            &["luksFormat"]
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The cryptsetup options of cipher and sector size; those that the study does not request are left out.
    fn options(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some((cipher, bits)) = &self.cipher {
            words.extend(["--cipher", cipher, "--key-size", bits].map(str::to_owned));
        }
        if let Some(sector) = self.sector {
            words.extend(["--sector-size".to_owned(), sector.0.to_string()]);
        }
        words
    }

    fn flag_words(&self) -> impl Iterator<Item = String> {
        self.flags.iter().map(|flag| format!("--perf-{flag}"))
    }

    /// Command that formats the volume. The key is random, so it needs no slow key derivation.
    fn format(&self, label: &str, device: &Path, key: Key) -> Act {
        let mut words = self.creation_words();
        words.extend(["--batch-mode", "--type", "luks2", "--label", label].map(str::to_owned));
        words.extend(["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"].map(str::to_owned));
        words.extend(self.options());
        with_key(words, &[device.display().to_string()], key)
    }

    fn open(&self, name: &str, device: &Path, key: Key) -> Act {
        let mut words = ["open", "--type", "luks2"].map(str::to_owned).to_vec();
        words.extend(self.flag_words());
        with_key(words, &[device.display().to_string(), name.to_owned()], key)
    }

    /// Checks in the kernel's table that a volume matches the request; the error describes the volume.
    fn check_volume(&self, system: &dyn System, name: &str) -> Result<(), String> {
        let text = system
            .output_of(PROGRAM, &["status", name])
            .map_err(|error| format!("cannot get the status from {PROGRAM}: {error}"))?;
        let field = |wanted: &str| {
            let mut fields = text.lines().filter_map(|line| line.trim().split_once(':'));
            fields.find(|(field, _)| *field == wanted).map_or("", |(_, value)| value.trim())
        };
        let cipher = field("cipher");
        if cipher.is_empty() {
            return Err(format!("device-mapper shows no encrypted device {name}"));
        }
        if let Some((asked, _)) = &self.cipher
            && asked != cipher
        {
            return Err(format!("{asked} requested, the kernel uses {cipher}"));
        }
        let used = field("sector size").split_whitespace().next().unwrap_or_default();
        if let Some(asked) = self.sector
            && asked.0.to_string() != used
        {
            return Err(format!("sectors of {asked} requested, the kernel uses {used} bytes"));
        }
        let flags: Vec<&str> = field("flags").split_whitespace().collect();
        for flag in FLAGS {
            if self.flags.contains(&flag) != flags.contains(&flag) {
                let asked = if self.flags.contains(&flag) { "with" } else { "without" };
                return Err(format!("{asked} {flag} requested, but not set in the kernel"));
            }
        }
        Ok(())
    }
}

/// A cryptsetup command with its key on standard input, and the device last.
fn with_key(mut arguments: Vec<String>, about: &[String], key: Key) -> Act {
    arguments.extend(["--key-file", "-"].map(str::to_owned));
    arguments.extend_from_slice(about);
    Act::RunWithKey { program: PROGRAM.to_owned(), arguments, key }
}

impl Recipe for EncryptedVolume {
    fn words(&self) -> String {
        match &self.cipher {
            Some((cipher, _)) => format!("{DM_CRYPT} ({cipher})"),
            None => DM_CRYPT.to_owned(),
        }
    }

    fn missing(&self, system: &dyn System, below: &[u64]) -> Option<String> {
        if kernel_lacks(system, MODULE) {
            return Some(format!(
                "this kernel has no {MODULE} (LUKS2); `cryptsetup benchmark` tests only the ciphers"
            ));
        }
        let program = missing_program(system, PROGRAM, "cryptsetup-bin");
        if let Some(missing) = program.or_else(|| signatures::missing(system)) {
            return Some(missing);
        }
        let bytes: u64 = below.iter().sum();
        if bytes >= SMALLEST.0 {
            return None;
        }
        Some(format!("an encrypted device needs {SMALLEST}, only {} available", Bytes(bytes)))
    }

    fn room(&self, below: &[u64]) -> u64 {
        let head = if self.in_place { SHIFT_BYTES } else { HEADER_BYTES };
        below.iter().sum::<u64>().saturating_sub(head)
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let [Base::Device(device)] = below else {
            return Err(Failure::refused("dm-crypt needs one block device"));
        };
        let system = builder.system();
        let file = builder.file_of(device)?;
        let (label, name, key) = (builder.label(), builder.name("crypt"), builder.key()?);
        let disk = Mark::now(system, &device.extent.device);
        let start = device.extent.range.start;
        let formatted = Undo::FileSystem { disk, start, label: label.clone() };
        // In-place encryption preserves existing data.
        if !self.in_place {
            builder.discard(device, &file, formatted.clone())?;
        }
        builder.act_on(device, formatted, &self.format(&label, &file, key.clone()))?;
        let opened = Undo::Mapping { name: name.clone() };
        builder.act_on(device, opened.clone(), &self.open(&name, &file, key))?;
        let cannot = |why: &str| Failure::refused(format!("cannot open {name}: {why}"));
        let shown = devices::mapping(system, &name).map_err(|error| cannot(&error.to_string()))?;
        let shown = shown.ok_or_else(|| cannot(&format!("{PROGRAM} created no device")))?;
        let made = builder.made_device(&devices::file_of(&shown), &opened, &[device])?;
        self.check_volume(system, &name).map_err(Failure::refused)?;
        // The device below was already discarded.
        Ok(Base::Device(Device { discard: false, ..made }))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        made.undo.iter().try_for_each(|undo| match undo {
            Undo::Mapping { name } => self.check_volume(system, name),
            _ => Ok(()),
        })
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        let device = below.first().cloned().unwrap_or_default();
        let out = PathBuf::from(format!("/dev/mapper/{NAME}"));
        let acts = vec![
            self.format(LABEL, &device, Key::placeholder()),
            self.open(NAME, &device, Key::placeholder()),
        ];
        Commands { acts, out }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let device = below.first().cloned().unwrap_or_default().display().to_string();
        let mut format_words = self.creation_words();
        format_words.extend(["--type", "luks2"].map(str::to_owned));
        format_words.extend(self.options());
        format_words.push(device.clone());
        let mut open_words = vec!["open".to_owned()];
        open_words.extend(self.flag_words());
        open_words.extend([device.clone(), NAME.to_owned()]);
        let run = |arguments| Act::Run { program: PROGRAM.to_owned(), arguments };
        let mut options = "luks".to_owned();
        for flag in &self.flags {
            options = format!("{options},{}", flag.replace('_', "-"));
        }
        let crypttab_line = format!("{NAME} {device} none {options}");
        let out = PathBuf::from(format!("/dev/mapper/{NAME}"));
        ByHand {
            commands: Commands { acts: vec![run(format_words), run(open_words)], out },
            why: "assay encrypts devices only for measurements and discards their keys",
            lasting: Some((crypttab_line, "a line for /etc/crypttab, which assay does not edit")),
        }
    }
}

impl MisplacedOption {
    fn fault(&self) -> String {
        format!("{} requires {DM_CRYPT}; otherwise use {DEFAULTS}", self.0)
    }
}

impl Recipe for MisplacedOption {
    fn words(&self) -> String {
        self.0.to_owned()
    }

    fn missing(&self, _: &dyn System, _: &[u64]) -> Option<String> {
        Some(self.fault())
    }

    fn make(&self, _: &mut Builder<'_, '_>, _: &[Base]) -> Outcome<Base> {
        Err(Failure::refused(self.fault()))
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        Commands { acts: Vec::new(), out: below.first().cloned().unwrap_or_default() }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        ByHand { commands: self.commands(below), why: "nothing to create", lasting: None }
    }
}
