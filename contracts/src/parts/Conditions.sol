// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// From the highest bit: each field with its width, and below the bit at each edge.
// | hasSubmissions 8 | rosterSize 8 | rosterVersion 16 | judgingWindow 32 | submissionDeadline 32 | poster 160 |
// 256                248            240                224                192                     160          0

/// @notice The first word of a bounty: who posted it, until when, and who judges. Only `hasSubmissions` changes after
/// creation; it is here so that a Submission touches no other word of the bounty.
/// @dev Ledger and Activity are packed by hand, too: such a word is read once and stays on the stack. Of a struct the
/// compiler reads storage again for each field, or copies it to memory field by field: 1,500 to 4,000 gas more in each
/// call.
type Conditions is uint256;

using ConditionsFields for Conditions global;

library ConditionsFields {
    /// @dev The lowest bit of each field; the poster's is 0.
    uint256 private constant SUBMISSION_DEADLINE = 160;
    uint256 private constant JUDGING_WINDOW = 192;
    uint256 private constant ROSTER_VERSION = 224;
    uint256 private constant ROSTER_SIZE = 240;
    uint256 private constant HAS_SUBMISSIONS = 248;

    function pack(address poster_, uint32 deadline, uint32 window, uint16 version, uint8 size)
        internal
        pure
        returns (Conditions)
    {
        uint256 times = uint256(deadline) << SUBMISSION_DEADLINE | uint256(window) << JUDGING_WINDOW;
        uint256 roster = uint256(version) << ROSTER_VERSION | uint256(size) << ROSTER_SIZE;
        return Conditions.wrap(uint160(poster_) | times | roster);
    }

    /// @notice Zero where no bounty has this id.
    function poster(Conditions self) internal pure returns (address) {
        return address(uint160(Conditions.unwrap(self)));
    }

    /// @notice At most in February 2106: no bounty is created with a later one, and those that exist end as usual.
    function submissionDeadline(Conditions self) internal pure returns (uint256) {
        return uint32(Conditions.unwrap(self) >> SUBMISSION_DEADLINE);
    }

    function judgingWindow(Conditions self) internal pure returns (uint256) {
        return uint32(Conditions.unwrap(self) >> JUDGING_WINDOW);
    }

    function rosterVersion(Conditions self) internal pure returns (uint256) {
        return uint16(Conditions.unwrap(self) >> ROSTER_VERSION);
    }

    /// @notice A copy of the pinned roster's size, so that settling and pulling read no word of the roster.
    function rosterSize(Conditions self) internal pure returns (uint256) {
        return uint8(Conditions.unwrap(self) >> ROSTER_SIZE);
    }

    /// @notice Whether anybody ever submitted.
    function hasSubmissions(Conditions self) internal pure returns (bool) {
        return Conditions.unwrap(self) >> HAS_SUBMISSIONS != 0;
    }

    function withSubmissions(Conditions self) internal pure returns (Conditions) {
        return Conditions.wrap(Conditions.unwrap(self) | 1 << HAS_SUBMISSIONS);
    }
}
