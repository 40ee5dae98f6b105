// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The Verdicts of one bounty, five bits for each of at most fifteen seats
/// @notice A *choice* is 0 (no Verdict), 1 (no_valid_submission), or 2 to 16: the number of a candidate, whose
/// Solver the Hub keeps beside. Fifteen Guardians name at most fifteen candidates at once, so choices never run out:
/// a candidate that nobody names any more gives its number back.
library Ballots {
    uint256 internal constant SEATS = 15;
    uint256 internal constant NONE = 0;
    uint256 internal constant NO_VALID_SUBMISSION = 1;
    uint256 internal constant FIRST_CANDIDATE = 2;

    uint256 private constant WIDTH = 5;
    uint256 private constant MASK = 31;
    /// @dev One in each of the fifteen seats.
    uint256 private constant EACH = (1 << (SEATS * WIDTH)) / MASK;

    /// @notice The choice of a seat (0 to 14).
    function choiceOf(uint80 ballots, uint256 seat) internal pure returns (uint256) {
        return (uint256(ballots) >> _firstBit(seat)) & MASK;
    }

    /// @notice The same ballots without a choice for one seat.
    function without(uint80 ballots, uint256 seat) internal pure returns (uint80) {
        return uint80(ballots & ~(MASK << _firstBit(seat)));
    }

    /// @notice The same ballots with another choice for one seat.
    function withChoice(uint80 ballots, uint256 seat, uint256 choice) internal pure returns (uint80) {
        return uint80(without(ballots, seat) | (choice << _firstBit(seat)));
    }

    /// @notice How many seats chose exactly this, which is not NONE.
    function count(uint80 ballots, uint256 choice) internal pure returns (uint256) {
        unchecked {
            return SEATS - cast(ballots ^ uint80(choice * EACH)); // what is equal becomes zero
        }
    }

    /// @notice How many seats chose anything.
    function cast(uint80 ballots) internal pure returns (uint256) {
        // The lowest bit of a seat becomes whether any of its five is set; then all seats are added up in the highest.
        uint256 set = ballots;
        set = (set | set >> 1 | set >> 2 | set >> 3 | set >> 4) & EACH;
        unchecked {
            return (set * EACH) >> ((SEATS - 1) * WIDTH) & MASK; // two numbers of 75 bits
        }
    }

    /// @notice Bit `c` is set where some seat chose `c`.
    function chosen(uint80 ballots) internal pure returns (uint256 choices) {
        for (uint256 rest = ballots; rest != 0; rest >>= WIDTH) {
            choices |= 1 << (rest & MASK);
        }
    }

    function _firstBit(uint256 seat) private pure returns (uint256) {
        assert(seat < SEATS);
        unchecked {
            return seat * WIDTH;
        }
    }
}
