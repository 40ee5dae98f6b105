// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice The first word of a bounty: who posted it, until when, and who judges. Only `hasSubmissions` changes after
/// creation; it is here so that a Submission touches no other word of the bounty. From the lowest bit: poster 160,
/// submissionDeadline 32, judgingWindow 32, rosterVersion 16, rosterSize 8, hasSubmissions 8.
/// @dev A word that is unpacked by hand is read once and stays on the stack. As a struct, the compiler reads it anew for
/// each field, or copies it to memory field by field: 1,500 to 4,000 gas more in each call.
type Conditions is uint256;

using ConditionsFields for Conditions global;

library ConditionsFields {
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

    /// @notice Zero where there is no bounty.
    function poster(Conditions self) internal pure returns (address) {
        return address(uint160(Conditions.unwrap(self)));
    }

    /// @notice The last is in 2106: after it no bounty is created, and none that exists is stuck.
    function submissionDeadline(Conditions self) internal pure returns (uint256) {
        return uint32(Conditions.unwrap(self) >> SUBMISSION_DEADLINE);
    }

    function judgingWindow(Conditions self) internal pure returns (uint256) {
        return uint32(Conditions.unwrap(self) >> JUDGING_WINDOW);
    }

    function rosterVersion(Conditions self) internal pure returns (uint256) {
        return uint16(Conditions.unwrap(self) >> ROSTER_VERSION);
    }

    /// @notice Repeated from the pinned roster, so that settling and pulling read no word of it.
    function rosterSize(Conditions self) internal pure returns (uint256) {
        return uint8(Conditions.unwrap(self) >> ROSTER_SIZE);
    }

    function hasSubmissions(Conditions self) internal pure returns (bool) {
        return Conditions.unwrap(self) >> HAS_SUBMISSIONS != 0;
    }

    function withSubmissions(Conditions self) internal pure returns (Conditions) {
        return Conditions.wrap(Conditions.unwrap(self) | 1 << HAS_SUBMISSIONS);
    }
}
