"""The pages for people: the list, bounties, accounts, Guardians, the deployment, publishing, and Atom feeds."""
