// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SignatureChecker} from "./SignatureChecker.sol";

/// @title A replacement of USDC for local chains
/// @notice Behaves like USDC (Circle's FiatTokenV2_2) for everybody who calls it: the same functions, events, refusals,
/// words of storage and order of checks, behind the same kind of proxy (LocalProxy), and nearly the same gas. Written from
/// USDC's interface and from what its code does when it is called; tests/contracts/test_usdc.py calls both and compares.
/// docs/test-token.md lists what differs.
contract LocalUsdc {
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    string public constant version = "2";
    uint256 private constant BLACKLISTED = 1 << 255;

    /// @dev Code that the token runs as its own; the address is in the token's code, as that of a linked library is.
    address private immutable _checker;

    // ---------------------------------------------------------------- storage, word by word as USDC's

    address public owner;
    address public pauser;
    bool public paused;
    address public blacklister;
    /// @dev USDC's former block list; its word is kept empty.
    mapping(address account => bool) private _formerlyBlacklisted;
    string public name;
    string public symbol;
    uint8 public decimals;
    string public currency;
    address public masterMinter;
    bool private _initialized;
    /// @dev The highest bit of an account's word is set where it is blacklisted; the others are its balance.
    mapping(address account => uint256) internal _accounts;
    mapping(address holder => mapping(address spender => uint256)) private _allowances;
    uint256 public totalSupply;
    mapping(address account => bool) public isMinter;
    /// @notice What a minter may still mint.
    mapping(address minter => uint256) public minterAllowance;
    address public rescuer;
    /// @dev Written once and never read: every signature is checked against the separator of the chain as it is then.
    bytes32 private _formerDomainSeparator;
    /// @dev One for a nonce that is used or cancelled (EIP-3009).
    mapping(address authorizer => mapping(bytes32 nonce => uint256)) private _authorizations;
    /// @notice The nonce of the next permit (ERC-2612).
    mapping(address holder => uint256) public nonces;
    uint8 private _initializedVersion;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);
    event Mint(address indexed minter, address indexed to, uint256 amount);
    event Burn(address indexed burner, uint256 amount);
    event MinterConfigured(address indexed minter, uint256 minterAllowedAmount);
    event MinterRemoved(address indexed oldMinter);
    event MasterMinterChanged(address indexed newMasterMinter);
    event Pause();
    event Unpause();
    event PauserChanged(address indexed newAddress);
    event Blacklisted(address indexed _account);
    event UnBlacklisted(address indexed _account);
    event BlacklisterChanged(address indexed newBlacklister);
    event RescuerChanged(address indexed newRescuer);
    event OwnershipTransferred(address previousOwner, address newOwner);

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlacklisted(address account) {
        require(!isBlacklisted(account), "Blacklistable: account is blacklisted");
        _;
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "Ownable: caller is not the owner");
        _;
    }

    modifier onlyMasterMinter() {
        require(msg.sender == masterMinter, "FiatToken: caller is not the masterMinter");
        _;
    }

    modifier onlyMinters() {
        require(isMinter[msg.sender], "FiatToken: caller is not a minter");
        _;
    }

    modifier onlyPauser() {
        require(msg.sender == pauser, "Pausable: caller is not the pauser");
        _;
    }

    modifier onlyBlacklister() {
        require(msg.sender == blacklister, "Blacklistable: caller is not the blacklister");
        _;
    }

    constructor() {
        _checker = address(new SignatureChecker());
    }

    // ---------------------------------------------------------------- beginnings, one for each release of USDC

    function initialize(
        string memory tokenName,
        string memory tokenSymbol,
        string memory tokenCurrency,
        uint8 tokenDecimals,
        address newMasterMinter,
        address newPauser,
        address newBlacklister,
        address newOwner
    ) public {
        require(!_initialized, "FiatToken: contract is already initialized");
        require(newMasterMinter != address(0), "FiatToken: new masterMinter is the zero address");
        require(newPauser != address(0), "FiatToken: new pauser is the zero address");
        require(newBlacklister != address(0), "FiatToken: new blacklister is the zero address");
        require(newOwner != address(0), "FiatToken: new owner is the zero address");
        (name, symbol, currency, decimals) = (tokenName, tokenSymbol, tokenCurrency, tokenDecimals);
        (masterMinter, pauser, blacklister) = (newMasterMinter, newPauser, newBlacklister);
        owner = newOwner;
        _initialized = true;
    }

    function initializeV2(string memory newName) public {
        require(_initialized && _initializedVersion == 0);
        name = newName;
        _formerDomainSeparator = DOMAIN_SEPARATOR();
        _initializedVersion = 1;
    }

    function initializeV2_1(address lostAndFound) public {
        require(_initializedVersion == 1);
        uint256 locked = balanceOf(address(this));
        if (locked != 0) _transfer(address(this), lostAndFound, locked);
        _accounts[address(this)] |= BLACKLISTED;
        _initializedVersion = 2;
    }

    /// @dev No account was ever on the former block list here, so none can be taken over from it.
    function initializeV2_2(address[] memory accountsToBlacklist, string memory newSymbol) public {
        require(_initializedVersion == 2);
        require(accountsToBlacklist.length == 0, "FiatTokenV2_2: Blacklisting previously unblacklisted account!");
        symbol = newSymbol;
        _accounts[address(this)] |= BLACKLISTED;
        _initializedVersion = 3;
    }

    // ---------------------------------------------------------------- owner

    function transferOwnership(address newOwner) external onlyOwner {
        require(newOwner != address(0), "Ownable: new owner is the zero address");
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function updateMasterMinter(address _newMasterMinter) external onlyOwner {
        require(_newMasterMinter != address(0), "FiatToken: new masterMinter is the zero address");
        masterMinter = _newMasterMinter;
        emit MasterMinterChanged(_newMasterMinter);
    }

    function updatePauser(address _newPauser) external onlyOwner {
        require(_newPauser != address(0), "Pausable: new pauser is the zero address");
        pauser = _newPauser;
        emit PauserChanged(_newPauser);
    }

    function updateBlacklister(address _newBlacklister) external onlyOwner {
        require(_newBlacklister != address(0), "Blacklistable: new blacklister is the zero address");
        blacklister = _newBlacklister;
        emit BlacklisterChanged(_newBlacklister);
    }

    function updateRescuer(address newRescuer) external onlyOwner {
        require(newRescuer != address(0), "Rescuable: new rescuer is the zero address");
        rescuer = newRescuer;
        emit RescuerChanged(newRescuer);
    }

    // ---------------------------------------------------------------- minting, within what each minter is allowed

    function configureMinter(address minter, uint256 minterAllowedAmount)
        external
        whenNotPaused
        onlyMasterMinter
        returns (bool)
    {
        isMinter[minter] = true;
        minterAllowance[minter] = minterAllowedAmount;
        emit MinterConfigured(minter, minterAllowedAmount);
        return true;
    }

    function removeMinter(address minter) external onlyMasterMinter returns (bool) {
        isMinter[minter] = false;
        minterAllowance[minter] = 0;
        emit MinterRemoved(minter);
        return true;
    }

    function mint(address _to, uint256 _amount)
        external
        virtual
        whenNotPaused
        onlyMinters
        notBlacklisted(msg.sender)
        notBlacklisted(_to)
        returns (bool)
    {
        require(_to != address(0), "FiatToken: mint to the zero address");
        require(_amount > 0, "FiatToken: mint amount not greater than 0");
        uint256 allowed = minterAllowance[msg.sender];
        require(_amount <= allowed, "FiatToken: mint amount exceeds minterAllowance");
        _mint(_to, _amount);
        minterAllowance[msg.sender] = allowed - _amount;
        emit Mint(msg.sender, _to, _amount);
        emit Transfer(address(0), _to, _amount);
        return true;
    }

    function burn(uint256 _amount) external whenNotPaused onlyMinters notBlacklisted(msg.sender) {
        uint256 balance = balanceOf(msg.sender);
        require(_amount > 0, "FiatToken: burn amount not greater than 0");
        require(balance >= _amount, "FiatToken: burn amount exceeds balance");
        totalSupply -= _amount;
        _setBalance(msg.sender, balance - _amount);
        emit Burn(msg.sender, _amount);
        emit Transfer(msg.sender, address(0), _amount);
    }

    // ---------------------------------------------------------------- pause, block list, what was sent here by mistake

    function pause() external onlyPauser {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyPauser {
        paused = false;
        emit Unpause();
    }

    function blacklist(address _account) external onlyBlacklister {
        _accounts[_account] |= BLACKLISTED;
        emit Blacklisted(_account);
    }

    function unBlacklist(address _account) external onlyBlacklister {
        _accounts[_account] &= ~BLACKLISTED;
        emit UnBlacklisted(_account);
    }

    function isBlacklisted(address _account) public view returns (bool) {
        return _accounts[_account] & BLACKLISTED != 0;
    }

    function rescueERC20(address tokenContract, address to, uint256 amount) external {
        require(msg.sender == rescuer, "Rescuable: caller is not the rescuer");
        require(tokenContract.code.length > 0, "Address: call to non-contract");
        (bool done, bytes memory answer) = tokenContract.call(abi.encodeCall(LocalUsdc.transfer, (to, amount)));
        if (!done && answer.length > 0) _passOn(answer);
        require(done, "SafeERC20: low-level call failed");
        require(answer.length == 0 || abi.decode(answer, (uint256)) != 0, "SafeERC20: ERC20 operation did not succeed");
    }

    // ---------------------------------------------------------------- ERC-20

    function balanceOf(address account) public view returns (uint256) {
        return _accounts[account] & ~BLACKLISTED;
    }

    function allowance(address holder, address spender) external view returns (uint256) {
        return _allowances[holder][spender];
    }

    function approve(address spender, uint256 value) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }

    function increaseAllowance(address spender, uint256 increment) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, _sum(_allowances[msg.sender][spender], increment));
        return true;
    }

    function decreaseAllowance(address spender, uint256 decrement) external whenNotPaused returns (bool) {
        uint256 allowed = _allowances[msg.sender][spender];
        require(decrement <= allowed, "ERC20: decreased allowance below zero");
        _approve(msg.sender, spender, allowed - decrement);
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
        require(value <= _allowances[from][msg.sender], "ERC20: transfer amount exceeds allowance");
        _transfer(from, to, value);
        _allowances[from][msg.sender] -= value;
        return true;
    }

    // ---------------------------------------------------------------- ERC-2612

    function permit(address holder, address spender, uint256 value, uint256 deadline, bytes memory signature)
        public
        whenNotPaused
    {
        require(deadline >= block.timestamp, "FiatTokenV2: permit is expired");
        bytes32 content = keccak256(abi.encode(PERMIT_TYPEHASH, holder, spender, value, nonces[holder]++, deadline));
        require(_isSignedBy(holder, content, signature), "EIP2612: invalid signature");
        _approve(holder, spender, value);
    }

    function permit(address holder, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        permit(holder, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    // ---------------------------------------------------------------- EIP-3009

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this))
        );
    }

    /// @notice True once a nonce is used or cancelled.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return _authorizations[authorizer][nonce] == 1;
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
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
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
        _requireUnused(authorizer, nonce);
        _requireSignature(
            authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature
        );
        _authorizations[authorizer][nonce] = 1;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    // ---------------------------------------------------------------- inside

    function _mint(address to, uint256 value) internal {
        totalSupply = _sum(totalSupply, value);
        _setBalance(to, _sum(balanceOf(to), value));
    }

    function _sum(uint256 a, uint256 b) private pure returns (uint256) {
        require(b <= type(uint256).max - a, "SafeMath: addition overflow");
        return a + b;
    }

    function _approve(address holder, address spender, uint256 value) private {
        require(holder != address(0), "ERC20: approve from the zero address");
        require(spender != address(0), "ERC20: approve to the zero address");
        _allowances[holder][spender] = value;
        emit Approval(holder, spender, value);
    }

    function _transfer(address from, address to, uint256 value) private {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        require(value <= balanceOf(from), "ERC20: transfer amount exceeds balance");
        _setBalance(from, balanceOf(from) - value);
        _setBalance(to, balanceOf(to) + value);
        emit Transfer(from, to, value);
    }

    /// @dev Writes the whole word, and only of an account that is not blocked.
    function _setBalance(address account, uint256 balance) private {
        require(balance < BLACKLISTED, "FiatTokenV2_2: Balance exceeds (2^255 - 1)");
        require(!isBlacklisted(account), "FiatTokenV2_2: Account is blacklisted");
        _accounts[account] = balance;
    }

    function _useAuthorization(
        address from,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes32 content,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        _requireUnused(from, nonce);
        _requireSignature(from, content, signature);
        _authorizations[from][nonce] = 1;
        emit AuthorizationUsed(from, nonce);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(_authorizations[authorizer][nonce] == 0, "FiatTokenV2: authorization is used or canceled");
    }

    function _requireSignature(address signer, bytes32 content, bytes memory signature) private {
        require(_isSignedBy(signer, content, signature), "FiatTokenV2: invalid signature");
    }

    function _isSignedBy(address signer, bytes32 content, bytes memory signature) private returns (bool) {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), content));
        bytes memory question = abi.encodeCall(SignatureChecker.isValidSignatureNow, (signer, digest, signature));
        (bool answered, bytes memory answer) = _checker.delegatecall(question);
        if (!answered) _passOn(answer);
        return abi.decode(answer, (bool));
    }

    /// @dev Reverts with what a call that failed answered.
    function _passOn(bytes memory answer) private pure {
        assembly {
            revert(add(answer, 32), mload(answer))
        }
    }
}
