//! Runs that are verified as the command line does it, in this process.

use gyrator::report::Divergence;
use gyrator::{Report, Run};
use gyrator_assess::{Comparing, Keeper};

/// The report of the run that `start` gives for the factor 1 of all steps, verified by that for ½ if it is suspected.
pub(super) fn verified(start: impl Fn(f64) -> Run) -> Report {
    let mut run = start(1.0);
    let kept = Keeper::observe(&mut run).unwrap();
    let mut report = run.run().unwrap();
    if let Some(kept) = kept.filter(|_| report.divergence == Divergence::Suspected) {
        let comparing = Comparing::with(kept.take(), 0.5);
        let mut second = start(0.5);
        second.observe(comparing.clone()).unwrap();
        // One that ends in a value that is not finite also tells.
        let _ = second.run();
        let advice = gyrator::run::divergence_advice(&run);
        comparing.verification().settle(&mut report, advice);
    }
    report
}
