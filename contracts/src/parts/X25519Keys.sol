// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes} from "../IHubTypes.sol";

/// @title Which X25519 public keys the Hub publishes
/// @notice A key is 32 little-endian bytes. One encoding per point (below 2^255 - 19, top bit clear), and none of the
/// five canonical low-order points, for which a shared secret would be zero and anyone could read what is sealed.
library X25519Keys {
    /// @dev p = 2^255 - 19 starts, little-endian, with 0xed; the bytes after it up to the last are 0xff, the last 0x7f.
    bytes32 private constant TAIL = 0x00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f;
    bytes32 private constant TAIL_MASK = 0x00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff;

    bytes32 private constant ZERO = 0;
    bytes32 private constant ONE = 0x0100000000000000000000000000000000000000000000000000000000000000;
    bytes32 private constant MINUS_ONE = 0xecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f;
    bytes32 private constant ORDER_8_A = 0xe0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800;
    bytes32 private constant ORDER_8_B = 0x5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157;

    /// @notice Reverts unless the key is canonical and not low-order.
    function check(bytes32 key) internal pure {
        bool topBit = key[31] & 0x80 != 0;
        bool atLeastP = (key & TAIL_MASK) == TAIL && key[0] >= 0xed;
        if (topBit || atLeastP) revert IHubTypes.EncryptionKeyNotCanonical(key);
        if (key == ZERO || key == ONE || key == MINUS_ONE || key == ORDER_8_A || key == ORDER_8_B) {
            revert IHubTypes.EncryptionKeyLowOrder(key);
        }
    }
}
