// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Hub} from "../src/Hub.sol";
import {IHubTypes} from "../src/IHubTypes.sol";

interface Vm {
    function assume(bool condition) external pure;
    function prank(address sender) external;
    function warp(uint256 time) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
}

interface Svm {
    function enableSymbolicStorage(address target) external;
}

/// @notice Pays whoever it is told to, and remembers how much.
contract ObedientToken {
    mapping(address account => uint256) public received;

    function balanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        received[to] += amount;
        return true;
    }
}

/// @notice Proofs by halmos, each from an *arbitrary* storage of the Hub: not only the states that tests reach.
/// One bounty word is: escrow 88, protocolFeeBps 16, guardianFeeBps 16, feePolicyVersion 16, ballots 80, reason 8,
/// winningChoice 8, paid 24 bits, from the lowest.
contract HubProofs is IHubTypes {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    Svm private constant svm = Svm(address(uint160(uint256(keccak256("svm cheat code")))));
    uint256 private constant BOUNTIES = 8;
    uint256 private constant ROSTERS = 3;
    uint256 private constant SEATS = 4;
    uint256 private constant PAID = uint256(type(uint24).max) << 232;

    ObedientToken private token;
    Hub private hub;

    function setUp() public {
        token = new ObedientToken();
        hub = new Hub(
            HubConfig(address(token), address(0xE0), 60, 100, 1_000, 500, 2_000, 1_000, 250, 300, address(0xD0))
        );
        svm.enableSymbolicStorage(address(hub));
    }

    // ---------------------------------------------------------------- what is stored

    function slotOf(uint256 bountyId) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(bountyId, BOUNTIES)));
    }

    function word(uint256 bountyId, uint256 place) private view returns (uint256) {
        return uint256(vm.load(address(hub), bytes32(slotOf(bountyId) + place)));
    }

    function reasonOf(uint256 second) private pure returns (uint256) {
        return (second >> 216) & 0xff;
    }

    function deadlineOf(uint256 first) private pure returns (uint256) {
        return (first >> 160) & type(uint40).max;
    }

    function rosterOf(uint256 first) private pure returns (uint256) {
        return (first >> 232) & type(uint16).max;
    }

    function seatNumber(uint256 version, address account) private view returns (uint256) {
        bytes32 seats = keccak256(abi.encode(version, SEATS));
        return uint256(vm.load(address(hub), keccak256(abi.encode(account, seats)))) & 0xff;
    }

    function isSeated(uint256 version, address account) private view returns (bool) {
        return seatNumber(version, account) != 0;
    }

    /// @dev Three seats, of which any may have voted anything; more only multiplies the cases.
    function threeGuardians(uint256 bountyId) private view {
        vm.assume((word(bountyId, 1) >> 136) & type(uint80).max < 2 ** 15);
        vm.assume(seatsOf(bountyId) == 3);
    }

    function seatsOf(uint256 bountyId) private view returns (uint256) {
        uint256 roster = uint256(keccak256(abi.encode(rosterOf(word(bountyId, 0)), ROSTERS)));
        return uint256(vm.load(address(hub), bytes32(roster + 2)));
    }

    // ---------------------------------------------------------------- no one is paid twice

    function check_claim__never_twice(uint256 bountyId, address first, address second) public {
        vm.prank(first);
        hub.claim(bountyId, "", "");
        vm.prank(second);
        (bool again,) = address(hub).call(abi.encodeCall(hub.claim, (bountyId, "", "")));
        assert(!again);
    }

    function check_claim__pays_the_caller_the_award_and_no_more(uint256 bountyId, address caller) public {
        uint256 second = word(bountyId, 1);
        uint256 escrow = second & type(uint88).max;
        vm.prank(caller);
        hub.claim(bountyId, "", "");
        uint256 fees = escrow * ((second >> 88) & 0xffff) / 10_000 + escrow * ((second >> 104) & 0xffff) / 10_000;
        assert(token.received(caller) == escrow - fees);
    }

    function check_protocol_fee__never_twice(uint256 bountyId, address first, address second) public {
        threeGuardians(bountyId);
        vm.prank(first);
        hub.claimProtocolFee(bountyId);
        vm.prank(second);
        (bool again,) = address(hub).call(abi.encodeCall(hub.claimProtocolFee, (bountyId)));
        assert(!again);
    }

    // ---------------------------------------------------------------- what is paid was owed

    /// @dev The money table from the stored words alone, for a final bounty with three seats.
    function owed(uint256 bountyId) private view returns (uint256 sum) {
        uint256 second = word(bountyId, 1);
        uint256 escrow = second & type(uint88).max;
        uint256 protocolFee = escrow * ((second >> 88) & 0xffff) / 10_000;
        uint256 guardianFee = escrow * ((second >> 104) & 0xffff) / 10_000;
        bool awarded = (second >> 224) & 0xff >= 2;
        uint256 share = guardianFee / 3;
        uint256 rest = awarded ? guardianFee : escrow;
        for (uint256 seat = 0; seat < 3; ++seat) {
            if ((second >> (136 + 5 * seat)) & 31 == 0) continue;
            rest -= share;
            if (second >> (232 + seat) & 1 == 0) sum += share;
        }
        if (awarded && second >> 247 & 1 == 0) sum += escrow - protocolFee - guardianFee;
        if (awarded && second >> 249 & 1 == 0) sum += protocolFee;
        if (second >> 248 & 1 == 0) sum += rest;
    }

    /// @dev Reachable shapes: fees within their caps.
    function capped(uint256 bountyId) private view {
        uint256 second = word(bountyId, 1);
        vm.assume((second >> 88) & 0xffff <= 1_000 && (second >> 104) & 0xffff <= 2_000);
    }

    function paysWhatItOwed(uint256 bountyId, address caller, bytes memory call) private {
        threeGuardians(bountyId);
        capped(bountyId);
        uint256 before = owed(bountyId);
        vm.prank(caller);
        (bool done,) = address(hub).call(call);
        vm.assume(done);
        assert(before == owed(bountyId) + token.received(caller));
    }

    function check_solvency__claim(uint256 bountyId, address caller) public {
        paysWhatItOwed(bountyId, caller, abi.encodeCall(hub.claim, (bountyId, "", "")));
    }

    function check_solvency__refund(uint256 bountyId, address caller) public {
        paysWhatItOwed(bountyId, caller, abi.encodeCall(hub.claimRefund, (bountyId)));
    }

    function check_solvency__guardian_fee(uint256 bountyId, address caller) public {
        paysWhatItOwed(bountyId, caller, abi.encodeCall(hub.claimGuardianFee, (bountyId)));
    }

    function check_solvency__protocol_fee(uint256 bountyId, address caller) public {
        paysWhatItOwed(bountyId, caller, abi.encodeCall(hub.claimProtocolFee, (bountyId)));
    }

    /// @dev What becomes due when a bounty ends is the escrow, to the unit.
    function check_solvency__an_end_owes_the_escrow(uint256 bountyId, uint256 time) public {
        vm.warp(time);
        threeGuardians(bountyId);
        capped(bountyId);
        vm.assume(word(bountyId, 1) & PAID == 0);
        hub.settle(bountyId);
        assert(owed(bountyId) == word(bountyId, 1) & type(uint88).max);
    }

    /// @dev The same where a quorum ends it; while there is none, nothing is due and nothing is marked.
    function check_solvency__a_quorum_owes_the_escrow(uint256 bountyId, uint8 kind, address solver, address caller)
        public
    {
        vm.warp(2 ** 39);
        threeGuardians(bountyId);
        capped(bountyId);
        uint256 second = word(bountyId, 1);
        vm.assume(second & PAID == 0 && (second >> 136) & type(uint80).max < 4);
        vm.assume(seatNumber(rosterOf(word(bountyId, 0)), caller) <= 3);
        bytes32 work = hub.getSubmission(bountyId, solver);
        vm.prank(caller);
        hub.recordVerdict(bountyId, kind, solver, kind == 2 ? bytes32(0) : work, bytes32(uint256(1)));
        vm.assume(reasonOf(word(bountyId, 1)) != 0);
        assert(owed(bountyId) == word(bountyId, 1) & type(uint88).max);
        assert(word(bountyId, 1) & PAID == 0);
    }

    // ---------------------------------------------------------------- final is final

    function check_claim__changes_only_its_mark(uint256 bountyId, uint256 other, address caller) public {
        uint256[3] memory before = [word(other, 0), word(other, 1), word(other, 2)];
        vm.prank(caller);
        hub.claim(bountyId, "", "");
        assert(word(other, 0) == before[0] && word(other, 2) == before[2]);
        uint256 mark = other == bountyId ? 1 << (232 + 15) : 0;
        assert(word(other, 1) == before[1] | mark);
    }

    function check_settle__only_an_open_bounty_whose_time_is_up(uint256 bountyId, uint256 time) public {
        vm.warp(time);
        uint256 first = word(bountyId, 0);
        uint256 second = word(bountyId, 1);
        threeGuardians(bountyId);
        hub.settle(bountyId);
        assert(reasonOf(second) == 0 && time >= deadlineOf(first));
        uint256 reason = reasonOf(word(bountyId, 1));
        assert(reason >= 2 && reason <= 4);
        assert(word(bountyId, 0) == first);
        assert(word(bountyId, 1) & PAID == second & PAID);
    }

    function check_submit__before_the_deadline_and_touches_no_money(
        uint256 bountyId,
        bytes32 work,
        bytes32 roster,
        address caller,
        uint256 time
    ) public {
        vm.warp(time);
        uint256 first = word(bountyId, 0);
        uint256 second = word(bountyId, 1);
        vm.prank(caller);
        hub.submit(bountyId, work, roster);
        assert(time < deadlineOf(first));
        assert(!isSeated(rosterOf(first), caller) && caller != address(uint160(first)));
        assert(word(bountyId, 1) == second);
        assert(word(bountyId, 0) << 8 == first << 8);
    }

    function check_verdict__only_a_pinned_guardian(
        uint256 bountyId,
        uint8 kind,
        address solver,
        bytes32 work,
        address caller,
        uint256 time
    ) public {
        vm.warp(time);
        vm.assume(time < 2 ** 40);
        uint256 first = word(bountyId, 0);
        uint256 second = word(bountyId, 1);
        vm.assume((second >> 136) & type(uint80).max < 4); // the first seat named one of two candidates, or nobody
        vm.assume(seatNumber(rosterOf(first), caller) <= 3);
        vm.prank(caller);
        hub.recordVerdict(bountyId, kind, solver, work, bytes32(uint256(1)));
        assert(isSeated(rosterOf(first), caller));
        assert(reasonOf(second) == 0 && time > deadlineOf(first));
        assert(word(bountyId, 0) == first);
        assert(word(bountyId, 1) & PAID == second & PAID);
    }

    // ---------------------------------------------------------------- the owner

    function check_owner__fee_policy_touches_no_bounty(
        uint256 bountyId,
        uint256 a,
        uint256 b,
        address to,
        address caller
    ) public {
        uint256[3] memory before = [word(bountyId, 0), word(bountyId, 1), word(bountyId, 2)];
        vm.prank(caller);
        hub.setFeePolicy(a, b, to);
        assert(word(bountyId, 0) == before[0] && word(bountyId, 1) == before[1] && word(bountyId, 2) == before[2]);
    }

    function check_owner__roster_touches_no_bounty(
        uint256 bountyId,
        address a,
        bytes32 k,
        uint256 version,
        address member
    ) public {
        uint256[3] memory before = [word(bountyId, 0), word(bountyId, 1), word(bountyId, 2)];
        uint256 current = hub.currentRosterVersion();
        vm.assume(version <= current);
        bool seated = isSeated(version, member);
        address[] memory accounts = new address[](1);
        bytes32[] memory keys = new bytes32[](1);
        (accounts[0], keys[0]) = (a, k);
        vm.prank(hub.owner());
        hub.publishRoster(accounts, keys, 1);
        assert(word(bountyId, 0) == before[0] && word(bountyId, 1) == before[1] && word(bountyId, 2) == before[2]);
        assert(isSeated(version, member) == seated);
    }
}
