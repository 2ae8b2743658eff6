//! `assay plan`: shows what `run` would do.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::check::{self, CheckOptions};
use super::fleet::FleetArguments;
use super::recorded::{self, RebootArguments};
use super::study_arguments::StudyArguments;
use super::{explain, output, reboots, vm};
use crate::store;
use assay_analysis::inference;
use assay_core::failure::Outcome;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, identity};
use assay_report::preview::{self, Preview, PreviewHost, PreviewStake};
use assay_report::text;
use assay_runner::run::{self, AllHosts};
use assay_study::file::Study;
use assay_study::results::bundle::{self, Stored};
use assay_study::results::foreign;
use assay_study::results::plan::Plan;
use assay_workloads::WorkPlan;

/// Maximum number of earlier results searched for the variation.
const MOST_LOOKED_AT: usize = 20;

/// Show what a study would run, change and detect
///
/// Changes nothing. Assay estimates the smallest detectable difference from the spread of an earlier result of the same
/// study, if such a result exists.
#[derive(Debug, Args)]
#[command(
    after_help = "More options: assay plan STUDY --help (one study), assay plan --help (all)",
    after_long_help = "\
Examples:
  assay plan depth.toml                   preview a study
  assay plan check /dev/sdX               show the contents and ID of a drive
  assay plan filesystems --scratch        show creations and removals
  assay plan durability --set method=kill
                                          show which VMs to kill
  assay plan depth.toml --replicates 12   show the effect of more replicates
  assay plan depth.toml /mnt/x --coordinator n0:7711
                                          run on each host; shows all hosts
  assay plan check --commands             print the fio commands
  assay plan 20261120-1031 --commands     print the commands of a stored result"
)]
pub struct PlanArguments {
    #[command(flatten)]
    of_study: StudyArguments,
    #[command(flatten)]
    of_check: CheckOptions,
    #[command(flatten)]
    of_reboots: RebootArguments,
    /// Print the equivalent fio commands
    ///
    /// Accepts a study, or the ID of a stored result as STUDY.
    #[arg(long)]
    commands: bool,
    /// Print the order of trials
    #[arg(long, conflicts_with_all = ["commands", "json"])]
    order: bool,
    #[command(flatten)]
    of_fleet: Box<FleetArguments>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &PlanArguments) -> Outcome<()> {
    arguments.of_fleet.refuse_with_others(&[(arguments.commands, "--commands")])?;
    let check = arguments.of_check.typed();
    if let Some(option) = check.first()
        && (!arguments.of_study.is_of("check") || arguments.commands)
    {
        return Err(mistake!(
            "{option}: use it as in `assay plan check {option}`, without --commands"
        ));
    }
    if arguments.commands {
        return explain::of_plan(system, &arguments.of_study, arguments.json);
    }
    let (study, targets) = if arguments.of_study.is_of("check") {
        let mut study = arguments.of_check.study(system)?;
        check::set_replicates(&mut study, arguments.of_study.targets().len());
        arguments.of_study.study_from(system, study)?
    } else {
        arguments.of_study.study(system)?
    };
    if arguments.of_reboots.are_recorded(&study, arguments.of_study.has_targets())? {
        arguments.of_fleet.refuse_records()?;
        return match arguments.of_reboots.reboots {
            Some(count) => reboots::run(system, study, count, false),
            None => recorded::preview(system, study),
        };
    }
    let StudyArguments { destroy, permitted, .. } = &arguments.of_study;
    let consented = permitted.consented(destroy)?;
    let quick = arguments.of_study.quick();
    let study = vm::in_machines(study, arguments.of_study.names_places())?;
    let in_machines = [(study.makes_machines(), "a study in virtual machines")];
    arguments.of_fleet.refuse_with_others(&in_machines)?;
    let targets = if study.makes_machines() { vec![".".to_owned()] } else { targets };
    let host = arguments.of_fleet.own_host(system, study.hosts)?;
    let seen = match &host {
        Some(host) => host.plan(system, study, &targets, &consented, quick, arguments.json)?,
        None => AllHosts {
            own: run::preview(system, study, &targets, &consented, quick)?,
            hosts: Vec::new(),
        },
    };
    if let Some(host) = host.filter(|host| !host.place.leads()) {
        if !arguments.json {
            output::message(&format!(
                "{host}: all ranks share one plan, and rank 0 prints the plan"
            ));
        }
        return Ok(());
    }
    // A quick run without fixed replicates chooses the trial duration by a pilot.
    let by_pilot = quick.is_some_and(|quick| quick.replicates.is_none());
    let preview = build_preview(system, &seen, by_pilot);
    if arguments.json {
        output::json(&preview);
        return Ok(());
    }
    let document = if arguments.order {
        preview::order_document(&preview)
    } else {
        preview::document(&preview, seen.own.plan.design.order)
    };
    output::text(&text::render(&document, output::columns(system), false));
    Ok(())
}

fn build_preview(system: &dyn System, seen: &AllHosts, by_pilot: bool) -> Preview {
    let run::StudyPreview { study, plan, sites, changes, lacks } = &seen.own;
    let [earlier, on_drives] = earlier(system, study, plan, sites);
    let mut unavailable = lacks.clone();
    if study.makes_machines() {
        unavailable.extend(vm::check_machines(system, study).err().map(|failure| failure.message));
    }
    let hosts = seen.hosts.iter().map(|it| PreviewHost::new(it.rank, &it.name, &it.surveys));
    Preview {
        by_pilot,
        traffic: preview::traffic(plan, sites, earlier.as_ref().or(on_drives.as_ref())),
        unavailable,
        power_analysis: inference::foresee(plan, earlier.as_ref().map(store::findings_of).as_ref()),
        ..preview::build(study, plan, sites, changes, stakes(system, sites))
    }
    .with_hosts(hosts.collect())
}

fn stakes(system: &dyn System, sites: &[Site]) -> Vec<PreviewStake> {
    let is_there = |site: &&Site| !site.path.as_os_str().is_empty();
    let mut devices: Vec<&Site> =
        sites.iter().filter(|site| site.kind == TargetKind::Device).filter(is_there).collect();
    let mut known = BTreeSet::new();
    devices.retain(|site| known.insert(&site.target));
    let preview = |site: &Site| {
        let stake = identity::stake(system, site);
        if stake.is_ok() {
            // Ignores errors: without the note, the run must accept the typed ID.
            let _ = identity::remember(system, site);
        }
        PreviewStake::new(&site.target, stake)
    };
    devices.into_iter().map(preview).collect()
}

/// Returns the newest result of the study on these targets, with any trial duration; or else, as the second value, of
/// any study on these drives.
fn earlier(system: &dyn System, study: &Study, plan: &Plan, sites: &[Site]) -> [Option<Stored>; 2] {
    let places = |sites: &[Site]| -> Vec<PathBuf> {
        let paths = sites.iter().map(|site| site.path.clone());
        paths.filter(|path| !path.as_os_str().is_empty()).collect()
    };
    let drives = |sites: &[Site]| -> Vec<String> {
        sites.iter().flat_map(|site| &site.drives).map(|drive| drive.id.clone()).collect()
    };
    // A pilot chooses the trial duration, but not the work.
    let work = |plan: &Plan| -> Vec<(String, WorkPlan)> {
        plan.workloads.iter().map(|planned| (planned.name.clone(), planned.work.clone())).collect()
    };
    let Ok(results) = store::all_results(system) else { return [None, None] };
    let stored = results
        .iter()
        .filter(|directory| !foreign::is_one(system, directory))
        .take(MOST_LOOKED_AT)
        .filter_map(|directory| bundle::read(system, directory).ok())
        .filter(|stored| !stored.trials.is_empty());
    let mut on_drives = None;
    for stored in stored {
        let earlier_sites = &stored.environment.sites;
        if stored.study.title == study.title
            && work(&stored.plan) == work(plan)
            && places(earlier_sites) == places(sites)
        {
            return [Some(stored), None];
        }
        let is_on_drives = !drives(sites).is_empty() && drives(earlier_sites) == drives(sites);
        if is_on_drives && on_drives.is_none() {
            on_drives = Some(stored);
        }
    }
    [None, on_drives]
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_report::preview::PreviewMade;
    use assay_runner::run::known::{able, machine, placed};
    use assay_study::file::{Order, presets};
    use assay_study::plan::allocation::Quick;
    use assay_study::results::plan::PlannedTrial;

    /// Returns the preview of a study, its text on one line, and the number of trials that match.
    fn planned(study: Study, is_made: fn(&PlannedTrial) -> bool) -> (Preview, String, usize) {
        let fake = machine();
        fake.with_file_systems();
        let targets = [".".to_owned()];
        let seen = run::preview(&fake, study, &targets, &run::Consented::default(), None);
        let run::StudyPreview { study, plan, sites, changes, .. } = seen.unwrap();
        let times = plan.trials.iter().enumerate();
        let times = times.filter(|(at, trial)| plan.is_remade_before(*at) && is_made(trial));
        let times = times.count();
        let preview = preview::build(&study, &plan, &sites, &changes, Vec::new());
        let text = text::render(&preview::document(&preview, plan.design.order), 80, false);
        (preview, text.split_whitespace().collect::<Vec<_>>().join(" "), times)
    }

    #[test]
    fn what_is_made_is_counted_by_what_it_is_and_a_level_that_makes_nothing_is_not() {
        let study = |name: &str| presets::find(name).unwrap().unwrap().settled();
        let (preview, text, times) =
            planned(study("fill-level"), |trial| trial.arm["fill_level"] != "none");
        assert!(times > 0, "{text}");
        assert_eq!(
            (preview.filesystem_creations, preview.creations),
            (0, vec![PreviewMade { what: "filler file", times }])
        );
        assert!(text.contains(&format!("to create {times} filler files and to write")), "{text}");
        let (preview, text, times) = planned(study("filesystems").in_lab(), |_| true);
        assert!(times > 1, "{text}");
        assert_eq!(preview.filesystem_creations, times);
        assert!(text.contains(&format!("to create {times} file systems and to write")), "{text}");
        let (preview, text, _) = planned(study("queue-depth"), |_| true);
        assert!(preview.creations.is_empty() && !text.contains("to make"), "{text}");
    }

    #[test]
    fn each_host_is_told_with_what_happens_there_and_one_alone_is_none() {
        let study = presets::find("queue-depth").unwrap().unwrap().settled();
        let (alone, text, _) = planned(study, |_| true);
        assert!(alone.hosts.is_empty() && !text.contains("on each of"), "{text}");
        let host = |rank: u32| PreviewHost {
            rank,
            name: format!("n{rank}"),
            actions: vec![format!("/mnt/{rank}: a file is made"), alone.changes[0].clone()],
        };
        let of = |count: u32| {
            let preview = alone.clone().with_hosts((0..count).map(host).collect());
            (text::render(&preview::document(&preview, Order::default()), 80, false), preview)
        };
        let (text, preview) = of(2);
        assert!(text.contains("rank 1 (n1): /mnt/1: a file is made; "), "{text}");
        assert!(text.contains("on each of the 2 hosts"), "{text}");
        assert!(!preview.changes.contains(&alone.changes[0]), "it is told with its host");
        let (text, preview) = of(40);
        assert!(text.contains("... and 8 more") && !text.contains("n39"), "{text}");
        assert_eq!(preview.hosts.len(), 40);
    }

    /// Maximum displayed time in seconds of a preset with `--quick`.
    const QUICK_S: f64 = 120.0;
    /// The same for studies that count operations, displayed as "at most": the time of an endlessly slow medium.
    const COUNTED_S: f64 = 330.0;
    /// Studies that need longer, each with the reason.
    const LONGER_S: [(&str, f64, &str); 4] = [
        ("filesystems", 300.0, "160 cells, of which six replicates do not fit into less"),
        ("boot", 2200.0, "seven starts of the machine, each held to take five minutes"),
        ("production", 240.0, "a period of others' work is as long as their habits"),
        ("tune", 4500.0, "a race: these are the most, and few settings run to its end"),
    ];

    /// Studies that load links: nine settings, each with four phases until a buffer has filled.
    const LINKS_S: f64 = 750.0;

    #[test]
    #[ignore = "nightly: 1 s"]
    fn a_quick_look_of_every_shipped_study_keeps_to_its_time() {
        let mut told = Vec::new();
        for (name, study) in presets::all() {
            let study = placed(study.unwrap().quick().settled());
            let quick = Some(Quick { replicates: None });
            let targets = [".".to_owned()];
            let seen = run::preview(&able(), study, &targets, &run::Consented::default(), quick);
            let run::StudyPreview { study, plan, sites, changes, .. } = seen.unwrap();
            let preview = preview::build(&study, &plan, &sites, &changes, Vec::new());
            let longer = LONGER_S.iter().find(|(own, ..)| *own == name).map(|(_, most, _)| *most);
            let longer = longer.or(study.loads_links().then_some(LINKS_S));
            let usual = if preview.may_end_early { COUNTED_S } else { QUICK_S };
            let took = preview.trials_s;
            assert!(took <= longer.unwrap_or(usual), "{name}: {took:.0} s");
            assert!(longer.is_none() || took > QUICK_S, "{name}: {took:.0} s");
            told.push(took);
        }
        assert!(told.iter().any(|took| *took > QUICK_S / 2.0), "{told:?}");
    }
}
