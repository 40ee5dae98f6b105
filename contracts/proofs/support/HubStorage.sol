// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hub} from "../../src/Hub.sol";
import {IHubTypes} from "../../src/IHubTypes.sol";
import {Ballots} from "../../src/parts/Ballots.sol";

interface Vm {
    function assume(bool condition) external pure;
    function prank(address sender) external;
    function warp(uint256 time) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
    function store(address target, bytes32 slot, bytes32 value) external;
}

interface Svm {
    function enableSymbolicStorage(address target) external;
    function createBytes32(string memory name) external returns (bytes32);
    function createUint(uint256 bits, string memory name) external returns (uint256);
}

/// @notice Pays whoever it is told to, and remembers how much.
contract ObedientToken {
    mapping(address account => uint256) public received;

    function balanceOf(address account) external view returns (uint256) {
        return received[account];
    }

    function transferFrom(address, address to, uint256 amount) external returns (bool) {
        received[to] += amount;
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        received[to] += amount;
        return true;
    }
}

/// @notice An arbitrary storage of the Hub for the proofs, and how to read it. From the lowest bit, the first word of a
/// bounty is: poster 160, submissionDeadline 32, judgingWindow 32, rosterVersion 16, rosterSize 8, hasSubmissions 8; the
/// second: escrow 88, protocolFeeBps 16, guardianFeeBps 16, feePolicyVersion 16, ballots 80, reason 8, winningChoice 8, paid 24.
/// The word of a Guardian: lastActiveAt 40, rosterVersion 16, seatNumber 8, quorum 8.
abstract contract HubStorage is IHubTypes {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    Svm internal constant svm = Svm(address(uint160(uint256(keccak256("svm cheat code")))));
    // formerVersion 16, formerSize 8, newestVersion 16, newestSize 8, newestFrom 40, feePolicyVersion 16, bounties 64
    uint256 internal constant COUNTERS = 1;
    uint256 internal constant DELIVERY_KEYS = 3; // former, newest, newestFrom
    uint256 internal constant PUBLICATION_DELAY = 50;
    uint256 internal constant BOUNTIES = 10;
    uint256 internal constant ROSTERS = 6;
    uint256 internal constant SEATS = 7;
    uint256 internal constant FEE_POLICIES = 8;
    uint256 internal constant GUARDIANS = 9;
    uint256 internal constant CANDIDATES = 12;
    uint256 internal constant PAID = uint256(type(uint24).max) << 232;

    ObedientToken internal token;
    Hub internal hub;

    function setUp() public {
        token = new ObedientToken();
        hub = new Hub(
            HubConfig(address(token), address(0xE0), 60, 100, 1_000, 500, 2_000, 1_000, PUBLICATION_DELAY, 250, 300, address(0xD0))
        );
        svm.enableSymbolicStorage(address(hub));
    }

    // ---------------------------------------------------------------- what is stored

    function slotOf(uint256 bountyId) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(bountyId, BOUNTIES)));
    }

    function word(uint256 bountyId, uint256 place) internal view returns (uint256) {
        return uint256(vm.load(address(hub), bytes32(slotOf(bountyId) + place)));
    }

    function reasonOf(uint256 second) internal pure returns (uint256) {
        return (second >> 216) & 0xff;
    }

    function deadlineOf(uint256 first) internal pure returns (uint256) {
        return (first >> 160) & type(uint32).max;
    }

    function rosterOf(uint256 first) internal pure returns (uint256) {
        return (first >> 224) & type(uint16).max;
    }

    /// @dev Number 8, quorum 8.
    function seatWord(uint256 version, address account) internal view returns (uint256) {
        bytes32 seats = keccak256(abi.encode(version, SEATS));
        return uint256(vm.load(address(hub), keccak256(abi.encode(account, seats)))) & 0xffff;
    }

    function seatNumber(uint256 version, address account) internal view returns (uint256) {
        return seatWord(version, account) & 0xff;
    }

    function guardianWord(address account) internal view returns (uint256) {
        return uint256(vm.load(address(hub), keccak256(abi.encode(account, GUARDIANS))));
    }

    /// @dev Whether both places of an account's newest seat agree. Every reachable storage does: `HubProofs` shows that
    /// publishing, a heartbeat and a Verdict keep it, and nothing else writes either.
    function agrees(address account) internal view returns (bool) {
        uint256 guardian = guardianWord(account);
        uint256 version = (guardian >> 40) & type(uint16).max;
        return guardian >> 72 == 0 && (version == 0 || guardian >> 56 == seatWord(version, account));
    }

    function isSeated(uint256 version, address account) internal view returns (bool) {
        return seatNumber(version, account) != 0;
    }

    function arbitraryDeliveryKeys() internal {
        vm.store(address(hub), bytes32(DELIVERY_KEYS), svm.createBytes32("former"));
        vm.store(address(hub), bytes32(DELIVERY_KEYS + 1), svm.createBytes32("newest"));
        vm.store(address(hub), bytes32(DELIVERY_KEYS + 2), bytes32(svm.createUint(40, "newestFrom")));
    }

    /// @dev A roster version that was not published yet has empty lists; otherwise the old ones would be cleared first.
    function unwritten(uint256 version) internal {
        uint256 roster = uint256(keccak256(abi.encode(version, ROSTERS)));
        vm.store(address(hub), bytes32(roster + 2), 0);
        vm.store(address(hub), bytes32(roster + 3), 0);
    }

    /// @dev Three seats, of which any may have voted anything; more only multiplies the cases.
    function threeGuardians(uint256 bountyId) internal {
        vm.assume((word(bountyId, 1) >> 136) & type(uint80).max < 2 ** 15);
        // Written, not assumed: a solver that divides by an unknown which is three takes minutes.
        uint256 others = word(bountyId, 0) & ~(uint256(0xff) << 240);
        vm.store(address(hub), bytes32(slotOf(bountyId)), bytes32(others | 3 << 240));
    }

    // ---------------------------------------------------------------- the money table from the stored words alone

    function escrowOf(uint256 second) internal pure returns (uint256) {
        return second & type(uint88).max;
    }

    function protocolFeeOf(uint256 second) internal pure returns (uint256) {
        return escrowOf(second) * ((second >> 88) & 0xffff) / 10_000;
    }

    function guardianFeeOf(uint256 second) internal pure returns (uint256) {
        return escrowOf(second) * ((second >> 104) & 0xffff) / 10_000;
    }

    function isAwarded(uint256 second) internal pure returns (bool) {
        return (second >> 224) & 0xff >= 2;
    }

    /// @dev The Poster's part of a final bounty: what no winner, recipient or voting Guardian of three gets.
    function restOf(uint256 second) internal pure returns (uint256 rest) {
        rest = isAwarded(second) ? guardianFeeOf(second) : escrowOf(second);
        rest -= guardianFeeOf(second) / 3 * votesOf(second);
    }

    /// @dev How many of three seats chose anything. That the Hub adds up the same is proven on the way: what follows it
    /// multiplies by a number, and not by a sum of unknown bits, over which a solver takes minutes.
    function votesOf(uint256 second) internal pure returns (uint256 votes) {
        for (uint256 seat = 0; seat < 3; ++seat) {
            if ((second >> (136 + 5 * seat)) & 31 != 0) ++votes;
        }
        assert(Ballots.cast(uint80(second >> 136)) == votes);
    }

    /// @dev What a final bounty with three seats still owes.
    function owed(uint256 bountyId) internal view returns (uint256 sum) {
        uint256 second = word(bountyId, 1);
        uint256 share = guardianFeeOf(second) / 3;
        for (uint256 seat = 0; seat < 3; ++seat) {
            if ((second >> (136 + 5 * seat)) & 31 != 0 && second >> (232 + seat) & 1 == 0) sum += share;
        }
        if (isAwarded(second) && second >> 247 & 1 == 0) {
            sum += escrowOf(second) - protocolFeeOf(second) - guardianFeeOf(second);
        }
        if (isAwarded(second) && second >> 249 & 1 == 0) sum += protocolFeeOf(second);
        if (second >> 248 & 1 == 0) sum += restOf(second);
    }

    /// @dev Reachable shapes: fees within their caps.
    function capped(uint256 bountyId) internal view {
        uint256 second = word(bountyId, 1);
        vm.assume((second >> 88) & 0xffff <= 1_000 && (second >> 104) & 0xffff <= 2_000);
    }
}
