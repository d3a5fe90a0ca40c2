"""What a formulation and a scheduler must keep, checked rule by rule for `workbench.testing.check`."""
