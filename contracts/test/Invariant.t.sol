// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes} from "../src/IHubTypes.sol";
import {IHub} from "../src/IHub.sol";
import {Handler} from "./support/Handler.sol";
import {Usdc, UsdcCode} from "./support/Usdc.sol";
import {vm} from "./support/Vm.sol";

/// @notice What is always true, after every call of long random histories. `balance == total` alone would miss a
/// double claim paid from other bounties; the ghosts of each bounty do not.
contract InvariantTest is IHubTypes {
    address private constant OWNER = address(0xE000);
    uint256 private constant WHOLE_HISTORY = 3_000; // moves: the depth in foundry.toml

    Usdc private token;
    IHub private hub;
    Handler private handler;

    function setUp() public {
        vm.warp(1_800_000_000);
        token = UsdcCode.deploy();
        HubConfig memory config = HubConfig({
            token: address(token),
            owner: OWNER,
            revealDelay: 60,
            minSubmissionWindow: 100,
            maxSubmissionWindow: 1_000,
            minJudgingWindow: 500,
            maxJudgingWindow: 2_000,
            minEscrow: 1_000,
            publicationDelay: 50,
            protocolFeeBps: 100,
            guardianFeeBps: 100,
            protocolFeeRecipient: address(0xD000)
        });
        hub = IHub(vm.deployCode("src/Hub.sol:Hub", abi.encode(config)));
        handler = new Handler(hub, token, OWNER);
        token.configureMinter(address(handler), type(uint256).max);
    }

    /// @dev forge calls only the handler, and of it what is a move.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    /// @dev A selector that stands more often is called more often.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[23] memory moves = [
            Handler.wait.selector,
            Handler.waitForEdge.selector,
            Handler.waitForEdge.selector,
            Handler.create.selector,
            Handler.create.selector,
            Handler.submit.selector,
            Handler.submit.selector,
            Handler.judge.selector,
            Handler.judge.selector,
            Handler.judge.selector,
            Handler.judge.selector,
            Handler.judge.selector,
            Handler.judge.selector,
            Handler.settle.selector,
            Handler.settle.selector,
            Handler.pull.selector,
            Handler.pull.selector,
            Handler.pull.selector,
            Handler.pull.selector,
            Handler.publishRoster.selector,
            Handler.setFeePolicy.selector,
            Handler.donate.selector,
            Handler.heartbeat.selector
        ];
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(handler), new bytes4[](moves.length));
        for (uint256 i = 0; i < moves.length; ++i) {
            targets[0].selectors[i] = moves[i];
        }
    }

    /// @dev After every call: the bounty it touched and its neighbour tell the ghosts' story, and the Hub holds
    /// exactly what it owes. All bounties are compared at the end of the history.
    function invariant_books_and_bounties_agree() public view {
        uint256 touched = handler.touched();
        if (touched > 0) handler.check(touched);
        if (touched > 1) handler.check(touched - 1);
        vm.assertEq(token.balanceOf(address(hub)), handler.liabilities() + handler.donated(), "balance and books");
    }

    /// @dev At the end of each history: every transition happened, every bounty agrees, and every unit can leave. Where
    /// HUB_HISTORIES names a file, how often each happened is kept there, one JSON object a history. A history that is
    /// cut short is one that forge kept when it failed, and plays again: of it nothing more is demanded than that the
    /// books agree, or it would fail for ever.
    function afterInvariant() public {
        if (handler.moves() < WHOLE_HISTORY) return;
        string[24] memory transitions = [
            "created",
            "submitted",
            "resubmitted",
            "submission refused",
            "verdict",
            "verdict replaced",
            "verdict refused",
            "awarded",
            "judged none",
            "settled empty",
            "settled silent",
            "settled without quorum",
            "settlement refused",
            "award",
            "award refused",
            "refund",
            "refund refused",
            "guardian fee",
            "guardian fee refused",
            "protocol fee",
            "protocol fee refused",
            "roster",
            "fee policy",
            "heartbeat"
        ];
        string memory line;
        for (uint256 i = 0; i < transitions.length; ++i) {
            uint256 times = handler.reached(bytes32(bytes(transitions[i])));
            vm.assertGt(times, 0, string.concat("never happened: ", transitions[i]));
            line = string.concat(line, i == 0 ? "" : ", ", "\"", transitions[i], "\": ", vm.toString(times));
        }
        handler.drainEverything();
        string memory path = vm.envOr("HUB_HISTORIES", "");
        if (bytes(path).length != 0) vm.writeLine(path, string.concat("{", line, "}"));
    }
}
