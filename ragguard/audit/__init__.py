"""Events, attributions, quarantine and counters, kept where they can be audited."""
