//! `assay run --coordinator`: the same study on several hosts at once, with any launcher.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use super::{output, running};
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_core::quantity::Time;
use assay_machine::system::System;
use assay_machine::system::network::token::{
    self, FLEET_TOKEN_FILE_VARIABLE, FLEET_TOKEN_VARIABLE,
};
use assay_runner::fleet::message::FleetPurpose;
use assay_runner::fleet::ranks::{self, RankPlace};
use assay_runner::real::fleet as sockets;
use assay_runner::run::fleet::FleetMember;
use assay_runner::run::{AllHosts, Consented, Request};
use assay_study::file::{Hosts, Study};
use assay_study::plan::allocation::Quick;
use assay_study::results::fleet::words;

/// Wait for a host beyond twice the expected time.
const GRACE: Duration = Duration::from_secs(10);
/// Wait of the hosts for each other before the plan exists; a test area may have to be filled.
const WAIT: Duration = Duration::from_secs(10 * 60);
const NAME: &str = "/proc/sys/kernel/hostname";

/// Rank of this host in a fleet.
#[derive(Debug, Default, Args)]
pub struct FleetArguments {
    /// Run with other hosts; rank 0 listens here
    ///
    /// Start the same command once per host, with srun, mpirun, an indexed Kubernetes Job or ssh. All hosts need the
    /// same token, in ASSAY_COORDINATOR_TOKEN or in the file named by ASSAY_COORDINATOR_TOKEN_FILE. The hosts share
    /// one plan, and wait at a barrier before each trial. Rank 0 reports the combined result; each host also stores a
    /// separate result. Without a launcher, ASSAY_RANK=2/4 sets the 0-based rank and the number of hosts.
    #[arg(long = "coordinator", value_name = "HOST:PORT")]
    fleet: Option<String>,
}

pub struct OwnHost<'a> {
    hosts: Hosts,
    address: &'a str,
    pub place: RankPlace,
    name: String,
}

impl fmt::Display for OwnHost<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", words(self.place.rank, &self.name), self.place.ranks)
    }
}

impl FleetArguments {
    /// Refuses requested options of a study on one host if there are other hosts.
    pub fn refuse_with_others(&self, options: &[(bool, &str)]) -> Outcome<()> {
        match options.iter().find(|(is_asked, _)| *is_asked) {
            Some((_, option)) if self.fleet.is_some() => {
                Err(mistake!("{option} is for one host; remove one of the two options"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses other hosts for a study of recorded trials.
    pub fn refuse_records(&self) -> Outcome<()> {
        if self.fleet.is_some() {
            return Err(mistake!(
                "this study reads the records of one machine; remove --coordinator, and use assay compare"
            ));
        }
        Ok(())
    }

    /// Returns this host's rank; `None` for a single host.
    pub fn own_host(&self, system: &dyn System, hosts: Hosts) -> Outcome<Option<OwnHost<'_>>> {
        let Some(address) = &self.fleet else { return Ok(None) };
        let place = ranks::place(&|name: &str| system.variable(name)).map_err(Failure::mistake)?;
        let name = system.read_text(Path::new(NAME)).unwrap_or_default();
        let name = outside::spelled(name.trim()).into_owned();
        Ok(Some(OwnHost { hosts, address, place, name }))
    }
}

impl OwnHost<'_> {
    /// Runs a study together with the other hosts. Fails if a host is missing, and for all errors of a single host.
    pub fn run(
        &self,
        system: &dyn System,
        request: Request<'_>,
        quiet: bool,
    ) -> Outcome<running::Unended> {
        let stop = running::stop_on_signals(&running::RESTORES)?;
        let member = self.member(system, &stop, FleetPurpose::Run, quiet)?;
        running::run_with(system, Request { fleet: Some(member), ..request }, &stop, quiet)
    }

    /// Returns the plan of a study on all hosts. Fails like a single host, and if a host is missing or does not match.
    pub fn plan(
        &self,
        system: &dyn System,
        study: Study,
        targets: &[String],
        consented: &Consented,
        quick: Option<Quick>,
        quiet: bool,
    ) -> Outcome<AllHosts> {
        let stop = running::stop_on_signals(&running::LOOKS)?;
        let member = self.member(system, &stop, FleetPurpose::Plan, quiet)?;
        AllHosts::preview(system, member, &stop, study, targets, consented, quick)
    }

    /// Connects to the leading rank, or waits for the other hosts as the leader. Fails without a shared token.
    fn member(
        &self,
        system: &dyn System,
        stop: &AtomicBool,
        purpose: FleetPurpose,
        quiet: bool,
    ) -> Outcome<FleetMember<'static>> {
        let token = token::of_fleet(system).map_err(Failure::mistake)?.ok_or_else(|| {
            mistake!(
                "--coordinator: no shared token; set {FLEET_TOKEN_VARIABLE} or {FLEET_TOKEN_FILE_VARIABLE}"
            )
        })?;
        let or_default =
            |time: Option<Time>, default| time.map_or(default, |Time(ns)| Duration::from_nanos(ns));
        let wait = or_default(self.hosts.join_timeout, WAIT);
        if !quiet {
            output::message(&if self.place.leads() {
                format!("{self} is waiting for the other hosts at {}", self.address)
            } else {
                format!("{self} is connecting to {}", self.address)
            });
        }
        let line = if self.place.leads() {
            sockets::listen(self.address, &token, self.place.ranks, wait, stop)
        } else {
            sockets::dial(self.address, &token, self.place, wait, stop)
        };
        let is_stopped = stop.load(Ordering::Relaxed);
        let line =
            line.map_err(if is_stopped { Failure::interrupted } else { Failure::refused })?;
        Ok(FleetMember {
            line: Box::new(line),
            place: self.place,
            purpose,
            name: self.name.clone(),
            on_failure: self.hosts.on_failure,
            grace: or_default(self.hosts.barrier_timeout, GRACE),
            wait,
        })
    }

    /// Ends a rank other than 0, whose results rank 0 shows.
    pub fn ended(&self, system: &dyn System, ran: running::Unended, quiet: bool) -> Outcome<()> {
        let why = ran.ended().map(str::to_owned);
        let trials = match ran.trials() {
            1 => "1 trial".to_owned(),
            count => format!("{count} trials"),
        };
        running::close(system, ran)?;
        if let Some(why) = why {
            return Err(Failure::partial(format!("{self}: {trials}: {why}")));
        }
        if !quiet {
            output::message(&format!("{self}: {trials}; rank 0 has the combined result"));
        }
        Ok(())
    }
}
