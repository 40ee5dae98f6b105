"""The Hub against an independent Python model of its rules, in an EVM inside the test process."""
