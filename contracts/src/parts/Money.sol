// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome} from "../IHubTypes.sol";

/// @title The money table
/// @notice Who gets what of one escrow. Every unit has exactly one owner:
/// `award + refund + protocolFee + guardianFeeEach * guardianFeeCount == escrow`.
library Money {
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

    /// @notice A fee in units, rounded down.
    function fee(uint256 escrow, uint256 bps) internal pure returns (uint256) {
        return escrow * bps / BPS;
    }

    /// @notice What a winner gets, whatever the Guardians are paid of their fee.
    function award(uint256 escrow, uint256 protocolFee, uint256 guardianFee) internal pure returns (uint256) {
        return escrow - protocolFee - guardianFee;
    }

    /// @notice The table itself.
    /// @param protocolFee As snapshotted; due only on an award.
    /// @param guardianFee As snapshotted; one equal share per seat, rounded down, due per recorded Verdict.
    /// @param seats Size of the roster.
    /// @param verdicts Recorded Verdicts when the bounty closed.
    function split(
        uint8 outcome,
        uint256 escrow,
        uint256 protocolFee,
        uint256 guardianFee,
        uint256 seats,
        uint256 verdicts
    ) internal pure returns (Split memory s) {
        s.guardianFeeEach = guardianFee / seats;
        s.guardianFeeCount = verdicts;
        if (outcome == Outcome.AWARDED) {
            s.award = award(escrow, protocolFee, guardianFee);
            s.protocolFee = protocolFee;
        }
        s.refund = escrow - s.award - s.protocolFee - s.guardianFeeEach * verdicts;
    }
}
