//! Targets: resolved, with consent, and locked against other runs.

use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;
use assay_machine::factors::Role;
use assay_machine::factors::layers::{self, Base, DeviceRange};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{Consent, System, devices, identity, resolve};
use assay_study::file::simulated;
use assay_study::plan::design::{Demands, TargetGround, Varied};

pub struct Place {
    pub site: Site,
    pub law: Option<assay_load::Law>,
    pub consent: Option<Consent>,
    /// The devices besides the first, if it consists of several.
    pub others: Vec<Place>,
}

impl Place {
    pub fn of_base(system: &dyn System, base: &Base) -> Outcome<Self> {
        let site = resolve::resolve(system, &base.path().to_string_lossy())?;
        let consent = match base {
            Base::Device(device) => Some(device.consent.clone()),
            Base::Directory(_) => None,
        };
        Ok(Self { site, law: None, consent, others: Vec::new() })
    }

    pub fn future_loops(size: Bytes, members: u32) -> Self {
        let site = Site::loop_to_be(size.0);
        let member = || Self { site: site.clone(), law: None, consent: None, others: Vec::new() };
        Self { others: (1..members).map(|_| member()).collect(), ..member() }
    }

    pub fn devices(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// Combines devices to one target: the first device, with the names of all, and the others.
    pub fn combined(devices: Vec<Self>) -> Outcome<Self> {
        let names: Vec<String> = devices.iter().map(|device| device.site.target.clone()).collect();
        let mut devices = devices.into_iter();
        let empty = || Failure::mistake("a list of devices needs at least one device");
        let first = devices.next().ok_or_else(empty)?;
        let site = Site { target: names.join(", "), ..first.site };
        Ok(Self { site, others: devices.collect(), ..first })
    }
}

/// Largest size ratio of a member to the smallest one.
const LARGEST_RATIO: f64 = 1.01;

/// Returns the places (targets) of a study: one of several devices of similar size, or those that the user named.
pub fn places_of(
    system: &dyn System,
    demands: &Demands,
    targets: &[String],
    destroy: &[String],
) -> Outcome<Vec<Place>> {
    let TargetGround::Together(paths) = &demands.ground else {
        return places(system, targets, destroy);
    };
    let devices = places(system, paths, destroy)?;
    for Place { site, .. } in &devices {
        let name = &site.target;
        if site.kind != TargetKind::Device || site.counted.is_empty() {
            return Err(Failure::mistake(format!(
                "{name:?} is not a block device; use block devices only"
            )));
        }
    }
    let size =
        |place: &Place| place.site.counted.first().map_or(0, |name| devices::size_of(system, name));
    let mut sizes: Vec<(u64, &String)> = devices.iter().map(size).zip(paths).collect();
    sizes.sort_by_key(|(bytes, _)| *bytes);
    if let [(small, small_name), .., (large, large_name)] = sizes[..]
        && large as f64 > small as f64 * LARGEST_RATIO
    {
        let (large, small) = (Bytes(large), Bytes(small));
        return Err(Failure::mistake(format!(
            "{large_name:?} has {large} and {small_name:?} has {small}; use devices or partitions of equal size"
        )));
    }
    Ok(vec![Place::combined(devices)?])
}

/// Resolves targets as typed; `destroy` contains the consents to overwrite devices.
pub fn places(system: &dyn System, targets: &[String], destroy: &[String]) -> Outcome<Vec<Place>> {
    let mut places = Vec::<Place>::new();
    for target in targets {
        let place = match target.strip_prefix(simulated::PREFIX) {
            Some(text) => Place {
                site: Site::simulated(target),
                law: Some(simulated::law(text)?),
                consent: None,
                others: Vec::new(),
            },
            None => real_place(system, target, destroy)?,
        };
        if let Some(first) = places.iter().find(|first| is_same(&first.site, &place.site)) {
            let first = &first.site.target;
            return Err(Failure::mistake(if first == target {
                format!("{target:?} is listed twice; list each target once")
            } else {
                format!("{first:?} and {target:?} are the same target; list each target once")
            }));
        }
        places.push(place);
    }
    let consents = places.iter().filter(|place| place.consent.is_some()).count();
    if destroy.len() > consents {
        return Err(Failure::mistake(
            "--destroy: the device is not a target; give its device file as TARGET",
        ));
    }
    Ok(places)
}

fn is_same(one: &Site, other: &Site) -> bool {
    match (one.kind, other.kind) {
        (TargetKind::Simulated, _) => false,
        (TargetKind::Device, TargetKind::Device) => one.device == other.device,
        _ => one.path == other.path,
    }
}

fn real_place(system: &dyn System, target: &str, destroy: &[String]) -> Outcome<Place> {
    let site = resolve::resolve(system, target)?;
    let consent = match (site.kind, destroy) {
        (TargetKind::Device, [_, ..]) => Some(consent_of(system, &site, destroy)?),
        _ => None,
    };
    Ok(Place { site, law: None, consent, others: Vec::new() })
}

/// Finds the consent for a device among those of the command line; its text starts with the ID of the device.
fn consent_of(system: &dyn System, site: &Site, destroy: &[String]) -> Outcome<Consent> {
    let id = site.counted.first().map(|name| identity::device_id(system, name));
    let is_for_device =
        |text: &&String| id.as_ref().is_some_and(|id| text.starts_with(id.as_str()));
    // Without a matching consent, any of them leads to an error with the correct one.
    match destroy.iter().find(is_for_device).or(destroy.first()) {
        Some(text) => identity::consent(system, site, text),
        None => Err(Failure::mistake("--destroy needs the ID of the device")),
    }
}

/// Returns the part of a device that the study may use; fails if the area does not fit, except on a member of several.
pub(super) fn usable_range(
    system: &dyn System,
    demands: &Demands,
    site: &Site,
    is_member: bool,
) -> Outcome<DeviceRange> {
    let device = site.counted.first().filter(|_| site.kind == TargetKind::Device);
    let made = &demands.made;
    let device = device.ok_or_else(|| {
        Failure::mistake(format!(
            "{}: {} needs a block device; give a device, or try --scratch{}",
            site.target,
            layers::with_article(made.noun),
            other_studies(demands, &site.target)
        ))
    })?;
    let bytes = devices::size_of(system, device);
    let start = demands.area.first_byte(bytes);
    if start >= bytes {
        return Err(Failure::mistake(format!("the area starts after the end of {}", site.target)));
    }
    if let Some(size) = demands.area.size.filter(|_| made.on_device && !is_member)
        && made.least(size.0) > bytes - start
    {
        return Err(Failure::mistake(format!(
            "{}: an area of {size} and the surrounding {} do not fit into {}; use a smaller area.size",
            site.target,
            made.noun,
            Bytes((bytes - start) >> 20 << 20) // whole MiB
        )));
    }
    Ok(DeviceRange { device: device.clone(), range: start..bytes, whole: start == 0 })
}

/// How to compare the varied settings on an existing device stack.
fn other_studies(demands: &Demands, target: &str) -> String {
    let is_setting = |varied: &&Varied| varied.role() == Some(Role::Setting);
    let Some(Varied { name, levels, .. }) = demands.varied.iter().find(is_setting) else {
        return String::new();
    };
    let set = format!("--set {name}={}", levels.join(","));
    format!(
        "; to compare only {name}: `assay run queue-depth {target} --set queue_depth=8 {set}` with a synthetic load, \
         `assay run production {target} {set}` under the production workload"
    )
}
