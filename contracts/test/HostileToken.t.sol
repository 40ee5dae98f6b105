// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../src/IHub.sol";
import {ClaimKind, Outcome} from "../src/IHubTypes.sol";
import {HostileToken} from "./support/HostileToken.sol";
import {HubTest} from "./support/HubTest.sol";
import {Usdc} from "./support/Usdc.sol";
import {Vm, vm} from "./support/Vm.sol";
import {Wallet} from "./support/Wallet.sol";

/// @notice A token that lies, fails, calls back or shrinks: the Hub counts nothing it did not receive, pays nothing
/// twice, and a bounty's life goes on.
contract HostileTokenTest is HubTest {
    HostileToken private bad;

    function setUp() public override {
        vm.warp(START);
        bad = new HostileToken();
        token = Usdc(address(bad));
        hub = newHub();
        guardians = sorted(person("guardian a"), person("guardian b"), person("guardian c"));
        rosterHash = publish(guardians, 2);
        bad.mint(poster, 100 * ESCROW);
    }

    function refusedCreation(bytes memory why) private {
        Terms memory t = terms();
        vm.expectRevert(why);
        vm.prank(poster);
        hub.createBounty(t);
        vm.expectRevert(why);
        hub.createBountyWithAuthorization(t, poster, 0, type(uint256).max, "");
    }

    // ---------------------------------------------------------------- receiving

    /// @custom:attack Poster | funds with less than agreed | the balance must grow by exactly the escrow
    function test_hostile__another_amount_arrives__no_bounty() public {
        bad.misbehave(HostileToken.Misbehaviour.FEE_ON_TRANSFER);
        refusedCreation(abi.encodeWithSelector(EscrowNotReceived.selector, ESCROW, ESCROW - ESCROW / 100));
        bad.misbehave(HostileToken.Misbehaviour.BONUS_ON_TRANSFER);
        refusedCreation(abi.encodeWithSelector(EscrowNotReceived.selector, ESCROW, ESCROW + 1));
        bad.misbehave(HostileToken.Misbehaviour.MOVE_NOTHING);
        refusedCreation(abi.encodeWithSelector(EscrowNotReceived.selector, ESCROW, 0));
        bad.misbehave(HostileToken.Misbehaviour.REVERT);
        refusedCreation(abi.encodeWithSelector(HostileToken.Refused.selector));
        vm.expectRevert(abi.encodeWithSelector(BountyNotFound.selector, 1));
        hub.getBounty(1);
    }

    function test_hostile__transfer_from_returns_false__no_bounty() public {
        bad.misbehave(HostileToken.Misbehaviour.RETURN_FALSE);
        Terms memory t = terms();
        vm.expectRevert(abi.encodeWithSelector(TokenTransferFailed.selector, poster, address(hub), ESCROW));
        vm.prank(poster);
        hub.createBounty(t);
    }

    /// @custom:attack token | nests two creations and pays once | the same guard
    function test_hostile__nested_creation_paid_once__is_refused() public {
        bad.mint(address(bad), ESCROW);
        Terms memory t = terms();
        bytes memory inner = abi.encodeCall(IHub.createBounty, (t));
        bad.callBack(HostileToken.Misbehaviour.CALL_BACK_AND_MOVE_NOTHING, address(hub), inner);
        vm.expectRevert(abi.encodeWithSelector(EscrowNotReceived.selector, ESCROW, 0));
        vm.prank(poster);
        hub.createBounty(t);
    }

    function test_hostile__any_guarded_function_during_creation__is_refused_by_name() public {
        uint256 done = awarded();
        Terms memory t = terms();
        Claim[] memory claims = new Claim[](1);
        claims[0] = Claim(ClaimKind.AWARD, done);
        bytes[7] memory inner = [
            abi.encodeCall(IHub.createBounty, (t)),
            abi.encodeCall(IHub.createBountyWithAuthorization, (t, poster, 0, type(uint256).max, "")),
            abi.encodeCall(IHub.claim, (done, "", "")),
            abi.encodeCall(IHub.claimRefund, (done)),
            abi.encodeCall(IHub.claimGuardianFee, (done)),
            abi.encodeCall(IHub.claimProtocolFee, (done)),
            abi.encodeCall(IHub.claimMany, (claims))
        ];
        for (uint256 i = 0; i < inner.length; ++i) {
            bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(hub), inner[i]);
            createWith(t);
            vm.assertFalse(bad.lastSucceeded());
            vm.assertEq(keccak256(bad.lastAnswer()), keccak256(abi.encodeWithSelector(Reentered.selector)));
        }
    }

    /// @dev The owner changes roster and fees from inside the token: the bounty pins what its Poster agreed to.
    /// @custom:attack token | lets the owner change roster and fees during a creation | what was checked is what is
    /// pinned
    function test_hostile__roster_and_fees_change_during_creation__the_checked_ones_are_pinned() public {
        Terms memory t = terms();
        bytes memory change = abi.encodeCall(this.changeEverything, ());
        bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(this), change);
        vm.recordLogs();
        uint256 bountyId = createWith(t);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        checkCreated(logs[logs.length - 1], t.submissionDeadline, hub.authorizationNonce(t, poster));
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertTrue(bad.lastSucceeded());
        (uint256 announced,) = hub.announcedRoster();
        vm.assertEq(announced, 2);
        vm.assertEq(b.rosterVersion, 1);
        vm.assertEq(b.guardianRosterHash, rosterHash);
        vm.assertEq(b.protocolFee, ESCROW * PROTOCOL_BPS / 10_000);
        vm.assertEq(b.guardianFee, ESCROW * GUARDIAN_BPS / 10_000);
        vm.assertEq(b.protocolFeeRecipient, treasury);
    }

    function changeEverything() external {
        announce(ascending(5), 4);
        vm.prank(owner);
        hub.setFeePolicy(1_000, 2_000, stranger);
    }

    // ---------------------------------------------------------------- paying

    /// @custom:attack token | returns false, reverts, charges, pauses | no bounty; or the claim stays open; judging
    /// and settling never call it
    function test_hostile__transfer_fails__the_claim_stays_open() public {
        uint256 bountyId = awarded();
        bad.misbehave(HostileToken.Misbehaviour.RETURN_FALSE);
        vm.expectRevert(abi.encodeWithSelector(TokenTransferFailed.selector, address(hub), solver, 945_000_001));
        claimAs(solver, bountyId);
        bad.misbehave(HostileToken.Misbehaviour.REVERT);
        vm.expectRevert(abi.encodeWithSelector(HostileToken.Refused.selector));
        claimAs(solver, bountyId);
        bad.misbehave(HostileToken.Misbehaviour.NONE);
        claimAs(solver, bountyId);
        vm.assertEq(bad.balanceOf(solver), 945_000_001);
    }

    /// @dev The receiver of each kind of payment, a contract, is called by the token and pulls again.
    /// @custom:attack receiver | is called by the token and pulls again | one guard over all functions that call
    /// the token; marks before payment
    function test_hostile__a_receiver_that_pulls_again__gets_it_once() public {
        Wallet receiver = new Wallet(stranger);
        bytes[4] memory pulls;
        uint256 bountyId = awardedTo(address(receiver));
        pulls[0] = abi.encodeCall(IHub.claim, (bountyId, "", ""));
        pulls[1] = abi.encodeCall(IHub.claimRefund, (bountyId));
        pulls[2] = abi.encodeCall(IHub.claimGuardianFee, (bountyId));
        pulls[3] = abi.encodeCall(IHub.claimProtocolFee, (bountyId));
        for (uint256 again = 0; again < 4; ++again) {
            bountyId = awardedTo(address(receiver));
            bytes memory inner = abi.encodeCall(Wallet.run, (address(hub), pulls[again]));
            bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(receiver), inner);
            uint256 before = bad.balanceOf(address(receiver));
            receiver.run(address(hub), abi.encodeCall(IHub.claim, (bountyId, "", "")));
            vm.assertEq(bad.balanceOf(address(receiver)) - before, 945_000_001);
            vm.assertFalse(bad.lastSucceeded());
            vm.assertEq(keccak256(bad.lastAnswer()), keccak256(abi.encodeWithSelector(Reentered.selector)));
        }
    }

    function awardedTo(address account) private returns (uint256 bountyId) {
        bountyId = create();
        submitAs(account, bountyId, WORK);
        toReveal(bountyId);
        award(0, bountyId, account, WORK);
        award(1, bountyId, account, WORK);
    }

    /// @dev What is not guarded never calls the token; called from inside it, it still follows its own rules.
    function test_hostile__unguarded_functions_during_a_pull__keep_their_rules() public {
        uint256 open = judgeable();
        uint256 done = awarded();
        bytes[3] memory inner = [
            abi.encodeCall(IHub.settle, (open)),
            abi.encodeCall(IHub.settle, (done)),
            abi.encodeCall(IHub.submit, (open, WORK, rosterHash))
        ];
        bytes32 before = keccak256(abi.encode(hub.getBounty(open)));
        bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(hub), inner[0]);
        claimAs(solver, done);
        vm.assertFalse(bad.lastSucceeded());
        bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(hub), inner[1]);
        vm.prank(poster);
        hub.claimRefund(done);
        vm.assertFalse(bad.lastSucceeded());
        bad.callBack(HostileToken.Misbehaviour.CALL_BACK, address(hub), inner[2]);
        vm.prank(treasury);
        hub.claimProtocolFee(done);
        vm.assertFalse(bad.lastSucceeded());
        vm.assertEq(keccak256(abi.encode(hub.getBounty(open))), before);
    }

    // ---------------------------------------------------------------- shrinking

    function test_hostile__a_token_that_shrinks__delays_the_last_and_stops_no_judgement() public {
        uint256 first = create();
        uint256 second = judgeable();
        bad.shrink(address(hub), 45_000_001);
        award(0, second, solver, WORK);
        award(1, second, solver, WORK);
        vm.assertEq(hub.getBounty(second).outcome, Outcome.AWARDED);
        claimAs(solver, second);
        vm.prank(poster);
        hub.claimRefund(second);
        toEnd(first);
        hub.settle(first);
        vm.assertEq(hub.claimable(first, poster), ESCROW);
        vm.expectRevert();
        vm.prank(poster);
        hub.claimRefund(first); // one unit is missing
        bad.mint(address(hub), ESCROW);
        vm.prank(poster);
        hub.claimRefund(first);
        vm.assertEq(hub.claimable(first, poster), 0);
    }
}
