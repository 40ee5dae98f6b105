// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice Told of a transfer while it happens, as ERC-777 does.
interface ITransferHook {
    function onTokenTransfer() external;
}

/// @notice A token that misbehaves on demand. It asks for no allowance and no signature: what is tested is the Hub.
contract HostileToken {
    enum Misbehaviour {
        NONE,
        FEE_ON_TRANSFER,
        BONUS_ON_TRANSFER,
        RETURN_FALSE,
        REVERT,
        MOVE_NOTHING,
        CALL_BACK,
        CALL_BACK_AND_MOVE_NOTHING
    }

    Misbehaviour public mode;
    bytes public lastAnswer;
    bool public lastSucceeded;
    mapping(address account => uint256) public balanceOf;
    address private target;
    bytes private payload;

    error Refused();

    function misbehave(Misbehaviour mode_) external {
        mode = mode_;
    }

    /// @notice Calls back once, during the next transfer.
    function callBack(Misbehaviour mode_, address target_, bytes calldata payload_) external {
        (mode, target, payload) = (mode_, target_, payload_);
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @notice A rebase against one account.
    function shrink(address account, uint256 amount) external {
        balanceOf[account] -= amount;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return _move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        return _move(from, to, amount);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 amount,
        uint256,
        uint256,
        bytes32,
        bytes calldata
    ) external {
        _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) private returns (bool) {
        if (mode == Misbehaviour.RETURN_FALSE) return false;
        if (mode == Misbehaviour.REVERT) revert Refused();
        if (mode == Misbehaviour.MOVE_NOTHING) return true;
        bool silent = mode == Misbehaviour.CALL_BACK_AND_MOVE_NOTHING;
        if (silent || mode == Misbehaviour.CALL_BACK) {
            mode = Misbehaviour.NONE;
            (lastSucceeded, lastAnswer) = target.call(payload);
            if (silent) return true;
        }
        balanceOf[from] -= amount;
        if (mode == Misbehaviour.FEE_ON_TRANSFER) amount -= amount / 100;
        if (mode == Misbehaviour.BONUS_ON_TRANSFER) amount += 1;
        balanceOf[to] += amount;
        return true;
    }
}
