// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ballots} from "../src/parts/Ballots.sol";
import {HubStorage} from "./support/HubStorage.sol";

/// @notice Proofs by halmos, each from an *arbitrary* storage of the Hub: not only the states that tests reach.
contract HubProofs is HubStorage {
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
        vm.prank(caller);
        hub.claim(bountyId, "", "");
        assert(token.received(caller) == escrowOf(second) - protocolFeeOf(second) - guardianFeeOf(second));
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
        assert(owed(bountyId) == escrowOf(word(bountyId, 1)));
    }

    /// @dev The same where a quorum ends it; while there is none, nothing is due and nothing is marked.
    function check_solvency__a_quorum_owes_the_escrow(uint256 bountyId, uint8 kind, address solver, address caller)
        public
    {
        vm.warp(2 ** 31);
        threeGuardians(bountyId);
        capped(bountyId);
        uint256 second = word(bountyId, 1);
        vm.assume(second & PAID == 0 && (second >> 136) & type(uint80).max < 4);
        vm.assume(seatNumber(rosterOf(word(bountyId, 0)), caller) <= 3 && rosterOf(word(bountyId, 0)) != 0);
        vm.assume(agrees(caller));
        bytes32 work = hub.getSubmission(bountyId, solver);
        vm.prank(caller);
        hub.recordVerdict(bountyId, kind, solver, kind == 2 ? bytes32(0) : work, bytes32(uint256(1)));
        vm.assume(reasonOf(word(bountyId, 1)) != 0);
        assert(owed(bountyId) == escrowOf(word(bountyId, 1)));
        assert(word(bountyId, 1) & PAID == 0);
    }

    /// @dev Of two bounties, an award and a refund: one call pays the sum of both, and marks each.
    function check_claim_many__an_award_and_a_refund(uint256 first, uint256 second, address caller) public {
        vm.assume(first != second);
        threeGuardians(second);
        capped(second);
        (uint256 won, uint256 left) = (word(first, 1), word(second, 1));
        Claim[] memory claims = new Claim[](2);
        (claims[0], claims[1]) = (Claim(1, first), Claim(2, second));
        vm.prank(caller);
        hub.claimMany(claims);
        uint256 award = escrowOf(won) - protocolFeeOf(won) - guardianFeeOf(won);
        assert(token.received(caller) == award + restOf(left));
        assert(won >> 247 & 1 == 0 && word(first, 1) == won | 1 << 247);
        assert(left >> 248 & 1 == 0 && word(second, 1) == left | 1 << 248);
    }

    /// @dev A list that names one part of a bounty twice is refused whole, whatever the part.
    function check_claim_many__no_part_twice(uint256 bountyId, uint8 kind, address caller) public {
        threeGuardians(bountyId);
        vm.assume(seatNumber(rosterOf(word(bountyId, 0)), caller) <= 3);
        Claim[] memory claims = new Claim[](2);
        (claims[0], claims[1]) = (Claim(kind, bountyId), Claim(kind, bountyId));
        vm.prank(caller);
        (bool done,) = address(hub).call(abi.encodeCall(hub.claimMany, (claims)));
        assert(!done);
        assert(token.received(caller) == 0);
    }

    // ---------------------------------------------------------------- final is final

    /// @dev A pull of one bounty leaves every other as it was, and of its own writes one mark.
    function changesOnly(uint256 bountyId, uint256 other, address caller, uint256 mark, bytes memory call) private {
        uint256[3] memory before = [word(other, 0), word(other, 1), word(other, 2)];
        vm.prank(caller);
        (bool done,) = address(hub).call(call);
        vm.assume(done);
        assert(word(other, 0) == before[0] && word(other, 2) == before[2]);
        assert(word(other, 1) == before[1] | (other == bountyId ? 1 << (232 + mark) : 0));
    }

    function check_claim__changes_only_its_mark(uint256 bountyId, uint256 other, address caller) public {
        changesOnly(bountyId, other, caller, 15, abi.encodeCall(hub.claim, (bountyId, "", "")));
    }

    function check_refund__changes_only_its_mark(uint256 bountyId, uint256 other, address caller) public {
        threeGuardians(bountyId);
        changesOnly(bountyId, other, caller, 16, abi.encodeCall(hub.claimRefund, (bountyId)));
    }

    function check_guardian_fee__changes_only_its_mark(uint256 bountyId, uint256 other, address caller) public {
        threeGuardians(bountyId);
        uint256 seat = seatNumber(rosterOf(word(bountyId, 0)), caller);
        vm.assume(seat >= 1 && seat <= 3);
        changesOnly(bountyId, other, caller, seat - 1, abi.encodeCall(hub.claimGuardianFee, (bountyId)));
    }

    function check_protocol_fee__changes_only_its_mark(uint256 bountyId, uint256 other, address caller) public {
        threeGuardians(bountyId);
        changesOnly(bountyId, other, caller, 17, abi.encodeCall(hub.claimProtocolFee, (bountyId)));
    }

    // ---------------------------------------------------------------- creating

    /// @dev What a new bounty records as its escrow is what the token brought, and no other bounty moves.
    function check_create__records_what_arrived(Terms calldata terms, uint256 other, address poster, uint256 time)
        public
    {
        vm.assume(time < 2 ** 31);
        vm.warp(time);
        // Single words are as the constructor left them; any bounty count, and any published versions, would do.
        vm.store(address(hub), bytes32(COUNTERS), bytes32(uint256(3 << 24 | 3 << 40 | 2 << 88 | 41 << 104)));
        vm.assume(other != 42 && word(42, 0) == 0 && word(42, 1) == 0);
        uint256[3] memory before = [word(other, 0), word(other, 1), word(other, 2)];
        vm.prank(poster);
        uint256 bountyId = hub.createBounty(terms);
        assert(bountyId == 42);
        assert(token.received(address(hub)) == terms.escrowAmount);
        assert(escrowOf(word(bountyId, 1)) == terms.escrowAmount);
        assert(word(bountyId, 1) >> 136 == 0); // no ballots, open, nothing paid
        assert(address(uint160(word(bountyId, 0))) == poster);
        assert(word(other, 0) == before[0] && word(other, 1) == before[1] && word(other, 2) == before[2]);
    }

    // ---------------------------------------------------------------- when and by whom

    function check_settle__only_an_open_bounty_whose_time_is_up(uint256 bountyId, uint256 time) public {
        vm.warp(time);
        threeGuardians(bountyId);
        uint256 first = word(bountyId, 0);
        uint256 second = word(bountyId, 1);
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
        vm.assume(seatNumber(rosterOf(first), caller) <= 3 && rosterOf(first) != 0);
        vm.assume(agrees(caller));
        vm.prank(caller);
        hub.recordVerdict(bountyId, kind, solver, work, bytes32(uint256(1)));
        assert(isSeated(rosterOf(first), caller) && agrees(caller));
        assert(reasonOf(second) == 0 && time > deadlineOf(first));
        assert(word(bountyId, 0) == first);
        assert(word(bountyId, 1) & PAID == second & PAID);
    }

    // ---------------------------------------------------------------- the two places of a seat

    function listsOf(address[2] memory members)
        private
        pure
        returns (address[] memory accounts, bytes32[] memory keys)
    {
        (accounts, keys) = (new address[](2), new bytes32[](2));
        (accounts[0], accounts[1]) = (members[0], members[1]);
        (keys[0], keys[1]) = (bytes32(uint256(9 << 248)), bytes32(uint256(10 << 248)));
    }

    function check_seat__a_heartbeat_keeps_both_places_alike(address caller, uint256 time) public {
        vm.warp(time);
        vm.assume(agrees(caller));
        uint256 seat = guardianWord(caller) >> 40;
        vm.prank(caller);
        hub.heartbeat();
        assert(agrees(caller));
        assert(guardianWord(caller) == seat << 40 | time);
    }

    /// @dev Of every size and quorum. The first two members are any accounts of the lower half, those after them stand at
    /// the upper end; `other` is any account that is not among them. The solver has time to see that no old list is
    /// cleared; else it would follow such loops until their bound.
    /// @custom:halmos --solver-timeout-branching 1000
    function check_seat__a_publication_keeps_both_places_alike(
        address[2] calldata first,
        uint256 size,
        uint256 quorum,
        address other,
        uint16 newest
    ) public {
        vm.store(address(hub), bytes32(COUNTERS), bytes32(uint256(newest) << 24));
        unwritten(uint256(newest) + 1);
        vm.assume(first[0] != address(0) && first[0] < first[1] && first[1] < address(2 ** 159));
        vm.assume(agrees(other) && size >= 1 && size <= Ballots.SEATS);
        publication(first, size, 1, Ballots.SEATS, quorum, other, uint256(newest) + 1);
    }

    /// @dev Halves the sizes until one is left, since a list in memory has a known length.
    function publication(
        address[2] calldata first,
        uint256 size,
        uint256 least,
        uint256 most,
        uint256 quorum,
        address other,
        uint256 version
    ) private {
        uint256 middle = (least + most) / 2;
        if (least == most) keepsBothPlacesAlike(membersOf(first, least), quorum, other, version);
        else if (size <= middle) publication(first, size, least, middle, quorum, other, version);
        else publication(first, size, middle + 1, most, quorum, other, version);
    }

    function membersOf(address[2] calldata first, uint256 size) private pure returns (address[] memory members) {
        members = new address[](size);
        for (uint256 i = 0; i < size; ++i) {
            members[i] = i < 2 ? first[i] : address(uint160(2 ** 160 - size + i));
        }
    }

    function keepsBothPlacesAlike(address[] memory members, uint256 quorum, address other, uint256 version) private {
        bytes32[] memory keys = new bytes32[](members.length);
        for (uint256 i = 0; i < members.length; ++i) {
            keys[i] = bytes32(9 + i << 248);
            vm.assume(other != members[i]);
        }
        uint256 before = guardianWord(other);
        vm.prank(hub.owner());
        hub.publishRoster(members, keys, quorum);
        uint256 differing = guardianWord(other) ^ before;
        for (uint256 i = 0; i < members.length; ++i) {
            uint256 seat = i + 1 | quorum << 8;
            differing |= seatWord(version, members[i]) ^ seat;
            differing |= guardianWord(members[i]) >> 40 ^ (version | seat << 16);
        }
        assert(differing == 0);
        assert(agrees(other));
    }

    // ---------------------------------------------------------------- delays

    /// @dev Whatever was published or announced before: until the delay is over, what was current stays, then it changes.
    function check_delay__a_roster_takes_effect_after_it(
        address[2] memory members,
        uint16 newest,
        uint16 former,
        uint40 newestFrom,
        uint256 time,
        uint256 later
    ) public {
        vm.assume(newest != 0 && newest < type(uint16).max && time < 2 ** 39 && later >= time && later < 2 ** 39);
        uint256 counters = uint256(newestFrom) << 48 | uint256(newest) << 24 | former;
        vm.store(address(hub), bytes32(COUNTERS), bytes32(counters));
        unwritten(uint256(newest) + 1);
        vm.warp(time);
        uint256 current = hub.currentRosterVersion();
        (address[] memory accounts, bytes32[] memory keys) = listsOf(members);
        vm.prank(hub.owner());
        hub.publishRoster(accounts, keys, 2);
        vm.warp(later);
        assert(hub.currentRosterVersion() == (later < time + PUBLICATION_DELAY ? current : uint256(newest) + 1));
    }

    function check_delay__a_delivery_key_takes_effect_after_it(bytes32 key, uint256 time, uint256 later) public {
        vm.assume(time < 2 ** 39 && later >= time && later < 2 ** 39);
        arbitraryDeliveryKeys();
        vm.assume(uint256(vm.load(address(hub), bytes32(DELIVERY_KEYS + 2))) != 0); // not the first
        vm.warp(time);
        bytes32 current = hub.deliveryKey();
        vm.prank(hub.owner());
        hub.publishDeliveryKey(key);
        vm.warp(later);
        assert(hub.deliveryKey() == (later < time + PUBLICATION_DELAY ? current : key));
    }

    /// @dev From the block of its withdrawal on, at no time, whether it was current, announced or both.
    function check_withdrawal__the_key_is_gone_for_ever(bytes32 key, uint256 time, uint256 later) public {
        vm.assume(time < 2 ** 39 && later >= time && later < 2 ** 39);
        arbitraryDeliveryKeys();
        vm.warp(time);
        vm.prank(hub.owner());
        hub.withdrawDeliveryKey(key);
        assert(key != 0);
        vm.warp(later);
        assert(hub.deliveryKey() != key);
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
