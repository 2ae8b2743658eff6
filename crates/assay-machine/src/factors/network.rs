//! Network changes under the guard: network namespaces of the lab, and traffic shaping of an interface.

use std::io;
use std::path::Path;

use crate::system::journal::Undo;
use crate::system::network::{Shaped, Shaper, lab, own_discipline, root_of, shown};
use crate::system::{Hold, System, mounts, sysfs};
use assay_core::failure::{Failure, Outcome};

use super::Guard;

/// Creates the lab: network namespaces with links between them. Refused if the system cannot create namespaces.
pub fn make_lab(system: &dyn System, guard: &mut Guard<'_>) -> Outcome<()> {
    for program in ["ip", "tc"] {
        if system.program(program).is_none() {
            return Err(Failure::refused(format!(
                "cannot create the lab: {program} is not installed; install the package iproute2"
            )));
        }
    }
    if let Some(space) = spaces(system).first() {
        return Err(Failure::refused(format!(
            "network namespace {space} already exists; run assay restore, or stop its processes and run ip netns del \
             {space}"
        )));
    }
    let is_unmounted = mounts::read(system)
        .is_ok_and(|table| table.iter().all(|entry| entry.mount.point != Path::new(lab::PLACE)));
    // The mount of all namespaces goes with the first one, which is removed last.
    let undo = |space: &str| Undo::NetworkSpace {
        name: space.to_owned(),
        with_mount: space == lab::SPACES[0] && is_unmounted,
    };
    let made = guard.build(|builder| {
        for space in lab::SPACES {
            builder.act_on_network(undo(space), &lab::make(space))?;
        }
        let undo = undo(lab::CLIENT);
        lab::furnish().iter().try_for_each(|act| builder.act_on_network(undo.clone(), act))
    });
    made.map(drop).map_err(|failure| {
        let hint = if system.user().id == 0 {
            "creating network namespaces needs CAP_SYS_ADMIN, which containers may lack"
        } else {
            "run it with sudo"
        };
        Failure { message: format!("{}; {hint}", failure.message), ..failure }
    })
}

/// Describes the changes of traffic shaping on an interface, in a sentence.
pub fn shaping(interface: &str) -> String {
    format!(
        "shaper: limits the outgoing rate of {interface} to each level (tc qdisc); restores the previous qdisc \
         afterwards"
    )
}

/// Namespaces of the lab left by dead runs, and processes in them.
pub struct LeftOver {
    pub undos: Vec<Undo>,
    pub busy: Vec<String>,
    /// While this lock exists, no other process creates the lab.
    _hold: Option<Hold>,
}

/// Finds namespaces of a run whose journal is lost: by name and content, under the lab's lock. Empty unless root.
pub fn left_over(system: &dyn System) -> LeftOver {
    let needs_lock = !spaces(system).is_empty() && system.user().id == 0;
    let hold = needs_lock.then(|| system.hold(lab::LOCK).ok()).flatten();
    // Lists them again: a run may have removed its own before it released the lock.
    let left = if hold.is_some() { spaces(system) } else { Vec::new() };
    let (mut undos, mut busy) = (Vec::new(), Vec::new());
    for space in left {
        match in_use(system, space) {
            Ok(None) => undos.push(Undo::NetworkSpace { name: space.to_owned(), with_mount: false }),
            Ok(Some(by)) => busy.push(format!(
                "network namespace {space} is not in any journal: {by}"
            )),
            Err(error) => busy.push(format!(
                "network namespace {space}: ip (package iproute2) does not report its processes: {error}"
            )),
        }
    }
    LeftOver { undos, busy, _hold: hold }
}

fn spaces(system: &dyn System) -> Vec<&'static str> {
    let exists = |space: &&str| {
        matches!(sysfs::if_exists(system.status(&Path::new(lab::PLACE).join(space))), Ok(Some(_)))
    };
    lab::SPACES.into_iter().filter(exists).collect()
}

/// Returns why a namespace must not be removed; `None` if it may.
fn in_use(system: &dyn System, space: &str) -> io::Result<Option<String>> {
    let processes = system.output_of("ip", &["netns", "pids", space])?;
    if let Some(process) = processes.split_whitespace().next() {
        return Ok(Some(format!("process {process} runs in the namespace")));
    }
    // Other programs may use such a name.
    let shown = system.output_of("ip", &lab::shows_up(space))?;
    Ok(lab::strange(&shown).map(|name| format!("its interface {name} is not from a lab")))
}

/// Shapes the egress of an interface for a trial, after removing the shaping of an earlier trial. Refused if the
/// interface or a method is missing, or if another discipline is set.
pub fn shape(system: &dyn System, guard: &mut Guard<'_>, wanted: &Shaped) -> Outcome<()> {
    let refused = |what: String| Failure::refused(format!("{}: {what}", wanted.interface));
    let namespace = wanted.namespace.as_deref();
    let is_of_interface = |undo: &&Undo| {
        matches!(undo, Undo::Discipline { namespace, interface, .. }
            if (namespace, interface) == (&wanted.namespace, &wanted.interface))
    };
    if let Some(undo) = guard.undos().iter().find(is_of_interface).cloned() {
        guard.take_down(&[undo])?;
    }
    let now = read_qdisc(system, wanted).map_err(refused)?;
    if wanted.shaper.is_none() {
        return Ok(());
    }
    let candidates = wanted.shaper.candidates(wanted.base);
    if candidates.is_empty() {
        return Err(refused(format!("{}: the rate of the link is unknown", wanted.shaper)));
    }
    check_default_qdisc(&now, &wanted.interface).map_err(refused)?;
    let undo = Undo::Discipline {
        namespace: wanted.namespace.clone(),
        interface: wanted.interface.clone(),
        original: now,
    };
    let mut last_failure = Failure::refused("no method was tried");
    for discipline in candidates {
        let made = guard.build(|builder| {
            let acts = discipline.acts(namespace, &wanted.interface);
            acts.iter().try_for_each(|act| builder.act_on_network(undo.clone(), act))
        });
        match made {
            Ok(_) => return check_shaped(system, wanted).map_err(refused),
            // Stop if the failed method left something behind.
            Err(failure) if failure.kind != assay_core::failure::Kind::Refused => {
                return Err(failure);
            }
            Err(failure) => last_failure = failure,
        }
    }
    let (shaper, reason) = (&wanted.shaper, last_failure.message);
    Err(refused(format!("this kernel does not support {shaper}: {reason}")))
}

/// Checks that an interface exists and has its default discipline.
pub fn check_can_shape(system: &dyn System, interface: &str) -> Outcome<()> {
    let name = interface.to_owned();
    let unshaped = Shaped { namespace: None, interface: name, shaper: Shaper::NONE, base: None };
    read_qdisc(system, &unshaped)
        .and_then(|now| check_default_qdisc(&now, interface))
        .map_err(|what| Failure::refused(format!("{interface}: {what}")))
}

/// Fails unless `tc` shows the kernel's default discipline, which has the handle 0.
fn check_default_qdisc(shown: &str, interface: &str) -> Result<(), String> {
    match root_of(shown) {
        Some((_, "0:")) => Ok(()),
        Some((kind, handle)) => Err(format!(
            "the interface already has the qdisc {kind} {handle}; run tc qdisc del dev {interface} root, and add the \
             qdisc again afterwards"
        )),
        None => Err(format!("tc does not report the qdisc of the interface: {:?}", shown.trim())),
    }
}

/// Returns what `tc qdisc show` prints for the interface.
fn read_qdisc(system: &dyn System, wanted: &Shaped) -> Result<String, String> {
    let words = shown(wanted.namespace.as_deref(), &wanted.interface);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let shown = system.output_of("tc", &words);
    let shown = shown.map_err(|error| format!("cannot run tc (package iproute2): {error}"))?;
    if shown.trim().is_empty() {
        return Err("no such interface; ip link lists the interfaces".to_owned());
    }
    Ok(shown)
}

/// Checks that an interface still has the shaping of a trial.
pub fn check_shaped(system: &dyn System, wanted: &Shaped) -> Result<(), String> {
    let now = read_qdisc(system, wanted)?;
    let candidates = wanted.shaper.candidates(wanted.base);
    match own_discipline(&now) {
        None if wanted.shaper.is_none() => Ok(()),
        Some(kind) if candidates.iter().any(|candidate| candidate.means.root() == kind) => Ok(()),
        _ => Err(format!(
            "{} is not shaped as {}: {}",
            wanted.interface,
            wanted.shaper,
            now.lines().next().unwrap_or_default().trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;
    use crate::system::network::BitRate;

    use super::*;

    fn wanted(shaper: &str) -> Shaped {
        Shaped {
            namespace: None,
            interface: "eth0".to_owned(),
            shaper: shaper.parse().unwrap(),
            base: Some(BitRate(5_000_000)),
        }
    }

    fn root(fake: &Fake) -> String {
        fake.output_of("tc", &["qdisc", "show", "dev", "eth0"]).unwrap()
    }

    #[test]
    fn an_interface_is_shaped_and_put_back() {
        let fake = Fake::new();
        fake.with_interface("eth0").without_disciplines(&["cake"]);
        let before = root(&fake);
        let mut guard = Guard::begin(&fake, Path::new("/var/lib/assay"), "a").unwrap();
        for level in ["80%", "95%", "none", "tbf:95%"] {
            shape(&fake, &mut guard, &wanted(level)).unwrap();
            assert_eq!(check_shaped(&fake, &wanted(level)), Ok(()), "{level}");
        }
        assert!(root(&fake).starts_with("qdisc tbf a55a: root"));
        let fault = check_shaped(&fake, &wanted("none")).unwrap_err();
        assert!(fault.contains("is not shaped as none"));
        let told = shape(&fake, &mut guard, &wanted("cake:95%")).unwrap_err();
        assert!(told.message.contains("kind is unknown"), "{}", told.message);
        assert_eq!(root(&fake), before, "what was tried is taken back");
        shape(&fake, &mut guard, &wanted("80%")).unwrap();
        assert!(root(&fake).starts_with("qdisc htb"), "the next best");
        assert_eq!(guard.undos().len(), 1);
        guard.finish().unwrap();
        assert_eq!(root(&fake), before);
    }

    #[test]
    fn what_somebody_gave_an_interface_is_not_touched() {
        let fake = Fake::new();
        let given = "qdisc fq 8001: root refcnt 2 limit 10000p\n";
        fake.with_interface("eth0").set_discipline("eth0", Some(given));
        let mut guard = Guard::begin(&fake, Path::new("/var/lib/assay"), "a").unwrap();
        let told = shape(&fake, &mut guard, &wanted("95%")).unwrap_err();
        assert!(told.message.contains("the qdisc fq 8001:"), "{}", told.message);
        assert!(check_can_shape(&fake, "eth0").unwrap_err().message.contains("fq 8001:"));
        assert!(check_can_shape(&fake, "eth1").unwrap_err().message.contains("no such interface"));
        shape(&fake, &mut guard, &wanted("none")).unwrap();
        guard.finish().unwrap();
        assert_eq!(root(&fake), given);
    }

    #[test]
    fn an_interface_that_vanishes_is_told_and_nothing_is_left_to_do() {
        let fake = Fake::new();
        fake.with_interface("eth0");
        let mut guard = Guard::begin(&fake, Path::new("/var/lib/assay"), "a").unwrap();
        shape(&fake, &mut guard, &wanted("95%")).unwrap();
        fake.set_discipline("eth0", None);
        assert!(check_shaped(&fake, &wanted("95%")).unwrap_err().contains("no such interface"));
        let told = shape(&fake, &mut guard, &wanted("90%")).unwrap_err();
        assert!(told.message.starts_with("eth0: no such interface"), "{}", told.message);
        guard.finish().unwrap();
    }

    #[test]
    fn a_laboratory_is_made_once_and_gone_afterwards() {
        let fake = Fake::new();
        let mut guard = Guard::begin(&fake, Path::new("/var/lib/assay"), "a").unwrap();
        let told = make_lab(&fake, &mut guard).unwrap_err();
        assert!(told.message.contains("iproute2"), "{}", told.message);
        fake.install("ip").install("tc");
        make_lab(&fake, &mut guard).unwrap();
        let told = make_lab(&fake, &mut guard).unwrap_err();
        assert!(told.message.contains("ip netns del assay-client"), "{}", told.message);
        guard.finish().unwrap();
        assert!(fake.list(Path::new(lab::PLACE)).unwrap_or_default().is_empty());
    }

    #[test]
    fn the_mount_of_name_spaces_goes_with_the_laboratory_unless_it_was_there() {
        let mounted = "1 0 0:9 / /run/netns rw - tmpfs tmpfs rw\n";
        for before in ["", mounted] {
            let fake = Fake::new();
            fake.install("ip").install("tc").put("/proc/self/mountinfo", before);
            let mut guard = Guard::begin(&fake, Path::new("/var/lib/assay"), "a").unwrap();
            make_lab(&fake, &mut guard).unwrap();
            // As `ip` does.
            fake.put("/proc/self/mountinfo", mounted);
            guard.finish().unwrap();
            assert_eq!(fake.read_text(Path::new("/proc/self/mountinfo")).unwrap(), before);
        }
    }

    #[test]
    fn what_a_run_left_whose_journal_is_gone_is_found_unless_somebody_has_it() {
        let names = |fake: &Fake| {
            let undos = left_over(fake).undos;
            undos.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let fake = Fake::new();
        fake.set_user(0).install("ip");
        assert_eq!(names(&fake), [""; 0]);
        fake.put(Path::new(lab::PLACE).join("mine"), "");
        assert_eq!(names(&fake), [""; 0], "a stranger's");
        for space in [lab::CLIENT, lab::SERVER] {
            fake.put(Path::new(lab::PLACE).join(space), "");
        }
        let both = ["remove the namespace assay-client", "remove the namespace assay-server"];
        assert_eq!(names(&fake), both);
        fake.set_user(1000);
        assert_eq!(names(&fake), [""; 0]);
        fake.set_user(0).put_output("ip netns pids assay-server", "4711\n");
        let found = left_over(&fake);
        assert_eq!(found.undos.len(), 1);
        assert!(found.busy[0].contains("process 4711"), "{:?}", found.busy);
        drop(found);
        // A running study removes its namespaces itself.
        fake.set_holder(lab::LOCK, 4711, 0);
        assert_eq!(names(&fake), [""; 0]);
    }

    #[test]
    fn a_name_space_of_such_a_name_stays_where_it_is_a_strangers_or_nothing_tells() {
        let fake = Fake::new();
        fake.set_user(0).put(Path::new(lab::PLACE).join(lab::CLIENT), "");
        let busy = |fake: &Fake| {
            let found = left_over(fake);
            assert!(found.undos.is_empty(), "{:?}", found.undos);
            found.busy
        };
        let told = busy(&fake);
        assert!(told[0].contains("iproute2"), "{told:?}");
        fake.install("ip");
        let line = format!("ip {}", lab::shows_up(lab::CLIENT).join(" "));
        fake.put_output(&line, "lo UNKNOWN\nto-router@if2 UP\nwg0 UP\n");
        let told = busy(&fake);
        assert!(told[0].contains("its interface wg0 is not from a lab"), "{told:?}");
        fake.put_output(&line, "lo UNKNOWN\nto-router@if2 UP\nto-client@if2 UP\n");
        assert_eq!(left_over(&fake).undos.len(), 1, "its own interfaces are none of a stranger");
    }

    #[test]
    fn who_cannot_make_a_laboratory_is_told_what_may_help() {
        for (user, words) in [(0, "CAP_SYS_ADMIN"), (1000, "run it with sudo")] {
            // Whichever change it ends at.
            let told = (1..12).filter_map(|at| {
                let fake = Fake::new();
                fake.install("ip").install("tc");
                let faulty = crate::system::Faulty::dying(&fake, at);
                let mut guard = Guard::begin(&faulty, Path::new("/var/lib/assay"), "a").ok()?;
                fake.set_user(user);
                Some(make_lab(&faulty, &mut guard).err()?.message)
            });
            let told: Vec<String> = told.collect();
            let fits = told.iter().all(|message| message.contains(words));
            assert!(fits && !told.is_empty(), "{told:?}");
        }
    }
}
