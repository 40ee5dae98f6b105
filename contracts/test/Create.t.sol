// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {HubTest} from "./support/HubTest.sol";
import {Vm, vm} from "./support/Vm.sol";

/// @notice Creating a bounty: what is pinned, what is paid, and every term just inside and just outside its bounds.
contract CreateTest is HubTest {
    function refused(Terms memory t, bytes memory why) private {
        vm.expectRevert(why);
        vm.prank(poster);
        hub.createBounty(t);
    }

    // ---------------------------------------------------------------- what is pinned and paid

    function test_create__by_allowance__pins_terms_and_takes_exactly_the_escrow() public {
        Terms memory t = terms();
        uint256 before = token.balanceOf(poster);
        vm.recordLogs();
        uint256 bountyId = createWith(t);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        checkCreated(logs[logs.length - 1], t.submissionDeadline, hub.authorizationNonce(t, poster));
        vm.assertEq(bountyId, 1);
        vm.assertEq(before - token.balanceOf(poster), ESCROW);
        vm.assertEq(token.balanceOf(address(hub)), ESCROW);

        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.poster, poster);
        vm.assertEq(b.escrowAmount, ESCROW);
        vm.assertEq(b.specCommitment, SPEC);
        vm.assertEq(b.submissionDeadline, t.submissionDeadline);
        vm.assertEq(b.revealAt, t.submissionDeadline + REVEAL_DELAY);
        vm.assertEq(b.judgingDeadline, b.revealAt + t.judgingWindow);
        vm.assertEq(b.rosterVersion, 1);
        vm.assertEq(b.guardianRosterHash, rosterHash);
        vm.assertEq(b.protocolFee, ESCROW * PROTOCOL_BPS / 10_000);
        vm.assertEq(b.guardianFee, ESCROW * GUARDIAN_BPS / 10_000);
        vm.assertEq(b.protocolFeeRecipient, treasury);
        vm.assertFalse(b.hasSubmissions);
        vm.assertEq(uint256(b.outcome) + b.reason + b.verdictCount, 0);
        vm.assertEq(b.awardDue + b.refundDue + b.protocolFeeDue + b.guardianFeesDue, 0);
    }

    function test_create__by_authorization__anyone_relays_exactly_what_the_poster_signed() public {
        Terms memory t = terms();
        uint256 validBefore = vm.getBlockTimestamp() + 1 hours;
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.prank(stranger);
        uint256 bountyId = hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        vm.assertEq(hub.getBounty(bountyId).poster, poster);
        vm.assertEq(token.balanceOf(address(hub)), ESCROW);
        vm.assertTrue(token.authorizationState(poster, hub.authorizationNonce(t, poster)));
    }

    function test_create__authorization_used_twice__is_refused_by_the_token() public {
        Terms memory t = terms();
        uint256 validBefore = vm.getBlockTimestamp() + 1 hours;
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        vm.expectRevert(reason("FiatTokenV2: authorization is used or canceled"));
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    /// @custom:attack relayer | changes a term | the nonce is the hash of all terms
    function test_create__a_relayer_changes_any_term__the_signature_does_not_fit() public {
        uint256 validBefore = vm.getBlockTimestamp() + 1 hours;
        bytes memory signed = signature(terms(), poster, POSTER_KEY, 0, validBefore);
        for (uint256 field = 0; field < 7; ++field) {
            Terms memory t = terms();
            if (field == 0) t.specCommitment = OTHER_WORK;
            if (field == 1) t.escrowAmount -= 1;
            if (field == 2) t.submissionDeadline += 1;
            if (field == 3) t.judgingWindow += 1;
            if (field == 4) t.maxProtocolFee -= 1;
            if (field == 5) t.maxGuardianFee -= 1;
            if (field == 6) t.salt = 0;
            vm.expectRevert(reason("FiatTokenV2: invalid signature"));
            vm.prank(stranger);
            hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        }
        vm.assertEq(token.balanceOf(address(hub)), 0);
    }

    function documentedNonce(uint256 chain, Terms memory t) private view returns (bytes32) {
        bytes32 typeHash = keccak256(
            "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,uint256 maxGuardianFee,bytes32 salt)"
        );
        return keccak256(
            abi.encode(
                typeHash,
                chain,
                address(hub),
                poster,
                t.specCommitment,
                t.expectedRosterHash,
                t.escrowAmount,
                t.submissionDeadline,
                t.judgingWindow,
                t.maxProtocolFee,
                t.maxGuardianFee,
                t.salt
            )
        );
    }

    function test_create__nonce__is_the_documented_hash() public view {
        bytes32 expected = documentedNonce(block.chainid, terms());
        vm.assertEq(hub.authorizationNonce(terms(), poster), expected);
        vm.assertTrue(hub.authorizationNonce(terms(), stranger) != expected);
    }

    /// @dev Also after a fork of the chain: the id is read when the nonce is computed.
    function test_create__another_chain__another_nonce() public {
        vm.chainId(8453);
        vm.assertEq(hub.authorizationNonce(terms(), poster), documentedNonce(8453, terms()));
    }

    function test_create__poster_zero_by_authorization__is_refused() public {
        Terms memory t = terms();
        vm.expectRevert(abi.encodeWithSelector(PosterZero.selector));
        hub.createBountyWithAuthorization(t, address(0), 0, type(uint256).max, "");
    }

    // ---------------------------------------------------------------- bounds

    /// @custom:attack anyone | sends a number that is too large for its field | checked by name before it is packed
    function test_create__escrow_bounds() public {
        Terms memory t = terms();
        t.escrowAmount = MIN_ESCROW;
        createWith(t);
        t.escrowAmount = MIN_ESCROW - 1;
        refused(t, abi.encodeWithSelector(EscrowTooSmall.selector, MIN_ESCROW - 1, MIN_ESCROW));

        uint256 most = type(uint88).max;
        token.mint(poster, most);
        t.escrowAmount = most;
        vm.assertEq(hub.getBounty(createWith(t)).escrowAmount, most);
        token.mint(poster, most);
        t.escrowAmount = most + 1;
        refused(t, abi.encodeWithSelector(EscrowTooLarge.selector, most + 1, most));
        t.escrowAmount = type(uint256).max;
        refused(t, abi.encodeWithSelector(EscrowTooLarge.selector, type(uint256).max, most));
    }

    function test_create__deadline_bounds() public {
        Terms memory t = terms();
        uint256 time = vm.getBlockTimestamp();
        (uint256 earliest, uint256 latest) = (time + MIN_SUBMISSION, time + MAX_SUBMISSION);
        t.submissionDeadline = earliest;
        createWith(t);
        t.submissionDeadline = latest;
        createWith(t);
        t.submissionDeadline = earliest - 1;
        refused(t, abi.encodeWithSelector(SubmissionDeadlineOutOfRange.selector, earliest - 1, earliest, latest));
        t.submissionDeadline = latest + 1;
        refused(t, abi.encodeWithSelector(SubmissionDeadlineOutOfRange.selector, latest + 1, earliest, latest));
    }

    function test_create__judging_window_bounds() public {
        Terms memory t = terms();
        t.judgingWindow = MIN_JUDGING;
        createWith(t);
        t.judgingWindow = MAX_JUDGING;
        createWith(t);
        t.judgingWindow = MIN_JUDGING - 1;
        refused(t, abi.encodeWithSelector(JudgingWindowOutOfRange.selector, MIN_JUDGING - 1, MIN_JUDGING, MAX_JUDGING));
        t.judgingWindow = MAX_JUDGING + 1;
        refused(t, abi.encodeWithSelector(JudgingWindowOutOfRange.selector, MAX_JUDGING + 1, MIN_JUDGING, MAX_JUDGING));
    }

    function test_create__fees_at_and_above_what_the_poster_accepts() public {
        Terms memory t = terms();
        (t.maxProtocolFee, t.maxGuardianFee) = (25_000_000, 30_000_000);
        createWith(t);
        t.maxProtocolFee = 24_999_999;
        refused(t, abi.encodeWithSelector(ProtocolFeeAboveMaximum.selector, 25_000_000, 24_999_999));
        (t.maxProtocolFee, t.maxGuardianFee) = (25_000_000, 29_999_999);
        refused(t, abi.encodeWithSelector(GuardianFeeAboveMaximum.selector, 30_000_000, 29_999_999));
    }

    function test_create__spec_commitment_zero__is_refused() public {
        Terms memory t = terms();
        t.specCommitment = 0;
        refused(t, abi.encodeWithSelector(SpecCommitmentZero.selector));
    }

    function test_create__roster_changed_since_the_poster_looked__is_refused() public {
        Terms memory t = terms();
        bytes32 newHash = publish(ascending(5), 3);
        refused(t, abi.encodeWithSelector(RosterHashMismatch.selector, rosterHash, newHash));
        t.expectedRosterHash = newHash;
        vm.assertEq(hub.getBounty(createWith(t)).rosterVersion, 2);
    }

    function test_create__poster_on_the_roster__is_refused() public {
        address guardian = guardians[1];
        token.mint(guardian, ESCROW);
        vm.prank(guardian);
        token.approve(address(hub), ESCROW);
        Terms memory t = terms();
        vm.expectRevert(abi.encodeWithSelector(PosterOnRoster.selector, guardian, 1));
        vm.prank(guardian);
        hub.createBounty(t);

        publish(ascending(3), 2); // not on the new one
        t.expectedRosterHash = hub.getRoster(2).guardianRosterHash;
        vm.prank(guardian);
        hub.createBounty(t);
    }

    function createAs(address account, bytes memory why) private {
        token.mint(account, ESCROW);
        vm.prank(account);
        token.approve(address(hub), ESCROW);
        Terms memory t = terms();
        if (why.length != 0) vm.expectRevert(why);
        vm.prank(account);
        hub.createBounty(t);
    }

    /// @dev Only the roster that the bounty pins says who judges it.
    function test_create__a_roster_is_announced__the_poster_is_held_against_the_current_one() public {
        announce(ascending(3), 2);
        createAs(ascending(3)[0], "");
        createAs(guardians[0], abi.encodeWithSelector(PosterOnRoster.selector, guardians[0], 1));
        vm.warp(START + PUBLICATION_DELAY);
        rosterHash = hub.getRoster(2).guardianRosterHash;
        createAs(ascending(3)[0], abi.encodeWithSelector(PosterOnRoster.selector, ascending(3)[0], 2));
        createAs(guardians[0], "");
    }

    function test_create__no_roster_yet__is_refused() public {
        hub = newHub();
        Terms memory t = terms();
        t.expectedRosterHash = 0;
        refused(t, abi.encodeWithSelector(NoRosterPublished.selector));
    }

    function test_create__without_allowance_or_balance__is_refused_by_the_token() public {
        Terms memory t = terms();
        vm.prank(poster);
        token.approve(address(hub), ESCROW - 1);
        refused(t, reason("ERC20: transfer amount exceeds allowance"));
    }
}
