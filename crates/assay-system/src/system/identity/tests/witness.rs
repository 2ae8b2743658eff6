//! The second witness: a program that says it saw more, or says nothing that helps.

use assay_base::failure::Kind;

use super::situations::{B, C, give, machine};
use crate::system::Fake;

const DISK: u64 = 1 << 30;

/// A machine on which blkid of util-linux is installed and sees a GPT, an ext4 and a FAT on `sdb`.
fn with_blkid() -> Fake {
    let fake = machine();
    fake.install("blkid").put_told("blkid -V", 0, "", "blkid from util-linux 2.38.1\n");
    says(&fake, 0, DISK, (0, "DEVNAME=/proc/self/fd/0\nPTTYPE=gpt\n", ""));
    says(&fake, 1 << 20, 400 << 20, (0, "UUID=x\nTYPE=ext4\n", ""));
    says(&fake, 500 << 20, 400 << 20, (0, "TYPE=vfat\n", ""));
    fake
}

fn says(fake: &Fake, start: u64, size: u64, (code, text, complaint): (i32, &str, &str)) {
    let line = format!("blkid -p -o export -O {start} -S {size} /proc/self/fd/0");
    fake.put_told(&line, code, text, complaint);
}

fn refusal(fake: &Fake, device: (&str, &str)) -> String {
    let failure = give(fake, device).unwrap_err();
    assert_eq!(failure.kind, Kind::Refused, "{failure}");
    failure.message
}

#[test]
fn where_both_see_the_same_there_is_consent() {
    let fake = with_blkid();
    assert!(give(&fake, B).is_ok());
    says(&fake, 0, DISK, (2, "", ""));
    assert!(give(&fake, C).is_ok(), "nothing there");
    // A second header alone is nothing to blkid; what is more here was named by the user.
    says(&fake, 1 << 20, 400 << 20, (2, "", ""));
    assert!(give(&fake, B).is_ok());
}

#[test]
fn what_only_blkid_sees_is_refused() {
    let fake = with_blkid();
    for theirs in ["TYPE=zfs_member", "PTTYPE=atari", "TYPE=of_tomorrow"] {
        says(&fake, 0, DISK, (0, &format!("USAGE=other\n{theirs}\n"), ""));
        let (_, name) = theirs.split_once('=').unwrap();
        let wanted = format!("only blkid recognises ({name} on sdc)");
        let said = refusal(&fake, C);
        assert!(said.contains(&wanted) && said.contains("wipefs"), "{said}");
    }
    let fake = with_blkid();
    says(&fake, 1 << 20, 400 << 20, (0, "TYPE=xfs\n", ""));
    let said = refusal(&fake, B);
    assert!(said.contains("(xfs on sdb1)"), "{said}");
}

#[test]
fn several_things_at_once_are_seen_here_as_several_or_refused() {
    let fake = with_blkid();
    says(&fake, 0, DISK, (8, "", ""));
    let said = refusal(&fake, C);
    assert!(said.contains("several things at once"), "{said}");
    // One thing is not several either.
    let fake = with_blkid();
    says(&fake, 1 << 20, 400 << 20, (8, "", ""));
    let said = refusal(&fake, B);
    assert!(said.contains("several things at once"), "{said}");
}

#[test]
fn a_witness_that_could_not_look_is_no_agreement() {
    for told in [
        (2, "", "blkid: error: /proc/self/fd/0: Input/output error\n"),
        (4, "", "blkid: usage\n"),
        (13, "", ""),
    ] {
        let fake = with_blkid();
        says(&fake, 0, DISK, told);
        let said = refusal(&fake, C);
        assert!(said.contains("cannot tell whether blkid sees more"), "{said}");
    }
    let fake = machine();
    fake.install("blkid");
    refusal(&fake, C);
}

#[test]
fn another_program_of_that_name_is_no_witness() {
    let fake = machine();
    fake.install("blkid").put_told("blkid -V", 1, "", "BusyBox v1.36.1 multi-call binary\n");
    assert!(give(&fake, C).is_ok());
}
