// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// | unused 5 | choice of seat 14: 5 | choice of seat 13: 5 | ... | choice of seat 1: 5 | choice of seat 0: 5 |
// 80         75                     70                     65   10                     5                     0

/// @title The Verdicts of one bounty, five bits for each of at most fifteen seats, numbered from 0 here
/// @notice A *choice* is 0 (no Verdict), 1 (no_valid_submission), or 2 to 16: the number of a candidate, whose
/// Solver the Hub keeps in `_candidates`. Fifteen Guardians name at most fifteen candidates at once, and a number that
/// no seat chooses any more is used again, so that numbers never run out.
library Ballots {
    uint256 internal constant SEATS = 15;
    uint256 internal constant NONE = 0;
    uint256 internal constant NO_VALID_SUBMISSION = 1;
    uint256 internal constant FIRST_CANDIDATE = 2;

    uint256 private constant WIDTH = 5;
    uint256 private constant MASK = 31;
    /// @dev The lowest bit of each of the fifteen seats is set. A choice times EACH is that choice in every seat.
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

    /// @notice How many seats chose exactly this. Not for NONE, and the choice is at most 31.
    function count(uint80 ballots, uint256 choice) internal pure returns (uint256) {
        unchecked {
            return SEATS - cast(ballots ^ uint80(choice * EACH)); // xor makes zero of each seat with this choice
        }
    }

    /// @notice How many seats chose anything.
    function cast(uint80 ballots) internal pure returns (uint256) {
        // First the lowest bit of each seat becomes whether any of its five bits is set. Then the product with EACH
        // has, in the place of the highest seat, the sum of all seats: at most 15, so that no place carries into the
        // next.
        uint256 set = ballots;
        set = (set | set >> 1 | set >> 2 | set >> 3 | set >> 4) & EACH;
        unchecked {
            return (set * EACH) >> ((SEATS - 1) * WIDTH) & MASK; // 75 bits times 75 bits fit into 256
        }
    }

    /// @notice Bit `c` is set where some seat chose `c`.
    function chosen(uint80 ballots) internal pure returns (uint256 choices) {
        for (uint256 rest = ballots; rest != 0; rest >>= WIDTH) {
            choices |= 1 << (rest & MASK);
        }
    }

    /// @dev The assertion cannot fail, since a seat is below the size of its roster. It keeps a seat that is wrong from
    /// writing into the fields of the ledger above the ballots.
    function _firstBit(uint256 seat) private pure returns (uint256) {
        assert(seat < SEATS);
        unchecked {
            return seat * WIDTH;
        }
    }
}
