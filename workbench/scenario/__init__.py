"""What goes in: cluster, jobs, speeds, rewards, a Scenario and its JSON, presets, traces."""
