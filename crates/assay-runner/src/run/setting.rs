//! State of a trial: its open target, and everything else that does not change between trials.

use std::ops::Range;
use std::path::Path;

use super::fleet::StartBarrier;
use super::survey::Surveyed;
use assay_core::presence::Presence;
use assay_machine::probes::{ProbeRequest, Scene, page_cache};
use assay_machine::system::identity::Caller;
use assay_machine::system::site::Site;
use assay_machine::system::{CachedPages, System};
use assay_study::plan::design::Demands;
use assay_study::results::bundle::SoFar;
use assay_study::results::plan::Plan;
use assay_workloads::production::HarmLimits;

#[derive(Clone, Copy)]
pub struct TrialContext<'a> {
    pub system: &'a dyn System,
    pub plan: &'a Plan,
    pub site: &'a Site,
    pub surveyed: &'a Surveyed<'a>,
    pub demands: &'a Demands,
    pub runs_as: Option<Caller>,
    /// Duration of the previous readings before a run: they are part of the rest.
    pub readings_ns: u64,
    /// Limits beyond which its arm is rolled back, for production work.
    pub limits: Option<&'a HarmLimits>,
    pub keep: Option<&'a SoFar<'a>>,
    pub directory: Option<&'a Path>,
    pub gate: Option<&'a dyn StartBarrier>,
}

impl<'a> TrialContext<'a> {
    pub fn scene(&self) -> Scene<'a> {
        let file = self.surveyed.opened.file().map(|file| (file, self.range()));
        let plan = self.plan;
        let asked = ProbeRequest { probes: &plan.probes, meter: plan.meter.as_deref() };
        Scene { system: self.system, site: self.site, file, asked }
    }

    pub fn range(&self) -> Range<u64> {
        let area = self.surveyed.survey.area;
        area.start..area.start + area.length
    }

    pub fn cached_pages(&self) -> Presence<CachedPages> {
        page_cache::count(&self.scene())
    }
}
