// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome, Reason} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice Settling: anyone, when the time is up, with the reason that is true.
contract SettleTest is HubTest {
    function refused(uint256 bountyId, bytes memory why) private {
        vm.expectRevert(why);
        hub.settle(bountyId);
    }

    function settled(uint256 bountyId, uint8 reason, uint256 refund, uint256 verdicts) private {
        vm.expectEmit(address(hub));
        emit BountyFinalized(
            bountyId, Outcome.NO_VALID_SUBMISSION, reason, address(0), 0, 0, refund, 0, 10_000_000, verdicts
        );
        vm.prank(stranger);
        hub.settle(bountyId);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.outcome, Outcome.NO_VALID_SUBMISSION);
        vm.assertEq(b.reason, reason);
        vm.assertEq(b.refundDue, refund);
        vm.assertEq(b.protocolFeeDue, 0);
    }

    function test_settle__no_submissions__from_the_submission_deadline() public {
        uint256 bountyId = create();
        uint256 deadline = hub.getBounty(bountyId).submissionDeadline;
        vm.warp(deadline - 1);
        refused(bountyId, abi.encodeWithSelector(SettlementTooEarly.selector, bountyId, deadline, deadline - 1));
        vm.warp(deadline);
        settled(bountyId, Reason.NO_SUBMISSIONS, ESCROW, 0);
    }

    /// @custom:attack Guardians | stay silent | anyone settles; the Poster has everything back
    function test_settle__guardians_silent__from_the_judging_deadline() public {
        uint256 bountyId = judgeable();
        uint256 end = hub.getBounty(bountyId).judgingDeadline;
        vm.warp(end - 1);
        refused(bountyId, abi.encodeWithSelector(SettlementTooEarly.selector, bountyId, end, end - 1));
        vm.warp(end);
        settled(bountyId, Reason.GUARDIANS_SILENT, ESCROW, 0);
    }

    function test_settle__quorum_not_reached__pays_those_who_judged() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        reject(1, bountyId);
        toEnd(bountyId);
        settled(bountyId, Reason.QUORUM_NOT_REACHED, ESCROW - 20_000_000, 2);
    }

    function test_settle__already_final__is_refused() public {
        uint256 bountyId = awarded();
        toEnd(bountyId);
        refused(bountyId, abi.encodeWithSelector(BountyFinal.selector, bountyId, Outcome.AWARDED));
        bountyId = create();
        toEnd(bountyId);
        hub.settle(bountyId);
        refused(bountyId, abi.encodeWithSelector(BountyFinal.selector, bountyId, Outcome.NO_VALID_SUBMISSION));
    }

    function test_settle__unknown_bounty__is_refused() public {
        refused(1, abi.encodeWithSelector(BountyNotFound.selector, 1));
    }

    function test_settle__a_paused_token__does_not_delay_it() public {
        uint256 bountyId = create();
        token.pause();
        submitAs(solver, bountyId, WORK);
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        toEnd(bountyId);
        hub.settle(bountyId);
        vm.assertEq(hub.getBounty(bountyId).reason, Reason.QUORUM_NOT_REACHED);
    }
}
