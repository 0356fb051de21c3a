"""How detectors are fitted: plans, samples, regressions, offsets."""
