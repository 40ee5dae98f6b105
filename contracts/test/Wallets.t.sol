// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../src/IHub.sol";
import {Outcome, VerdictKind} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";
import {Wallet} from "./support/Wallet.sol";

/// @notice Contract wallets in every role, and what a third party can do with a Poster's signature: relay it, nothing else.
contract WalletsTest is HubTest {
    Wallet private safe;

    function setUp() public override {
        super.setUp();
        safe = new Wallet(poster);
        token.mint(address(safe), 10 * ESCROW);
    }

    function inAnHour() private view returns (uint256) {
        return vm.getBlockTimestamp() + 1 hours;
    }

    // ---------------------------------------------------------------- contract wallets

    function test_wallet__poster_by_erc1271__is_the_poster() public {
        Terms memory t = terms();
        bytes memory signed = signature(t, address(safe), POSTER_KEY, 0, inAnHour());
        uint256 bountyId = hub.createBountyWithAuthorization(t, address(safe), 0, inAnHour(), signed);
        vm.assertEq(hub.getBounty(bountyId).poster, address(safe));
        toEnd(bountyId);
        hub.settle(bountyId);
        safe.run(address(hub), abi.encodeCall(IHub.claimRefund, (bountyId)));
        vm.assertEq(token.balanceOf(address(safe)), 10 * ESCROW);
    }

    function test_wallet__poster_by_erc1271__another_signer_is_refused() public {
        Terms memory t = terms();
        bytes memory signed = signature(t, address(safe), POSTER_KEY + 1, 0, inAnHour());
        uint256 validBefore = inAnHour();
        vm.expectRevert(reason("FiatTokenV2: invalid signature"));
        hub.createBountyWithAuthorization(t, address(safe), 0, validBefore, signed);
    }

    function test_wallet__poster_by_allowance() public {
        safe.run(address(token), abi.encodeCall(token.approve, (address(hub), ESCROW)));
        bytes memory made = safe.run(address(hub), abi.encodeCall(IHub.createBounty, (terms())));
        vm.assertEq(hub.getBounty(abi.decode(made, (uint256))).poster, address(safe));
    }

    function test_wallet__solver_and_guardian__submit_judge_and_claim() public {
        Wallet judge = new Wallet(stranger);
        guardians = sorted(address(judge), guardians[0], guardians[1]);
        rosterHash = publish(guardians, 2);
        uint256 bountyId = create();
        safe.run(address(hub), abi.encodeCall(IHub.submit, (bountyId, WORK, rosterHash)));
        toReveal(bountyId);
        bytes memory verdict =
            abi.encodeCall(IHub.recordVerdict, (bountyId, VerdictKind.AWARDED, address(safe), WORK, REPORT));
        judge.run(address(hub), verdict);
        address other = guardians[0] == address(judge) ? guardians[1] : guardians[0];
        vm.prank(other);
        hub.recordVerdict(bountyId, VerdictKind.AWARDED, address(safe), WORK, REPORT);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED);
        safe.run(address(hub), abi.encodeCall(IHub.claim, (bountyId, "", "")));
        judge.run(address(hub), abi.encodeCall(IHub.claimGuardianFee, (bountyId)));
        vm.assertEq(token.balanceOf(address(safe)), 10 * ESCROW + 945_000_001);
        vm.assertEq(token.balanceOf(address(judge)), 10_000_000);
    }

    // ---------------------------------------------------------------- front-running an authorization

    /// @custom:attack anyone | takes a Poster's signature to the token | only the payee, the Hub, can use it
    function test_front_run__the_signature_taken_to_the_token__moves_nothing() public {
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        bytes32 nonce = hub.authorizationNonce(t, poster);
        vm.expectRevert(reason("FiatTokenV2: caller must be the payee"));
        vm.prank(stranger);
        token.receiveWithAuthorization(poster, address(hub), ESCROW, 0, validBefore, nonce, signed);
        vm.expectRevert(reason("FiatTokenV2: invalid signature"));
        vm.prank(stranger);
        token.transferWithAuthorization(poster, address(hub), ESCROW, 0, validBefore, nonce, signed);
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    /// @custom:attack relayer | sends it first | then the Poster has its bounty; look for the nonce, of which the
    /// token takes one
    function test_front_run__a_stranger_relays_first__the_poster_has_its_bounty() public {
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.prank(stranger);
        uint256 bountyId = hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        vm.expectRevert(reason("FiatTokenV2: authorization is used or canceled"));
        vm.prank(poster);
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        vm.assertEq(hub.getBounty(bountyId).poster, poster);
        vm.assertEq(token.balanceOf(address(hub)), ESCROW);
    }

    function test_front_run__named_as_another_poster__is_refused() public {
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.expectRevert(reason("FiatTokenV2: invalid signature"));
        hub.createBountyWithAuthorization(t, stranger, 0, validBefore, signed);
    }

    /// @custom:attack relayer | takes it to another Hub or names another Poster | chain, Hub and Poster are in the
    /// nonce and the signature
    function test_front_run__taken_to_another_hub__is_refused() public {
        IHub other = newHub();
        vm.prank(owner);
        other.publishRoster(guardians, keysFor(3), 2);
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.expectRevert(
            abi.encodeWithSelector(RosterHashMismatch.selector, rosterHash, other.getRoster(1).guardianRosterHash)
        );
        other.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        t.expectedRosterHash = other.getRoster(1).guardianRosterHash;
        vm.expectRevert(reason("FiatTokenV2: invalid signature"));
        other.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    function test_front_run__held_back_past_its_time__is_refused() public {
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.warp(validBefore);
        vm.expectRevert(reason("FiatTokenV2: authorization is expired"));
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    /// @custom:attack relayer | holds it back until roster or fees changed, or for long | roster hash and highest
    /// fees are terms; `validBefore` is near
    function test_front_run__held_back_until_fees_or_roster_changed__is_refused() public {
        Terms memory t = terms();
        (t.maxProtocolFee, t.maxGuardianFee) = (25_000_000, 30_000_000);
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.prank(owner);
        hub.setFeePolicy(251, 300, treasury);
        vm.expectRevert(abi.encodeWithSelector(ProtocolFeeAboveMaximum.selector, 25_100_000, 25_000_000));
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
        vm.prank(owner);
        hub.setFeePolicy(250, 300, treasury);
        bytes32 next = publish(guardians, 3);
        vm.expectRevert(abi.encodeWithSelector(RosterHashMismatch.selector, rosterHash, next));
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    function test_front_run__a_cancelled_authorization__cannot_be_relayed() public {
        Terms memory t = terms();
        uint256 validBefore = inAnHour();
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        bytes32 nonce = hub.authorizationNonce(t, poster);
        bytes32 content = keccak256(abi.encode(token.CANCEL_AUTHORIZATION_TYPEHASH(), poster, nonce));
        bytes32 domain = token.DOMAIN_SEPARATOR();
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(POSTER_KEY, keccak256(abi.encodePacked(hex"1901", domain, content)));
        token.cancelAuthorization(poster, nonce, v, r, s);
        vm.expectRevert(reason("FiatTokenV2: authorization is used or canceled"));
        hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }
}
