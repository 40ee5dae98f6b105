// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../src/IHub.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice The constructor's one argument: what is accepted reads back, what is out of bounds is named.
contract DeployTest is HubTest {
    /// @dev A constructor's revert reaches a test through the creation itself, so it is created from its bytes.
    function refused(HubConfig memory config, bytes memory why) private {
        bytes memory code = bytes.concat(vm.getCode("src/Hub.sol:Hub"), abi.encode(config));
        vm.expectRevert(why);
        this.createFrom(code);
    }

    function createFrom(bytes memory code) external returns (address made) {
        assembly {
            made := create(0, add(code, 32), mload(code))
            if iszero(made) {
                returndatacopy(0, 0, returndatasize())
                revert(0, returndatasize())
            }
        }
    }

    function invalid(string memory field, uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(InvalidConfiguration.selector, field, value);
    }

    function test_deploy__a_good_configuration__reads_back() public view {
        vm.assertEq(hub.token(), address(token));
        vm.assertEq(hub.owner(), owner);
        vm.assertEq(hub.revealDelay(), REVEAL_DELAY);
        vm.assertEq(hub.minSubmissionWindow(), MIN_SUBMISSION);
        vm.assertEq(hub.maxSubmissionWindow(), MAX_SUBMISSION);
        vm.assertEq(hub.minJudgingWindow(), MIN_JUDGING);
        vm.assertEq(hub.maxJudgingWindow(), MAX_JUDGING);
        vm.assertEq(hub.minEscrow(), MIN_ESCROW);
        vm.assertEq(hub.publicationDelay(), PUBLICATION_DELAY);
        (uint256 protocolBps, uint256 guardianBps, address to) = hub.feePolicy();
        vm.assertEq(protocolBps, PROTOCOL_BPS);
        vm.assertEq(guardianBps, GUARDIAN_BPS);
        vm.assertEq(to, treasury);
    }

    function test_deploy__logs_its_values() public {
        vm.expectEmit();
        emit Deployed(configuration(address(token)));
        vm.expectEmit();
        emit OwnershipTransferred(address(0), owner);
        newHub();
    }

    function test_deploy__at_the_bounds__is_accepted() public {
        HubConfig memory c = configuration(address(token));
        (c.revealDelay, c.minSubmissionWindow, c.maxSubmissionWindow) = (1, 1, 1);
        (c.minJudgingWindow, c.maxJudgingWindow, c.minEscrow, c.publicationDelay) = (1, 1, 1, 1);
        deployHub(c);
        (c.revealDelay, c.minSubmissionWindow, c.maxSubmissionWindow) = (365 days, 365 days, 365 days);
        (c.minJudgingWindow, c.maxJudgingWindow, c.minEscrow) = (365 days, 365 days, type(uint88).max);
        c.publicationDelay = 365 days;
        deployHub(c);
    }

    function test_deploy__out_of_bounds__is_named() public {
        HubConfig memory c = configuration(stranger);
        refused(c, invalid("token", uint160(stranger)));
        c = configuration(address(token));
        c.owner = address(0);
        refused(c, invalid("owner", 0));
        c = configuration(address(token));
        c.revealDelay = 0;
        refused(c, invalid("revealDelay", 0));
        c.revealDelay = 365 days + 1;
        refused(c, invalid("revealDelay", 365 days + 1));
        c = configuration(address(token));
        c.minSubmissionWindow = 0;
        refused(c, invalid("minSubmissionWindow", 0));
        c.minSubmissionWindow = MAX_SUBMISSION + 1;
        refused(c, invalid("minSubmissionWindow", MAX_SUBMISSION + 1));
        c = configuration(address(token));
        c.maxSubmissionWindow = 365 days + 1;
        refused(c, invalid("maxSubmissionWindow", 365 days + 1));
        c = configuration(address(token));
        c.minJudgingWindow = 0;
        refused(c, invalid("minJudgingWindow", 0));
        c.minJudgingWindow = MAX_JUDGING + 1;
        refused(c, invalid("minJudgingWindow", MAX_JUDGING + 1));
        c = configuration(address(token));
        c.maxJudgingWindow = 365 days + 1;
        refused(c, invalid("maxJudgingWindow", 365 days + 1));
        c = configuration(address(token));
        c.minEscrow = 0;
        refused(c, invalid("minEscrow", 0));
        c.minEscrow = uint256(type(uint88).max) + 1;
        refused(c, invalid("minEscrow", uint256(type(uint88).max) + 1));
        c = configuration(address(token));
        c.publicationDelay = 0;
        refused(c, invalid("publicationDelay", 0));
        c.publicationDelay = 365 days + 1;
        refused(c, invalid("publicationDelay", 365 days + 1));
    }

    function test_deploy__fee_policy_out_of_bounds__is_refused() public {
        HubConfig memory c = configuration(address(token));
        c.protocolFeeBps = 1_001;
        refused(c, abi.encodeWithSelector(FeeAboveCap.selector, 1_001, 1_000));
        c = configuration(address(token));
        c.guardianFeeBps = 2_001;
        refused(c, abi.encodeWithSelector(FeeAboveCap.selector, 2_001, 2_000));
        c = configuration(address(token));
        c.protocolFeeRecipient = address(token);
        refused(c, abi.encodeWithSelector(FeeRecipientInvalid.selector, address(token)));
    }
}
