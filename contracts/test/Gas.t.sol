// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestToken} from "../src/local/TestToken.sol";
import {Outcome} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice The gas budgets: each call is its own transaction (isolate), behind a USDC-like proxied token, with a
/// roster of three, quorum three, and recipients that already hold the token. The figures are kept in
/// snapshots/hub.gas.json; tools/check.py prints them and fails when one has changed unnoticed.
/// forge-config: default.isolate = true
contract GasTest is HubTest {
    uint256 private total;

    function deployToken() internal override returns (TestToken) {
        bytes memory behind = abi.encode(super.deployToken(), person("token admin"));
        return TestToken(vm.deployCode("out/LocalProxy.sol/LocalProxy.json", behind));
    }

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

    function measure(string memory name, uint256 budget) private {
        uint256 used = vm.lastCallGas().gasTotalUsed;
        total += used;
        record(name, used, budget);
    }

    function record(string memory name, uint256 used, uint256 budget) private {
        vm.snapshotValue("hub.gas", name, used);
        vm.assertLe(used, budget, name);
    }

    function createAuthorized() private returns (uint256 bountyId) {
        Terms memory t = terms();
        uint256 validBefore = vm.getBlockTimestamp() + 1 hours;
        bytes memory signed = signature(t, poster, POSTER_KEY, 0, validBefore);
        vm.prank(poster);
        return hub.createBountyWithAuthorization(t, poster, 0, validBefore, signed);
    }

    function test_gas__create_by_allowance__within_budget() public {
        create();
        measure("hub.gas.create", 150_000);
    }

    function test_gas__lifecycle__within_budgets() public {
        uint256 bountyId = createAuthorized();
        measure("hub.gas.create_with_authorization", 180_000);
        submitAs(solver, bountyId, WORK);
        measure("hub.gas.submit", 58_000);
        submitAs(rival, bountyId, OTHER_WORK);
        measure("hub.gas.second_submit", 58_000);
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        measure("hub.gas.verdict", 68_000);
        award(1, bountyId, solver, WORK);
        measure("hub.gas.second_verdict", 68_000);
        award(2, bountyId, solver, WORK);
        measure("hub.gas.deciding_verdict", 60_000);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED);
        claimAs(solver, bountyId);
        measure("hub.gas.claim", 60_000);
        record("hub.gas.lifecycle", total, 540_000);
    }
}
