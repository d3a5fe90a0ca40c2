"""The words between core and schedulers: snapshot, decision, contract, knobs, notation, estimators, solvers."""
