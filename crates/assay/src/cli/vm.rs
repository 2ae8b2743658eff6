//! Durability studies in virtual machines.

use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_runner::real::guest;
use assay_study::file::Study;

/// Prepares a study whose power cuts happen in virtual machines; other studies stay as they are.
///
/// # Errors
/// The user's mistake: a target on this machine (`has_places`), or the method plug, which cuts this machine's power.
pub fn in_machines(study: Study, has_places: bool) -> Outcome<Study> {
    if !study.makes_machines() {
        return Ok(study);
    }
    if study.outlives_cuts() {
        return Err(mistake!(
            "method plug needs a power cut of this machine; remove the other methods"
        ));
    }
    if has_places {
        return Err(mistake!(
            "this study writes only inside virtual machines; remove TARGET, --scratch and --destroy"
        ));
    }
    Ok(study.in_machines())
}

pub fn check_machines(system: &dyn System, study: &Study) -> Outcome<()> {
    study.machines().iter().try_for_each(|wanted| guest::ready(system, wanted).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_core::failure::Kind;
    use assay_study::file::presets;

    #[test]
    fn virtual_machines_need_no_target_and_cannot_lose_the_power_of_this_machine() {
        let of = |methods: &[&str], has_places| {
            let mut study = presets::find("durability").unwrap().unwrap();
            let methods = methods.iter().map(|method| (*method).to_owned()).collect();
            study.factors.insert("method".to_owned(), methods);
            in_machines(study, has_places)
        };
        assert!(!of(&["plug"], true).unwrap().makes_machines());
        assert_eq!(of(&["kill", "plug"], false).unwrap_err().kind, Kind::Mistake);
        assert_eq!(of(&["kill"], true).unwrap_err().kind, Kind::Mistake);
        assert!(of(&["kill"], false).unwrap().makes_machines());
        let study = presets::find("queue-depth").unwrap().unwrap();
        assert_eq!(in_machines(study.clone(), true).unwrap(), study);
    }
}
