// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TestToken} from "../src/local/TestToken.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice The local token behaves like USDC where a client can tell.
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

    function test_token__domain_and_facts() public view {
        vm.assertEq(token.decimals(), 6);
        vm.assertEq(keccak256(bytes(token.symbol())), keccak256("tUSDC"));
        vm.assertEq(
            token.DOMAIN_SEPARATOR(),
            keccak256(
                abi.encode(
                    keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                    keccak256("Test USD Coin"),
                    keccak256("2"),
                    block.chainid,
                    address(token)
                )
            )
        );
    }

    function test_token__receive_with_authorization__only_the_payee_and_only_once() public {
        bytes32 typeHash = token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH();
        (uint8 v, bytes32 r, bytes32 s) = sign(authorization(typeHash, solver));
        vm.expectRevert(reason("FiatTokenV2: caller must be the payee"));
        vm.prank(rival);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
        vm.prank(solver);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
        vm.assertEq(token.balanceOf(solver), VALUE);
        vm.expectRevert(reason("FiatTokenV2: authorization is used or canceled"));
        vm.prank(solver);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
    }

    function test_token__transfer_with_authorization__anyone_within_its_time() public {
        bytes32 typeHash = token.TRANSFER_WITH_AUTHORIZATION_TYPEHASH();
        (uint8 v, bytes32 r, bytes32 s) = sign(authorization(typeHash, solver));
        vm.warp(START - 1);
        vm.expectRevert(reason("FiatTokenV2: authorization is not yet valid"));
        token.transferWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
        vm.warp(START + 1);
        vm.expectRevert(reason("FiatTokenV2: authorization is expired"));
        token.transferWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
        vm.warp(START);
        token.transferWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
        vm.assertEq(token.balanceOf(solver), VALUE);
    }

    function test_token__cancelled_authorization__cannot_be_used() public {
        (uint8 v, bytes32 r, bytes32 s) =
            sign(keccak256(abi.encode(token.CANCEL_AUTHORIZATION_TYPEHASH(), poster, NONCE)));
        token.cancelAuthorization(poster, NONCE, v, r, s);
        vm.assertTrue(token.authorizationState(poster, NONCE));
        (v, r, s) = sign(authorization(token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(), solver));
        vm.expectRevert(reason("FiatTokenV2: authorization is used or canceled"));
        vm.prank(solver);
        token.receiveWithAuthorization(poster, solver, VALUE, START - 1, START + 1, NONCE, v, r, s);
    }

    function test_token__malleable_or_short_signature__is_refused() public {
        bytes32 typeHash = token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH();
        (uint8 v, bytes32 r, bytes32 s) = sign(authorization(typeHash, solver));
        uint256 order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
        bytes memory high = abi.encodePacked(r, bytes32(order - uint256(s)), v == 27 ? uint8(28) : uint8(27));
        refusedSignature(high, "ECRecover: invalid signature 's' value");
        refusedSignature(abi.encodePacked(r, s), "ECRecover: invalid signature length");
        refusedSignature(abi.encodePacked(r, s, v - 27), "ECRecover: invalid signature 'v' value");
        refusedSignature(abi.encodePacked(bytes32(0), s, v), "ECRecover: invalid signature");
        refusedSignature(abi.encodePacked(r, s, v == 27 ? uint8(28) : uint8(27)), "FiatTokenV2: invalid signature");
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

    function test_token__transfers_beyond_the_rules__are_refused_with_the_texts_of_usdc() public {
        uint256 held = token.balanceOf(poster);
        vm.expectRevert(reason("ERC20: transfer amount exceeds balance"));
        vm.prank(poster);
        token.transfer(solver, held + 1);
        vm.expectRevert(reason("ERC20: transfer to the zero address"));
        vm.prank(poster);
        token.transfer(address(0), 1);
        vm.expectRevert(reason("ERC20: approve to the zero address"));
        vm.prank(poster);
        token.approve(address(0), 1);
        token.setPaused(true);
        vm.expectRevert(reason("Pausable: paused"));
        vm.prank(poster);
        token.transfer(solver, 1);
    }
}
