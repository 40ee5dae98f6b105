// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The proxy before the local USDC
/// @notice Behaves like the one before USDC: its admin, kept with the implementation at the same two places of storage,
/// replaces the implementation and can use nothing of the token; everybody else reaches the token only.
contract LocalProxy {
    bytes32 private constant ADMIN_SLOT = keccak256("org.zeppelinos.proxy.admin");
    bytes32 private constant IMPLEMENTATION_SLOT = keccak256("org.zeppelinos.proxy.implementation");

    event AdminChanged(address previousAdmin, address newAdmin);
    event Upgraded(address implementation);

    /// @dev Anyone but the admin gets what the token answers to the same call.
    modifier ifAdmin() {
        if (msg.sender == _read(ADMIN_SLOT)) {
            _;
        } else {
            _delegate();
        }
    }

    constructor(address implementationContract) {
        _write(IMPLEMENTATION_SLOT, implementationContract);
        _write(ADMIN_SLOT, msg.sender);
    }

    receive() external payable {
        _use();
    }

    fallback() external payable {
        _use();
    }

    function admin() external view returns (address) {
        return _read(ADMIN_SLOT);
    }

    function implementation() external view returns (address) {
        return _read(IMPLEMENTATION_SLOT);
    }

    function changeAdmin(address newAdmin) external payable ifAdmin {
        require(newAdmin != address(0), "Cannot change the admin of a proxy to the zero address");
        emit AdminChanged(_read(ADMIN_SLOT), newAdmin);
        _write(ADMIN_SLOT, newAdmin);
    }

    function upgradeTo(address newImplementation) external payable ifAdmin {
        _upgrade(newImplementation);
    }

    function upgradeToAndCall(address newImplementation, bytes calldata data) external payable ifAdmin {
        _upgrade(newImplementation);
        (bool done,) = address(this).call{value: msg.value}(data);
        require(done);
    }

    function _upgrade(address newImplementation) private {
        require(newImplementation.code.length > 0, "Cannot set a proxy implementation to a non-contract address");
        _write(IMPLEMENTATION_SLOT, newImplementation);
        emit Upgraded(newImplementation);
    }

    function _use() private {
        require(msg.sender != _read(ADMIN_SLOT), "Cannot call fallback function from the proxy admin");
        _delegate();
    }

    function _delegate() private {
        address target = _read(IMPLEMENTATION_SLOT);
        assembly {
            calldatacopy(0, 0, calldatasize())
            let done := delegatecall(gas(), target, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch done
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
