// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "./IHub.sol";
import {Outcome, Reason, VerdictKind} from "./IHubTypes.sol";
import {Ballots} from "./parts/Ballots.sol";
import {Bounties} from "./parts/Bounties.sol";
import {Money} from "./parts/Money.sol";
import {Narrow} from "./parts/Narrow.sol";
import {Registry} from "./parts/Registry.sol";
import {Views} from "./parts/Views.sol";

/// @title The Hub: the one contract that holds money
/// @notice Immutable, no proxy, no pause, and no power of the owner over an existing bounty. A bounty's life reads
/// from top to bottom of this file: create, submit, judge, settle, pull.
/// @dev Layers: Registry (owner, rosters, fees) < Treasury (token) < Bounties (storage) < Views < Hub (transitions).
contract Hub is Views {
    using Ballots for uint80;

    bytes32 private constant TERMS_TYPEHASH = keccak256(
        "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,"
        "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,"
        "uint256 maxGuardianFee,bytes32 salt)"
    );
    /// @dev No time of a deployment is longer, so that sums of times never overflow their fields.
    uint256 private constant LONGEST_TIME = 365 days;

    /// @inheritdoc IHub
    uint256 public immutable minSubmissionWindow;
    /// @inheritdoc IHub
    uint256 public immutable maxSubmissionWindow;
    /// @inheritdoc IHub
    uint256 public immutable minJudgingWindow;
    /// @inheritdoc IHub
    uint256 public immutable maxJudgingWindow;
    /// @inheritdoc IHub
    uint256 public immutable minEscrow;

    constructor(HubConfig memory config) Registry(config) {
        _checkRange("revealDelay", 1, config.revealDelay, LONGEST_TIME);
        _checkRange("minSubmissionWindow", 1, config.minSubmissionWindow, config.maxSubmissionWindow);
        _checkRange("maxSubmissionWindow", 1, config.maxSubmissionWindow, LONGEST_TIME);
        _checkRange("minJudgingWindow", 1, config.minJudgingWindow, config.maxJudgingWindow);
        _checkRange("maxJudgingWindow", 1, config.maxJudgingWindow, LONGEST_TIME);
        _checkRange("minEscrow", 1, config.minEscrow, type(uint96).max);
        revealDelay = config.revealDelay;
        minSubmissionWindow = config.minSubmissionWindow;
        maxSubmissionWindow = config.maxSubmissionWindow;
        minJudgingWindow = config.minJudgingWindow;
        maxJudgingWindow = config.maxJudgingWindow;
        minEscrow = config.minEscrow;
    }

    // ---------------------------------------------------------------- create

    /// @inheritdoc IHub
    function createBounty(Terms calldata terms) external nonReentrant returns (uint256 bountyId) {
        _checkTerms(terms, msg.sender);
        _collect(msg.sender, terms.escrowAmount);
        return _open(terms, msg.sender, authorizationNonce(terms, msg.sender));
    }

    /// @inheritdoc IHub
    function createBountyWithAuthorization(
        Terms calldata terms,
        address poster,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external nonReentrant returns (uint256 bountyId) {
        _checkTerms(terms, poster);
        bytes32 nonce = authorizationNonce(terms, poster);
        _collectAuthorized(poster, terms.escrowAmount, validAfter, validBefore, nonce, signature);
        return _open(terms, poster, nonce);
    }

    /// @inheritdoc IHub
    function authorizationNonce(Terms calldata terms, address poster) public view returns (bytes32) {
        return keccak256(abi.encode(TERMS_TYPEHASH, block.chainid, address(this), poster, terms));
    }

    /// @dev Refuses terms that are out of bounds or differ from what the Poster expected of roster and fees.
    function _checkTerms(Terms calldata terms, address poster) private view {
        if (poster == address(0)) revert PosterZero();
        if (terms.specCommitment == 0) revert SpecCommitmentZero();
        if (terms.escrowAmount < minEscrow) revert EscrowTooSmall(terms.escrowAmount, minEscrow);
        if (terms.escrowAmount > type(uint96).max) revert EscrowTooLarge(terms.escrowAmount, type(uint96).max);
        uint256 earliest = block.timestamp + minSubmissionWindow;
        uint256 latest = block.timestamp + maxSubmissionWindow;
        if (terms.submissionDeadline < earliest || terms.submissionDeadline > latest) {
            revert SubmissionDeadlineOutOfRange(terms.submissionDeadline, earliest, latest);
        }
        if (terms.judgingWindow < minJudgingWindow || terms.judgingWindow > maxJudgingWindow) {
            revert JudgingWindowOutOfRange(terms.judgingWindow, minJudgingWindow, maxJudgingWindow);
        }
        uint256 version = _rosterVersion;
        if (version == 0) revert NoRosterPublished();
        bytes32 rosterHash = _rosters[version].hash;
        if (terms.expectedRosterHash != rosterHash) revert RosterHashMismatch(terms.expectedRosterHash, rosterHash);
        if (_seatNumbers[version][poster] != 0) revert PosterOnRoster(poster, version);
        FeePolicy memory policy = _feePolicies[_feePolicyVersion];
        uint256 protocolFee = Money.fee(terms.escrowAmount, policy.protocolFeeBps);
        uint256 guardianFee = Money.fee(terms.escrowAmount, policy.guardianFeeBps);
        if (protocolFee > terms.maxProtocolFee) revert ProtocolFeeAboveMaximum(protocolFee, terms.maxProtocolFee);
        if (guardianFee > terms.maxGuardianFee) revert GuardianFeeAboveMaximum(guardianFee, terms.maxGuardianFee);
    }

    /// @dev Writes a bounty that is already paid for, pinning the current roster and fee policy.
    function _open(Terms calldata terms, address poster, bytes32 nonce) private returns (uint256 bountyId) {
        bountyId = ++_bountyCount;
        Bounty storage bounty = _bounties[bountyId];
        Pinned memory pinned = Pinned({
            poster: poster,
            submissionDeadline: Narrow.toUint40(terms.submissionDeadline),
            judgingWindow: Narrow.toUint32(terms.judgingWindow),
            rosterVersion: _rosterVersion
        });
        uint16 policyVersion = _feePolicyVersion;
        Progress memory progress;
        progress.escrow = Narrow.toUint96(terms.escrowAmount);
        progress.feePolicyVersion = policyVersion;
        bounty.pinned = pinned;
        bounty.progress = progress;
        bounty.specCommitment = terms.specCommitment;
        FeePolicy memory policy = _feePolicies[policyVersion];
        emit BountyCreated(
            bountyId,
            poster,
            terms.specCommitment,
            terms.expectedRosterHash,
            pinned.rosterVersion,
            terms.escrowAmount,
            terms.submissionDeadline,
            _revealAt(pinned),
            _judgingDeadline(pinned),
            Money.fee(terms.escrowAmount, policy.protocolFeeBps),
            Money.fee(terms.escrowAmount, policy.guardianFeeBps),
            policy.recipient,
            nonce
        );
    }

    // ---------------------------------------------------------------- submit

    /// @inheritdoc IHub
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external {
        Bounty storage bounty = _bounty(bountyId);
        Pinned memory pinned = bounty.pinned;
        if (block.timestamp >= pinned.submissionDeadline) {
            revert SubmissionsClosed(bountyId, pinned.submissionDeadline, block.timestamp);
        }
        if (submissionCommitment == 0) revert SubmissionCommitmentZero(bountyId);
        bytes32 rosterHash = _rosters[pinned.rosterVersion].hash;
        if (guardianRosterHash != rosterHash) revert RosterHashMismatch(guardianRosterHash, rosterHash);
        if (msg.sender == pinned.poster) revert SolverIsPoster(bountyId, msg.sender);
        if (_seatNumbers[pinned.rosterVersion][msg.sender] != 0) revert SolverOnRoster(bountyId, msg.sender);
        _submissions[bountyId][msg.sender] = submissionCommitment;
        if (!bounty.progress.hasSubmissions) bounty.progress.hasSubmissions = true;
        emit SubmissionRecorded(bountyId, msg.sender, submissionCommitment);
    }

    // ---------------------------------------------------------------- judge

    /// @inheritdoc IHub
    function recordVerdict(
        uint256 bountyId,
        uint8 kind,
        address solver,
        bytes32 submissionCommitment,
        bytes32 reportCommitment
    ) external {
        Bounty storage bounty = _bounty(bountyId);
        Pinned memory pinned = bounty.pinned;
        Progress memory progress = bounty.progress;
        uint256 seatNumber = _seatNumbers[pinned.rosterVersion][msg.sender];
        if (seatNumber == 0) revert NotGuardian(bountyId, msg.sender);
        _requireJudgeable(bountyId, pinned, progress);
        if (reportCommitment == 0) revert ReportCommitmentZero(bountyId);

        uint80 others = progress.ballots.withChoice(seatNumber - 1, Ballots.NONE);
        uint256 choice = _choose(bountyId, others, kind, solver, submissionCommitment);
        progress.ballots = others.withChoice(seatNumber - 1, choice);
        _markActive(msg.sender);
        emit VerdictRecorded(bountyId, msg.sender, kind, solver, submissionCommitment, reportCommitment);

        if (progress.ballots.count(choice) < _rosters[pinned.rosterVersion].quorum) {
            bounty.progress = progress;
        } else {
            _finalize(bountyId, pinned, progress, Reason.JUDGED, choice);
        }
    }

    function _requireJudgeable(uint256 bountyId, Pinned memory pinned, Progress memory progress) private view {
        _requireOpen(bountyId, progress);
        uint256 revealAt = _revealAt(pinned);
        if (block.timestamp < revealAt) revert JudgingNotStarted(bountyId, revealAt, block.timestamp);
        uint256 judgingDeadline = _judgingDeadline(pinned);
        if (block.timestamp >= judgingDeadline) revert JudgingEnded(bountyId, judgingDeadline, block.timestamp);
        if (!progress.hasSubmissions) revert NothingToJudge(bountyId);
        assert(block.timestamp >= pinned.submissionDeadline); // the active set is frozen
    }

    /// @dev The choice that a Verdict means, given the other Guardians' ballots.
    function _choose(
        uint256 bountyId,
        uint80 others,
        uint8 kind,
        address solver,
        bytes32 submissionCommitment
    ) private returns (uint256) {
        if (kind == VerdictKind.NO_VALID_SUBMISSION) {
            if (solver != address(0) || submissionCommitment != 0) {
                revert VerdictNamesSubmission(bountyId, solver, submissionCommitment);
            }
            return Ballots.NO_VALID_SUBMISSION;
        }
        if (kind != VerdictKind.AWARDED) revert VerdictKindInvalid(kind);
        bytes32 active = _submissions[bountyId][solver];
        if (active == 0 || submissionCommitment != active) {
            revert SubmissionNotActive(bountyId, solver, submissionCommitment, active);
        }
        return _candidateOf(bountyId, others, solver);
    }

    /// @dev The number under which other Guardians already name this Solver, or the first number nobody uses.
    function _candidateOf(uint256 bountyId, uint80 others, address solver) private returns (uint256) {
        uint256 chosen = others.chosen();
        uint256 free = 0;
        uint256 choice = Ballots.FIRST_CANDIDATE;
        for (; chosen >> choice != 0; ++choice) {
            if (chosen & (1 << choice) == 0) {
                if (free == 0) free = choice;
            } else if (_candidates[bountyId][choice] == solver) {
                return choice;
            }
        }
        if (free == 0) free = choice;
        _candidates[bountyId][free] = solver;
        return free;
    }

    // ---------------------------------------------------------------- settle

    /// @inheritdoc IHub
    function settle(uint256 bountyId) external {
        Bounty storage bounty = _bounty(bountyId);
        Pinned memory pinned = bounty.pinned;
        Progress memory progress = bounty.progress;
        _requireOpen(bountyId, progress);
        uint256 possibleFrom = progress.hasSubmissions ? _judgingDeadline(pinned) : pinned.submissionDeadline;
        if (block.timestamp < possibleFrom) revert SettlementTooEarly(bountyId, possibleFrom, block.timestamp);
        uint8 reason = Reason.QUORUM_NOT_REACHED;
        if (!progress.hasSubmissions) reason = Reason.NO_SUBMISSIONS;
        else if (progress.ballots == 0) reason = Reason.GUARDIANS_SILENT;
        _finalize(bountyId, pinned, progress, reason, Ballots.NONE);
    }

    /// @dev The only place where a bounty becomes final, once.
    function _finalize(
        uint256 bountyId,
        Pinned memory pinned,
        Progress memory progress,
        uint8 reason,
        uint256 winningChoice
    ) private {
        progress.reason = reason;
        progress.winningChoice = uint8(winningChoice);
        _bounties[bountyId].progress = progress;
        address winner = _winner(bountyId, progress);
        Money.Split memory split = _split(pinned, progress);
        emit BountyFinalized(
            bountyId,
            _outcome(progress),
            reason,
            winner,
            winner == address(0) ? bytes32(0) : _submissions[bountyId][winner],
            split.award,
            split.refund,
            split.protocolFee,
            split.guardianFeeEach,
            split.guardianFeeCount
        );
    }

    // ---------------------------------------------------------------- pull

    /// @inheritdoc IHub
    function claim(uint256 bountyId, bytes calldata payoutData, bytes calldata proof) external nonReentrant {
        Bounty storage bounty = _bounty(bountyId);
        Progress memory progress = bounty.progress;
        _requireFinal(bountyId, progress);
        if (payoutData.length != 0 || proof.length != 0) revert PayoutDataNotEmpty(payoutData.length, proof.length);
        if (_outcome(progress) != Outcome.AWARDED) revert NoAward(bountyId, _outcome(progress));
        address winner = _winner(bountyId, progress);
        if (msg.sender != winner) revert NotWinner(bountyId, msg.sender, winner);
        if (progress.awardClaimed) revert AlreadyClaimed(bountyId, msg.sender);
        uint256 amount = _split(bounty.pinned, progress).award;
        bounty.progress.awardClaimed = true;
        emit AwardClaimed(bountyId, msg.sender, amount);
        _pay(msg.sender, amount);
    }

    /// @inheritdoc IHub
    function claimRefund(uint256 bountyId) external nonReentrant {
        Bounty storage bounty = _bounty(bountyId);
        Pinned memory pinned = bounty.pinned;
        Progress memory progress = bounty.progress;
        _requireFinal(bountyId, progress);
        if (msg.sender != pinned.poster) revert NotPoster(bountyId, msg.sender, pinned.poster);
        if (progress.refundClaimed) revert AlreadyClaimed(bountyId, msg.sender);
        uint256 amount = _split(pinned, progress).refund;
        if (amount == 0) revert NothingDue(bountyId, msg.sender);
        bounty.progress.refundClaimed = true;
        emit RefundClaimed(bountyId, msg.sender, amount);
        _pay(msg.sender, amount);
    }

    /// @inheritdoc IHub
    function claimGuardianFee(uint256 bountyId) external nonReentrant {
        Bounty storage bounty = _bounty(bountyId);
        Pinned memory pinned = bounty.pinned;
        Progress memory progress = bounty.progress;
        _requireFinal(bountyId, progress);
        uint256 seatNumber = _seatNumbers[pinned.rosterVersion][msg.sender];
        if (seatNumber == 0) revert NotGuardian(bountyId, msg.sender);
        if (progress.guardianFeesPaid & _seatBit(seatNumber) != 0) revert AlreadyClaimed(bountyId, msg.sender);
        uint256 amount = _guardianDue(_split(pinned, progress), progress, seatNumber);
        if (amount == 0) revert NothingDue(bountyId, msg.sender);
        bounty.progress.guardianFeesPaid = progress.guardianFeesPaid | _seatBit(seatNumber);
        emit GuardianFeeClaimed(bountyId, msg.sender, amount);
        _pay(msg.sender, amount);
    }

    /// @inheritdoc IHub
    function claimProtocolFee(uint256 bountyId) external nonReentrant {
        Bounty storage bounty = _bounty(bountyId);
        Progress memory progress = bounty.progress;
        _requireFinal(bountyId, progress);
        address recipient = _feePolicies[progress.feePolicyVersion].recipient;
        if (msg.sender != recipient) revert NotFeeRecipient(bountyId, msg.sender, recipient);
        if (progress.protocolFeeClaimed) revert AlreadyClaimed(bountyId, msg.sender);
        uint256 amount = _split(bounty.pinned, progress).protocolFee;
        if (amount == 0) revert NothingDue(bountyId, msg.sender);
        bounty.progress.protocolFeeClaimed = true;
        emit ProtocolFeeClaimed(bountyId, msg.sender, amount);
        _pay(msg.sender, amount);
    }

    function _checkRange(string memory field, uint256 minimum, uint256 value, uint256 maximum) private pure {
        if (value < minimum || value > maximum) revert InvalidConfiguration(field, value);
    }
}
