// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice Submitting: one active commitment per Solver, until the deadline, by nobody who judges or pays.
contract SubmitTest is HubTest {
    uint256 private bountyId;

    function setUp() public override {
        super.setUp();
        bountyId = create();
    }

    function refused(address account, bytes32 commitment, bytes32 roster, bytes memory why) private {
        vm.expectRevert(why);
        vm.prank(account);
        hub.submit(bountyId, commitment, roster);
    }

    function test_submit__first_and_second__the_latest_is_active() public {
        vm.assertEq(hub.getSubmission(bountyId, solver), bytes32(0));
        vm.expectEmit(address(hub));
        emit SubmissionRecorded(bountyId, solver, WORK);
        submitAs(solver, bountyId, WORK);
        vm.assertEq(hub.getSubmission(bountyId, solver), WORK);
        vm.assertTrue(hub.getBounty(bountyId).hasSubmissions);
        submitAs(solver, bountyId, OTHER_WORK);
        vm.assertEq(hub.getSubmission(bountyId, solver), OTHER_WORK);
    }

    /// @custom:attack Solver | copies a commitment to block its author | commitments need not be unique
    function test_submit__a_copied_commitment__does_not_block_its_author() public {
        submitAs(rival, bountyId, WORK);
        submitAs(solver, bountyId, WORK);
        vm.assertEq(hub.getSubmission(bountyId, solver), WORK);
        vm.assertEq(hub.getSubmission(bountyId, rival), WORK);
    }

    /// @custom:attack Solver | changes its work when judging begins | the active set is frozen at the deadline,
    /// before the first Verdict
    function test_submit__last_second_and_deadline() public {
        uint256 deadline = hub.getBounty(bountyId).submissionDeadline;
        vm.warp(deadline - 1);
        submitAs(solver, bountyId, WORK);
        vm.warp(deadline);
        refused(
            solver, WORK, rosterHash, abi.encodeWithSelector(SubmissionsClosed.selector, bountyId, deadline, deadline)
        );
    }

    function test_submit__zero_commitment__is_refused() public {
        refused(solver, 0, rosterHash, abi.encodeWithSelector(SubmissionCommitmentZero.selector, bountyId));
    }

    function test_submit__sealed_for_another_roster__is_refused() public {
        refused(solver, WORK, SPEC, abi.encodeWithSelector(RosterHashMismatch.selector, SPEC, rosterHash));
    }

    function test_submit__a_newer_roster__does_not_change_the_pinned_one() public {
        bytes32 newHash = publish(ascending(3), 2);
        submitAs(solver, bountyId, WORK);
        refused(solver, WORK, newHash, abi.encodeWithSelector(RosterHashMismatch.selector, newHash, rosterHash));
    }

    /// @custom:attack Poster | is also the Solver, or on the roster | refused per address
    function test_submit__poster_and_roster__are_refused() public {
        refused(poster, WORK, rosterHash, abi.encodeWithSelector(SolverIsPoster.selector, bountyId, poster));
        for (uint256 i = 0; i < guardians.length; ++i) {
            refused(
                guardians[i], WORK, rosterHash, abi.encodeWithSelector(SolverOnRoster.selector, bountyId, guardians[i])
            );
        }
    }

    function test_submit__unknown_bounty__is_refused() public {
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 2));
        vm.prank(solver);
        hub.submit(2, WORK, rosterHash);
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 0));
        vm.prank(solver);
        hub.submit(0, WORK, rosterHash);
    }
}
