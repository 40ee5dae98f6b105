// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Registry} from "./Registry.sol";

/// @notice What the Hub calls on the escrow token: nothing else.
interface IEscrowToken {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 amount,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/// @title The only code that calls the token
/// @notice Money comes in when a bounty is created and goes out when an entitled caller pulls it; nothing else calls
/// the token, so a paused token delays money but never a Submission, a Verdict or a settlement.
/// Every function that reaches this file is `nonReentrant`: a token that calls back could otherwise nest two
/// creations, pay once, and let both measure the same receipt.
abstract contract Treasury is Registry {
    uint256 private transient _entered;

    modifier nonReentrant() {
        if (_entered != 0) revert Reentered();
        _entered = 1;
        _;
        _entered = 0;
    }

    /// @notice Takes exactly `amount` from the Poster's allowance.
    function _collect(address poster, uint256 amount) internal {
        uint256 before = _balance();
        if (!IEscrowToken(token).transferFrom(poster, address(this), amount)) {
            revert TokenTransferFailed(poster, address(this), amount);
        }
        _requireReceived(before, amount);
    }

    /// @notice Takes exactly `amount` by the Poster's EIP-3009 authorization.
    function _collectAuthorized(
        address poster,
        uint256 amount,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) internal {
        uint256 before = _balance();
        IEscrowToken(token)
            .receiveWithAuthorization(poster, address(this), amount, validAfter, validBefore, nonce, signature);
        _requireReceived(before, amount);
    }

    /// @notice Pays. The caller has written every effect before.
    function _pay(address to, uint256 amount) internal {
        if (!IEscrowToken(token).transfer(to, amount)) revert TokenTransferFailed(address(this), to, amount);
    }

    function _balance() private view returns (uint256) {
        return IEscrowToken(token).balanceOf(address(this));
    }

    function _requireReceived(uint256 before, uint256 amount) private view {
        uint256 current = _balance();
        uint256 received = current > before ? current - before : 0;
        if (received != amount) revert EscrowNotReceived(amount, received);
    }
}
