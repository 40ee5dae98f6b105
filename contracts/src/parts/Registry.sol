// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Activity} from "./Activity.sol";
import {Ballots} from "./Ballots.sol";
import {Money} from "./Money.sol";
import {Narrow} from "./Narrow.sol";
import {X25519Keys} from "./X25519Keys.sol";

/// @title Everything the owner can reach
/// @notice Owner, roster versions, fee policy versions, delivery key, and the Guardians' liveness. A bounty pins the
/// version numbers that are current when it is created, and what a version says of members, keys, quorum or fees never
/// changes, so that nothing here can touch an existing bounty's money or judges. No bounty pins the delivery key. Of a
/// roster only `effectiveFrom` can change, to 0, while it is announced and no bounty pins it. Rosters and delivery keys
/// take effect after a delay that everybody can see. No function in this file moves money.
abstract contract Registry is IHub {
    /// @dev Of a roster, `submit` and creation compare the hash; everything else is only shown, by `getRoster`.
    struct Roster {
        bytes32 hash;
        uint8 quorum;
        uint40 effectiveFrom; // 0 after another version replaced it before its time
        address[] accounts;
        bytes32[] encryptionKeys;
    }

    /// @dev A member's place in one roster version. Quorum and size of a roster are stored in several words, all
    /// written by `publishRoster` from the same values. These copies decide:
    ///
    /// - Quorum: that of the caller's `Activity` where it names the bounty's roster version, otherwise that of its
    ///   `Seat` of this version (`Bounties._seatOf`). `Roster.quorum` is only shown.
    /// - Seat number: the same two in `recordVerdict`; everywhere else the `Seat`.
    /// - Size: `Conditions.rosterSize`, taken from `Counters` when the bounty was created. The length of
    ///   `Roster.accounts` is only shown.
    struct Seat {
        uint8 number; // from 1; 0 for an account that is not on this roster
        uint8 quorum;
    }

    struct FeePolicy {
        address recipient;
        uint16 protocolFeeBps;
        uint16 guardianFeeBps;
    }

    /// @dev What a new bounty takes its numbers from: one word, so that a creation changes one. The newest roster is
    /// current from `newestFrom` on; until then the former one is.
    // |bounties 64|feePolicyVersion 16|newestFrom 40|newestSize 8|newestVersion 16|formerSize 8|formerVersion 16|
    // 168         104                 88            48           40               24           16               0
    struct Counters {
        uint16 formerVersion;
        uint8 formerSize;
        uint16 newestVersion;
        uint8 newestSize;
        uint40 newestFrom;
        uint16 feePolicyVersion;
        uint64 bounties;
    }

    /// @dev The newest key is current from `newestFrom` on; until then the former one is. Zero is no key.
    struct DeliveryKeys {
        bytes32 former;
        bytes32 newest;
        uint40 newestFrom; // 0 only before the first publication
    }

    /// @dev A struct of one field: with a mapping straight to `Activity` each Verdict and each heartbeat takes 62 gas
    /// more, because the compiler hashes the key for reading and again for writing.
    struct Guardian {
        Activity activity;
    }

    /// @inheritdoc IHub
    address public immutable token;
    /// @inheritdoc IHub
    uint256 public immutable publicationDelay;

    /// @inheritdoc IHub
    address public owner;
    Counters internal _counters;
    /// @inheritdoc IHub
    address public pendingOwner;
    DeliveryKeys private _deliveryKeys;

    mapping(uint256 version => Roster) internal _rosters;
    mapping(uint256 version => mapping(address account => Seat)) internal _seats;
    mapping(uint256 version => FeePolicy) internal _feePolicies;
    mapping(address account => Guardian) internal _guardians;

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender, owner);
        _;
    }

    constructor(HubConfig memory config) {
        if (config.token.code.length == 0) revert InvalidConfiguration("token", uint160(config.token));
        if (config.owner == address(0)) revert InvalidConfiguration("owner", 0);
        token = config.token;
        owner = config.owner;
        publicationDelay = config.publicationDelay;
        emit Deployed(config);
        emit OwnershipTransferred(address(0), config.owner);
        _setFeePolicy(config.protocolFeeBps, config.guardianFeeBps, config.protocolFeeRecipient);
    }

    // ---------------------------------------------------------------- rosters

    /// @inheritdoc IHub
    function publishRoster(address[] calldata accounts, bytes32[] calldata encryptionKeys, uint256 quorum)
        external
        onlyOwner
    {
        _checkRosterShape(accounts.length, encryptionKeys.length, quorum);
        Counters memory counters = _counters;
        uint16 version = Narrow.toUint16(uint256(counters.newestVersion) + 1);
        address previous;
        for (uint256 i = 0; i < accounts.length; ++i) {
            if (accounts[i] <= previous) revert RosterAccountsNotAscending(i, previous, accounts[i]);
            previous = accounts[i];
            _checkRosterKey(encryptionKeys, i);
            _seat(version, previous, uint8(i + 1), uint8(quorum));
        }
        bytes32 hash = keccak256(abi.encode(block.chainid, address(this), version, accounts, encryptionKeys, quorum));
        if (block.timestamp < counters.newestFrom) _rosters[counters.newestVersion].effectiveFrom = 0;
        (counters.formerVersion, counters.formerSize) = _currentRoster();
        (counters.newestVersion, counters.newestSize) = (version, uint8(accounts.length));
        counters.newestFrom = _effectiveFrom(version == 1);
        _rosters[version] = Roster(hash, uint8(quorum), counters.newestFrom, accounts, encryptionKeys);
        _counters = counters;
        emit RosterPublished(version, hash, accounts, encryptionKeys, quorum, counters.newestFrom);
    }

    /// @inheritdoc IHub
    function heartbeat() external {
        Guardian storage guardian = _guardians[msg.sender];
        Activity activity = guardian.activity;
        if (activity.rosterVersion() == 0) revert NeverOnRoster(msg.sender);
        guardian.activity = activity.seenAt(block.timestamp);
        emit GuardianHeartbeat(msg.sender);
    }

    /// @inheritdoc IHub
    function currentRosterVersion() external view returns (uint256) {
        (uint16 version,) = _currentRoster();
        return version;
    }

    /// @inheritdoc IHub
    function announcedRoster() external view returns (uint256, uint256) {
        Counters memory counters = _counters;
        if (block.timestamp >= counters.newestFrom) return (0, 0);
        return (counters.newestVersion, counters.newestFrom);
    }

    /// @inheritdoc IHub
    function getRoster(uint256 version) external view returns (RosterView memory rosterView) {
        Roster storage roster = _rosters[version];
        if (roster.hash == 0) revert RosterNotFound(version);
        rosterView.guardianRosterHash = roster.hash;
        rosterView.quorum = roster.quorum;
        rosterView.accounts = roster.accounts;
        rosterView.encryptionKeys = roster.encryptionKeys;
        rosterView.effectiveFrom = roster.effectiveFrom;
        rosterView.lastActiveAt = new uint256[](rosterView.accounts.length);
        for (uint256 i = 0; i < rosterView.lastActiveAt.length; ++i) {
            rosterView.lastActiveAt[i] = _guardians[rosterView.accounts[i]].activity.lastActiveAt();
        }
    }

    /// @dev The version and the size of the roster that a bounty created now pins; zeros before the first version.
    function _currentRoster() internal view returns (uint16 version, uint8 size) {
        Counters storage counters = _counters;
        if (block.timestamp >= counters.newestFrom) return (counters.newestVersion, counters.newestSize);
        return (counters.formerVersion, counters.formerSize);
    }

    /// @dev The first roster and the first delivery key are in effect at once: before them no bounty or delivery exists
    /// that a surprise could harm.
    function _effectiveFrom(bool isFirst) private view returns (uint40) {
        return Narrow.toUint40(isFirst ? block.timestamp : block.timestamp + publicationDelay);
    }

    /// @dev Both copies of a seat are written here and nowhere else, so that they agree wherever both name a version.
    function _seat(uint16 version, address account, uint8 number, uint8 quorum) private {
        _seats[version][account] = Seat(number, quorum);
        Guardian storage guardian = _guardians[account];
        guardian.activity = guardian.activity.seatedOn(version, number, quorum);
    }

    function _checkRosterShape(uint256 accounts, uint256 keys, uint256 quorum) private pure {
        if (accounts == 0 || accounts > Ballots.SEATS) revert RosterSizeInvalid(accounts, Ballots.SEATS);
        if (accounts != keys) revert RosterLengthsDiffer(accounts, keys);
        if (quorum > accounts || quorum * 2 <= accounts) revert RosterQuorumInvalid(quorum, accounts);
    }

    function _checkRosterKey(bytes32[] calldata keys, uint256 index) private pure {
        X25519Keys.check(keys[index]);
        for (uint256 i = 0; i < index; ++i) {
            if (keys[i] == keys[index]) revert EncryptionKeyRepeated(keys[i]);
        }
    }

    // ---------------------------------------------------------------- fees and delivery key

    /// @inheritdoc IHub
    function setFeePolicy(uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient) external onlyOwner {
        _setFeePolicy(protocolFeeBps, guardianFeeBps, recipient);
    }

    /// @inheritdoc IHub
    function publishDeliveryKey(bytes32 key) external onlyOwner {
        X25519Keys.check(key);
        uint40 from = _effectiveFrom(_deliveryKeys.newestFrom == 0);
        _deliveryKeys = DeliveryKeys(deliveryKey(), key, from);
        emit DeliveryKeyPublished(key, from);
    }

    /// @inheritdoc IHub
    function withdrawDeliveryKey(bytes32 key) external onlyOwner {
        bytes32 current = deliveryKey();
        (bytes32 announced, uint256 from) = announcedDeliveryKey();
        if (key == 0 || (key != current && key != announced)) revert DeliveryKeyNotPublished(key);
        if (key == current) current = 0;
        // If another key is announced, it stays announced for its time. Otherwise the current one, or none, is all
        // there is.
        if (announced == 0 || key == announced) (announced, from) = (current, block.timestamp);
        _deliveryKeys = DeliveryKeys(current, announced, Narrow.toUint40(from));
        emit DeliveryKeyWithdrawn(key);
    }

    /// @inheritdoc IHub
    function deliveryKey() public view returns (bytes32) {
        return block.timestamp >= _deliveryKeys.newestFrom ? _deliveryKeys.newest : _deliveryKeys.former;
    }

    /// @inheritdoc IHub
    function announcedDeliveryKey() public view returns (bytes32, uint256) {
        DeliveryKeys memory keys = _deliveryKeys;
        return block.timestamp >= keys.newestFrom ? (bytes32(0), 0) : (keys.newest, uint256(keys.newestFrom));
    }

    /// @inheritdoc IHub
    function feePolicy() external view returns (uint256, uint256, address) {
        FeePolicy memory policy = _feePolicies[_counters.feePolicyVersion];
        return (policy.protocolFeeBps, policy.guardianFeeBps, policy.recipient);
    }

    /// @inheritdoc IHub
    function maxProtocolFeeBps() external pure returns (uint256) {
        return Money.MAX_PROTOCOL_FEE_BPS;
    }

    /// @inheritdoc IHub
    function maxGuardianFeeBps() external pure returns (uint256) {
        return Money.MAX_GUARDIAN_FEE_BPS;
    }

    function _setFeePolicy(uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient) private {
        if (protocolFeeBps > Money.MAX_PROTOCOL_FEE_BPS) {
            revert FeeAboveCap(protocolFeeBps, Money.MAX_PROTOCOL_FEE_BPS);
        }
        if (guardianFeeBps > Money.MAX_GUARDIAN_FEE_BPS) {
            revert FeeAboveCap(guardianFeeBps, Money.MAX_GUARDIAN_FEE_BPS);
        }
        if (recipient == address(0) || recipient == address(this) || recipient == token) {
            revert FeeRecipientInvalid(recipient);
        }
        uint16 version = Narrow.toUint16(uint256(_counters.feePolicyVersion) + 1);
        _feePolicies[version] = FeePolicy(recipient, uint16(protocolFeeBps), uint16(guardianFeeBps));
        _counters.feePolicyVersion = version;
        emit FeePolicyChanged(protocolFeeBps, guardianFeeBps, recipient);
    }

    // ---------------------------------------------------------------- ownership in two steps

    /// @inheritdoc IHub
    function transferOwnership(address newOwner) external onlyOwner {
        pendingOwner = newOwner;
        emit OwnershipTransferStarted(owner, newOwner);
    }

    /// @inheritdoc IHub
    function acceptOwnership() external {
        if (msg.sender != pendingOwner) revert NotPendingOwner(msg.sender, pendingOwner);
        emit OwnershipTransferred(owner, msg.sender);
        owner = msg.sender;
        pendingOwner = address(0);
    }
}
