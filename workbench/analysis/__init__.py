"""What a run means: measures, charts, explanations, comparisons, what-if, sweeps, reports, symbols."""
