//! Trims, on a machine of text.

use super::*;

#[test]
fn trims_are_claimed_apart_from_what_is_moved() {
    let fake = machine();
    let text = STUDY.replace("mix = \"write\"", "mix = \"trim\"");
    let mut asked = request("/home/me");
    asked.study = text::parse("test", &text).unwrap();
    let finished = run(&fake, asked, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let stored =
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id)).unwrap();
    for trial in &stored.trials {
        let workload = &stored.plan.workloads[trial.workload];
        let measured = trial.measured.as_ref().unwrap();
        let claims = measured.claims;
        let trims = io::IoPlan::of(&workload.work).unwrap().mix.clears();
        assert_eq!(claims.trim.operations > 0, trims, "{}", workload.name);
        assert_eq!(claims.read.operations == 0, trims, "{}", workload.name);
        assert_eq!(claims.write.operations, 0);
        assert_eq!(trial.latency_ns.contains_key("trim"), trims);
    }
}
