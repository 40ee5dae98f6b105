// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestToken} from "../src/local/TestToken.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice What tests of the Hub do to their token, and accounts with code as only this EVM can make them.
/// tests/contracts/test_usdc.py compares the rest with USDC.
contract TestTokenTest is HubTest {
    bytes32 private constant NONCE = keccak256("nonce");
    uint256 private constant VALUE = 7e6;

    function sign(bytes32 content) private view returns (uint8, bytes32, bytes32) {
        bytes32 domain = token.DOMAIN_SEPARATOR();
        return vm.sign(POSTER_KEY, keccak256(abi.encodePacked(hex"1901", domain, content)));
    }

    function authorization(bytes32 typeHash, address to) private view returns (bytes32) {
        return keccak256(abi.encode(typeHash, poster, to, VALUE, uint256(START - 1), uint256(START + 1), NONCE));
    }

    function refusedSignature(bytes memory signed, string memory text) private {
        vm.expectRevert(reason(text));
        vm.prank(solver);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, signed);
    }

    /// @dev An account that was delegated (EIP-7702) to code without ERC-1271, and one whose code answers nothing.
    function test_token__code_that_answers_no_erc1271__signs_nothing() public {
        (uint8 v, bytes32 r, bytes32 s) = sign(authorization(token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(), solver));
        vm.etch(poster, abi.encodePacked(hex"ef0100", address(hub)));
        refusedSignature(abi.encodePacked(r, s, v), "FiatTokenV2: invalid signature");
        vm.etch(poster, hex"00");
        refusedSignature(abi.encodePacked(r, s, v), "FiatTokenV2: invalid signature");
        vm.etch(poster, "");
        vm.prank(solver);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
    }

    function test_token__a_balance_and_its_block_share_a_word() public {
        uint256 before = token.balanceOf(poster);
        token.setBlacklisted(poster, true);
        vm.assertEq(token.balanceOf(poster), before);
        vm.expectRevert(reason("Blacklistable: account is blacklisted"));
        vm.prank(poster);
        token.transfer(solver, 1);
        token.setBlacklisted(poster, false);
        vm.assertEq(token.balanceOf(poster), before);
        vm.assertFalse(token.isBlacklisted(poster));
        vm.expectRevert(reason("FiatTokenV2_2: Balance exceeds (2^255 - 1)"));
        token.mint(rival, 2 ** 255);
    }

    function test_token__anyone__mints_blocks_and_pauses() public {
        vm.prank(stranger);
        token.mint(rival, 5);
        vm.assertEq(token.balanceOf(rival), 5);
        vm.prank(stranger);
        token.setPaused(true);
        vm.expectRevert(reason("Pausable: paused"));
        vm.prank(rival);
        token.transfer(solver, 1);
        vm.prank(stranger);
        token.setPaused(false);
        vm.prank(rival);
        token.transfer(solver, 5);
        vm.assertEq(token.balanceOf(rival), 0);
    }
}
