mod made;
mod shown;
mod situations;

use std::path::Path;

use assay_core::failure::Kind;

use super::*;
use crate::system::Fake;
use crate::system::fake::machines;

#[test]
fn results_lie_where_the_environment_says() {
    let fake = machines::machine("sata-ssd");
    let home = |fake: &Fake| results_directory(fake).unwrap().display().to_string();
    assert_eq!(home(&fake), "/var/lib/assay/results");
    fake.set_user(1000).set_variable("HOME", "/home/other");
    assert_eq!(home(&fake), "/home/other/.local/share/assay/results");
    fake.set_variable("XDG_DATA_HOME", "relative");
    assert_eq!(home(&fake), "/home/other/.local/share/assay/results");
    fake.set_variable("XDG_DATA_HOME", "/data");
    assert_eq!(home(&fake), "/data/assay/results");
    fake.set_variable("ASSAY_HOME", "/here");
    assert_eq!(home(&fake), "/here/results");
    let fake = Fake::new();
    fake.set_user(1000);
    assert_eq!(results_directory(&fake).unwrap_err().kind, Kind::Mistake);
}

#[test]
fn users_see_their_results_and_those_of_root() {
    let fake = machines::machine("sata-ssd");
    let seen = |fake: &Fake| -> Vec<String> {
        let directories = results_directories(fake).unwrap();
        directories.iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(seen(&fake), ["/var/lib/assay/results"]);
    fake.set_user(1000).set_variable("HOME", "/home/me");
    assert_eq!(seen(&fake), ["/home/me/.local/share/assay/results", "/var/lib/assay/results"]);
    fake.set_variable("ASSAY_HOME", "/here");
    assert_eq!(seen(&fake), ["/here/results"]);
}

#[test]
fn under_sudo_results_are_roots() {
    let fake = machines::machine("sata-ssd");
    fake.set_variable("HOME", "/root").set_variable("SUDO_UID", "1000");
    assert_eq!(caller(&fake), None, "half of sudo's variables");
    fake.set_variable("SUDO_GID", "1000");
    assert_eq!(caller(&fake), Some(Caller { user: 1000, group: 1000 }));
    let home = results_directory(&fake).unwrap();
    assert_eq!(home, Path::new("/var/lib/assay/results"));
    fake.set_user(1000);
    assert_eq!(caller(&fake), None, "an ordinary user with the variables set");
}

#[test]
fn the_state_lies_in_an_absolute_place_without_links() {
    let fake = Fake::new();
    fake.add("dir /big/assay\nlink /short /big").unwrap();
    let home = |set: &str| {
        fake.set_variable("ASSAY_HOME", set);
        state_directory(&fake).unwrap().display().to_string()
    };
    assert_eq!(home(""), "/var/lib/assay");
    assert_eq!(home("/short/assay"), "/big/assay");
    assert_eq!(home("/short/new/one"), "/big/new/one", "not there yet");
    assert_eq!(home("some/where"), "/some/where", "below the current directory");
    fake.set_user(1000);
    fake.set_variable("HOME", "/home/me");
    assert_eq!(home(""), "/home/me/.local/share/assay", "root's own is for root");
    fake.set_user(0);
    fake.add("closed /root").unwrap();
    fake.set_variable("ASSAY_HOME", "/root/assay");
    assert_eq!(state_directory(&fake).unwrap_err().kind, Kind::Mistake);
}

#[test]
fn results_that_others_can_put_somewhere_are_refused_for_root() {
    let facts = [
        ("dir /elsewhere\nlink /here/results /elsewhere", "it is a symbolic link"),
        ("dir /here/results\nmode /here/results 1777", "other users can write to it"),
        ("dir /here/results\nowner /here/results 1001", "it belongs to user 1001"),
        ("file /here/results x", "not a directory"),
    ];
    for (fact, why) in facts {
        let fake = Fake::new();
        fake.set_variable("ASSAY_HOME", "/here").add(fact).unwrap();
        let failure = results_directory(&fake).unwrap_err();
        assert_eq!(failure.kind, Kind::Refused);
        assert!(failure.message.contains(why), "{}", failure.message);
        fake.set_user(1000);
        assert_eq!(results_directory(&fake).unwrap(), Path::new("/here/results"), "{why}");
    }
    let fake = Fake::new();
    fake.set_variable("ASSAY_HOME", "/here")
        .add("dir /here/results\nmode /here/results 0775")
        .unwrap();
    fake.add("owner /here/results 1000").unwrap();
    assert!(results_directory(&fake).is_err(), "root without sudo");
    fake.set_variable("SUDO_UID", "1000").set_variable("SUDO_GID", "1000");
    assert!(results_directory(&fake).is_ok(), "the caller's own, as many systems make it");
}
