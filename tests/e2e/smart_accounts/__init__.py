"""Accounts of ERC-4337 on a local node: EntryPoint 0.7, a bundler, a paymaster that pays, and who sends operations.

Four steps, each usable without the next: ``contracts.deploy_contracts``, ``bundler.start_bundler``,
``paymaster.start_paymaster`` and ``operations.send_user_operation``.
"""
