// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ClaimKind, Outcome} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice The gas figures: each call is its own transaction (isolate), with USDC as Circle compiled it behind its
/// proxy, a roster of three, quorum three, and recipients that already hold the token. The figures are kept in
/// snapshots/hub.gas.json; tools/check.py prints them and fails when one has changed unnoticed. bench/hub.py has goals.
/// forge-config: default.isolate = true
contract GasTest is HubTest {
    uint256 private total;

    function setUp() public override {
        super.setUp();
        rosterHash = publish(guardians, 3);
        token.mint(solver, 1);
        token.mint(address(hub), 1);
        for (uint256 i = 0; i < guardians.length; ++i) {
            vm.prank(guardians[i]);
            hub.heartbeat();
        }
        create(); // the bounty counter is not zero any more
        vm.warp(START + 1 hours);
    }

    function measure(string memory name) private {
        uint256 used = vm.lastCallGas().gasTotalUsed;
        total += used;
        vm.snapshotValue("hub.gas", name, used);
    }

    function createAuthorized() private returns (uint256 bountyId) {
        Terms memory t = terms();
        uint256 validBefore = vm.getBlockTimestamp() + 1 hours;
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.prank(poster);
        return hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    function test_gas__create_by_allowance() public {
        create();
        measure("hub.gas.create");
    }

    function test_gas__what_follows_a_bounty_without_a_quorum() public {
        uint256 bountyId = create();
        submitAs(solver, bountyId, WORK);
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        toEnd(bountyId);
        hub.settle(bountyId);
        measure("hub.gas.settle");
        vm.prank(poster);
        hub.claimRefund(bountyId);
        measure("hub.gas.refund");
        token.mint(guardians[0], 1);
        vm.prank(guardians[0]);
        hub.claimGuardianFee(bountyId);
        measure("hub.gas.guardian_fee");
    }

    /// @dev The dearest way to a seat: a newer roster names the Guardian, too.
    function test_gas__a_guardian_on_a_newer_roster() public {
        uint256 bountyId = judgeable();
        announce(guardians, 2);
        award(0, bountyId, solver, WORK);
        measure("hub.gas.verdict_of_a_former_roster");
    }

    function test_gas__four_guardian_fees_at_once() public {
        Claim[] memory claims = new Claim[](4);
        for (uint256 i = 0; i < 4; ++i) {
            claims[i] = Claim(ClaimKind.GUARDIAN_FEE, judgeable());
            award(0, claims[i].bountyId, solver, WORK);
            toEnd(claims[i].bountyId);
            hub.settle(claims[i].bountyId);
        }
        token.mint(guardians[0], 1);
        vm.prank(guardians[0]);
        hub.claimMany(claims);
        measure("hub.gas.four_guardian_fees");
    }

    function test_gas__thirty_two_awards_at_once() public {
        Claim[] memory claims = new Claim[](32);
        for (uint256 i = 0; i < 32; ++i) {
            claims[i] = Claim(ClaimKind.AWARD, judgeable());
            award(0, claims[i].bountyId, solver, WORK);
            award(1, claims[i].bountyId, solver, WORK);
            award(2, claims[i].bountyId, solver, WORK);
        }
        vm.prank(solver);
        hub.claimMany(claims);
        measure("hub.gas.thirty_two_awards");
    }

    function test_gas__a_roster_of_fifteen() public {
        guardians = ascending(15);
        rosterHash = publish(guardians, 15);
        uint256 decided = create();
        uint256 silent = create();
        submitAs(solver, decided, WORK);
        submitAs(solver, silent, WORK);
        toReveal(decided);
        for (uint256 i = 0; i < 15; ++i) {
            award(i, decided, solver, WORK);
        }
        measure("hub.gas.deciding_verdict_of_fifteen");
        toEnd(silent);
        hub.settle(silent);
        measure("hub.gas.settle_of_fifteen");
    }

    function test_gas__small_ones() public {
        guardians = ascending(1);
        rosterHash = publish(guardians, 1);
        vm.prank(guardians[0]);
        hub.heartbeat();
        measure("hub.gas.heartbeat");
        vm.prank(solver);
        token.approve(address(hub), ESCROW);
        measure("hub.gas.approve");
    }

    function test_gas__lifecycle() public {
        uint256 bountyId = createAuthorized();
        measure("hub.gas.create_with_authorization");
        submitAs(solver, bountyId, WORK);
        measure("hub.gas.submit");
        submitAs(rival, bountyId, OTHER_WORK);
        measure("hub.gas.second_submit");
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        measure("hub.gas.verdict");
        award(1, bountyId, solver, WORK);
        measure("hub.gas.second_verdict");
        award(2, bountyId, solver, WORK);
        measure("hub.gas.deciding_verdict");
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED);
        claimAs(solver, bountyId);
        measure("hub.gas.claim");
        vm.snapshotValue("hub.gas", "hub.gas.lifecycle", total);
        token.mint(treasury, 1);
        vm.prank(treasury);
        hub.claimProtocolFee(bountyId);
        measure("hub.gas.protocol_fee");
    }
}
