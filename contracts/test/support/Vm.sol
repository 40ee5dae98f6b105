// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice The few cheat codes of forge that these tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function warp(uint256 time) external;
    function chainId(uint256 chain) external;
    function getBlockTimestamp() external view returns (uint256);
    function prank(address sender) external;
    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function expectRevert() external;
    function expectRevert(bytes calldata data) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit() external;
    function expectEmit(address emitter) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function assume(bool condition) external pure;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function deployCode(string calldata artifact) external returns (address);
    function deployCode(string calldata artifact, bytes calldata constructorArgs) external returns (address);
    function etch(address target, bytes calldata code) external;
    function label(address account, string calldata name) external;
    function toString(uint256 value) external pure returns (string memory);
    function toString(address value) external pure returns (string memory);
    function replace(string calldata text, string calldata from, string calldata to)
        external
        pure
        returns (string memory);
    function parseBytes(string calldata text) external pure returns (bytes memory);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function readFile(string calldata path) external view returns (string memory);
    function envOr(string calldata name, string calldata otherwise) external view returns (string memory);
    function writeLine(string calldata path, string calldata line) external;
    function snapshotValue(string calldata group, string calldata name, uint256 value) external;
    function lastCallGas() external view returns (Gas memory);
    function store(address target, bytes32 slot, bytes32 value) external;
    function load(address target, bytes32 slot) external view returns (bytes32);

    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function assertEq(uint256 a, uint256 b) external pure;
    function assertEq(uint256 a, uint256 b, string calldata why) external pure;
    function assertEq(address a, address b) external pure;
    function assertEq(address a, address b, string calldata why) external pure;
    function assertEq(bytes32 a, bytes32 b) external pure;
    function assertEq(bytes32 a, bytes32 b, string calldata why) external pure;
    function assertTrue(bool a) external pure;
    function assertTrue(bool a, string calldata why) external pure;
    function assertFalse(bool a) external pure;
    function assertFalse(bool a, string calldata why) external pure;
    function assertLe(uint256 a, uint256 b, string calldata why) external pure;
    function assertGe(uint256 a, uint256 b, string calldata why) external pure;
    function assertGt(uint256 a, uint256 b, string calldata why) external pure;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
