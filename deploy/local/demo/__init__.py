"""One whole bounty on a local stack, run as its people would: with ``service-cli``, each in a process of their own."""
