// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Narrow} from "./Narrow.sol";

/// @notice What the Hub keeps of an account that was ever on a roster, in one word: when it acted last, and its seat in
/// the newest version that names it, so that a Verdict, which has to write the word anyway, reads no other for the seat.
/// From the lowest bit: lastActiveAt 40, rosterVersion 16, seatNumber 8, quorum 8. Zero for everybody else.
/// @dev Unpacked by hand for the same reason as Conditions.
type Activity is uint256;

using ActivityFields for Activity global;

library ActivityFields {
    uint256 private constant ROSTER_VERSION = 40;
    uint256 private constant SEAT_NUMBER = 56;
    uint256 private constant QUORUM = 64;

    /// @notice In seconds; 0 where it never acted.
    function lastActiveAt(Activity self) internal pure returns (uint256) {
        return uint40(Activity.unwrap(self));
    }

    /// @notice The newest version that names the account, in effect or not; 0 where none ever did.
    function rosterVersion(Activity self) internal pure returns (uint256) {
        return uint16(Activity.unwrap(self) >> ROSTER_VERSION);
    }

    /// @notice From 1, on the roster of `rosterVersion`.
    function seatNumber(Activity self) internal pure returns (uint256) {
        return uint8(Activity.unwrap(self) >> SEAT_NUMBER);
    }

    /// @notice Of the roster of `rosterVersion`.
    function quorum(Activity self) internal pure returns (uint256) {
        return Activity.unwrap(self) >> QUORUM;
    }

    /// @notice The same account, seen at another time.
    function seenAt(Activity self, uint256 time) internal pure returns (Activity) {
        uint256 seat = Activity.unwrap(self) >> ROSTER_VERSION << ROSTER_VERSION;
        return Activity.wrap(seat | Narrow.toUint40(time));
    }

    /// @notice The same account, named by a newer version.
    function seatedOn(Activity self, uint16 version, uint8 number, uint8 quorum_) internal pure returns (Activity) {
        uint256 seat = uint256(version) << ROSTER_VERSION | uint256(number) << SEAT_NUMBER | uint256(quorum_) << QUORUM;
        return Activity.wrap(lastActiveAt(self) | seat);
    }
}
