// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

interface IHubSubmit {
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external;
}

/// Submits many commitments in one transaction, so that a local chain can be filled with events quickly.
contract Burst {
    function run(IHubSubmit hub, uint256 bountyId, bytes32 rosterHash, uint256 count) external {
        for (uint256 i = 1; i <= count; i++) {
            hub.submit(bountyId, keccak256(abi.encode(block.number, gasleft(), i)), rosterHash);
        }
    }
}
