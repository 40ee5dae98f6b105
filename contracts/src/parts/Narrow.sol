// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes} from "../IHubTypes.sol";

/// @title Checked narrowing
/// @notice A value that may be too large for the field it is packed into passes here first: it is refused by name,
/// never cut. Elsewhere a plain cast stands only after a bound.
library Narrow {
    function toUint16(uint256 value) internal pure returns (uint16) {
        _check(value, type(uint16).max);
        return uint16(value);
    }

    function toUint32(uint256 value) internal pure returns (uint32) {
        _check(value, type(uint32).max);
        return uint32(value);
    }

    function toUint40(uint256 value) internal pure returns (uint40) {
        _check(value, type(uint40).max);
        return uint40(value);
    }

    function _check(uint256 value, uint256 maximum) private pure {
        if (value > maximum) revert IHubTypes.ValueTooLarge(value, maximum);
    }
}
