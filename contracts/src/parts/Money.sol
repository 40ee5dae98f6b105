// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ballots} from "./Ballots.sol";
import {Ledger} from "./Ledger.sol";

/// @title The money table
/// @notice Who gets what of one escrow. Every unit has exactly one owner:
/// `award + refund + protocolFee + guardianFeeEach * guardianFeeCount == escrow`.
library Money {
    using Ballots for uint80;

    uint256 internal constant BPS = 10_000;
    uint256 internal constant MAX_PROTOCOL_FEE_BPS = 1_000;
    uint256 internal constant MAX_GUARDIAN_FEE_BPS = 2_000;

    struct Split {
        uint256 award;
        uint256 refund;
        uint256 protocolFee;
        uint256 guardianFeeEach;
        uint256 guardianFeeCount;
    }

    /// @notice The table itself, of a final bounty.
    /// @param seats Size of the roster.
    function split(Ledger ledger, uint256 seats) internal pure returns (Split memory s) {
        s.guardianFeeEach = guardianFeeEach(ledger, seats);
        s.guardianFeeCount = ledger.ballots().cast();
        s.refund = ledger.escrow() - s.guardianFeeEach * s.guardianFeeCount;
        if (ledger.isAwarded()) {
            s.award = award(ledger);
            s.protocolFee = protocolFee(ledger);
            s.refund -= s.award + s.protocolFee;
        }
    }

    /// @notice What a winner gets, whatever the Guardians are paid of their fee.
    function award(Ledger ledger) internal pure returns (uint256) {
        return ledger.escrow() - protocolFee(ledger) - guardianFee(ledger);
    }

    /// @notice As pinned; due only on an award.
    function protocolFee(Ledger ledger) internal pure returns (uint256) {
        return _fee(ledger.escrow(), ledger.protocolFeeBps());
    }

    /// @notice As pinned, for all seats together.
    function guardianFee(Ledger ledger) internal pure returns (uint256) {
        return _fee(ledger.escrow(), ledger.guardianFeeBps());
    }

    /// @notice One equal share for each seat, rounded down; due for each recorded Verdict.
    function guardianFeeEach(Ledger ledger, uint256 seats) internal pure returns (uint256) {
        return guardianFee(ledger) / seats;
    }

    /// @dev In units, rounded down. 88 bits by 16 bits: the product fits.
    function _fee(uint256 escrow, uint256 bps) private pure returns (uint256) {
        unchecked {
            return escrow * bps / BPS;
        }
    }
}
