//! A system that reads for real and changes nothing.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::journal::Warrant;
use super::network::{LinkJob, LinkRun};
use super::{
    Act, AreaFile, BlockTracer, CachedPages, Caching, Consent, DeviceNumber, DirectAlignment,
    DirectoryPolicy, Executed, Execution, Extent, Hold, HoldError, KernelLog, Leftover, Locking,
    OwnFile, ProgramOutput, Space, Status, System, TraceMeans, User, Watchdog, WorkDirectory,
};

/// Reads pass through; changes do nothing.
///
/// Area files and devices opened for writing are files in memory, so that what follows can go on.
pub struct DryRun<'a>(pub &'a dyn System);

macro_rules! pass_on {
    ($inner:tt; $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($argument: $kind),*) -> $result {
            self.$inner.$name($($argument),*)
        }
    )*};
}
pub(super) use pass_on;

macro_rules! do_nothing {
    ($($name:ident($($kind:ty),*);)*) => {$(
        fn $name(&self, $(_: $kind),*) -> io::Result<()> {
            Ok(())
        }
    )*};
}

struct Nobody;

impl Watchdog for Nobody {}

impl System for DryRun<'_> {
    pass_on! {
        0;
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
        trace_block(devices: &[DeviceNumber], means: TraceMeans) -> io::Result<Box<dyn BlockTracer>>;
    }

    do_nothing! {
        act(Warrant, &Act);
        create_directory(&Path);
        create_own_directory(&Path);
        remove_directory(&Path);
        write_whole(&Path, &[u8]);
        make_tree(&Path, &[(String, String)]);
        append(&Path, &[u8]);
        append_own(&OwnFile, &[u8]);
        forget_cache();
        remove_area(&AreaFile);
        remove_work_directory(&WorkDirectory);
        remove_leftover(&Leftover);
        sync_data(&File);
        set_caching(&File, Caching);
        drop_cached(&File, Range<u64>);
    }

    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
        if matches!(locking, Locking::Look | Locking::Glance | Locking::Secret) {
            return self.0.lock_file(path, locking);
        }
        Ok(OwnFile { path: path.to_owned(), file: None })
    }

    fn load_link(&self, _: &LinkJob<'_>) -> io::Result<LinkRun> {
        Err(io::Error::other("a dry run does not load the link"))
    }

    fn execute(&self, _: &Execution<'_>) -> io::Result<Executed> {
        Err(io::Error::other("a dry run does not start programs"))
    }

    fn create_area(&self, _: &Path, _: Caching) -> io::Result<AreaFile> {
        let file = assay_sys::memory_file(0)?;
        Ok(AreaFile { file, name: None, note: None, first_byte: 0 })
    }

    fn create_work_directory(&self, _: &Path) -> io::Result<WorkDirectory> {
        Err(io::Error::other("a dry run does not create files"))
    }

    fn open_device_for_writing(&self, consent: &Consent, _: Caching) -> io::Result<File> {
        let device = self.0.open_for_reading(&consent.device, Caching::Buffered)?;
        assay_sys::memory_file(self.0.length(&device)?)
    }

    fn start_watchdog(&self, _: &str) -> io::Result<Box<dyn Watchdog>> {
        Ok(Box::new(Nobody))
    }

    fn hold(&self, _: &str) -> Result<Hold, HoldError> {
        Ok(Hold::new(None, None))
    }

    fn sleep(&self, _: Duration) {}
}
