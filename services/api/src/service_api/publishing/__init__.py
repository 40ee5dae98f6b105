"""Publishing a challenge page: checked, reviewed, and kept under its commitment."""
