//! Fill level of a filesystem: Assay's own file next to the test area allocates all but a given share.

use std::path::{Path, PathBuf};

use crate::system::journal::Undo;
use crate::system::{Act, FileKind, Space, System, mounts};
use assay_core::catalogue::About;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::Percent;

use super::{
    Base, ByHand, Commands, Gives, Layer, Levels, Made, PAGE_BYTES, Recipe, Wish, whole_mib,
};
use crate::factors::guard::Builder;
use crate::factors::permanent::ANY_DIRECTORY;
use crate::factors::{Choice, Factor};

pub(in crate::factors) const FILL: &str = "fill_level";
const NONE: &str = "none";
/// File systems that preallocate space and report their free space reliably.
const SUPPORTED: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat"];
/// Minimum free space on the root file system: a share, and a minimum in bytes.
const ROOT_SHARE: u64 = 20;
const ROOT_BYTES: u64 = 4 << 30;
/// Minimum free space on other file systems, for the writes of trials.
const OTHER_BYTES: u64 = 16 << 20;

pub(super) struct FillLayer;

/// Requested used share of a file system; `None` leaves it unchanged.
fn parse_share(level: &str) -> Result<Option<f64>, String> {
    if level == NONE {
        return Ok(None);
    }
    let wrong = || format!("`{level}` is not a share from 1% to 99%; example: 80%, or {NONE}");
    let share = level.parse::<Percent>().map_err(|_| wrong())?.fraction();
    if (0.01..=0.99).contains(&share) { Ok(Some(share)) } else { Err(wrong()) }
}

static LEVEL_FACTOR: Choice = Choice {
    about: About {
        name: FILL,
        summary: "used share of the filesystem",
        text: "A percentage such as `80%`, or `none` to leave the filesystem unchanged. Assay allocates a file that \
               fills the filesystem to this share, removes the file afterwards, and touches no other file. A level \
               must exceed the current usage. On the root filesystem, Assay refuses levels that leave less than 5% or \
               4 GiB free. Assay allocates the file without writing to it, so only the filesystem's block allocation \
               is affected, not the drive. Works with ext2 to ext4, xfs, btrfs, f2fs, vfat and exfat. Needs root.",
    },
    example: "[\"none\", \"50%\", \"80%\", \"95%\"]",
    judge: |level| parse_share(level).map(drop),
    same: |one, other| parse_share(one).is_ok() && parse_share(one) == parse_share(other),
    not_live: "the fill file takes space that running programs may need; compare it under a generated load, for example \
             with assay run fill-level",
    observe: |view| match view.system.space(&view.site.path) {
        Ok(space) if space.usable_bytes > 0 => {
            Presence::Present(Percent((used_share(space) * 100.0).round()).to_string())
        }
        Ok(_) => Presence::absent("this filesystem does not report its size"),
        Err(error) => Presence::absent(format!("cannot read the free space: {error}")),
    },
    ..Choice::PLAIN
};

fn used_share(space: Space) -> f64 {
    1.0 - space.available_bytes as f64 / space.usable_bytes.max(1) as f64
}

impl Layer for FillLayer {
    fn noun(&self) -> &'static str {
        "filler file"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        const { &[&LEVEL_FACTOR] }
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        let share = wish.level(FILL).and_then(|level| parse_share(level).ok())??;
        Some(Box::new(FillFile { share }))
    }

    fn choices(&self) -> Vec<String> {
        ["50%", "95%"].map(str::to_owned).to_vec()
    }

    fn ground(&self) -> Levels {
        Levels::from([("filesystem".to_owned(), "ext4".to_owned())])
    }

    fn needs_device(&self) -> bool {
        false
    }
}

/// A file of the size that fills its file system to this share.
struct FillFile {
    share: f64,
}

struct FillSpace {
    shown: String,
    space: Space,
    is_root: bool,
}

/// Reads the free space of a directory's file system; fails if Assay cannot fill it to a known share.
fn fill_space(system: &dyn System, directory: &Path) -> Result<FillSpace, String> {
    let shown = directory.display().to_string();
    let other = "use a directory on another drive";
    let cannot_fill = |what: &str| format!("cannot fill {shown}: {what}; {other}");
    let table = mounts::read(system).map_err(|_| cannot_fill("cannot detect its filesystem"))?;
    let device_at = |path: &Path| system.status(path).ok().map(|status| status.device);
    let (here, root) = (device_at(directory), device_at(Path::new("/")));
    let entry = mounts::find(&table, directory, here);
    let entry = entry.ok_or_else(|| cannot_fill("cannot detect its filesystem"))?;
    let filesystem = entry.mount.filesystem.as_str();
    if !SUPPORTED.contains(&filesystem) {
        return Err(cannot_fill(&format!("{filesystem} does not report its usage reliably")));
    }
    let root_source = mounts::find(&table, Path::new("/"), root).map(|entry| &entry.mount.source);
    // If the root file system is unknown, treat any as root.
    let is_root = here.is_none()
        || here == root
        || root_source.is_none_or(|source| *source == entry.mount.source);
    let space = system.space(directory).map_err(|error| cannot_fill(&error.to_string()))?;
    Ok(FillSpace { shown, space, is_root })
}

impl FillFile {
    /// Size of the file, in whole pages; an error if the level is below the current usage or leaves too little free.
    fn file_bytes(&self, place: &FillSpace) -> Result<u64, String> {
        let FillSpace { shown, space, is_root } = place;
        let left = (space.usable_bytes as f64 * (1.0 - self.share)) as u64;
        let level = Percent((self.share * 100.0).round());
        if space.available_bytes <= left {
            let now = Percent((used_share(*space) * 100.0).round());
            return Err(format!(
                "fill_level {level}: the filesystem of {shown} is already {now} full; use a higher level, or another \
                 directory"
            ));
        }
        let reserve_bytes =
            if *is_root { ROOT_BYTES.max(space.usable_bytes / ROOT_SHARE) } else { OTHER_BYTES };
        if left < reserve_bytes {
            let why = if *is_root { " on the root filesystem" } else { "" };
            return Err(format!(
                "fill_level {level} would leave {} of the filesystem of {shown} free, but {} must stay free{why}; use \
                 a lower level, or a directory on another drive",
                whole_mib(left),
                whole_mib(reserve_bytes)
            ));
        }
        Ok((space.available_bytes - left) / PAGE_BYTES * PAGE_BYTES)
    }
}

impl Recipe for FillFile {
    fn words(&self) -> String {
        format!("a file that leaves {} free", Percent(((1.0 - self.share) * 100.0).round()))
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn missing(&self, _: &dyn System, _: &[u64]) -> Option<String> {
        None
    }

    fn missing_beside(&self, system: &dyn System, directory: &Path) -> Option<String> {
        fill_space(system, directory).and_then(|place| self.file_bytes(&place)).err()
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let [Base::Directory(directory)] = below else {
            return Err(Failure::refused("fill_level needs a directory as the target"));
        };
        let system = builder.system();
        let directory_path = system
            .canonical(directory)
            .map_err(|error| Failure::refused(format!("{}: {error}", directory.display())))?;
        let place = fill_space(system, &directory_path).map_err(Failure::refused)?;
        let bytes = self.file_bytes(&place).map_err(Failure::refused)?;
        let path = directory_path.join(format!(".assay-{}", builder.name(FILL)));
        builder.act(Undo::File { path: path.clone() }, &Act::AllocateFile { path, bytes })?;
        Ok(Base::Directory(directory.clone()))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        for undo in &made.undo {
            let Undo::File { path } = undo else { continue };
            match system.status(path) {
                Ok(found) if found.kind == FileKind::File => {}
                Ok(_) => return Err(format!("{} is no longer a file", path.display())),
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Ok(())
    }

    /// The size depends on the free space, so there is no fixed command.
    fn commands(&self, below: &[PathBuf]) -> Commands {
        let out = below.first().cloned().unwrap_or_else(|| ANY_DIRECTORY.into());
        Commands { acts: Vec::new(), out }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let why = "assay fills filesystems only for measurements; keep this share free";
        ByHand { commands: self.commands(below), why, lasting: None }
    }
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn place(available: u64, total: u64, is_root: bool) -> FillSpace {
        let space = Space { available_bytes: available, usable_bytes: total, read_only: false };
        FillSpace { shown: "/data".to_owned(), space, is_root }
    }

    #[test]
    fn levels_are_shares_or_none() {
        for level in ["none", "1%", "50%", "95%", "99%"] {
            assert_eq!(LEVEL_FACTOR.judge(level), Ok(()), "{level}");
        }
        for level in ["0%", "100%", "full", "80", ""] {
            assert!(LEVEL_FACTOR.judge(level).unwrap_err().contains("example: 80%"), "{level}");
        }
        let none = Levels::from([(FILL.to_owned(), NONE.to_owned())]);
        assert!(FillLayer.recipe(&Wish::new(&none)).is_none());
    }

    #[test]
    fn a_file_takes_what_is_missing_to_the_level() {
        let half = FillFile { share: 0.5 };
        assert_eq!(half.file_bytes(&place(90 * GIB, 100 * GIB, false)), Ok(40 * GIB));
        assert_eq!(half.file_bytes(&place(100 * GIB, 100 * GIB, false)), Ok(50 * GIB));
        let told = half.file_bytes(&place(40 * GIB, 100 * GIB, false)).unwrap_err();
        assert!(told.contains("is already 60% full; use a higher level"), "{told}");
    }

    #[test]
    fn what_the_machine_runs_on_keeps_a_reserve() {
        let full = FillFile { share: 0.95 };
        // 5% of 100 GiB are a twentieth, and more than 4 GiB; of 40 GiB they are less.
        assert!(full.file_bytes(&place(90 * GIB, 100 * GIB + 20, true)).is_ok());
        let told = full.file_bytes(&place(30 * GIB, 40 * GIB, true)).unwrap_err();
        assert!(told.contains("4 GiB must stay free on the root filesystem"), "{told}");
        assert!(full.file_bytes(&place(30 * GIB, 40 * GIB, false)).is_ok(), "it is another one");
        let told = FillFile { share: 0.99 }.file_bytes(&place(GIB, GIB, false)).unwrap_err();
        assert!(told.contains("16 MiB must stay free; use a lower level"), "{told}");
    }

    #[test]
    fn a_file_system_that_is_in_doubt_is_not_filled() {
        let fake = Fake::new();
        fake.put("/home/x", "").put("/data/x", "").put("/nfs/x", "").put("/tmp/x", "");
        assert!(fill_space(&fake, Path::new("/home")).is_err(), "no table of mounts");
        fake.put(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
             28 27 0:25 / /tmp rw - tmpfs none rw\n\
             29 27 0:26 / /nfs rw - nfs4 server:/x rw\n\
             30 27 254:16 / /data rw - xfs /dev/vdb rw\n",
        );
        for (directory, kind) in [("/tmp", "tmpfs"), ("/nfs", "nfs4")] {
            let told = fill_space(&fake, Path::new(directory)).err().unwrap();
            assert!(told.starts_with(&format!("cannot fill {directory}: {kind}")), "{told}");
        }
        assert!(fill_space(&fake, Path::new("/home")).unwrap().is_root);
        // A plan contains the level before anything is created.
        let levels = Levels::from([(FILL.to_owned(), "80%".to_owned())]);
        let stack = super::super::Stack::new(&Wish::new(&levels)).unwrap();
        assert!(stack.missing_beside(&fake, Path::new("/tmp")).is_some());
        assert_eq!(stack.missing_beside(&fake, Path::new("/home")), None);
    }
}
