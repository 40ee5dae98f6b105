// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LocalUsdc} from "./LocalUsdc.sol";

/// @title The local USDC without an issuer
/// @notice For tests of the Hub: it needs no proxy and no roles, since anyone may mint, block and pause. Everything else is
/// LocalUsdc, which a local stack has behind a proxy.
contract TestToken is LocalUsdc {
    address private constant NOBODY = address(1);

    constructor() {
        initialize("Test USD Coin", "tUSDC", "USD", 6, NOBODY, NOBODY, NOBODY, NOBODY);
    }

    function mint(address to, uint256 value) external override returns (bool) {
        _mint(to, value);
        emit Transfer(address(0), to, value);
        return true;
    }

    function setBlacklisted(address account, bool blacklisted) external {
        _accounts[account] = balanceOf(account) | (blacklisted ? 1 << 255 : 0);
    }

    function setPaused(bool paused_) external {
        paused = paused_;
    }
}
