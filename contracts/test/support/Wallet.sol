// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A contract wallet: forwards calls, and accepts its owner's signatures (ERC-1271).
contract Wallet {
    address private immutable _owner;

    constructor(address owner) {
        _owner = owner;
    }

    function run(address target, bytes calldata data) external returns (bytes memory) {
        (bool ok, bytes memory answer) = target.call(data);
        if (!ok) {
            assembly {
                revert(add(answer, 32), mload(answer))
            }
        }
        return answer;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        (bytes32 r, bytes32 s) = abi.decode(signature[:64], (bytes32, bytes32));
        address signer = ecrecover(hash, uint8(signature[64]), r, s);
        return signer == _owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}
