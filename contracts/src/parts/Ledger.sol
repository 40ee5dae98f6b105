// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome, Reason} from "../IHubTypes.sol";
import {Ballots} from "./Ballots.sol";

// |paid 24|winningChoice 8|reason 8|ballots 80|feePolicyVersion 16|guardianFeeBps 16|protocolFeeBps 16|escrow 88|
// 256     232             224      216        136                 120               104               88        0
//
// Of these 24 bits of `paid`, the lowest fifteen are those of the seats:
// | unused 6 | PROTOCOL_FEE 1 | REFUND 1 | AWARD 1 | seat 15 1 | ... 13 | seat 1 1 |
// 24         18               17         16        15          14       1          0

/// @notice The second word of a bounty: its money and its progress. `reason` changes once, from OPEN; from then on only
/// `paid` changes, one bit for each part that was paid. `ballots` are packed as `Ballots` says. The two fees are copies
/// of the pinned policy's, which never changes, so that a claim reads no other word.
/// @dev Why it is packed by hand: see Conditions.
type Ledger is uint256;

using LedgerFields for Ledger global;

library LedgerFields {
    using Ballots for uint80;

    /// @dev Marks, each a bit of `paid`; `markOf` has those of the seats.
    uint256 internal constant AWARD = 1 << 15;
    uint256 internal constant REFUND = 1 << 16;
    uint256 internal constant PROTOCOL_FEE = 1 << 17;

    /// @dev The lowest bit of each field; the escrow's is 0.
    uint256 private constant PROTOCOL_FEE_BPS = 88;
    uint256 private constant GUARDIAN_FEE_BPS = 104;
    uint256 private constant FEE_POLICY_VERSION = 120;
    uint256 private constant BALLOTS = 136;
    uint256 private constant REASON = 216;
    uint256 private constant WINNING_CHOICE = 224;
    uint256 private constant PAID = 232;

    // ---------------------------------------------------------------- fields

    /// @notice The ledger of a new bounty: open, without a Verdict, nothing paid.
    function pack(uint88 escrow_, uint16 protocolBps, uint16 guardianBps, uint16 version)
        internal
        pure
        returns (Ledger)
    {
        uint256 fees =
            uint256(protocolBps) << PROTOCOL_FEE_BPS | uint256(guardianBps) << GUARDIAN_FEE_BPS;
        return Ledger.wrap(escrow_ | fees | uint256(version) << FEE_POLICY_VERSION);
    }

    function escrow(Ledger self) internal pure returns (uint256) {
        return uint88(Ledger.unwrap(self));
    }

    function protocolFeeBps(Ledger self) internal pure returns (uint256) {
        return uint16(Ledger.unwrap(self) >> PROTOCOL_FEE_BPS);
    }

    function guardianFeeBps(Ledger self) internal pure returns (uint256) {
        return uint16(Ledger.unwrap(self) >> GUARDIAN_FEE_BPS);
    }

    function feePolicyVersion(Ledger self) internal pure returns (uint256) {
        return uint16(Ledger.unwrap(self) >> FEE_POLICY_VERSION);
    }

    function ballots(Ledger self) internal pure returns (uint80) {
        return uint80(Ledger.unwrap(self) >> BALLOTS);
    }

    function withBallots(Ledger self, uint80 ballots_) internal pure returns (Ledger) {
        uint256 others = Ledger.unwrap(self) & ~(uint256(type(uint80).max) << BALLOTS);
        return Ledger.wrap(others | uint256(ballots_) << BALLOTS);
    }

    function reason(Ledger self) internal pure returns (uint8) {
        return uint8(Ledger.unwrap(self) >> REASON);
    }

    function winningChoice(Ledger self) internal pure returns (uint256) {
        return uint8(Ledger.unwrap(self) >> WINNING_CHOICE);
    }

    /// @notice The ledger of an open bounty as it ends; both fields were zero until now.
    function ended(Ledger self, uint8 reason_, uint256 winningChoice_) internal pure returns (Ledger) {
        return Ledger.wrap(Ledger.unwrap(self) | uint256(reason_) << REASON | winningChoice_ << WINNING_CHOICE);
    }

    /// @notice Whether the part of this mark was paid.
    function isPaid(Ledger self, uint256 mark) internal pure returns (bool) {
        return (Ledger.unwrap(self) >> PAID) & mark != 0;
    }

    function withPaid(Ledger self, uint256 mark) internal pure returns (Ledger) {
        return Ledger.wrap(Ledger.unwrap(self) | mark << PAID);
    }

    // ---------------------------------------------------------------- what follows from them

    /// @notice Whether a final bounty has a winner; false of an open one, whose `winningChoice` is zero.
    function isAwarded(Ledger self) internal pure returns (bool) {
        return winningChoice(self) >= Ballots.FIRST_CANDIDATE;
    }

    function outcome(Ledger self) internal pure returns (uint8) {
        if (reason(self) == Reason.OPEN) return Outcome.OPEN;
        return isAwarded(self) ? Outcome.AWARDED : Outcome.NO_VALID_SUBMISSION;
    }

    /// @notice Whether a seat, numbered from 1, recorded a Verdict and was not paid its share of the guardian fee.
    function isSeatDue(Ledger self, uint256 seatNumber) internal pure returns (bool) {
        return ballots(self).choiceOf(seatNumber - 1) != Ballots.NONE && !isPaid(self, markOf(seatNumber));
    }

    /// @notice The mark of a seat, numbered from 1.
    /// @dev The assertion cannot fail: a roster has at most fifteen seats. It keeps a seat's mark from being another
    /// part's.
    function markOf(uint256 seatNumber) internal pure returns (uint256) {
        assert(seatNumber >= 1 && seatNumber <= Ballots.SEATS);
        return 1 << (seatNumber - 1);
    }
}
