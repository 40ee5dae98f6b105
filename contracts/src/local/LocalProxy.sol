// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice A proxy with the costs of the one before USDC: it reads its admin and its implementation from storage on
/// every call. For gas figures only.
contract LocalProxy {
    bytes32 private constant ADMIN_SLOT = keccak256("local proxy admin");
    bytes32 private constant IMPLEMENTATION_SLOT = keccak256("local proxy implementation");

    constructor(address implementation, address admin) {
        _write(ADMIN_SLOT, admin);
        _write(IMPLEMENTATION_SLOT, implementation);
    }

    fallback() external {
        require(msg.sender != _read(ADMIN_SLOT), "the admin cannot use the token");
        address implementation = _read(IMPLEMENTATION_SLOT);
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), implementation, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 { revert(0, returndatasize()) }
            default { return(0, returndatasize()) }
        }
    }

    function _read(bytes32 slot) private view returns (address value) {
        assembly { value := sload(slot) }
    }

    function _write(bytes32 slot, address value) private {
        assembly { sstore(slot, value) }
    }
}
