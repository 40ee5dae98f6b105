// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../src/IHub.sol";
import {Outcome, VerdictKind} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice What the owner can do, nobody else can, and nobody can at all.
contract RegistryTest is HubTest {
    bytes32 private constant KEY = bytes32(uint256(0x42) << 248);
    bytes32 private constant NEXT_KEY = bytes32(uint256(0x43) << 248);
    bytes32 private constant THIRD_KEY = bytes32(uint256(0x44) << 248);

    function asOwner(bytes memory why) private {
        vm.expectRevert(why);
        vm.prank(owner);
    }

    function refusedRoster(address[] memory accounts, bytes32[] memory keys, uint256 quorum, bytes memory why) private {
        asOwner(why);
        hub.publishRoster(accounts, keys, quorum);
    }

    // ---------------------------------------------------------------- rosters

    function test_roster__published__is_readable_and_hashed_as_documented() public {
        address[] memory accounts = ascending(15);
        bytes32[] memory keys = keysFor(15);
        bytes32 expected = keccak256(abi.encode(block.chainid, address(hub), uint256(2), accounts, keys, uint256(8)));
        vm.expectEmit(address(hub));
        emit RosterPublished(2, expected, accounts, keys, 8, START + PUBLICATION_DELAY);
        vm.prank(owner);
        hub.publishRoster(accounts, keys, 8);
        RosterView memory roster = hub.getRoster(2);
        vm.assertEq(roster.guardianRosterHash, expected);
        vm.assertEq(roster.quorum, 8);
        vm.assertEq(keccak256(abi.encode(roster.accounts)), keccak256(abi.encode(accounts)));
        vm.assertEq(keccak256(abi.encode(roster.encryptionKeys)), keccak256(abi.encode(keys)));
        vm.assertEq(roster.lastActiveAt.length, 15);
        vm.assertEq(hub.getRoster(1).accounts.length, 3);
    }

    function test_roster__unknown_version__is_refused() public {
        vm.expectRevert(abi.encodeWithSelector(RosterNotFound.selector, 0));
        hub.getRoster(0);
        vm.expectRevert(abi.encodeWithSelector(RosterNotFound.selector, 2));
        hub.getRoster(2);
    }

    function test_roster__size_bounds() public {
        publish(ascending(1), 1);
        publish(ascending(15), 15);
        refusedRoster(ascending(0), keysFor(0), 0, abi.encodeWithSelector(RosterSizeInvalid.selector, 0, 15));
        refusedRoster(ascending(16), keysFor(16), 9, abi.encodeWithSelector(RosterSizeInvalid.selector, 16, 15));
        refusedRoster(ascending(3), keysFor(2), 2, abi.encodeWithSelector(RosterLengthsDiffer.selector, 3, 2));
    }

    function test_roster__quorum_is_more_than_half_and_at_most_all() public {
        publish(ascending(4), 3);
        publish(ascending(5), 3);
        publish(ascending(5), 5);
        refusedRoster(ascending(4), keysFor(4), 2, abi.encodeWithSelector(RosterQuorumInvalid.selector, 2, 4));
        refusedRoster(ascending(5), keysFor(5), 2, abi.encodeWithSelector(RosterQuorumInvalid.selector, 2, 5));
        refusedRoster(ascending(5), keysFor(5), 6, abi.encodeWithSelector(RosterQuorumInvalid.selector, 6, 5));
        uint256 huge = type(uint256).max;
        refusedRoster(ascending(5), keysFor(5), huge, abi.encodeWithSelector(RosterQuorumInvalid.selector, huge, 5));
    }

    function test_roster__accounts_ascend_strictly_and_are_not_zero() public {
        address[] memory accounts = ascending(3);
        accounts[2] = accounts[1];
        refusedRoster(
            accounts,
            keysFor(3),
            2,
            abi.encodeWithSelector(RosterAccountsNotAscending.selector, 2, accounts[1], accounts[1])
        );
        accounts = ascending(2);
        (accounts[0], accounts[1]) = (accounts[1], accounts[0]);
        refusedRoster(
            accounts,
            keysFor(2),
            2,
            abi.encodeWithSelector(RosterAccountsNotAscending.selector, 1, accounts[0], accounts[1])
        );
        accounts[0] = address(0);
        refusedRoster(
            accounts,
            keysFor(2),
            2,
            abi.encodeWithSelector(RosterAccountsNotAscending.selector, 0, address(0), address(0))
        );
    }

    function test_roster__repeated_key__is_refused() public {
        bytes32[] memory keys = keysFor(3);
        keys[2] = keys[0];
        refusedRoster(ascending(3), keys, 2, abi.encodeWithSelector(EncryptionKeyRepeated.selector, keys[0]));
    }

    function test_roster__bad_key_in_any_place__is_refused() public {
        for (uint256 i = 0; i < 3; ++i) {
            bytes32[] memory keys = keysFor(3);
            keys[i] = 0;
            refusedRoster(ascending(3), keys, 2, abi.encodeWithSelector(EncryptionKeyLowOrder.selector, bytes32(0)));
        }
    }

    function expectRoster(uint256 current, uint256 announced, uint256 effectiveFrom) private view {
        (uint256 version, uint256 from) = hub.announcedRoster();
        vm.assertEq(hub.currentRosterVersion(), current, "current");
        vm.assertEq(version, announced, "announced");
        vm.assertEq(from, effectiveFrom, "effective from");
    }

    /// @custom:attack owner's thief | publishes a roster or delivery key and uses it before anyone looks | it takes
    /// effect after a public delay
    function test_roster__the_first__is_in_effect_at_once__the_next_after_the_delay() public {
        hub = newHub();
        expectRoster(0, 0, 0);
        announce(guardians, 2);
        expectRoster(1, 0, 0);
        announce(guardians, 3);
        expectRoster(1, 2, START + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY - 1);
        expectRoster(1, 2, START + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY);
        expectRoster(2, 0, 0);
    }

    /// @custom:attack owner | publishes a roster while a Poster's terms are on their way | the former is current
    /// until the delay is over
    function test_roster__announced__terms_that_name_the_current_one_still_fit() public {
        Terms memory t = terms();
        announce(ascending(5), 4);
        vm.warp(START + PUBLICATION_DELAY - 1);
        uint256 bountyId = createWith(t);
        vm.assertEq(hub.getBounty(bountyId).rosterVersion, 1);
        vm.assertEq(hub.getBounty(bountyId).guardianRosterHash, rosterHash);
        t.expectedRosterHash = hub.getRoster(2).guardianRosterHash;
        vm.expectRevert(abi.encodeWithSelector(RosterHashMismatch.selector, t.expectedRosterHash, rosterHash));
        createWith(t);
        vm.warp(START + PUBLICATION_DELAY);
        vm.assertEq(hub.getBounty(createWith(t)).rosterVersion, 2);
        t.expectedRosterHash = rosterHash;
        vm.expectPartialRevert(RosterHashMismatch.selector);
        createWith(t);
    }

    /// @dev The size is pinned with the version: shares are of the roster that judges.
    function test_roster__replaced_before_it_takes_effect__never_does() public {
        announce(ascending(5), 4);
        vm.warp(START + 10);
        announce(ascending(7), 4);
        expectRoster(1, 3, START + 10 + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY);
        expectRoster(1, 3, START + 10 + PUBLICATION_DELAY);
        uint256 before = create();
        vm.warp(START + 10 + PUBLICATION_DELAY);
        expectRoster(3, 0, 0);
        rosterHash = hub.getRoster(3).guardianRosterHash;
        uint256 next = create();
        announce(guardians, 2);
        vm.assertEq(hub.getBounty(before).rosterVersion, 1);
        vm.assertEq(hub.getBounty(next).rosterVersion, 3);
        for (uint256 i = 0; i < 2; ++i) {
            (uint256 bountyId, uint256 size) = i == 0 ? (before, uint256(3)) : (next, 7);
            guardians = hub.getRoster(i == 0 ? 1 : 3).accounts;
            rosterHash = hub.getBounty(bountyId).guardianRosterHash;
            submitAs(solver, bountyId, WORK);
            toReveal(bountyId);
            award(0, bountyId, solver, WORK);
            toEnd(bountyId);
            hub.settle(bountyId);
            vm.assertEq(hub.claimable(bountyId, guardians[0]), 30_000_000 / size);
            vm.warp(START + 2 hours);
        }
    }

    /// @dev What never took effect says so for ever; what did, and what is announced, say since when.
    function test_roster__replaced_before_it_takes_effect__is_marked() public {
        uint256 from = START + PUBLICATION_DELAY;
        vm.assertEq(hub.getRoster(1).effectiveFrom, START);
        announce(ascending(5), 4);
        vm.assertEq(hub.getRoster(2).effectiveFrom, from);
        vm.warp(from - 1);
        announce(ascending(7), 4);
        vm.assertEq(hub.getRoster(2).effectiveFrom, 0, "replaced in the last second");
        vm.assertEq(hub.getRoster(3).effectiveFrom, from - 1 + PUBLICATION_DELAY);
        vm.warp(from - 1 + PUBLICATION_DELAY);
        announce(guardians, 2);
        vm.assertEq(hub.getRoster(1).effectiveFrom, START);
        vm.assertEq(hub.getRoster(2).effectiveFrom, 0);
        vm.assertEq(hub.getRoster(3).effectiveFrom, from - 1 + PUBLICATION_DELAY, "replaced in its first second");
    }

    function test_roster__is_pinned__a_bounty_keeps_its_version() public {
        uint256 bountyId = create();
        publish(ascending(5), 4);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.rosterVersion, 1);
        vm.assertEq(b.guardianRosterHash, rosterHash);
    }

    function test_roster__another_chain__another_hash() public {
        vm.chainId(8453);
        bytes32 hash = publish(guardians, 2);
        vm.assertEq(
            hash, keccak256(abi.encode(uint256(8453), address(hub), uint256(2), guardians, keysFor(3), uint256(2)))
        );
    }

    /// @dev The counters' word: former version 16 and size 8, newest version 16 and size 8, its time 40, fee policy
    /// version 16, bounties. It is compared, then set; the bounties stay.
    function setVersions(uint256 version) private {
        bytes32 word = bytes32(uint256(1));
        uint256 found = uint256(vm.load(address(hub), word));
        uint256 bounties = found >> 104 << 104;
        uint256 known = (uint256(1) << 88) | (START << 48) | (3 << 40) | (1 << 24);
        vm.assertEq(found - bounties, known, "another layout");
        vm.store(address(hub), word, bytes32(bounties | (version << 88) | (START << 48) | (3 << 40) | (version << 24)));
    }

    function test_roster__the_last_version__one_more_is_refused() public {
        setVersions(65_534);
        publish(guardians, 2);
        vm.assertEq(hub.currentRosterVersion(), 65_535);
        vm.assertEq(hub.getRoster(65_535).accounts.length, 3);
        rosterHash = hub.getRoster(65_535).guardianRosterHash;
        uint256 bountyId = create();
        submitAs(solver, bountyId, WORK);
        toReveal(bountyId);
        award(1, bountyId, solver, WORK); // the widest version beside the seat in one word
        (uint8 kind,,) = hub.getVerdict(bountyId, guardians[1]);
        vm.assertEq(kind, VerdictKind.AWARDED);
        refusedRoster(guardians, keysFor(3), 2, abi.encodeWithSelector(ValueTooLarge.selector, 65_536, 65_535));
        vm.assertEq(hub.currentRosterVersion(), 65_535);
    }

    /// @dev A version that is read with fewer bits than it has would be an older one's, and its quorum would count.
    function decidesNothingAlone(uint256 version) private {
        uint256 bountyId = judgeable();
        setVersions(version - 1);
        address[] memory alone = new address[](1);
        alone[0] = guardians[0];
        announce(alone, 1);
        award(0, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN, "one of two");
        vm.prank(guardians[0]);
        hub.heartbeat();
        vm.assertEq(hub.getRoster(version).lastActiveAt[0], vm.getBlockTimestamp());
    }

    function test_roster__256_versions_later__one_of_two_decides_nothing() public {
        decidesNothingAlone(257);
    }

    function test_roster__32768_versions_later__one_of_two_decides_nothing() public {
        decidesNothingAlone(32_769);
    }

    function test_heartbeat__of_a_member_of_version_256() public {
        setVersions(255);
        address[] memory alone = new address[](1);
        alone[0] = stranger;
        announce(alone, 1);
        vm.prank(stranger);
        hub.heartbeat();
        vm.assertEq(hub.getRoster(256).lastActiveAt[0], vm.getBlockTimestamp());
    }

    // ---------------------------------------------------------------- keys

    function refusedKey(bytes32 key, bytes4 why) private {
        asOwner(abi.encodeWithSelector(why, key));
        hub.publishDeliveryKey(key);
    }

    function publishKey(bytes32 key) private {
        vm.prank(owner);
        hub.publishDeliveryKey(key);
    }

    function withdrawKey(bytes32 key) private {
        vm.expectEmit(address(hub));
        emit DeliveryKeyWithdrawn(key);
        vm.prank(owner);
        hub.withdrawDeliveryKey(key);
    }

    function expectKey(bytes32 current, bytes32 announced, uint256 effectiveFrom) private view {
        (bytes32 key, uint256 from) = hub.announcedDeliveryKey();
        vm.assertEq(hub.deliveryKey(), current, "current");
        vm.assertEq(key, announced, "announced");
        vm.assertEq(from, effectiveFrom, "effective from");
    }

    function acceptedKey(bytes32 key) private {
        uint256 from = vm.getBlockTimestamp() + (hub.deliveryKey() == 0 ? 0 : PUBLICATION_DELAY);
        vm.expectEmit(address(hub));
        emit DeliveryKeyPublished(key, from);
        publishKey(key);
        vm.warp(from);
        expectKey(key, 0, 0);
    }

    function test_delivery_key__the_first_at_once__the_next_after_the_delay() public {
        expectKey(0, 0, 0);
        publishKey(KEY);
        expectKey(KEY, 0, 0);
        publishKey(NEXT_KEY);
        expectKey(KEY, NEXT_KEY, START + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY - 1);
        expectKey(KEY, NEXT_KEY, START + PUBLICATION_DELAY);
        publishKey(THIRD_KEY); // the second never takes effect, and the delay begins again
        vm.warp(START + PUBLICATION_DELAY);
        expectKey(KEY, THIRD_KEY, START + 2 * PUBLICATION_DELAY - 1);
        vm.warp(START + 2 * PUBLICATION_DELAY - 1);
        expectKey(THIRD_KEY, 0, 0);
    }

    /// @dev A thief of the owner's key cannot withdraw and publish in one block: also the key after a pause waits.
    /// @custom:attack owner's thief | withdraws the delivery key and publishes another in one block | the key after
    /// a pause waits, too
    function test_delivery_key__withdrawn__deliveries_pause_and_the_next_waits() public {
        publishKey(KEY);
        withdrawKey(KEY);
        expectKey(0, 0, 0);
        publishKey(NEXT_KEY);
        expectKey(0, NEXT_KEY, START + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY);
        expectKey(NEXT_KEY, 0, 0);
    }

    function test_delivery_key__the_current_one_withdrawn__the_announced_keeps_its_time() public {
        publishKey(KEY);
        publishKey(NEXT_KEY);
        withdrawKey(KEY);
        expectKey(0, NEXT_KEY, START + PUBLICATION_DELAY);
        vm.warp(START + PUBLICATION_DELAY);
        expectKey(NEXT_KEY, 0, 0);
    }

    function test_delivery_key__the_announced_one_withdrawn__the_current_stays() public {
        publishKey(KEY);
        publishKey(NEXT_KEY);
        withdrawKey(NEXT_KEY);
        expectKey(KEY, 0, 0);
        vm.warp(START + PUBLICATION_DELAY);
        expectKey(KEY, 0, 0);
        publishKey(KEY);
        withdrawKey(KEY); // as current and as announced
        expectKey(0, 0, 0);
        vm.warp(START + 3 * PUBLICATION_DELAY);
        expectKey(0, 0, 0);
    }

    function test_delivery_key__neither_current_nor_announced__cannot_be_withdrawn() public {
        bytes32[2] memory keys = [bytes32(0), KEY];
        for (uint256 i = 0; i < 2; ++i) {
            asOwner(abi.encodeWithSelector(DeliveryKeyNotPublished.selector, keys[i]));
            hub.withdrawDeliveryKey(keys[i]);
        }
        publishKey(KEY);
        publishKey(NEXT_KEY);
        publishKey(THIRD_KEY);
        asOwner(abi.encodeWithSelector(DeliveryKeyNotPublished.selector, NEXT_KEY));
        hub.withdrawDeliveryKey(NEXT_KEY);
        asOwner(abi.encodeWithSelector(DeliveryKeyNotPublished.selector, bytes32(0)));
        hub.withdrawDeliveryKey(0);
    }

    function test_delivery_key__canonical_and_not_low_order() public {
        vm.assertEq(hub.deliveryKey(), bytes32(0));
        acceptedKey(KEY);
        // p - 2, the highest accepted key, and the neighbours of the order-8 points
        acceptedKey(0xebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f);
        acceptedKey(0xe1eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800);
        acceptedKey(0x609c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157);
        acceptedKey(0x0200000000000000000000000000000000000000000000000000000000000000);
        // as large as p in its low byte only
        acceptedKey(0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe7f);
        acceptedKey(0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7e);
    }

    function test_delivery_key__low_order__is_refused() public {
        bytes4 low = EncryptionKeyLowOrder.selector;
        refusedKey(0, low);
        refusedKey(0x0100000000000000000000000000000000000000000000000000000000000000, low);
        refusedKey(0xecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f, low);
        refusedKey(0xe0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800, low);
        refusedKey(0x5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157, low);
    }

    function test_delivery_key__not_canonical__is_refused() public {
        bytes4 bad = EncryptionKeyNotCanonical.selector;
        refusedKey(0xedffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f, bad); // p
        refusedKey(0xeeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f, bad); // p + 1
        refusedKey(0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f, bad);
        refusedKey(0x4200000000000000000000000000000000000000000000000000000000000080, bad); // top bit
        refusedKey(0x0000000000000000000000000000000000000000000000000000000000000080, bad);
    }

    // ---------------------------------------------------------------- liveness

    function test_heartbeat__any_account_that_was_ever_on_a_roster() public {
        announce(ascending(3), 2);
        vm.expectEmit(address(hub));
        emit GuardianHeartbeat(guardians[2]);
        vm.prank(guardians[2]);
        hub.heartbeat();
        vm.assertEq(hub.getRoster(1).lastActiveAt[2], START);
        vm.expectRevert(abi.encodeWithSelector(NeverOnRoster.selector, stranger));
        vm.prank(stranger);
        hub.heartbeat();
    }

    function test_heartbeat__a_later_one__has_its_own_time() public {
        uint256[3] memory times = [START + 5, START + 8, START + 300]; // none has all bits of the one before
        for (uint256 i = 0; i < times.length; ++i) {
            vm.warp(times[i]);
            vm.prank(guardians[0]);
            hub.heartbeat();
            vm.assertEq(hub.getRoster(1).lastActiveAt[0], times[i]);
        }
    }

    function test_heartbeat__at_the_last_time_that_the_word_holds() public {
        vm.warp(type(uint40).max);
        vm.prank(guardians[0]);
        hub.heartbeat();
        vm.assertEq(hub.getRoster(1).lastActiveAt[0], type(uint40).max);
    }

    function test_heartbeat__while_its_account_is_announced_anew() public {
        announce(guardians, 3);
        vm.prank(guardians[0]);
        hub.heartbeat();
        vm.assertEq(hub.getRoster(2).lastActiveAt[0], vm.getBlockTimestamp());
    }

    function test_heartbeat__a_new_version__does_not_reset_liveness() public {
        vm.prank(guardians[0]);
        hub.heartbeat();
        vm.warp(START + 5);
        publish(guardians, 3);
        vm.assertEq(hub.getRoster(2).lastActiveAt[0], START);
    }

    // ---------------------------------------------------------------- fees

    function test_fees__up_to_the_caps_and_not_beyond() public {
        vm.expectEmit(address(hub));
        emit FeePolicyChanged(1_000, 2_000, stranger);
        vm.prank(owner);
        hub.setFeePolicy(1_000, 2_000, stranger);
        (uint256 protocolBps, uint256 guardianBps, address to) = hub.feePolicy();
        vm.assertEq(protocolBps, 1_000);
        vm.assertEq(guardianBps, 2_000);
        vm.assertEq(to, stranger);
        asOwner(abi.encodeWithSelector(FeeAboveCap.selector, 1_001, 1_000));
        hub.setFeePolicy(1_001, 0, stranger);
        asOwner(abi.encodeWithSelector(FeeAboveCap.selector, 2_001, 2_000));
        hub.setFeePolicy(0, 2_001, stranger);
        vm.prank(owner);
        hub.setFeePolicy(0, 0, stranger);
        vm.assertEq(hub.maxProtocolFeeBps(), 1_000);
        vm.assertEq(hub.maxGuardianFeeBps(), 2_000);
    }

    function test_fees__recipient_zero_hub_or_token__is_refused() public {
        address[3] memory bad = [address(0), address(hub), address(token)];
        for (uint256 i = 0; i < 3; ++i) {
            asOwner(abi.encodeWithSelector(FeeRecipientInvalid.selector, bad[i]));
            hub.setFeePolicy(0, 0, bad[i]);
        }
    }

    function test_fees__the_last_policy__one_more_is_refused() public {
        setVersions(65_534);
        vm.prank(owner);
        hub.setFeePolicy(1, 2, stranger);
        asOwner(abi.encodeWithSelector(ValueTooLarge.selector, 65_536, 65_535));
        hub.setFeePolicy(3, 4, rival);
        (uint256 protocolBps, uint256 guardianBps, address to) = hub.feePolicy();
        vm.assertEq(protocolBps, 1);
        vm.assertEq(guardianBps, 2);
        vm.assertEq(to, stranger);
    }

    // ---------------------------------------------------------------- ownership

    function ownersCalls() private view returns (bytes[5] memory) {
        return [
            abi.encodeCall(IHub.publishRoster, (ascending(3), keysFor(3), 2)),
            abi.encodeCall(IHub.publishDeliveryKey, (KEY)),
            abi.encodeCall(IHub.withdrawDeliveryKey, (KEY)),
            abi.encodeCall(IHub.setFeePolicy, (0, 0, stranger)),
            abi.encodeCall(IHub.transferOwnership, (stranger))
        ];
    }

    /// @dev Whom ownership is offered to can do one thing: accept it.
    function test_owner__the_pending_owner__has_no_power_yet() public {
        publishKey(KEY);
        vm.prank(owner);
        hub.transferOwnership(stranger);
        bytes[5] memory calls = ownersCalls();
        for (uint256 i = 0; i < calls.length; ++i) {
            vm.prank(stranger);
            (bool ok, bytes memory answer) = address(hub).call(calls[i]);
            vm.assertFalse(ok);
            vm.assertEq(keccak256(answer), keccak256(abi.encodeWithSelector(NotOwner.selector, stranger, owner)));
        }
        vm.prank(stranger);
        hub.acceptOwnership();
        for (uint256 i = 0; i < calls.length; ++i) {
            vm.prank(stranger);
            (bool ok,) = address(hub).call(calls[i]);
            vm.assertTrue(ok);
        }
    }

    function test_owner__only_the_owner_publishes() public {
        bytes memory why = abi.encodeWithSelector(NotOwner.selector, stranger, owner);
        bytes[5] memory calls = ownersCalls();
        for (uint256 i = 0; i < calls.length; ++i) {
            vm.prank(stranger);
            (bool ok, bytes memory answer) = address(hub).call(calls[i]);
            vm.assertFalse(ok);
            vm.assertEq(keccak256(answer), keccak256(why));
            vm.prank(owner);
            (ok,) = address(hub).call(calls[i]);
            vm.assertTrue(ok);
        }
    }

    function test_owner__handover_takes_two_steps() public {
        vm.expectEmit(address(hub));
        emit OwnershipTransferStarted(owner, stranger);
        vm.prank(owner);
        hub.transferOwnership(stranger);
        vm.assertEq(hub.owner(), owner);
        vm.assertEq(hub.pendingOwner(), stranger);
        vm.expectRevert(abi.encodeWithSelector(NotPendingOwner.selector, rival, stranger));
        vm.prank(rival);
        hub.acceptOwnership();
        vm.expectEmit(address(hub));
        emit OwnershipTransferred(owner, stranger);
        vm.prank(stranger);
        hub.acceptOwnership();
        vm.assertEq(hub.owner(), stranger);
        vm.assertEq(hub.pendingOwner(), address(0));
        asOwner(abi.encodeWithSelector(NotOwner.selector, owner, stranger));
        hub.publishDeliveryKey(KEY);
    }

    function test_owner__an_offer_can_be_withdrawn() public {
        vm.prank(owner);
        hub.transferOwnership(stranger);
        vm.prank(owner);
        hub.transferOwnership(address(0));
        vm.expectRevert(abi.encodeWithSelector(NotPendingOwner.selector, stranger, address(0)));
        vm.prank(stranger);
        hub.acceptOwnership();
    }

    /// @dev Every owner function after a bounty exists: what the bounty says and owes is the same to the bit.
    /// @custom:attack owner | anything else | no owner function reaches what a bounty says or owes
    function test_owner__cannot_touch_an_existing_bounty() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        bytes32 before = keccak256(abi.encode(hub.getBounty(bountyId), hub.getRoster(1)));
        publish(ascending(7), 4);
        vm.prank(owner);
        hub.setFeePolicy(1_000, 2_000, stranger);
        publishKey(KEY);
        withdrawKey(KEY);
        vm.prank(owner);
        hub.transferOwnership(stranger);
        vm.prank(stranger);
        hub.acceptOwnership();
        vm.assertEq(keccak256(abi.encode(hub.getBounty(bountyId), hub.getRoster(1))), before);
    }
}
