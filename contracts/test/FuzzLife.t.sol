// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome, Reason} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice Whole lives with any roster, any fees, any votes: the outcome is what the ballots say, and the escrow
/// leaves to the last unit.
contract FuzzLifeTest is HubTest {
    function testFuzz_life__any_roster_fees_and_votes(uint256 escrow, uint256 size, uint256 seed) public {
        uint256 quorum;
        (escrow, size, quorum) = prepare(escrow, size, seed);
        Terms memory t = terms();
        t.escrowAmount = escrow;
        token.mint(poster, escrow);
        uint256 bountyId = createWith(t);
        submitAs(solver, bountyId, WORK);
        submitAs(rival, bountyId, OTHER_WORK);
        toReveal(bountyId);
        uint256[3] memory votes = vote(bountyId, size, quorum, seed);
        BountyView memory b = hub.getBounty(bountyId);
        if (b.outcome == Outcome.OPEN) {
            for (uint256 i = 0; i < 3; ++i) {
                vm.assertGt(quorum, votes[i], "quorum overlooked");
            }
            toEnd(bountyId);
            hub.settle(bountyId);
            bool silent = votes[0] + votes[1] + votes[2] == 0;
            vm.assertEq(hub.getBounty(bountyId).reason, silent ? Reason.GUARDIANS_SILENT : Reason.QUORUM_NOT_REACHED);
        } else {
            address winner = votes[0] == quorum ? solver : votes[1] == quorum ? rival : address(0);
            vm.assertEq(b.winner, winner, "won without quorum");
            vm.assertTrue(winner != address(0) || votes[2] == quorum);
        }
        drain(bountyId, escrow);
    }

    function prepare(uint256 escrow, uint256 size, uint256 seed) private returns (uint256, uint256, uint256) {
        escrow = MIN_ESCROW + escrow % (type(uint88).max - MIN_ESCROW);
        size = 1 + size % 15;
        guardians = ascending(size);
        uint256 quorum = size / 2 + 1 + seed % (size - size / 2);
        rosterHash = publish(guardians, quorum);
        vm.prank(owner);
        hub.setFeePolicy((seed >> 8) % 1_001, (seed >> 24) % 2_001, treasury);
        return (escrow, size, quorum);
    }

    /// @dev Each Guardian is silent or picks one of three outcomes; stops when the bounty is final.
    function vote(uint256 bountyId, uint256 size, uint256 quorum, uint256 seed)
        private
        returns (uint256[3] memory votes)
    {
        uint256 bias = (seed >> 40) % 4; // some lives agree, some do not
        for (uint256 i = 0; i < size; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint256 pick = seed % 8 < 5 ? bias : (seed >> 32) % 4;
            if (pick == 3) continue;
            if (pick == 0) award(i, bountyId, solver, WORK);
            if (pick == 1) award(i, bountyId, rival, OTHER_WORK);
            if (pick == 2) reject(i, bountyId);
            if (++votes[pick] == quorum) {
                vm.assertTrue(hub.getBounty(bountyId).outcome != Outcome.OPEN, "quorum overlooked");
                break;
            }
        }
    }

    function drain(uint256 bountyId, uint256 escrow) private {
        vm.assertEq(token.balanceOf(address(hub)), escrow);
        tryPull(solver, abi.encodeCall(hub.claim, (bountyId, "", "")));
        tryPull(rival, abi.encodeCall(hub.claim, (bountyId, "", "")));
        tryPull(poster, abi.encodeCall(hub.claimRefund, (bountyId)));
        tryPull(treasury, abi.encodeCall(hub.claimProtocolFee, (bountyId)));
        for (uint256 i = 0; i < guardians.length; ++i) {
            tryPull(guardians[i], abi.encodeCall(hub.claimGuardianFee, (bountyId)));
        }
        vm.assertEq(token.balanceOf(address(hub)), 0, "units stuck");
        vm.assertEq(owed(bountyId), 0);
    }

    /// @dev Pays exactly what `claimable` promised, or refuses where it promised nothing.
    function tryPull(address account, bytes memory data) private {
        uint256 bountyId = 1;
        uint256 promised = hub.claimable(bountyId, account);
        uint256 before = token.balanceOf(account);
        vm.prank(account);
        (bool ok,) = address(hub).call(data);
        vm.assertTrue(ok == (promised != 0), "pull differs from claimable");
        vm.assertEq(token.balanceOf(account) - before, promised);
    }
}
