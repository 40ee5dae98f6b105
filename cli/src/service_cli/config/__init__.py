"""Where a run's values come from: the deployment, the environment, keys."""
