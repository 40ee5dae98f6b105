// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The code of an account that is delegated to it (EIP-7702): its own key decides, and EntryPoint 0.7 may act for it
/// @notice For tests alone. A caller that gives no memory to its return data is not bounded here.
contract DelegatedAccount {
    struct PackedUserOperation {
        address sender;
        uint256 nonce;
        bytes initCode;
        bytes callData;
        bytes32 accountGasLimits;
        uint256 preVerificationGas;
        bytes32 gasFees;
        bytes paymasterAndData;
        bytes signature;
    }

    address private constant ENTRY_POINT = 0x0000000071727De22E5E9d8BAf0edAc6f37da032;
    bytes4 private constant VALID = 0x1626ba7e;

    error NotAllowed();
    error CallFailed(uint256 index, bytes answer);

    receive() external payable {}

    /// @notice ERC-4337: 0 where this account's key signed the operation's hash, else 1. Pays what the EntryPoint misses.
    function validateUserOp(PackedUserOperation calldata operation, bytes32 hash, uint256 missing)
        external
        returns (uint256)
    {
        if (msg.sender != ENTRY_POINT) revert NotAllowed();
        if (missing > 0) {
            (bool paid,) = msg.sender.call{value: missing}("");
            paid;
        }
        return _isOwn(keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", hash)), operation.signature) ? 0 : 1;
    }

    /// @notice Calls in order, all of them or none.
    function executeBatch(address[] calldata to, uint256[] calldata value, bytes[] calldata data) external {
        if (msg.sender != ENTRY_POINT && msg.sender != address(this)) revert NotAllowed();
        for (uint256 i = 0; i < to.length; ++i) {
            (bool done, bytes memory answer) = to[i].call{value: value[i]}(data[i]);
            if (!done) revert CallFailed(i, answer);
        }
    }

    /// @notice ERC-1271: whether this account's key signed a digest.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        return _isOwn(digest, signature) ? VALID : bytes4(0xffffffff);
    }

    function _isOwn(bytes32 digest, bytes calldata signature) private view returns (bool) {
        if (signature.length != 65) return false;
        return ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64])) == address(this);
    }
}
