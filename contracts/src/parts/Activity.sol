// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Narrow} from "./Narrow.sol";

// | unused 184 | quorum 8 | seatNumber 8 | rosterVersion 16 | lastActiveAt 40 |
// 256          72         64             56                 40                0

/// @notice What the Hub keeps of an account that was ever on a roster: when it acted last, and a copy of its seat in
/// the newest version that names it. A Verdict writes this word anyway, so that it reads no other for the seat. Zero
/// for everybody else. Which copy of a seat decides: see `Registry.Seat`.
/// @dev Why it is packed by hand: see Conditions.
type Activity is uint256;

using ActivityFields for Activity global;

library ActivityFields {
    /// @dev The lowest bit of each field; that of `lastActiveAt` is 0.
    uint256 private constant ROSTER_VERSION = 40;
    uint256 private constant SEAT_NUMBER = 56;
    uint256 private constant QUORUM = 64;

    /// @notice The account's last Verdict or heartbeat (unix time); 0 if it never acted.
    function lastActiveAt(Activity self) internal pure returns (uint256) {
        return uint40(Activity.unwrap(self));
    }

    /// @notice The newest version that names the account, in effect or not; 0 if none ever did.
    function rosterVersion(Activity self) internal pure returns (uint256) {
        return uint16(Activity.unwrap(self) >> ROSTER_VERSION);
    }

    /// @notice The account's seat on the roster of `rosterVersion`, numbered from 1.
    function seatNumber(Activity self) internal pure returns (uint256) {
        return uint8(Activity.unwrap(self) >> SEAT_NUMBER);
    }

    /// @notice The quorum of the roster of `rosterVersion`. No mask: above it are only zeros.
    function quorum(Activity self) internal pure returns (uint256) {
        return Activity.unwrap(self) >> QUORUM;
    }

    /// @notice The word after the account acted at this time; its seat stays.
    function seenAt(Activity self, uint256 time) internal pure returns (Activity) {
        uint256 seat = Activity.unwrap(self) >> ROSTER_VERSION << ROSTER_VERSION;
        return Activity.wrap(seat | Narrow.toUint40(time));
    }

    /// @notice The word after a newer version named the account; the time of its last act stays.
    function seatedOn(Activity self, uint16 version, uint8 number, uint8 quorum_) internal pure returns (Activity) {
        uint256 seat = uint256(version) << ROSTER_VERSION | uint256(number) << SEAT_NUMBER | uint256(quorum_) << QUORUM;
        return Activity.wrap(lastActiveAt(self) | seat);
    }
}
