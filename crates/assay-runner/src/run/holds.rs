//! Locks everything that a study uses, before any change. Devices that the study creates need no lock.

use std::collections::BTreeSet;
use std::time::Duration;

use super::event::{Context, Event};
use super::places::Place;
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_machine::factors::guard::SETTINGS;
use assay_machine::system::network::lab;
use assay_machine::system::{Hold, HoldError, beside, resolve};
use assay_study::plan::design::Demands;

const PAUSE: Duration = Duration::from_millis(200);
const REPORT_EVERY_NS: u64 = 1_000_000_000;

struct LockRequest {
    name: String,
    what: String,
}

/// Locks everything that a study uses; fails if another study holds it until the time limit.
pub(super) fn lock_all(
    context: &mut Context<'_>,
    demands: &Demands,
    places: &[Place],
    wait: Duration,
) -> Outcome<Vec<Hold>> {
    let began_ns = context.system.monotonic_ns();
    let most_ns = wait.as_nanos() as u64;
    let (mut holds, mut reported_ns) = (Vec::new(), None);
    for wanted in lock_requests(demands, places) {
        let hold = take_lock(context, &wanted, began_ns, most_ns, &mut reported_ns)?;
        if let Some(other) = hold.beside() {
            let text = format!(
                "{} by another assay process{}, whose user cannot lock out root; both runs disturb each other",
                wanted.what,
                holder_text(other.process, Some(other.user))
            );
            (context.tell)(Event::Warning(text));
        }
        holds.push(hold);
    }
    if demands.own_target().is_some() || places.iter().any(|place| place.law.is_none()) {
        // Without it, others only see the effects of this study.
        holds.extend(context.system.hold(&beside::name(context.system)).ok());
    }
    Ok(holds)
}

/// Returns the locks in an order common to all studies, to avoid a deadlock.
fn lock_requests(demands: &Demands, places: &[Place]) -> Vec<LockRequest> {
    let mut requests = Vec::new();
    if demands.network.makes_link {
        let what = "the lab of network namespaces is in use".to_owned();
        requests.push(LockRequest { name: lab::LOCK.to_owned(), what });
    }
    if demands.kept.settings {
        let what = "settings of this machine are being changed".to_owned();
        requests.push(LockRequest { name: SETTINGS.to_owned(), what });
    }
    if demands.kept.drives {
        requests.extend(drive_locks(places));
    }
    requests
}

/// Returns the locks of all drives below the places (targets), except simulated ones.
fn drive_locks(places: &[Place]) -> Vec<LockRequest> {
    let real = || places.iter().filter(|place| place.law.is_none()).flat_map(Place::devices);
    let names: BTreeSet<String> =
        real().flat_map(|place| resolve::lock_names(&place.site)).collect();
    let mut requests = Vec::new();
    for name in names {
        let mut drives = real().flat_map(|place| &place.site.drives);
        let drive = drives.find(|drive| drive.number.to_string() == name);
        let shown = drive.map_or_else(|| format!("device {name}"), |drive| drive.name.clone());
        requests.push(LockRequest { name, what: format!("{shown} is being measured") });
    }
    requests
}

/// Takes a lock; waits for another process until `most_ns` after `began_ns`, and reports this once per second.
fn take_lock(
    context: &mut Context<'_>,
    wanted: &LockRequest,
    began_ns: u64,
    most_ns: u64,
    reported_ns: &mut Option<u64>,
) -> Outcome<Hold> {
    let system = context.system;
    loop {
        let (process, user) = match system.hold(&wanted.name) {
            Ok(hold) => return Ok(hold),
            Err(HoldError::Held { process, user }) => (process, user),
            Err(HoldError::Failed(error)) => {
                let LockRequest { name, what } = wanted;
                return Err(Failure::refused(format!(
                    "cannot determine whether {what}: cannot test the lock {name}: {error}"
                )));
            }
        };
        let busy =
            format!("{} by another assay process{}", wanted.what, holder_text(process, user));
        let waited_ns = system.monotonic_ns().saturating_sub(began_ns);
        if waited_ns >= most_ns {
            return Err(Failure::refused(format!(
                "{busy}; wait until that process has finished, or use --wait 30m"
            )));
        }
        if context.is_stopped() {
            return Err(Failure::interrupted("interrupted while waiting; no trial was started"));
        }
        if reported_ns.is_none_or(|last| waited_ns - last >= REPORT_EVERY_NS) {
            let most = show::duration(most_ns as f64);
            let text = format!("{} of at most {most}; {busy}", show::clock(waited_ns));
            (context.tell)(Event::Waiting { text, waited_ns });
            *reported_ns = Some(waited_ns);
        }
        system.sleep(PAUSE);
    }
}

fn holder_text(process: Option<u32>, user: Option<u32>) -> String {
    let Some(process) = process else { return String::new() };
    let user = user.map_or_else(String::new, |id| format!(", user {id}"));
    format!(" (process {process}{user})")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::run::known::machine;
    use assay_machine::system::{Fake, System, resolve as resolved};
    use assay_study::file::presets;

    fn names(preset: &str, lab: bool) -> Vec<String> {
        let study = presets::find(preset).unwrap().unwrap();
        let site = resolved(&machine(), "/home/me").unwrap();
        let places = [Place { site, law: None, consent: None, others: Vec::new() }];
        let found = if lab {
            lock_requests(&Demands::from_study(&study.in_lab()), &[])
        } else {
            lock_requests(&Demands::from_study(&study), &places)
        };
        found.into_iter().map(|wanted| wanted.name).collect()
    }

    #[test]
    fn a_study_locks_what_it_touches() {
        assert_eq!(names("queue-depth", false), ["8:0"]);
        assert_eq!(names("production", false), ["8:0"]);
        assert_eq!(names("schedulers", false), ["8:0"]);
        assert_eq!(names("tunable", false), ["settings", "8:0"]);
        assert_eq!(names("small-memory", false).first().map(String::as_str), Some("settings"));
    }

    #[test]
    fn a_link_that_is_made_for_it_is_used_by_one_at_a_time() {
        let mut demands = Demands::from_study(&presets::find("stack-size").unwrap().unwrap());
        assert!(lock_requests(&demands, &[]).is_empty());
        demands.network.makes_link = true;
        let [request] = &lock_requests(&demands, &[])[..] else { panic!("not one lock") };
        assert_eq!(request.name, lab::LOCK);
    }

    #[test]
    fn what_it_makes_is_its_own_and_what_it_does_not_touch_is_free() {
        for (preset, lab) in
            [("queue-depth", true), ("schedulers", true), ("stack-size", false), ("compile", false)]
        {
            assert_eq!(names(preset, lab), [""; 0], "{preset}");
        }
        assert_eq!(names("tunable", true), ["settings"]);
    }

    fn held(fake: &Fake, wait: Duration, stop: bool) -> (Outcome<Vec<Hold>>, Vec<Event>) {
        let demands = Demands::from_study(&presets::find("queue-depth").unwrap().unwrap());
        let site = resolved(fake, "/home/me").unwrap();
        let places = [Place { site, law: None, consent: None, others: Vec::new() }];
        let (stop, mut told) = (AtomicBool::new(stop), Vec::new());
        let mut tell = |event| told.push(event);
        let mut context = Context { system: fake, runs_as: None, stop: &stop, tell: &mut tell };
        let taken = lock_all(&mut context, &demands, &places, wait);
        stop.store(true, Ordering::Relaxed);
        (taken, told)
    }

    #[test]
    fn who_does_not_wait_is_refused_at_once_and_hears_of_waiting() {
        let fake = machine();
        fake.set_holder("8:0", 4711, 1000);
        let (taken, told) = held(&fake, Duration::ZERO, false);
        let failure = taken.unwrap_err();
        assert_eq!(failure.kind.exit_code(), 3);
        let wanted = "sda is being measured by another assay process (process 4711, user 1000)";
        assert!(failure.message.starts_with(wanted), "{failure}");
        assert!(failure.message.ends_with("use --wait 30m") && told.is_empty(), "{failure}");
    }

    #[test]
    fn who_waits_hears_of_it_and_is_refused_at_the_end() {
        let fake = machine();
        fake.set_holder("8:0", 4711, 1000);
        let began_ns = fake.monotonic_ns();
        let (taken, told) = held(&fake, Duration::from_secs(70), false);
        assert_eq!(taken.unwrap_err().kind.exit_code(), 3);
        assert!(fake.monotonic_ns() - began_ns >= 70_000_000_000);
        assert_eq!(told.len(), 70);
        let Event::Waiting { text, .. } = &told[60] else { panic!("{told:?}") };
        assert!(text.starts_with("1 min 0 s of at most 70 s; sda"), "{text}");
        let (taken, _) = held(&fake, Duration::from_secs(70), true);
        assert_eq!(taken.unwrap_err().kind.exit_code(), 130);
    }
}
