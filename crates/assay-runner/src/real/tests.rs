mod execute;
mod loops;
mod mains;
mod settings;
mod signatures;
mod workplace;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use assay_testkit::needs::{Need, have, skip};

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("assay-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        Real.list(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Another open file description of the same file: for `flock`, it is like another process.
fn held_elsewhere(path: &Path) -> File {
    let file = File::open(path).unwrap();
    fs::flock(&file, fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

/// Unlocks a file. A child of another test may have inherited its descriptor, and with it the lock.
fn unlock(file: &File) {
    fs::flock(file, fs::FlockOperation::Unlock).unwrap();
}

fn named(directory: &Path, caching: Caching) -> io::Result<AreaFile> {
    area::create_named(&Real, directory, caching)
}

const LEFT: &str = ".assay-area-0123456789abcdef";

#[test]
fn an_unnamed_area_leaves_nothing() {
    let scratch = Scratch::new();
    let area = Real.create_area(&scratch.0, Caching::Buffered).unwrap();
    area.file.write_all_at(b"x", area.first_byte).unwrap();
    if area.name.is_none() {
        assert_eq!((area.first_byte, scratch.names().len()), (0, 0));
    }
    // Another open handle must not occupy space.
    let held = area.file.try_clone().unwrap();
    Real.remove_area(&area).unwrap();
    assert_eq!(held.metadata().unwrap().len(), 0);
    assert!(scratch.names().is_empty());
}

#[test]
fn direct_io_is_given_or_refused_with_einval() {
    let scratch = Scratch::new();
    for made in [Real.create_area(&scratch.0, Caching::Direct), named(&scratch.0, Caching::Direct)]
    {
        match made {
            Ok(area) => {
                let flags = fs::fcntl_getfl(&area.file).unwrap();
                assert!(flags.contains(OFlags::DIRECT));
                Real.remove_area(&area).unwrap();
            }
            Err(error) => assert_eq!(error.raw_os_error(), Some(22)),
        }
    }
    assert!(scratch.names().is_empty());
}

#[test]
fn a_missing_directory_is_not_a_missing_feature() {
    let scratch = Scratch::new();
    let error = Real.create_area(&scratch.join("no"), Caching::Buffered).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_named_area_is_marked_locked_and_private() {
    let scratch = Scratch::new();
    let area = named(&scratch.0, Caching::Buffered).unwrap();
    let name = area.name.clone().unwrap();
    let mut mark = vec![0; 4096];
    area.file.read_exact_at(&mut mark, 0).unwrap();
    let text = String::from_utf8(mark).unwrap();
    assert!(text.starts_with(&format!("assay area 1\npid {}\nboot ", std::process::id())));
    assert_eq!(std::fs::metadata(&name).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(area.first_byte, 1 << 20);
    assert!(area.note.as_ref().unwrap().contains("does not support unnamed files"));
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty(), "it is held");
    let held = Leftover { path: name.clone(), size_bytes: 4096 };
    assert!(Real.remove_leftover(&held).is_err() && name.exists());
    Real.remove_area(&area).unwrap();
    Real.remove_area(&area).unwrap();
    assert!(!name.exists());
}

#[test]
fn a_dropped_area_is_a_leftover_and_can_be_removed() {
    let scratch = Scratch::new();
    unlock(&named(&scratch.0, Caching::Buffered).unwrap().file);
    let found = Real.leftovers(&scratch.0).unwrap();
    assert_eq!((found.len(), found[0].size_bytes), (1, 4096));
    Real.remove_leftover(&found[0]).unwrap();
    assert!(scratch.names().is_empty());
}

#[test]
fn an_empty_unheld_area_file_is_a_leftover() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join(LEFT), "").unwrap();
    let found = Real.leftovers(&scratch.0).unwrap();
    assert_eq!(found.len(), 1);
    let holder = held_elsewhere(&found[0].path);
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty());
    assert!(Real.remove_leftover(&found[0]).is_err());
    unlock(&holder);
    Real.remove_leftover(&found[0]).unwrap();
}

#[test]
fn what_is_not_certainly_ours_stays() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join(LEFT), "somebody's text").unwrap();
    std::fs::write(scratch.join(".assay-area-0123456789ABCDEF"), "assay area 1\n").unwrap();
    std::fs::write(scratch.join(".assay-area-012345"), "assay area 1\n").unwrap();
    std::fs::write(scratch.join("other"), "assay area 1\n").unwrap();
    symlink(scratch.join("other"), scratch.join(".assay-area-0123456789abcde0")).unwrap();
    std::fs::create_dir(scratch.join(".assay-area-0123456789abcde1")).unwrap();
    assert!(Real.leftovers(&scratch.0).unwrap().is_empty());
    for name in scratch.names() {
        let leftover = Leftover { path: scratch.join(&name), size_bytes: 0 };
        assert!(Real.remove_leftover(&leftover).is_err(), "{name}");
    }
    assert_eq!(scratch.names().len(), 6);
}

#[test]
fn an_area_name_that_was_replaced_is_not_removed() {
    let scratch = Scratch::new();
    let area = named(&scratch.0, Caching::Buffered).unwrap();
    let name = area.name.clone().unwrap();
    std::fs::remove_file(&name).unwrap();
    std::fs::write(&name, "another's").unwrap();
    Real.remove_area(&area).unwrap();
    assert_eq!(std::fs::read_to_string(&name).unwrap(), "another's");
}

/// One thread creates areas, another removes apparent leftovers: no creator may lose its file.
#[test]
fn makers_and_removers_do_not_harm_each_other() {
    let scratch = Scratch::new();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for leftover in Real.leftovers(&scratch.0).unwrap_or_default() {
                    let _ = Real.remove_leftover(&leftover);
                }
            }
        });
        for _ in 0..50 {
            let area = named(&scratch.0, Caching::Buffered).unwrap();
            assert!(area.name.as_ref().unwrap().exists());
            assert_eq!(area.file.metadata().unwrap().nlink(), 1);
            Real.remove_area(&area).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn own_files_are_written_whole_appended_and_renamed() {
    let scratch = Scratch::new();
    let home = scratch.join("a/b");
    Real.create_directory(&home).unwrap();
    Real.create_directory(&home).unwrap();
    let file = home.join("f");
    Real.write_whole(&file, b"old").unwrap();
    Real.write_whole(&file, b"new").unwrap();
    Real.append(&file, b" and more").unwrap();
    Real.append(&home.join("g"), b"line\n").unwrap();
    assert_eq!(Real.read_text(&file).unwrap(), "new and more");
    assert_eq!(Real.list(&home).unwrap(), ["f", "g"], "no temporary files");
    Real.remove_directory(&home).unwrap();
    assert!(Real.write_whole(&file, b"x").is_err());
    assert!(Real.create_directory(&scratch.join("a/b")).is_ok());
    Real.write_whole(&scratch.join("a/file"), b"").unwrap();
    assert!(Real.create_directory(&scratch.join("a/file/b")).is_err());
}

#[test]
fn a_link_in_the_way_is_not_followed_for_writing() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("victim"), "safe").unwrap();
    symlink(scratch.join("victim"), scratch.join("link")).unwrap();
    assert!(Real.append(&scratch.join("link"), b"x").is_err());
    Real.write_whole(&scratch.join("link"), b"x").unwrap();
    assert_eq!(std::fs::read_to_string(scratch.join("victim")).unwrap(), "safe");
}

#[test]
fn statuses_say_what_things_are() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("f"), "12345").unwrap();
    let file = Real.status(&scratch.join("f")).unwrap();
    assert_eq!((file.kind, file.size_bytes, file.own_device), (FileKind::File, 5, None));
    assert_eq!(file.user, Real.user().id);
    let null = Real.status(Path::new("/dev/null")).unwrap();
    let number = DeviceNumber { major: 1, minor: 3 };
    assert_eq!((null.kind, null.own_device), (FileKind::CharacterDevice, Some(number)));
    symlink("round", scratch.join("round")).unwrap();
    let error = Real.canonical(&scratch.join("round")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
    assert!(Real.space(&scratch.0).unwrap().usable_bytes > 0);
}

#[test]
fn times_are_in_the_promised_form() {
    let now = Real.now();
    assert_eq!(now.len(), "2026-11-20T10:31:07+01:00".len(), "{now}");
    assert!(now.parse::<jiff::Timestamp>().is_ok());
    let before = Real.monotonic_ns();
    Real.sleep(Duration::from_millis(2));
    assert!(Real.monotonic_ns() - before >= 2_000_000);
}

#[test]
fn open_files_tell_extents_pages_and_alignment() {
    let scratch = Scratch::new();
    let path = scratch.join("f");
    std::fs::write(&path, vec![1; 256 * 1024]).unwrap();
    let file = Real.open_for_reading(&path, Caching::Buffered).unwrap();
    assert_eq!(Real.length(&file).unwrap(), 256 * 1024);
    let mut bytes = [0; 8];
    assert_eq!(Real.read_at(&file, 256 * 1024 - 3, &mut bytes).unwrap(), 3);
    let pages = Real.resident_pages(&file, 0..256 * 1024).unwrap();
    assert_eq!(pages, CachedPages { cached: pages.of, of: pages.of });
    if let Ok(counted) = Real.cached_pages(&file, 0..256 * 1024) {
        assert_eq!(counted, pages);
    }
    Real.sync_data(&file).unwrap();
    Real.drop_cached(&file, 0..256 * 1024).unwrap();
    Real.drop_cached(&file, 5..5).unwrap();
    if let Ok(extents) = Real.extents(&file, 0..256 * 1024) {
        assert_eq!(extents.iter().map(|extent| extent.length).sum::<u64>(), 256 * 1024);
    }
    if let Some(alignment) = Real.direct_alignment(&file).unwrap() {
        assert!(alignment.offset_bytes == 0 || alignment.offset_bytes.is_power_of_two());
    }
}

#[test]
fn residency_of_anothers_file_is_not_believed() {
    let scratch = Scratch::new();
    let path = scratch.join("f");
    std::fs::write(&path, "x").unwrap();
    let other = assay_machine::system::Fake::new();
    other.set_user(Real.user().id + 12345);
    let only_read = Real.open_for_reading(&path, Caching::Buffered).unwrap();
    let writable = File::options().read(true).write(true).open(&path).unwrap();
    assert!(mincore_tells_truth(&Real, &only_read).unwrap(), "the owner may ask");
    assert!(!mincore_tells_truth(&other, &only_read).unwrap());
    assert!(mincore_tells_truth(&other, &writable).unwrap());
}

#[test]
fn pages_are_counted_to_their_boundaries() {
    let page = rustix::param::page_size() as u64;
    assert_eq!([pages_of(&(0..page)), pages_of(&(1..page + 1)), pages_of(&(7..7))], [1, 2, 0]);
}

/// A lock name for one test; root's lock file is removed with it.
struct LockName(String);

impl LockName {
    fn file(&self) -> PathBuf {
        Path::new(hold::RUN).join(format!("lock-{}", self.0))
    }
}

impl Drop for LockName {
    fn drop(&mut self) {
        // An ordinary user creates none.
        let _ = std::fs::remove_file(self.file());
    }
}

#[test]
fn a_lock_is_held_by_one_and_names_its_holder() {
    let own = LockName(format!("test-{}", std::process::id()));
    let (name, file) = (own.0.clone(), own.file());
    let hold = Real.hold(&name).unwrap();
    for _ in 0..3 {
        match Real.hold(&name) {
            Err(HoldError::Held { process, user }) => {
                assert_eq!(process, Some(std::process::id()));
                assert_eq!(user, Some(Real.user().id));
            }
            other => panic!("{other:?}"),
        }
    }
    drop(hold);
    drop(Real.hold(&name).unwrap());
    assert!(matches!(Real.hold(&"x".repeat(200)), Err(HoldError::Failed(_))));
    drop(own);
    assert!(!file.exists(), "{}", file.display());
}

#[test]
fn under_sudo_what_is_written_belongs_to_the_caller() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let fake = assay_machine::system::Fake::new();
    fake.set_variable("SUDO_UID", "12345").set_variable("SUDO_GID", "12346");
    let home = scratch.join("a/b");
    files::create_directory(&fake, &home).unwrap();
    files::write_whole(&fake, &home.join("f"), b"x").unwrap();
    files::append(&fake, &home.join("g"), b"x").unwrap();
    let area = area::create_named(&fake, &home, Caching::Buffered).unwrap();
    let paths =
        [scratch.join("a"), home.clone(), home.join("f"), home.join("g"), area.name.unwrap()];
    for path in paths {
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!((found.uid(), found.gid()), (12345, 12346), "{}", path.display());
    }
    assert_eq!(std::fs::metadata(&scratch.0).unwrap().uid(), 0, "it was there before");
}

#[test]
fn results_of_root_stay_roots_under_sudo() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let fake = assay_machine::system::Fake::new();
    fake.set_variable("SUDO_UID", "12345").set_variable("SUDO_GID", "12346");
    for (name, owner) in [("roots", 0), ("callers", 12345)] {
        let home = std::fs::canonicalize(&scratch.0).unwrap().join(name);
        std::fs::create_dir(&home).unwrap();
        std::os::unix::fs::chown(&home, Some(owner), None).unwrap();
        fake.set_variable("ASSAY_HOME", &home.display().to_string());
        let result = home.join("results/one");
        files::create_directory(&fake, &result).unwrap();
        files::write_whole(&fake, &result.join("f"), b"x").unwrap();
        files::append(&fake, &result.join("g"), b"x").unwrap();
        for path in [home.join("results"), result.clone(), result.join("f"), result.join("g")] {
            assert_eq!(std::fs::metadata(&path).unwrap().uid(), owner, "{}", path.display());
        }
    }
}

#[test]
fn this_machine_can_be_described() {
    let scratch = Scratch::new();
    let site = assay_machine::system::resolve(&Real, &scratch.0.to_string_lossy()).unwrap();
    assert_eq!(site.kind, assay_machine::system::site::TargetKind::Directory);
    assert!(!assay_machine::system::lock_names(&site).is_empty());
    let machine = assay_machine::system::machine::machine(&Real);
    assert!(machine.kernel.value().is_some() && machine.memory_bytes.value().is_some());
    for name in &site.counted {
        assert!(assay_machine::system::devices::counters(&Real, name).value().is_some(), "{name}");
    }
}

/// Retries a released lock: a child of another test inherits all open descriptors and their locks until it calls exec.
fn when_free<T>(attempt: impl Fn() -> Result<T, HoldError>) -> Result<T, HoldError> {
    for _ in 0..1000 {
        match attempt() {
            Err(HoldError::Held { .. }) => std::thread::sleep(std::time::Duration::from_millis(5)),
            other => return other,
        }
    }
    attempt()
}

#[test]
fn state_is_never_given_to_the_caller_of_sudo() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let fake = assay_machine::system::Fake::new();
    fake.set_variable("SUDO_UID", "12345").set_variable("SUDO_GID", "12346");
    let facts = |path: &Path| {
        let found = std::fs::metadata(path).unwrap();
        (found.uid(), found.mode() & 0o777)
    };
    let journal = scratch.join("assay/journal");
    files::create_own_directory(&fake, &journal).unwrap();
    files::create_own_directory(&fake, &journal).unwrap();
    let file = files::lock(&fake, &journal.join("a"), Locking::New).unwrap();
    files::append_own(&file, b"x").unwrap();
    assert_eq!((facts(&journal), facts(&journal.join("a"))), ((0, 0o700), (0, 0o600)));
    assert_eq!(facts(&scratch.join("assay")).0, 0, "below what is root's");
    std::os::unix::fs::chown(scratch.join("assay"), Some(12345), None).unwrap();
    let room = scratch.join("assay/more/room");
    files::create_own_directory(&fake, &room).unwrap();
    assert_eq!((facts(&scratch.join("assay/more")).0, facts(&room)), (12345, (0, 0o700)));
    std::os::unix::fs::chown(journal.join("a"), Some(12345), None).unwrap();
    drop(file);
    let refused = when_free(|| files::lock(&fake, &journal.join("a"), Locking::Own));
    let Err(HoldError::Failed(error)) = refused else { panic!("the caller's own journal") };
    assert!(error.to_string().contains("user 12345 can write the file"), "{error}");
}

#[test]
fn files_of_state_are_locked_read_and_appended_to() {
    let scratch = Scratch::new();
    let path = scratch.join("a");
    let failed = |locking| match when_free(|| Real.lock_file(&path, locking)) {
        Err(HoldError::Failed(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(Locking::Look), io::ErrorKind::NotFound);
    assert_eq!(failed(Locking::Own), io::ErrorKind::NotFound);
    let own = Real.lock_file(&path, Locking::New).unwrap();
    Real.append_own(&own, b"one\n").unwrap();
    Real.append_own(&own, b"two\n").unwrap();
    assert_eq!(Real.read_own(&own).unwrap(), "one\ntwo\n");
    for locking in [Locking::Look, Locking::Own, Locking::New] {
        assert!(matches!(Real.lock_file(&path, locking), Err(HoldError::Held { .. })));
    }
    drop(own);
    let looks = [Locking::Look; 2].map(|look| when_free(|| Real.lock_file(&path, look)).unwrap());
    assert_eq!(Real.read_own(&looks[1]).unwrap(), "one\ntwo\n");
    assert!(Real.append_own(&looks[0], b"x").is_err());
    assert!(matches!(Real.lock_file(&path, Locking::Own), Err(HoldError::Held { .. })));
    drop(looks);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    assert_eq!(failed(Locking::Own), io::ErrorKind::PermissionDenied);
    std::fs::remove_file(&path).unwrap();
    symlink(scratch.join("b"), &path).unwrap();
    assert!(matches!(Real.lock_file(&path, Locking::New), Err(HoldError::Failed(_))));
    assert!(!scratch.join("b").exists());
}

#[test]
fn a_result_is_marked_while_somebody_works_on_it() {
    let scratch = Scratch::new();
    let path = scratch.join("plan.json");
    let kind = |locking| match when_free(|| Real.lock_file(&path, locking)) {
        Err(HoldError::Failed(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(Locking::Mark), io::ErrorKind::NotFound);
    assert_eq!(kind(Locking::Glance), io::ErrorKind::NotFound);
    std::fs::write(&path, "{}").unwrap();
    // Of any owner: under sudo, the caller's.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let glances = [Locking::Glance; 2].map(|glance| Real.lock_file(&path, glance).unwrap());
    assert!(matches!(Real.lock_file(&path, Locking::Mark), Err(HoldError::Held { .. })));
    drop(glances);
    let mark = when_free(|| Real.lock_file(&path, Locking::Mark)).unwrap();
    assert!(matches!(Real.lock_file(&path, Locking::Glance), Err(HoldError::Held { .. })));
    assert!(matches!(Real.lock_file(&path, Locking::Mark), Err(HoldError::Held { .. })));
    drop(mark);
    assert!(Real.lock_file(&path, Locking::Glance).is_ok());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(std::fs::read_dir(scratch.join(".")).unwrap().count(), 1);
}

#[test]
fn a_sparse_giant_is_no_file_of_state() {
    let scratch = Scratch::new();
    let own = Real.lock_file(&scratch.join("a"), Locking::New).unwrap();
    Real.append_own(&own, b"one\n").unwrap();
    File::options().write(true).open(scratch.join("a")).unwrap().set_len(1 << 40).unwrap();
    let error = Real.read_own(&own).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
}

#[test]
fn who_has_a_file_of_state_is_told() {
    let scratch = Scratch::new();
    let _own = Real.lock_file(&scratch.join("a"), Locking::New).unwrap();
    let Err(HoldError::Held { process, user }) = Real.lock_file(&scratch.join("a"), Locking::Look)
    else {
        panic!("it is held");
    };
    assert_eq!(process, Some(std::process::id()));
    assert_eq!(user, Some(Real.user().id));
}

#[test]
fn an_ordinary_user_only_looks_whether_root_has_a_lock() {
    let scratch = Scratch::new();
    let path = scratch.join("lock-8:0");
    assert!(super::files::lock_of_other(&Real, &path).is_none(), "no such file");
    let file = File::create(&path).unwrap();
    assert!(super::files::lock_of_other(&Real, &path).is_none(), "nobody has it");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let Some(HoldError::Held { process, user }) = super::files::lock_of_other(&Real, &path) else {
        panic!("it is held");
    };
    assert_eq!((process, user), (Some(std::process::id()), Some(Real.user().id)));
    drop(file);
    assert!(super::files::lock_of_other(&Real, &path).is_none());
}

#[test]
fn a_lock_of_root_holds_for_all_who_share_the_run_directory() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let run = scratch.join("run");
    let held = hold::lock_root_file(&Real, &run, "8:0").unwrap();
    assert!(held.is_some());
    let mode = std::fs::metadata(run.join("lock-8:0")).unwrap().mode();
    assert_eq!(mode & 0o077, 0, "who may open it may lock it");
    let Err(HoldError::Held { process, .. }) = hold::lock_root_file(&Real, &run, "8:0") else {
        panic!("it is held");
    };
    assert_eq!(process, Some(std::process::id()));
    // Like a child before exec.
    let _copy = held.as_ref().map(|held| held.try_clone().unwrap());
    drop(held);
    assert!(hold::lock_root_file(&Real, &run, "8:0").unwrap().is_some());
    assert!(hold::lock_root_file(&Real, &scratch.join("no/such"), "8:0").unwrap().is_none());
}

#[test]
fn a_study_is_seen_by_others_as_long_as_it_runs() {
    let own = assay_machine::system::beside::name(&Real);
    let seen = || {
        let text = Real.read_text(Path::new("/proc/net/unix")).unwrap();
        text.lines().any(|line| line.ends_with(&format!("@assay-lock-{own}")))
    };
    let hold = Real.hold(&own).unwrap();
    assert!(seen());
    assert!(!assay_machine::system::beside::others(&Real).contains(&std::process::id()));
    drop(hold);
    // A child of another test may have a copy of the socket for a moment.
    let pause = Duration::from_millis(10);
    assert!((0..100).any(|_| !seen() || {
        Real.sleep(pause);
        false
    }));
}

#[test]
fn root_locks_in_no_directory_of_others() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let run = scratch.join("run");
    assert!(hold::lock_root_file(&Real, &run, "8:0").unwrap().is_some());
    assert_eq!(std::fs::metadata(&run).unwrap().mode() & 0o022, 0);
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(hold::lock_root_file(&Real, &run, "8:1").unwrap().is_none());
    assert!(!run.join("lock-8:1").exists());
}
