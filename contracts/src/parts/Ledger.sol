// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome, Reason} from "../IHubTypes.sol";
import {Ballots} from "./Ballots.sol";

/// @notice The second word of a bounty: its money and its progress. `reason` moves once, away from open; after that only
/// `paid` moves. The fees are repeated from the pinned policy, so that a claim reads no other word. From the lowest bit:
/// escrow 88, protocolFeeBps 16, guardianFeeBps 16, feePolicyVersion 16, ballots 80, reason 8, winningChoice 8, and paid
/// 24: one bit a seat, then AWARD, REFUND, PROTOCOL_FEE.
/// @dev Unpacked by hand for the same reason as Conditions.
type Ledger is uint256;

using LedgerFields for Ledger global;

library LedgerFields {
    using Ballots for uint80;

    uint256 internal constant AWARD = 1 << 15;
    uint256 internal constant REFUND = 1 << 16;
    uint256 internal constant PROTOCOL_FEE = 1 << 17;

    uint256 private constant PROTOCOL_FEE_BPS = 88;
    uint256 private constant GUARDIAN_FEE_BPS = 104;
    uint256 private constant FEE_POLICY_VERSION = 120;
    uint256 private constant BALLOTS = 136;
    uint256 private constant REASON = 216;
    uint256 private constant WINNING_CHOICE = 224;
    uint256 private constant PAID = 232;

    // ---------------------------------------------------------------- fields

    /// @notice Of a bounty that is open, without a Verdict.
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

    /// @notice Of an open bounty, ended.
    function ended(Ledger self, uint8 reason_, uint256 winningChoice_) internal pure returns (Ledger) {
        return Ledger.wrap(Ledger.unwrap(self) | uint256(reason_) << REASON | winningChoice_ << WINNING_CHOICE);
    }

    function isPaid(Ledger self, uint256 mark) internal pure returns (bool) {
        return (Ledger.unwrap(self) >> PAID) & mark != 0;
    }

    function withPaid(Ledger self, uint256 mark) internal pure returns (Ledger) {
        return Ledger.wrap(Ledger.unwrap(self) | mark << PAID);
    }

    // ---------------------------------------------------------------- what follows from them

    /// @notice Whether a final bounty has a winner; false while it is open.
    function isAwarded(Ledger self) internal pure returns (bool) {
        return winningChoice(self) >= Ballots.FIRST_CANDIDATE;
    }

    function outcome(Ledger self) internal pure returns (uint8) {
        if (reason(self) == Reason.OPEN) return Outcome.OPEN;
        return isAwarded(self) ? Outcome.AWARDED : Outcome.NO_VALID_SUBMISSION;
    }

    /// @notice Whether a seat, from 1, recorded a Verdict whose share is not paid yet.
    function isSeatDue(Ledger self, uint256 seatNumber) internal pure returns (bool) {
        return ballots(self).choiceOf(seatNumber - 1) != Ballots.NONE && !isPaid(self, markOf(seatNumber));
    }

    function markOf(uint256 seatNumber) internal pure returns (uint256) {
        assert(seatNumber >= 1 && seatNumber <= Ballots.SEATS);
        return 1 << (seatNumber - 1);
    }
}
