// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @notice What a contract wallet answers about a signature (ERC-1271).
interface IERC1271 {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4);
}

/// @title A USDC-like token for local chains and tests
/// @notice Behaves like USDC (Circle's FiatTokenV2_2) where the Hub and its clients can tell: six decimals, pause, block
/// list, EIP-3009 in both signature forms, contract wallets in the `bytes` form only. It costs what USDC costs where gas
/// is spent: the same checks in the same order on the same words of storage, one word for a balance and its block, the
/// name read from storage for each signature. Behind LocalProxy it gives the gas figures. Anyone may mint, block and
/// pause: it holds no value, and a local stack needs no key for it.
contract TestToken {
    struct Account {
        bool blacklisted;
        uint248 balance;
    }

    /// @notice One word of storage, as USDC's: every domain separator reads it.
    string public name;
    string public constant symbol = "tUSDC";
    string public constant version = "2";
    uint8 public constant decimals = 6;

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    uint256 public totalSupply;
    bool public paused;
    mapping(address account => Account) private _accounts;
    mapping(address holder => mapping(address spender => uint256)) public allowance;
    /// @notice True once a nonce is used or cancelled (EIP-3009).
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    error Paused();
    error Blacklisted(address account);
    error InsufficientBalance(address account, uint256 balance, uint256 needed);
    error InsufficientAllowance(address holder, address spender, uint256 allowed, uint256 needed);
    error CallerNotPayee(address caller, address payee);
    error AuthorizationNotYetValid(uint256 validAfter, uint256 currentTime);
    error AuthorizationExpired(uint256 validBefore, uint256 currentTime);
    error AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce);
    error InvalidSignature(address signer);

    modifier whenNotPaused() {
        if (paused) revert Paused();
        _;
    }

    modifier notBlacklisted(address account) {
        if (_accounts[account].blacklisted) revert Blacklisted(account);
        _;
    }

    constructor() {
        initialize();
    }

    /// @notice For a proxy, whose storage no constructor of the token reaches. It writes the same whenever it is called.
    function initialize() public {
        name = "Test USD Coin";
    }

    // ---------------------------------------------------------------- for anyone, since it is local

    function mint(address to, uint256 value) external {
        totalSupply += value;
        _accounts[to].balance += _narrow(value);
        emit Transfer(address(0), to, value);
    }

    function setBlacklisted(address account, bool blacklisted) external {
        _accounts[account].blacklisted = blacklisted;
    }

    function setPaused(bool paused_) external {
        paused = paused_;
    }

    // ---------------------------------------------------------------- ERC-20

    function balanceOf(address account) external view returns (uint256) {
        return _accounts[account].balance;
    }

    function isBlacklisted(address account) external view returns (bool) {
        return _accounts[account].blacklisted;
    }

    function approve(address spender, uint256 value) external whenNotPaused returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        _transfer(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value)
        external
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
        returns (bool)
    {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < value) revert InsufficientAllowance(from, msg.sender, allowed, value);
        _transfer(from, to, value);
        allowance[from][msg.sender] = allowed - value;
        return true;
    }

    // ---------------------------------------------------------------- EIP-3009

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this))
        );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public whenNotPaused notBlacklisted(from) notBlacklisted(to) {
        bytes32 content = keccak256(
            abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        _useAuthorization(from, validAfter, validBefore, nonce, content, signature);
        _transfer(from, to, value);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice Only the payee may use it, so nobody can take the money out of the call it was signed for.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public whenNotPaused notBlacklisted(from) notBlacklisted(to) {
        if (to != msg.sender) revert CallerNotPayee(msg.sender, to);
        bytes32 content =
            keccak256(abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce));
        _useAuthorization(from, validAfter, validBefore, nonce, content, signature);
        _transfer(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public whenNotPaused {
        if (authorizationState[authorizer][nonce]) revert AuthorizationUsedOrCanceled(authorizer, nonce);
        _requireSignature(
            authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature
        );
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    // ---------------------------------------------------------------- inside

    function _transfer(address from, address to, uint256 value) private {
        uint256 balance = _accounts[from].balance;
        if (balance < value) revert InsufficientBalance(from, balance, value);
        _setBalance(from, balance - value);
        _setBalance(to, _accounts[to].balance + value);
        emit Transfer(from, to, value);
    }

    /// @dev Writes the whole word, and only of an account that is not blocked.
    function _setBalance(address account, uint256 balance) private notBlacklisted(account) {
        _accounts[account] = Account(false, _narrow(balance));
    }

    function _useAuthorization(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes32 content,
        bytes memory signature
    ) private {
        if (block.timestamp <= validAfter) {
            revert AuthorizationNotYetValid(validAfter, block.timestamp);
        }
        if (block.timestamp >= validBefore) revert AuthorizationExpired(validBefore, block.timestamp);
        if (authorizationState[from][nonce]) revert AuthorizationUsedOrCanceled(from, nonce);
        _requireSignature(from, content, signature);
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
    }

    function _requireSignature(address signer, bytes32 content, bytes memory signature) private view {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), content));
        bool valid = signer.code.length == 0
            ? _recovers(signer, digest, signature)
            : IERC1271(signer).isValidSignature(digest, signature) == IERC1271.isValidSignature.selector;
        if (!valid) revert InvalidSignature(signer);
    }

    function _recovers(address signer, bytes32 digest, bytes memory signature) private pure returns (bool) {
        if (signature.length != 65) return false;
        bytes32[3] memory words = abi.decode(bytes.concat(signature, new bytes(31)), (bytes32[3]));
        if (uint256(words[1]) > HALF_ORDER) return false;
        address recovered = ecrecover(digest, uint8(words[2][0]), words[0], words[1]);
        return recovered != address(0) && recovered == signer;
    }

    function _narrow(uint256 value) private pure returns (uint248) {
        require(value <= type(uint248).max, "value too large");
        return uint248(value);
    }
}
