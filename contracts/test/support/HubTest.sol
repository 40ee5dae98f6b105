// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../../src/IHub.sol";
import {IHubTypes, Outcome, Reason, VerdictKind} from "../../src/IHubTypes.sol";
import {Usdc, UsdcCode} from "./Usdc.sol";
import {Vm, vm} from "./Vm.sol";

/// @notice A deployed Hub with a roster of three (quorum two) and people with money: where every test starts.
/// Fees: protocol 2.5 %, Guardians 3 %. Time is read with the cheat code: `block.timestamp` may be cached across a warp.
abstract contract HubTest is IHubTypes {
    uint256 internal constant START = 1_800_000_000;
    uint256 internal constant REVEAL_DELAY = 1 hours;
    uint256 internal constant MIN_SUBMISSION = 10 minutes;
    uint256 internal constant MAX_SUBMISSION = 90 days;
    uint256 internal constant MIN_JUDGING = 2 hours;
    uint256 internal constant MAX_JUDGING = 30 days;
    uint256 internal constant MIN_ESCROW = 1_000_000;
    uint256 internal constant PUBLICATION_DELAY = 1 hours;
    uint256 internal constant PROTOCOL_BPS = 250;
    uint256 internal constant GUARDIAN_BPS = 300;
    uint256 internal constant ESCROW = 1_000_000_001; // divides by nothing, so that dust exists
    bytes32 internal constant SPEC = keccak256("challenge");
    bytes32 internal constant WORK = keccak256("work");
    bytes32 internal constant OTHER_WORK = keccak256("other work");
    bytes32 internal constant REPORT = keccak256("report");
    uint256 internal constant POSTER_KEY = 0xA11CE;

    Usdc internal token;
    IHub internal hub;
    address internal owner = person("owner");
    address internal treasury = person("protocol fee recipient");
    address internal poster = vm.addr(POSTER_KEY);
    address internal solver = person("solver");
    address internal rival = person("rival");
    address internal stranger = person("stranger");
    address[] internal guardians;
    bytes32 internal rosterHash;

    function setUp() public virtual {
        vm.warp(START);
        token = UsdcCode.deploy();
        hub = newHub();
        guardians = sorted(person("guardian a"), person("guardian b"), person("guardian c"));
        rosterHash = publish(guardians, 2);
        token.mint(poster, 1_000_000e6);
        vm.prank(poster);
        token.approve(address(hub), type(uint256).max);
    }

    function newHub() internal returns (IHub) {
        return deployHub(configuration(address(token)));
    }

    /// @notice By name and not by `new`, so that a test does not carry a copy of the Hub: it compiles in a moment.
    function deployHub(HubConfig memory config) internal returns (IHub) {
        return IHub(vm.deployCode("src/Hub.sol:Hub", abi.encode(config)));
    }

    // ---------------------------------------------------------------- who

    /// @dev What a refusal with a text is, as the token's are.
    function reason(string memory text) internal pure returns (bytes memory) {
        return abi.encodeWithSignature("Error(string)", text);
    }

    function person(string memory name) internal pure returns (address) {
        return vm.addr(uint256(keccak256(bytes(name))));
    }

    function sorted(address a, address b, address c) internal pure returns (address[] memory list) {
        list = new address[](3);
        (list[0], list[1], list[2]) = (a, b, c);
        for (uint256 i = 1; i < list.length; ++i) {
            for (uint256 j = i; j > 0 && list[j] < list[j - 1]; --j) {
                (list[j], list[j - 1]) = (list[j - 1], list[j]);
            }
        }
    }

    function ascending(uint256 count) internal pure returns (address[] memory list) {
        list = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = address(uint160(0x1000 + i));
        }
    }

    function keysFor(uint256 count) internal pure returns (bytes32[] memory keys) {
        keys = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) {
            keys[i] = bytes32(uint256(0x09 + i) << 248);
        }
    }

    /// @notice Publishes a roster and waits until it is in effect.
    function publish(address[] memory accounts, uint256 quorum) internal returns (bytes32) {
        announce(accounts, quorum);
        (, uint256 effectiveFrom) = hub.announcedRoster();
        if (effectiveFrom != 0) vm.warp(effectiveFrom);
        return hub.getRoster(hub.currentRosterVersion()).guardianRosterHash;
    }

    function announce(address[] memory accounts, uint256 quorum) internal {
        vm.prank(owner);
        hub.publishRoster(accounts, keysFor(accounts.length), quorum);
    }

    function configuration(address token_) internal view returns (HubConfig memory) {
        return HubConfig({
            token: token_,
            owner: owner,
            revealDelay: REVEAL_DELAY,
            minSubmissionWindow: MIN_SUBMISSION,
            maxSubmissionWindow: MAX_SUBMISSION,
            minJudgingWindow: MIN_JUDGING,
            maxJudgingWindow: MAX_JUDGING,
            minEscrow: MIN_ESCROW,
            publicationDelay: PUBLICATION_DELAY,
            protocolFeeBps: PROTOCOL_BPS,
            guardianFeeBps: GUARDIAN_BPS,
            protocolFeeRecipient: treasury
        });
    }

    // ---------------------------------------------------------------- what people do

    function terms() internal view returns (Terms memory) {
        return Terms({
            specCommitment: SPEC,
            expectedRosterHash: rosterHash,
            escrowAmount: ESCROW,
            submissionDeadline: vm.getBlockTimestamp() + 1 days,
            judgingWindow: 3 days,
            maxProtocolFee: type(uint256).max,
            maxGuardianFee: type(uint256).max,
            salt: bytes32(uint256(1))
        });
    }

    function create() internal returns (uint256) {
        return createWith(terms());
    }

    function createWith(Terms memory t) internal returns (uint256) {
        vm.prank(poster);
        return hub.createBounty(t);
    }

    function submitAs(address account, uint256 bountyId, bytes32 commitment) internal {
        vm.prank(account);
        hub.submit(bountyId, commitment, rosterHash);
    }

    function award(uint256 guardian, uint256 bountyId, address account, bytes32 commitment) internal {
        vm.prank(guardians[guardian]);
        hub.recordVerdict(bountyId, VerdictKind.AWARDED, account, commitment, REPORT);
    }

    function reject(uint256 guardian, uint256 bountyId) internal {
        vm.prank(guardians[guardian]);
        hub.recordVerdict(bountyId, VerdictKind.NO_VALID_SUBMISSION, address(0), 0, REPORT);
    }

    function toReveal(uint256 bountyId) internal {
        vm.warp(hub.getBounty(bountyId).revealAt);
    }

    function toEnd(uint256 bountyId) internal {
        vm.warp(hub.getBounty(bountyId).judgingDeadline);
    }

    /// @notice A bounty with the Solver's and the rival's work, at its reveal point.
    function judgeable() internal returns (uint256 bountyId) {
        bountyId = create();
        submitAs(solver, bountyId, WORK);
        submitAs(rival, bountyId, OTHER_WORK);
        toReveal(bountyId);
    }

    /// @notice A bounty that two of three Guardians awarded to the Solver.
    function awarded() internal returns (uint256 bountyId) {
        bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        award(1, bountyId, solver, WORK);
    }

    function claimAs(address account, uint256 bountyId) internal {
        vm.prank(account);
        hub.claim(bountyId, "", "");
    }

    function signature(Terms memory t, address from, uint256 key, uint256 validAfter, uint256 validBefore)
        internal
        view
        returns (bytes memory)
    {
        bytes32 digest = authorizationDigest(t, from, validAfter, validBefore);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function authorizationDigest(Terms memory t, address from, uint256 validAfter, uint256 validBefore)
        internal
        view
        returns (bytes32)
    {
        bytes32 content = keccak256(
            abi.encode(
                token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(),
                from,
                address(hub),
                t.escrowAmount,
                validAfter,
                validBefore,
                hub.authorizationNonce(t, from)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), content));
    }

    /// @notice That a log is `BountyCreated` of the first bounty, with the terms and fees of these tests.
    /// @dev The event has too many values for `emit` in an unoptimized test: its log is compared word by word.
    function checkCreated(Vm.Log memory log, uint256 deadline, bytes32 nonce) internal view {
        vm.assertEq(log.emitter, address(hub));
        vm.assertEq(log.topics[0], BountyCreated.selector);
        vm.assertEq(uint256(log.topics[1]), 1);
        vm.assertEq(log.topics[2], bytes32(uint256(uint160(poster))));
        vm.assertEq(log.topics[3], SPEC);
        bytes memory first = abi.encode(rosterHash, 1, ESCROW, deadline, deadline + REVEAL_DELAY);
        bytes memory second = abi.encode(deadline + REVEAL_DELAY + 3 days, 25_000_000, 30_000_000, treasury, nonce);
        vm.assertEq(keccak256(log.data), keccak256(bytes.concat(first, second)));
    }

    /// @notice What the Hub still owes of this bounty.
    function owed(uint256 bountyId) internal view returns (uint256) {
        BountyView memory b = hub.getBounty(bountyId);
        if (b.outcome == Outcome.OPEN) return b.escrowAmount;
        return b.awardDue + b.refundDue + b.protocolFeeDue + b.guardianFeesDue;
    }
}
