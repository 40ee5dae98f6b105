// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Whether an account that is a contract accepts a signature
/// @notice Never deployed: its creation code runs in an `eth_call` and answers one word: 1 for accepted, 0 for not
/// accepted by an account with code, 2 for not accepted by an account that had none.
/// An account with code is asked through ERC-1271; a wrapper of ERC-6492 around the signature is taken off and its
/// factory is not called. An account without code is accepted only through ERC-6492: the factory is called, code must
/// then stand at the account, and that code must accept the inner signature. A signature by a plain key is not checked
/// here.
/// @dev Nothing the account or the factory does can make this revert or answer anything but its word: every call has a
/// gas limit, the account's call is static, and of what is returned only the first word is copied.
contract SignatureValidator {
    bytes4 private constant MAGIC_1271 = 0x1626ba7e;
    bytes32 private constant MAGIC_6492 = 0x6492649264926492649264926492649264926492649264926492649264926492;

    /// @param account The account that is said to have signed.
    /// @param digest The 32 bytes that are signed.
    /// @param signature The account's signature, maybe wrapped as ERC-6492 says.
    /// @param factoryGas Gas that the factory's call may use.
    /// @param accountGas Gas that the account's call may use.
    constructor(address account, bytes32 digest, bytes memory signature, uint256 factoryGas, uint256 accountGas) {
        (bool wrapped, address factory, bytes memory setup, bytes memory inner) = _unwrap(signature);
        bool deployed = account.code.length != 0;
        uint256 answer = deployed ? 0 : 2;
        if (!deployed && wrapped) {
            assembly {
                pop(call(factoryGas, factory, 0, add(setup, 32), mload(setup), 0, 0))
            }
            deployed = account.code.length != 0;
        }
        if (deployed && _accepts(account, digest, wrapped ? inner : signature, accountGas)) answer = 1;
        assembly {
            mstore(0, answer)
            return(0, 32)
        }
    }

    /// @dev ERC-1271 over a static call; only the exact answer counts: the magic value as one word and nothing behind it.
    function _accepts(address account, bytes32 digest, bytes memory signature, uint256 gasLimit)
        private
        view
        returns (bool accepted)
    {
        bytes memory question = abi.encodeWithSelector(MAGIC_1271, digest, signature);
        bytes32 expected = MAGIC_1271;
        assembly {
            mstore(0, 0)
            let answered := staticcall(gasLimit, account, add(question, 32), mload(question), 0, 32)
            accepted := and(answered, and(eq(returndatasize(), 32), eq(mload(0), expected)))
        }
    }

    /// @dev abi.encode(address factory, bytes call, bytes inner) || MAGIC_6492, read without ever reverting: where the
    /// encoding is broken, the signature counts as not wrapped.
    function _unwrap(bytes memory signature)
        private
        pure
        returns (bool wrapped, address factory, bytes memory setup, bytes memory inner)
    {
        uint256 size = signature.length;
        if (size < 192 || _word(signature, size - 32) != uint256(MAGIC_6492)) return (false, address(0), "", "");
        uint256 end = size - 32;
        uint256 account = _word(signature, 0);
        (bool callFits, bytes memory callData) = _bytesAt(signature, _word(signature, 32), end);
        (bool innerFits, bytes memory innerData) = _bytesAt(signature, _word(signature, 64), end);
        if (account >> 160 != 0 || !callFits || !innerFits) return (false, address(0), "", "");
        return (true, address(uint160(account)), callData, innerData);
    }

    function _bytesAt(bytes memory data, uint256 offset, uint256 end) private pure returns (bool, bytes memory) {
        if (offset > end - 32) return (false, "");
        uint256 length = _word(data, offset);
        uint256 start = offset + 32;
        if (length > end - start) return (false, "");
        bytes memory part = new bytes(length);
        for (uint256 i = 0; i < length; i += 32) {
            uint256 word = _word(data, start + i);
            uint256 left = length - i;
            if (left < 32) word &= type(uint256).max << (8 * (32 - left));
            assembly {
                mstore(add(add(part, 32), i), word)
            }
        }
        return (true, part);
    }

    /// @dev The 32 bytes at an offset; what lies behind the end is the caller's to cut off.
    function _word(bytes memory data, uint256 offset) private pure returns (uint256 word) {
        assembly {
            word := mload(add(add(data, 32), offset))
        }
    }
}
