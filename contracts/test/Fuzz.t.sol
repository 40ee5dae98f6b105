// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes, Outcome, Reason} from "../src/IHubTypes.sol";
import {Ballots} from "../src/parts/Ballots.sol";
import {Conditions, ConditionsFields} from "../src/parts/Conditions.sol";
import {Ledger, LedgerFields} from "../src/parts/Ledger.sol";
import {Money} from "../src/parts/Money.sol";
import {Narrow} from "../src/parts/Narrow.sol";
import {X25519Keys} from "../src/parts/X25519Keys.sol";
import {vm} from "./support/Vm.sol";

/// @notice The pure parts against a second way of saying the same.
contract FuzzTest is IHubTypes {
    using Ballots for uint80;

    // ---------------------------------------------------------------- money

    /// @dev Every unit has exactly one owner, nobody gets more than the snapshotted fee, and no share is rounded up.
    function testFuzz_money__every_unit_has_one_owner(
        uint256 escrow,
        uint256 protocolBps,
        uint256 guardianBps,
        uint256 seats,
        uint256 verdicts,
        bool awarded
    ) public pure {
        escrow = 1 + escrow % type(uint88).max;
        protocolBps %= Money.MAX_PROTOCOL_FEE_BPS + 1;
        guardianBps %= Money.MAX_GUARDIAN_FEE_BPS + 1;
        seats = 1 + seats % Ballots.SEATS;
        verdicts %= seats + 1;
        Ledger ledger =
            judged(LedgerFields.pack(uint88(escrow), uint16(protocolBps), uint16(guardianBps), 1), verdicts, awarded);
        uint256 protocolFee = Money.protocolFee(ledger);
        uint256 guardianFee = Money.guardianFee(ledger);
        vm.assertLe(protocolFee * 10_000, escrow * protocolBps, "protocol fee rounded up");
        vm.assertGt((protocolFee + 1) * 10_000, escrow * protocolBps, "protocol fee a unit short");
        vm.assertLe(guardianFee * 10_000, escrow * guardianBps, "guardian fee rounded up");
        vm.assertGt((guardianFee + 1) * 10_000, escrow * guardianBps, "guardian fee a unit short");

        checkTable(ledger, seats, escrow, protocolFee, guardianFee);
        vm.assertEq(ledger.ballots().cast(), verdicts);
    }

    function checkTable(Ledger ledger, uint256 seats, uint256 escrow, uint256 protocolFee, uint256 guardianFee)
        private
        pure
    {
        (uint256 award, uint256 refund, uint256 toProtocol, uint256 share, uint256 shares) = Money.split(ledger, seats);
        vm.assertEq(award + refund + toProtocol + share * shares, escrow, "units lost or made");
        vm.assertEq(toProtocol, ledger.isAwarded() ? protocolFee : 0);
        vm.assertEq(award, ledger.isAwarded() ? escrow - protocolFee - guardianFee : 0);
        vm.assertEq(shares, ledger.ballots().cast());
        vm.assertLe(share * seats, guardianFee, "shares above the fee");
        vm.assertGt((share + 1) * seats, guardianFee, "share a unit short");
        if (ledger.isAwarded()) vm.assertGt(award, 0, "a winner gets something");
    }

    /// @dev So many seats chose the same, and it is final.
    function judged(Ledger ledger, uint256 verdicts, bool awarded) private pure returns (Ledger) {
        uint256 choice = awarded ? Ballots.FIRST_CANDIDATE : Ballots.NO_VALID_SUBMISSION;
        uint80 ballots;
        for (uint256 seat = 0; seat < verdicts; ++seat) {
            ballots = ballots.withChoice(seat, choice);
        }
        return ledger.withBallots(ballots).ended(Reason.JUDGED, choice);
    }

    // ---------------------------------------------------------------- words against their fields

    function testFuzz_conditions__each_field_is_what_was_packed(
        address poster,
        uint32 deadline,
        uint32 window,
        uint16 version,
        uint8 size
    ) public pure {
        Conditions packed = ConditionsFields.pack(poster, deadline, window, version, size);
        vm.assertFalse(packed.hasSubmissions());
        Conditions submitted = packed.withSubmissions();
        vm.assertTrue(submitted.hasSubmissions());
        for (uint256 i = 0; i < 2; ++i) {
            vm.assertEq(packed.poster(), poster);
            vm.assertEq(packed.submissionDeadline(), deadline);
            vm.assertEq(packed.judgingWindow(), window);
            vm.assertEq(packed.rosterVersion(), version);
            vm.assertEq(packed.rosterSize(), size);
            packed = submitted;
        }
    }

    function test_conditions__the_widest_value_of_each_field() public pure {
        Conditions packed = ConditionsFields.pack(
            address(type(uint160).max), type(uint32).max, type(uint32).max, type(uint16).max, type(uint8).max
        );
        vm.assertEq(packed.poster(), address(type(uint160).max));
        vm.assertEq(packed.submissionDeadline(), type(uint32).max);
        vm.assertEq(packed.judgingWindow(), type(uint32).max);
        vm.assertEq(packed.rosterVersion(), type(uint16).max);
        vm.assertEq(packed.rosterSize(), type(uint8).max);
        vm.assertFalse(packed.hasSubmissions());
    }

    function testFuzz_ledger__each_field_is_what_was_packed(
        uint88 escrow,
        uint16 protocolBps,
        uint16 guardianBps,
        uint16 version,
        uint80 ballots
    ) public pure {
        Ledger ledger = LedgerFields.pack(escrow, protocolBps, guardianBps, version);
        vm.assertEq(ledger.ballots(), 0);
        ledger = ledger.withBallots(~ballots).withBallots(ballots);
        vm.assertEq(ledger.outcome(), Outcome.OPEN);
        uint8 reason = 1 + uint8(ballots % 4);
        uint256 choice = ballots % 17;
        ledger = ledger.ended(reason, choice);
        for (uint256 mark = 0; mark < 18; ++mark) {
            vm.assertFalse(ledger.isPaid(1 << mark));
            ledger = ledger.withPaid(1 << mark);
            vm.assertTrue(ledger.isPaid(1 << mark));
            vm.assertEq(ledger.escrow(), escrow);
            vm.assertEq(ledger.protocolFeeBps(), protocolBps);
            vm.assertEq(ledger.guardianFeeBps(), guardianBps);
            vm.assertEq(ledger.feePolicyVersion(), version);
            vm.assertEq(ledger.ballots(), ballots);
            vm.assertEq(ledger.reason(), reason);
            vm.assertEq(ledger.winningChoice(), choice);
            vm.assertEq(ledger.outcome(), choice < 2 ? Outcome.NO_VALID_SUBMISSION : Outcome.AWARDED);
        }
    }

    function markOf(uint256 seatNumber) external pure returns (uint256) {
        return LedgerFields.markOf(seatNumber);
    }

    function test_ledger__every_seat_has_a_mark_of_its_own() public {
        uint256 taken = LedgerFields.AWARD | LedgerFields.REFUND | LedgerFields.PROTOCOL_FEE;
        for (uint256 seatNumber = 1; seatNumber <= 15; ++seatNumber) {
            vm.assertEq(taken & this.markOf(seatNumber), 0);
            taken |= this.markOf(seatNumber);
        }
        vm.assertEq(taken, 2 ** 18 - 1);
        for (uint256 none = 0; none < 32; none += 16) {
            vm.expectRevert();
            this.markOf(none);
        }
    }

    // ---------------------------------------------------------------- ballots against an array

    function testFuzz_ballots__are_an_array_of_fifteen(uint256 seed) public pure {
        uint80 ballots;
        uint256[15] memory model;
        for (uint256 i = 0; i < 40; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint256 seat = seed % 15;
            model[seat] = (seed >> 64) % 17;
            ballots = ballots.withChoice(seat, model[seat]);
        }
        uint256 cast;
        uint256 chosen;
        for (uint256 seat = 0; seat < 15; ++seat) {
            vm.assertEq(ballots.choiceOf(seat), model[seat]);
            if (model[seat] != 0) {
                ++cast;
                chosen |= 2 ** model[seat];
            }
        }
        vm.assertEq(ballots.cast(), cast);
        vm.assertEq(ballots.chosen() | 1, chosen | 1); // bit 0, nobody's choice, carries no meaning
        for (uint256 choice = 1; choice < 17; ++choice) {
            uint256 count;
            for (uint256 seat = 0; seat < 15; ++seat) {
                if (model[seat] == choice) ++count;
            }
            vm.assertEq(ballots.count(choice), count);
        }
    }

    function withChoice(uint80 ballots, uint256 seat, uint256 choice) external pure returns (uint80) {
        return ballots.withChoice(seat, choice);
    }

    function testFuzz_ballots__a_seat_that_does_not_fit__is_refused(uint256 seat, uint256 choice) public {
        choice %= 32;
        if (seat >= 15) vm.expectRevert();
        uint80 ballots = this.withChoice(0, seat, choice);
        if (seat < 15) vm.assertEq(ballots, choice * 32 ** seat);
    }

    // ---------------------------------------------------------------- narrowing

    function narrow(uint256 bits, uint256 value) external pure returns (uint256) {
        if (bits == 16) return Narrow.toUint16(value);
        if (bits == 32) return Narrow.toUint32(value);
        return Narrow.toUint40(value);
    }

    function testFuzz_narrow__keeps_the_value_or_refuses_it_by_name(uint256 value, uint256 shift) public {
        value >>= shift % 256;
        uint256[3] memory widths = [uint256(16), 32, 40];
        for (uint256 i = 0; i < 3; ++i) {
            uint256 limit = 2 ** widths[i];
            if (value >= limit) vm.expectRevert(abi.encodeWithSelector(ValueTooLarge.selector, value, limit - 1));
            uint256 kept = this.narrow(widths[i], value);
            if (value < limit) vm.assertEq(kept, value);
        }
    }

    function test_narrow__the_edge_of_each_width() public {
        uint256[3] memory widths = [uint256(16), 32, 40];
        for (uint256 i = 0; i < 3; ++i) {
            uint256 limit = 2 ** widths[i];
            vm.assertEq(this.narrow(widths[i], limit - 1), limit - 1);
            vm.expectRevert(abi.encodeWithSelector(ValueTooLarge.selector, limit, limit - 1));
            this.narrow(widths[i], limit);
        }
    }

    // ---------------------------------------------------------------- keys

    /// @dev The two points of order eight, as numbers.
    uint256 private constant ORDER_8_A = 325606250916557431795983626356110631294008115727848805560023387167927233504;
    uint256 private constant ORDER_8_B = 39382357235489614581723060781553021112529911719440698176882885853963445705823;

    function check(bytes32 key) external pure {
        X25519Keys.check(key);
    }

    /// @dev The key's number, byte by byte, against p itself.
    function testFuzz_keys__canonical_means_below_p(bytes32 key, uint8 edge) public {
        if (edge < 128) {
            // half of the cases: all ones between a random first and a random last byte
            key = key | 0x00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00;
            if (edge < 64) key = (key & ~bytes32(uint256(0xff))) | bytes32(uint256(0x7f));
        }
        uint256 number;
        for (uint256 i = 0; i < 32; ++i) {
            number |= uint256(uint8(key[i])) << (8 * i);
        }
        uint256 p = 2 ** 255 - 19;
        if (number >= p) {
            vm.expectRevert(abi.encodeWithSelector(EncryptionKeyNotCanonical.selector, key));
        } else if (number < 2 || number == p - 1 || number == ORDER_8_A || number == ORDER_8_B) {
            vm.expectRevert(abi.encodeWithSelector(EncryptionKeyLowOrder.selector, key));
        }
        this.check(key);
    }
}
