"""Files of this machine: pages, keys, what is selected and sealed, what is opened."""
