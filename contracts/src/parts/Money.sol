// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ballots} from "./Ballots.sol";
import {Ledger} from "./Ledger.sol";

/// @title The money table of docs/hub.md
/// @notice Who gets what of one escrow. Every unit has exactly one owner:
/// `award + refund + protocolFee + guardianFeeEach * guardianFeeCount == escrow`.
library Money {
    using Ballots for uint80;

    uint256 internal constant BPS = 10_000;
    uint256 internal constant MAX_PROTOCOL_FEE_BPS = 1_000;
    uint256 internal constant MAX_GUARDIAN_FEE_BPS = 2_000;

    /// @notice All parts of a final bounty's escrow.
    /// @param ledger The bounty's second word.
    /// @param seats Size of the roster.
    /// @return award_ The winner's.
    /// @return refund The Poster's.
    /// @return protocolFee_ The pinned recipient's.
    /// @return guardianFeeEach_ The share of each Guardian with a Verdict.
    /// @return guardianFeeCount How many Guardians have one.
    /// @dev Five values on the stack; as a struct they would pass through memory: 200 to 280 gas more where a bounty
    /// ends.
    function split(Ledger ledger, uint256 seats)
        internal
        pure
        returns (
            uint256 award_,
            uint256 refund,
            uint256 protocolFee_,
            uint256 guardianFeeEach_,
            uint256 guardianFeeCount
        )
    {
        guardianFeeEach_ = guardianFeeEach(ledger, seats);
        guardianFeeCount = ledger.ballots().cast();
        refund = ledger.escrow() - guardianFeeEach_ * guardianFeeCount;
        if (ledger.isAwarded()) {
            award_ = award(ledger);
            protocolFee_ = protocolFee(ledger);
            refund -= award_ + protocolFee_;
        }
    }

    /// @notice What a winner gets, whatever the Guardians are paid of their fee.
    function award(Ledger ledger) internal pure returns (uint256) {
        return ledger.escrow() - protocolFee(ledger) - guardianFee(ledger);
    }

    /// @notice The pinned protocol fee; due only of an awarded bounty.
    function protocolFee(Ledger ledger) internal pure returns (uint256) {
        return _fee(ledger.escrow(), ledger.protocolFeeBps());
    }

    /// @notice The pinned guardian fee, of all seats together.
    function guardianFee(Ledger ledger) internal pure returns (uint256) {
        return _fee(ledger.escrow(), ledger.guardianFeeBps());
    }

    /// @notice The equal share of each seat, rounded down; due for each recorded Verdict.
    function guardianFeeEach(Ledger ledger, uint256 seats) internal pure returns (uint256) {
        return guardianFee(ledger) / seats;
    }

    /// @dev In units of the token, rounded down. The product of 88 bits and 16 bits fits.
    function _fee(uint256 escrow, uint256 bps) private pure returns (uint256) {
        unchecked {
            return escrow * bps / BPS;
        }
    }
}
