use super::*;
use crate::system::Faulty;

fn small() -> Fake {
    Fake::recorded(
        "# a comment\nfile /a/b one line\nfile /a/many\n| 1\n|  2\n|\ndir /empty\nlink /l a\n",
    )
    .unwrap()
}

fn text(system: &dyn System, path: &str) -> String {
    system.read_text(Path::new(path)).unwrap()
}

#[test]
fn a_recorded_tree_is_read() {
    let fake = small();
    assert_eq!(text(&fake, "/a/b"), "one line\n");
    assert_eq!(text(&fake, "/l/many"), "1\n 2\n\n");
    assert_eq!(fake.list(Path::new("/")).unwrap(), ["a", "empty", "l"]);
    assert_eq!(fake.list(Path::new("/l")).unwrap(), ["b", "many"]);
    assert_eq!(fake.canonical(Path::new("/l/../a/./b")).unwrap(), Path::new("/a/b"));
    assert_eq!(fake.read_link(Path::new("/l")).unwrap(), Path::new("a"));
    assert_eq!(
        fake.read_text(Path::new("/a/b/c")).unwrap_err().kind(),
        io::ErrorKind::NotADirectory
    );
}

/// Resolved paths are cached until a link changes; a recreated file resolves to the new one.
#[test]
fn a_path_leads_where_its_links_lead_now() {
    let fake = small();
    fake.add("file /c/b other\n").unwrap();
    let there = |path: &str| fake.read_text(Path::new(path)).map_err(|error| error.kind());
    let gone = Err(io::ErrorKind::NotFound);
    for _ in 0..2 {
        assert_eq!(there("/l/b"), Ok("one line\n".to_owned()));
        assert_eq!(there("/l/none"), gone);
    }
    fake.add("file /a/none now\nlink /l c\n").unwrap();
    assert_eq!((there("/l/b"), there("/l/none")), (Ok("other\n".to_owned()), gone.clone()));
    assert_eq!(there("/a/none"), Ok("now\n".to_owned()));
    fake.remove_directory(Path::new("/c")).unwrap();
    assert_eq!((there("/l/b"), there("/c/b")), (gone.clone(), gone.clone()));
    fake.add("file /c/b again\n").unwrap();
    assert_eq!(
        (there("/l/b"), there("/c/b")),
        (Ok("again\n".to_owned()), Ok("again\n".to_owned()))
    );
    fake.add("dir /l\n").unwrap();
    assert_eq!((there("/l/b"), there("/c/b")), (gone, Ok("again\n".to_owned())));
    // A removed directory comes back as a link, and as an unreadable directory.
    fake.remove_directory(Path::new("/c")).unwrap();
    fake.add("link /c a\n").unwrap();
    assert_eq!(there("/c/b"), Ok("one line\n".to_owned()));
    fake.remove_directory(Path::new("/a")).unwrap();
    fake.add("closed /a\n").unwrap();
    assert_eq!(there("/a/b"), Err(io::ErrorKind::PermissionDenied));
}

#[test]
fn a_wrong_line_is_named() {
    assert_eq!(
        Fake::recorded("dir /x\nfil /y z\n").unwrap_err(),
        "line 2: not understood: fil /y z"
    );
    assert!(Fake::recorded("| lost\n").is_err());
    assert!(Fake::recorded("block /dev/x 8\n").is_err());
}

#[test]
fn readings_follow_each_other() {
    let fake = Fake::new();
    fake.put_readings("/x", ["1", "2"]);
    assert_eq!([text(&fake, "/x"), text(&fake, "/x"), text(&fake, "/x")], ["1", "2", "2"]);
}

#[test]
fn own_files_stay_in_memory() {
    let fake = small();
    let new = Path::new("/home/results/one");
    assert!(fake.write_whole(&new.join("f"), b"x").is_err());
    fake.create_directory(new).unwrap();
    fake.create_directory(new).unwrap();
    fake.write_whole(&new.join("f"), b"x").unwrap();
    fake.append(&new.join("f"), b"y").unwrap();
    assert_eq!(text(&fake, "/home/results/one/f"), "xy");
    fake.remove_directory(new).unwrap();
    assert!(fake.list(new).is_err() && fake.list(Path::new("/home/results")).unwrap().is_empty());
    assert!(fake.create_directory(Path::new("/a/b/c")).is_err());
}

#[test]
fn the_clock_moves_only_by_sleeping() {
    let fake = Fake::new();
    assert_eq!((fake.now(), fake.monotonic_ns()), ("2026-11-20T10:00:00+01:00".to_owned(), 0));
    fake.sleep(Duration::from_millis(61_500));
    assert_eq!(fake.now(), "2026-11-20T10:01:01+01:00");
    assert_eq!(fake.monotonic_ns(), 61_500_000_000);
}

#[test]
fn areas_and_locks_can_be_made_to_fail() {
    let fake = small();
    let here = Path::new("/empty");
    assert_eq!(fake.create_area(here, Caching::Direct).unwrap().first_byte, 0);
    fake.refuse_unnamed().refuse_direct();
    let error = fake.create_area(here, Caching::Direct).unwrap_err();
    assert_eq!(Errno::find(&error), Some(Errno::INVAL));
    let area = fake.create_area(here, Caching::Buffered).unwrap();
    assert_eq!((area.first_byte, fake.list(here).unwrap().len()), (1 << 20, 1));
    fake.remove_area(&area).unwrap();
    assert!(fake.list(here).unwrap().is_empty());
    fake.set_holder("8:0", 7, 1000);
    let held = fake.hold("8:0").unwrap_err();
    assert!(matches!(held, HoldError::Held { process: Some(7), user: Some(1000) }));
    assert!(fake.hold("8:16").is_ok());
}

#[test]
fn the_chosen_call_fails_and_no_other() {
    let fake = small();
    let faulty = Faulty::new(&fake, 2, io::ErrorKind::StorageFull);
    let results: Vec<_> = (0..3).map(|_| faulty.list(Path::new("/"))).collect();
    assert!(results[0].is_ok() && results[2].is_ok());
    assert_eq!(results[1].as_ref().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!((faulty.calls(), faulty.has_failed()), (3, true));
    let counting = Faulty::new(&fake, 0, io::ErrorKind::Other);
    counting.list(Path::new("/")).unwrap();
    assert!(!counting.has_failed());
}
