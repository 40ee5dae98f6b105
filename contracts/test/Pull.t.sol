// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ClaimKind, Outcome} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {Usdc} from "./support/Usdc.sol";
import {vm} from "./support/Vm.sol";

/// @notice Money out: to the entitled caller only, once, to the unit.
contract PullTest is HubTest {
    bytes4[4] private pulls =
        [hub.claim.selector, hub.claimRefund.selector, hub.claimGuardianFee.selector, hub.claimProtocolFee.selector];

    function pull(address account, uint256 which, uint256 bountyId) private returns (bool ok, bytes memory answer) {
        bytes memory data = which == 0
            ? abi.encodeWithSelector(pulls[0], bountyId, "", "")
            : abi.encodeWithSelector(pulls[which], bountyId);
        vm.prank(account);
        return address(hub).call(data);
    }

    function paid(address account, uint256 which, uint256 bountyId, uint256 amount) private {
        uint256 before = token.balanceOf(account);
        (bool ok,) = pull(account, which, bountyId);
        vm.assertTrue(ok, "pull refused");
        vm.assertEq(token.balanceOf(account) - before, amount, "pulled amount");
        refused(account, which, bountyId, abi.encodeWithSelector(AlreadyClaimed.selector, bountyId, account));
    }

    function refused(address account, uint256 which, uint256 bountyId, bytes memory why) private {
        (bool ok, bytes memory answer) = pull(account, which, bountyId);
        vm.assertFalse(ok, "pull not refused");
        vm.assertEq(keccak256(answer), keccak256(why), "refused for another reason");
    }

    // ---------------------------------------------------------------- who gets what

    function test_pull__awarded__every_unit_to_its_owner_once() public {
        uint256 bountyId = awarded();
        vm.assertEq(hub.claimable(bountyId, solver), 945_000_001);
        vm.expectEmit(address(hub));
        emit AwardClaimed(bountyId, solver, 945_000_001);
        paid(solver, 0, bountyId, 945_000_001);
        vm.expectEmit(address(hub));
        emit RefundClaimed(bountyId, poster, 10_000_000);
        paid(poster, 1, bountyId, 10_000_000);
        vm.expectEmit(address(hub));
        emit GuardianFeeClaimed(bountyId, guardians[0], 10_000_000);
        paid(guardians[0], 2, bountyId, 10_000_000);
        paid(guardians[1], 2, bountyId, 10_000_000);
        vm.expectEmit(address(hub));
        emit ProtocolFeeClaimed(bountyId, treasury, 25_000_000);
        paid(treasury, 3, bountyId, 25_000_000);
        vm.assertEq(token.balanceOf(address(hub)), 0);
        vm.assertEq(owed(bountyId), 0);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertTrue(b.awardClaimed && b.refundClaimed && b.protocolFeeClaimed);
        refused(guardians[2], 2, bountyId, abi.encodeWithSelector(NothingDue.selector, bountyId, guardians[2]));
    }

    function test_pull__no_valid_submission__refund_and_guardian_fees() public {
        uint256 bountyId = judgeable();
        reject(0, bountyId);
        reject(2, bountyId);
        bytes memory none = abi.encodeWithSelector(NoAward.selector, bountyId, Outcome.NO_VALID_SUBMISSION);
        refused(solver, 0, bountyId, none);
        refused(treasury, 3, bountyId, abi.encodeWithSelector(NothingDue.selector, bountyId, treasury));
        paid(poster, 1, bountyId, ESCROW - 20_000_000);
        paid(guardians[0], 2, bountyId, 10_000_000);
        paid(guardians[2], 2, bountyId, 10_000_000);
        vm.assertEq(token.balanceOf(address(hub)), 0);
    }

    function test_pull__nobody_submitted__the_whole_escrow_back() public {
        uint256 bountyId = create();
        toEnd(bountyId);
        hub.settle(bountyId);
        refused(guardians[0], 2, bountyId, abi.encodeWithSelector(NothingDue.selector, bountyId, guardians[0]));
        paid(poster, 1, bountyId, ESCROW);
    }

    function test_pull__a_dissenting_guardian__earns_the_same() public {
        uint256 bountyId = judgeable();
        reject(2, bountyId);
        award(0, bountyId, solver, WORK);
        award(1, bountyId, solver, WORK);
        paid(guardians[2], 2, bountyId, 10_000_000);
        refused(poster, 1, bountyId, abi.encodeWithSelector(NothingDue.selector, bountyId, poster));
    }

    function test_pull__fees_round_down__dust_goes_to_the_poster() public {
        Terms memory t = terms();
        t.escrowAmount = 1_000_370; // guardian fee 30,011.1 -> 30,011; a third 10,003.67 -> 10,003; protocol 25,009.25
        uint256 bountyId = createWith(t);
        submitAs(solver, bountyId, WORK);
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        award(1, bountyId, solver, WORK);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.protocolFee, 25_009);
        vm.assertEq(b.guardianFee, 30_011);
        vm.assertEq(b.awardDue, 1_000_370 - 25_009 - 30_011);
        vm.assertEq(b.guardianFeesDue, 20_006);
        vm.assertEq(b.refundDue, 30_011 - 20_006);
        vm.assertEq(owed(bountyId), 1_000_370);
    }

    /// @custom:attack owner | raises fees or redirects them | the fee policy is pinned
    function test_pull__a_later_fee_policy__does_not_touch_the_bounty() public {
        uint256 bountyId = awarded();
        vm.prank(owner);
        hub.setFeePolicy(1_000, 2_000, stranger);
        refused(stranger, 3, bountyId, abi.encodeWithSelector(NotFeeRecipient.selector, bountyId, stranger, treasury));
        paid(treasury, 3, bountyId, 25_000_000);
        paid(solver, 0, bountyId, 945_000_001);
    }

    function test_pull__one_account_in_two_roles__pulls_each_and_claimable_is_the_sum() public {
        vm.prank(owner);
        hub.setFeePolicy(PROTOCOL_BPS, GUARDIAN_BPS, solver);
        uint256 bountyId = awarded();
        vm.assertEq(hub.claimable(bountyId, solver), 945_000_001 + 25_000_000);
        paid(solver, 0, bountyId, 945_000_001);
        vm.assertEq(hub.claimable(bountyId, solver), 25_000_000);
        paid(solver, 3, bountyId, 25_000_000);
        vm.assertEq(hub.claimable(bountyId, solver), 0);
    }

    /// @dev The award first and last: no Guardian's mark is another's, or that of the award, the refund or the fee.
    function test_pull__fifteen_seats__each_mark_is_its_own() public {
        guardians = ascending(15);
        rosterHash = publish(guardians, 15);
        for (uint256 awardFirst = 0; awardFirst < 2; ++awardFirst) {
            uint256 bountyId = create();
            submitAs(solver, bountyId, WORK);
            toReveal(bountyId);
            for (uint256 i = 0; i < 15; ++i) {
                award(i, bountyId, solver, WORK);
            }
            if (awardFirst == 1) paid(solver, 0, bountyId, 945_000_001);
            for (uint256 i = 0; i < 15; ++i) {
                paid(guardians[i], 2, bountyId, 2_000_000);
            }
            paid(treasury, 3, bountyId, 25_000_000);
            if (awardFirst == 0) paid(solver, 0, bountyId, 945_000_001);
            vm.assertEq(token.balanceOf(address(hub)), 0);
        }
    }

    // ---------------------------------------------------------------- several at once

    function claimList(address account, Claim[] memory claims) private returns (bool ok, bytes memory answer) {
        vm.prank(account);
        return address(hub).call(abi.encodeCall(hub.claimMany, (claims)));
    }

    function refusedList(address account, Claim[] memory claims, bytes memory why) private {
        uint256 before = token.balanceOf(address(hub));
        (bool ok, bytes memory answer) = claimList(account, claims);
        vm.assertFalse(ok, "list not refused");
        vm.assertEq(keccak256(answer), keccak256(why), "refused for another reason");
        vm.assertEq(token.balanceOf(address(hub)), before);
    }

    function test_pull_many__every_kind_of_one_account__is_paid_by_one_transfer() public {
        Claim[] memory claims = new Claim[](5);
        vm.prank(owner);
        hub.setFeePolicy(PROTOCOL_BPS, GUARDIAN_BPS, solver);
        (uint256 first, uint256 second) = (awarded(), awarded());
        claims[0] = Claim(ClaimKind.AWARD, first);
        claims[1] = Claim(ClaimKind.PROTOCOL_FEE, first);
        claims[2] = Claim(ClaimKind.AWARD, second);
        claims[3] = Claim(ClaimKind.PROTOCOL_FEE, second);
        claims[4] = Claim(ClaimKind.PROTOCOL_FEE, second);
        refusedList(solver, claims, abi.encodeWithSelector(AlreadyClaimed.selector, second, solver));
        claims = slice(claims, 4);
        vm.expectEmit(address(hub));
        emit AwardClaimed(first, solver, 945_000_001);
        vm.expectEmit(address(hub));
        emit ProtocolFeeClaimed(first, solver, 25_000_000);
        vm.expectEmit(address(hub));
        emit AwardClaimed(second, solver, 945_000_001);
        vm.expectEmit(address(hub));
        emit ProtocolFeeClaimed(second, solver, 25_000_000);
        vm.expectEmit(address(token));
        emit Usdc.Transfer(address(hub), solver, 2 * 970_000_001);
        (bool ok,) = claimList(solver, claims);
        vm.assertTrue(ok);
        vm.assertEq(hub.claimable(first, solver) + hub.claimable(second, solver), 0);
        refused(solver, 0, first, abi.encodeWithSelector(AlreadyClaimed.selector, first, solver));
        refusedList(solver, slice(claims, 1), abi.encodeWithSelector(AlreadyClaimed.selector, first, solver));
    }

    function test_pull_many__refund_and_guardian_fees__as_by_their_own_functions() public {
        uint256 bountyId = awarded();
        Claim[] memory claims = new Claim[](1);
        claims[0] = Claim(ClaimKind.REFUND, bountyId);
        refusedList(stranger, claims, abi.encodeWithSelector(NotPoster.selector, bountyId, stranger, poster));
        (bool ok,) = claimList(poster, claims);
        vm.assertTrue(ok);
        vm.assertEq(hub.claimable(bountyId, poster), 0);
        claims[0] = Claim(ClaimKind.GUARDIAN_FEE, bountyId);
        refusedList(stranger, claims, abi.encodeWithSelector(NotGuardian.selector, bountyId, stranger));
        (ok,) = claimList(guardians[0], claims);
        vm.assertTrue(ok);
        vm.assertEq(token.balanceOf(guardians[0]), 10_000_000);
        refused(guardians[0], 2, bountyId, abi.encodeWithSelector(AlreadyClaimed.selector, bountyId, guardians[0]));
    }

    function test_pull_many__one_refused__refuses_all() public {
        uint256 done = awarded();
        uint256 open = judgeable();
        Claim[] memory claims = new Claim[](2);
        claims[0] = Claim(ClaimKind.AWARD, done);
        claims[1] = Claim(ClaimKind.AWARD, open);
        refusedList(solver, claims, abi.encodeWithSelector(BountyOpen.selector, open));
        claims[1] = Claim(ClaimKind.AWARD, 9);
        refusedList(solver, claims, abi.encodeWithSelector(BountyNotFound.selector, 9));
        for (uint8 kind = 0; kind <= 5; kind += 5) {
            claims[1] = Claim(kind, done);
            refusedList(solver, claims, abi.encodeWithSelector(ClaimKindInvalid.selector, kind));
        }
        vm.assertEq(hub.claimable(done, solver), 945_000_001);
    }

    function test_pull_many__one_to_thirty_two() public {
        refusedList(solver, new Claim[](0), abi.encodeWithSelector(ClaimCountInvalid.selector, 0, 32));
        refusedList(solver, new Claim[](33), abi.encodeWithSelector(ClaimCountInvalid.selector, 33, 32));
        Claim[] memory claims = new Claim[](32);
        for (uint256 i = 0; i < 32; ++i) {
            claims[i] = Claim(ClaimKind.AWARD, awarded());
        }
        (bool ok,) = claimList(solver, claims);
        vm.assertTrue(ok);
        vm.assertEq(token.balanceOf(solver), 32 * 945_000_001);
    }

    function slice(Claim[] memory claims, uint256 count) private pure returns (Claim[] memory some) {
        some = new Claim[](count);
        for (uint256 i = 0; i < count; ++i) {
            some[i] = claims[i];
        }
    }

    // ---------------------------------------------------------------- who does not

    function test_pull__another_caller__is_refused() public {
        uint256 bountyId = awarded();
        refused(rival, 0, bountyId, abi.encodeWithSelector(NotWinner.selector, bountyId, rival, solver));
        refused(owner, 1, bountyId, abi.encodeWithSelector(NotPoster.selector, bountyId, owner, poster));
        refused(solver, 2, bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, solver));
        refused(owner, 3, bountyId, abi.encodeWithSelector(NotFeeRecipient.selector, bountyId, owner, treasury));
    }

    function test_claimable__of_the_recipient_of_a_later_policy__is_nothing() public {
        uint256 bountyId = awarded();
        vm.prank(owner);
        hub.setFeePolicy(PROTOCOL_BPS, GUARDIAN_BPS, stranger);
        vm.assertEq(hub.claimable(bountyId, stranger), 0);
        vm.assertEq(hub.claimable(bountyId, treasury), 25_000_000);
    }

    function test_pull__while_open__is_refused() public {
        uint256 bountyId = judgeable();
        bytes memory open = abi.encodeWithSelector(BountyOpen.selector, bountyId);
        refused(solver, 0, bountyId, open);
        refused(poster, 1, bountyId, open);
        refused(guardians[0], 2, bountyId, open);
        refused(treasury, 3, bountyId, open);
        vm.assertEq(hub.claimable(bountyId, poster), 0);
    }

    function test_pull__unknown_bounty__is_refused() public {
        for (uint256 i = 0; i < 4; ++i) {
            refused(poster, i, 9, abi.encodeWithSelector(BountyNotFound.selector, 9));
        }
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 9));
        hub.claimable(9, poster);
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 9));
        hub.getBounty(9);
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 9));
        hub.getSubmission(9, solver);
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 9));
        hub.getVerdict(9, guardians[0]);
    }

    function test_pull__payout_data_or_proof__is_refused() public {
        uint256 bountyId = awarded();
        vm.expectRevert(abi.encodeWithSelector(PayoutDataNotEmpty.selector, 1, 0));
        vm.prank(solver);
        hub.claim(bountyId, hex"00", "");
        vm.expectRevert(abi.encodeWithSelector(PayoutDataNotEmpty.selector, 0, 2));
        vm.prank(solver);
        hub.claim(bountyId, "", hex"0000");
    }

    function test_pull__payout_data_of_a_bounty_without_an_end__is_refused_for_that() public {
        uint256 bountyId = create();
        vm.expectRevert(abi.encodeWithSelector(BountyOpen.selector, bountyId));
        vm.prank(solver);
        hub.claim(bountyId, hex"00", "");
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 9));
        hub.claim(9, "", hex"00");
    }

    // ---------------------------------------------------------------- a blocked party blocks only itself

    /// @custom:attack issuer | blocks one party | the others pull as before
    function test_pull__a_blacklisted_party__blocks_only_itself_and_can_pull_later() public {
        uint256 bountyId = awarded();
        token.blacklist(solver);
        token.blacklist(guardians[0]);
        refused(solver, 0, bountyId, reason("Blacklistable: account is blacklisted"));
        refused(guardians[0], 2, bountyId, reason("Blacklistable: account is blacklisted"));
        paid(poster, 1, bountyId, 10_000_000);
        paid(guardians[1], 2, bountyId, 10_000_000);
        paid(treasury, 3, bountyId, 25_000_000);
        token.unBlacklist(solver);
        paid(solver, 0, bountyId, 945_000_001);
    }

    function test_pull__a_paused_token__delays_and_loses_nothing() public {
        uint256 bountyId = awarded();
        token.pause();
        refused(solver, 0, bountyId, reason("Pausable: paused"));
        vm.assertEq(hub.claimable(bountyId, solver), 945_000_001);
        token.unpause();
        paid(solver, 0, bountyId, 945_000_001);
    }

    /// @custom:attack anyone | sends tokens to the Hub | they belong to no bounty
    function test_pull__unsolicited_tokens__are_paid_to_nobody() public {
        uint256 bountyId = awarded();
        token.mint(address(hub), 5);
        paid(solver, 0, bountyId, 945_000_001);
        paid(poster, 1, bountyId, 10_000_000);
        paid(guardians[0], 2, bountyId, 10_000_000);
        paid(guardians[1], 2, bountyId, 10_000_000);
        paid(treasury, 3, bountyId, 25_000_000);
        vm.assertEq(token.balanceOf(address(hub)), 5);
    }

    // ---------------------------------------------------------------- what is stored

    /// @dev The words as an auditor reads them with `eth_getStorageAt`: bounties are at slot 10, packed as Conditions.sol
    /// and Ledger.sol describe.
    function test_storage__a_bounty_is_three_words() public {
        uint256 bountyId = awarded();
        claimAs(solver, bountyId);
        BountyView memory b = hub.getBounty(bountyId);
        uint256 slot = uint256(keccak256(abi.encode(bountyId, 10)));
        uint256 conditions = uint256(uint160(poster)) + (b.submissionDeadline << 160) + (3 days << 192);
        conditions += (1 << 224) + (3 << 240) + (1 << 248);
        uint256 ledger = ESCROW + (PROTOCOL_BPS << 88) + (GUARDIAN_BPS << 104) + (1 << 120);
        ledger += ((2 + 2 * 32) << 136) + (1 << 216) + (2 << 224) + (1 << (232 + 15));
        vm.assertEq(uint256(vm.load(address(hub), bytes32(slot))), conditions);
        vm.assertEq(uint256(vm.load(address(hub), bytes32(slot + 1))), ledger);
        vm.assertEq(vm.load(address(hub), bytes32(slot + 2)), SPEC);
    }
}
