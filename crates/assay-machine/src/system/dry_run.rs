//! A system that reads for real and only says what it would write.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::journal::Warrant;
use super::mains::Mains;
use super::network::{LinkJob, LinkRun};
use super::powered::{Starts, Wanted};
use super::{
    Act, AreaFile, BlockTracer, CachedPages, Caching, Consent, DeviceNumber, DirectAlignment,
    DirectoryPolicy, Executed, Execution, Extent, Hold, HoldError, KernelLog, Leftover, Locking,
    OwnFile, ProgramOutput, Space, Status, System, TraceMeans, User, Watchdog, WorkDirectory,
};

/// Reads pass through; whatever changes something is only noted.
///
/// Area files and devices opened for writing are files in memory, so that what follows can go on.
pub struct DryRun<'a> {
    inner: &'a dyn System,
    would: Mutex<Vec<String>>,
}

impl<'a> DryRun<'a> {
    pub fn new(inner: &'a dyn System) -> Self {
        Self { inner, would: Mutex::new(Vec::new()) }
    }

    /// What would have been done, in order, one sentence each.
    pub fn would(&self) -> Vec<String> {
        self.would.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, sentence: String) {
        self.would.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }
}

macro_rules! pass_on {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $kind),*) -> $result {
            self.inner.$name($($argument),*)
        }
    )*};
}

macro_rules! only_note {
    ($($name:ident($($argument:ident),*), $sentence:literal;)*) => {$(
        fn $name(&self, $($argument: &Path),*) -> io::Result<()> {
            self.note(format!($sentence, $($argument.display()),*));
            Ok(())
        }
    )*};
}

/// Nobody watches: nothing is changed.
struct Nobody;

impl Watchdog for Nobody {}

impl System for DryRun<'_> {
    pass_on! {
        read_text(path: &Path) -> io::Result<String>;
        read_bytes(path: &Path) -> io::Result<Vec<u8>>;
        reopen(file: &File, caching: Caching) -> io::Result<File>;
        list(directory: &Path) -> io::Result<Vec<String>>;
        read_link(path: &Path) -> io::Result<PathBuf>;
        canonical(path: &Path) -> io::Result<PathBuf>;
        status(path: &Path) -> io::Result<Status>;
        space(path: &Path) -> io::Result<Space>;
        variable(name: &str) -> Option<String>;
        user() -> User;
        page_bytes() -> u64;
        hypervisor_signatures() -> Vec<String>;
        now() -> String;
        monotonic_ns() -> u64;
        wall_ns() -> u64;
        follow_kernel_log() -> io::Result<KernelLog>;
        new_in_kernel_log(log: &mut KernelLog) -> io::Result<Vec<String>>;
        output_of(program: &str, arguments: &[&str]) -> io::Result<String>;
        told_of(program: &str, arguments: &[&str], input: &File) -> io::Result<ProgramOutput>;
        answer_of(program: &str, arguments: &[&str], most_bytes: u64) -> io::Result<ProgramOutput>;
        nvme_health_log(device: &Path) -> io::Result<Vec<u8>>;
        leftovers(directory: &Path) -> io::Result<Vec<Leftover>>;
        open_for_reading(path: &Path, caching: Caching) -> io::Result<File>;
        length(file: &File) -> io::Result<u64>;
        direct_alignment(file: &File) -> io::Result<Option<DirectAlignment>>;
        read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize>;
        extents(file: &File, range: Range<u64>) -> io::Result<Vec<Extent>>;
        cached_pages(file: &File, range: Range<u64>) -> io::Result<CachedPages>;
        resident_pages(file: &File, range: Range<u64>) -> io::Result<CachedPages>;
        program(name: &str) -> Option<PathBuf>;
        free_loop() -> io::Result<PathBuf>;
        encryption_of(directory: &Path) -> io::Result<Option<DirectoryPolicy>>;
        read_own(file: &OwnFile) -> io::Result<String>;
        random() -> io::Result<[u8; 32]>;
    }

    fn act(&self, _: Warrant, act: &Act) -> io::Result<()> {
        self.note(act.to_string());
        Ok(())
    }

    only_note! {
        create_directory(path), "create the directory {}";
        create_own_directory(path), "create the directory {}";
        remove_directory(path), "remove the directory {} and its contents";
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.note(format!("write {} bytes to {}", bytes.len(), path.display()));
        Ok(())
    }

    fn write_stream(&self, path: &Path, from: &mut dyn io::Read) -> io::Result<u64> {
        let bytes = io::copy(from, &mut io::sink())?;
        self.note(format!("write {bytes} bytes to {}", path.display()));
        Ok(bytes)
    }

    fn place_directory(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.note(format!("rename {} to {}", from.display(), to.display()));
        Ok(())
    }

    fn make_tree(&self, directory: &Path, files: &[(String, String)]) -> io::Result<()> {
        self.note(format!("create {} with {} files", directory.display(), files.len()));
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.note(format!("append {} bytes to {}", bytes.len(), path.display()));
        Ok(())
    }

    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
        if matches!(locking, Locking::Look | Locking::Glance | Locking::Secret) {
            return self.inner.lock_file(path, locking);
        }
        self.note(format!("lock {}", path.display()));
        Ok(OwnFile { path: path.to_owned(), file: None })
    }

    fn load_link(&self, job: &LinkJob<'_>) -> io::Result<LinkRun> {
        self.note(format!("load the link with {} streams", job.streams));
        Err(io::Error::other("a dry run does not load the link"))
    }

    fn machines(&self, _: &Wanted) -> Result<Box<dyn Starts>, String> {
        self.note("start virtual machines".to_owned());
        Err("a dry run does not start virtual machines".to_owned())
    }

    fn mains(&self) -> io::Result<&dyn Mains> {
        self.note("write until the power cut".to_owned());
        Err(io::Error::other("a dry run does not cut the power"))
    }

    fn execute(&self, execution: &Execution<'_>) -> io::Result<Executed> {
        self.note(format!("run {}", execution.words.join(" ")));
        Err(io::Error::other("a dry run does not start programs"))
    }

    fn forget_cache(&self) -> io::Result<()> {
        self.note("drop the page cache".to_owned());
        Ok(())
    }

    fn append_own(&self, file: &OwnFile, bytes: &[u8]) -> io::Result<()> {
        self.append(&file.path, bytes)
    }

    fn create_area(&self, directory: &Path, _: Caching) -> io::Result<AreaFile> {
        self.note(format!("create an area file in {}", directory.display()));
        let file = assay_sys::memory_file(0)?;
        Ok(AreaFile { file, name: None, note: None, first_byte: 0 })
    }

    fn remove_area(&self, _: &AreaFile) -> io::Result<()> {
        Ok(())
    }

    fn create_work_directory(&self, directory: &Path) -> io::Result<WorkDirectory> {
        self.note(format!("create a working directory in {}", directory.display()));
        Err(io::Error::other("a dry run does not create files"))
    }

    fn remove_work_directory(&self, _: &WorkDirectory) -> io::Result<()> {
        Ok(())
    }

    fn remove_leftover(&self, leftover: &Leftover) -> io::Result<()> {
        self.note(format!("remove the leftover {}", leftover.path.display()));
        Ok(())
    }

    fn open_device_for_writing(&self, consent: &Consent, _: Caching) -> io::Result<File> {
        self.note(format!("overwrite the device {}", consent.device.display()));
        let device = self.inner.open_for_reading(&consent.device, Caching::Buffered)?;
        assay_sys::memory_file(self.inner.length(&device)?)
    }

    fn sync_data(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn set_caching(&self, _: &File, _: Caching) -> io::Result<()> {
        Ok(())
    }

    fn drop_cached(&self, _: &File, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }

    fn trace_block(
        &self,
        devices: &[DeviceNumber],
        means: TraceMeans,
    ) -> io::Result<Box<dyn BlockTracer>> {
        let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
        self.note(format!("count the requests of {}", names.join(", ")));
        self.inner.trace_block(devices, means)
    }

    fn start_watchdog(&self, id: &str) -> io::Result<Box<dyn Watchdog>> {
        self.note(format!("start the watchdog of {id}"));
        Ok(Box::new(Nobody))
    }

    fn hold(&self, name: &str) -> Result<Hold, HoldError> {
        self.note(format!("take the lock {name}"));
        Ok(Hold::new(None, None))
    }

    fn sleep(&self, _: Duration) {}
}
