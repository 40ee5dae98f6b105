// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "./IHub.sol";
import {ClaimKind, Outcome, Reason, VerdictKind} from "./IHubTypes.sol";
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

    /// @dev What a new bounty pins.
    struct Quote {
        uint16 rosterVersion;
        uint8 rosterSize;
        uint16 feePolicyVersion;
        FeePolicy policy;
        uint256 protocolFee;
        uint256 guardianFee;
    }

    bytes32 private constant TERMS_TYPEHASH = keccak256(
        "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,"
        "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,"
        "uint256 maxGuardianFee,bytes32 salt)"
    );
    /// @dev No time of a deployment is longer, so that sums of times never overflow their fields.
    uint256 private constant LONGEST_TIME = 365 days;
    /// @dev A list of claims fits into a block, whatever it names.
    uint256 private constant MOST_CLAIMS = 32;

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
        _checkRange("minEscrow", 1, config.minEscrow, type(uint88).max);
        _checkRange("publicationDelay", 1, config.publicationDelay, LONGEST_TIME);
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
        Quote memory quote = _quote(terms, msg.sender);
        _collect(msg.sender, terms.escrowAmount);
        return _open(terms, msg.sender, quote, authorizationNonce(terms, msg.sender));
    }

    /// @inheritdoc IHub
    function createBountyWithAuthorization(
        Terms calldata terms,
        address poster,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external nonReentrant returns (uint256 bountyId) {
        Quote memory quote = _quote(terms, poster);
        bytes32 nonce = authorizationNonce(terms, poster);
        _collectAuthorized(poster, terms.escrowAmount, validAfter, validBefore, nonce, signature);
        return _open(terms, poster, quote, nonce);
    }

    /// @inheritdoc IHub
    function authorizationNonce(Terms calldata terms, address poster) public view returns (bytes32) {
        return keccak256(abi.encode(TERMS_TYPEHASH, block.chainid, address(this), poster, terms));
    }

    /// @dev Refuses terms out of bounds or against the Poster's expectations; what it read is what gets pinned, so
    /// that nothing the token does in between can change it.
    function _quote(Terms calldata terms, address poster) private view returns (Quote memory quote) {
        if (poster == address(0)) revert PosterZero();
        _checkBounds(terms);

        Counters memory counters = _counters;
        (quote.rosterVersion, quote.rosterSize) = _currentRoster(counters);
        if (quote.rosterVersion == 0) revert NoRosterPublished();
        bytes32 rosterHash = _rosters[quote.rosterVersion].hash;
        if (terms.expectedRosterHash != rosterHash) revert RosterHashMismatch(terms.expectedRosterHash, rosterHash);
        if (_seats[quote.rosterVersion][poster].number != 0) revert PosterOnRoster(poster, quote.rosterVersion);

        quote.feePolicyVersion = counters.feePolicyVersion;
        quote.policy = _feePolicies[quote.feePolicyVersion];
        quote.protocolFee = Money.fee(terms.escrowAmount, quote.policy.protocolFeeBps);
        quote.guardianFee = Money.fee(terms.escrowAmount, quote.policy.guardianFeeBps);
        if (quote.protocolFee > terms.maxProtocolFee) {
            revert ProtocolFeeAboveMaximum(quote.protocolFee, terms.maxProtocolFee);
        }
        if (quote.guardianFee > terms.maxGuardianFee) {
            revert GuardianFeeAboveMaximum(quote.guardianFee, terms.maxGuardianFee);
        }
    }

    function _checkBounds(Terms calldata terms) private view {
        if (terms.specCommitment == 0) revert SpecCommitmentZero();
        if (terms.escrowAmount < minEscrow) revert EscrowTooSmall(terms.escrowAmount, minEscrow);
        if (terms.escrowAmount > type(uint88).max) revert EscrowTooLarge(terms.escrowAmount, type(uint88).max);
        uint256 earliest = block.timestamp + minSubmissionWindow;
        uint256 latest = block.timestamp + maxSubmissionWindow;
        if (terms.submissionDeadline < earliest || terms.submissionDeadline > latest) {
            revert SubmissionDeadlineOutOfRange(terms.submissionDeadline, earliest, latest);
        }
        if (terms.judgingWindow < minJudgingWindow || terms.judgingWindow > maxJudgingWindow) {
            revert JudgingWindowOutOfRange(terms.judgingWindow, minJudgingWindow, maxJudgingWindow);
        }
    }

    /// @dev Writes a bounty that is already paid for. The effects come after the token's call because only what the
    /// token is measured to have brought is an escrow. Until then nothing is written that a call from inside the token
    /// could use: the guard refuses every function that calls the token, and no other function knows the bounty yet.
    function _open(Terms calldata terms, address poster, Quote memory quote, bytes32 nonce)
        private
        returns (uint256 bountyId)
    {
        bountyId = ++_counters.bounties;
        Bounty storage bounty = _bounties[bountyId];
        bounty.poster = poster;
        bounty.submissionDeadline = Narrow.toUint32(terms.submissionDeadline);
        bounty.judgingWindow = Narrow.toUint32(terms.judgingWindow);
        bounty.rosterVersion = quote.rosterVersion;
        bounty.rosterSize = quote.rosterSize;
        bounty.escrow = Narrow.toUint88(terms.escrowAmount);
        bounty.protocolFeeBps = quote.policy.protocolFeeBps;
        bounty.guardianFeeBps = quote.policy.guardianFeeBps;
        bounty.feePolicyVersion = quote.feePolicyVersion;
        bounty.specCommitment = terms.specCommitment;
        emit BountyCreated(
            bountyId,
            poster,
            terms.specCommitment,
            terms.expectedRosterHash,
            quote.rosterVersion,
            terms.escrowAmount,
            terms.submissionDeadline,
            _revealAt(bounty),
            _judgingDeadline(bounty),
            quote.protocolFee,
            quote.guardianFee,
            quote.policy.recipient,
            nonce
        );
    }

    // ---------------------------------------------------------------- submit

    /// @inheritdoc IHub
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external {
        Bounty storage bounty = _bounty(bountyId);
        if (block.timestamp >= bounty.submissionDeadline) {
            revert SubmissionsClosed(bountyId, bounty.submissionDeadline, block.timestamp);
        }
        if (submissionCommitment == 0) revert SubmissionCommitmentZero(bountyId);
        bytes32 rosterHash = _rosters[bounty.rosterVersion].hash;
        if (guardianRosterHash != rosterHash) revert RosterHashMismatch(guardianRosterHash, rosterHash);
        if (msg.sender == bounty.poster) revert SolverIsPoster(bountyId, msg.sender);
        if (_seatOf(bounty, msg.sender).number != 0) revert SolverOnRoster(bountyId, msg.sender);
        _submissions[bountyId][msg.sender] = submissionCommitment;
        if (!bounty.hasSubmissions) bounty.hasSubmissions = true;
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
        Bounty storage bounty = _openBounty(bountyId);
        Seat memory seat = _seatOf(bounty, msg.sender);
        if (seat.number == 0) revert NotGuardian(bountyId, msg.sender);
        _requireJudgeable(bountyId, bounty);
        if (reportCommitment == 0) revert ReportCommitmentZero(bountyId);

        uint80 others = bounty.ballots.withChoice(seat.number - 1, Ballots.NONE);
        uint256 choice = _choose(bountyId, others, kind, solver, submissionCommitment);
        uint80 ballots = others.withChoice(seat.number - 1, choice);
        bounty.ballots = ballots;
        _markActive(msg.sender);
        emit VerdictRecorded(bountyId, msg.sender, kind, solver, submissionCommitment, reportCommitment);
        if (ballots.count(choice) >= seat.quorum) _finalize(bountyId, bounty, Reason.JUDGED, choice);
    }

    function _requireJudgeable(uint256 bountyId, Bounty storage bounty) private view {
        uint256 submissionDeadline = bounty.submissionDeadline;
        uint256 revealAt = submissionDeadline + revealDelay;
        uint256 judgingDeadline = revealAt + bounty.judgingWindow;
        if (block.timestamp < revealAt) revert JudgingNotStarted(bountyId, revealAt, block.timestamp);
        if (block.timestamp >= judgingDeadline) revert JudgingEnded(bountyId, judgingDeadline, block.timestamp);
        if (!bounty.hasSubmissions) revert NothingToJudge(bountyId);
        assert(block.timestamp >= submissionDeadline); // the active set is frozen
    }

    /// @dev The choice that a Verdict means, given the other Guardians' ballots.
    function _choose(uint256 bountyId, uint80 others, uint8 kind, address solver, bytes32 submissionCommitment)
        private
        returns (uint256)
    {
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
        Bounty storage bounty = _openBounty(bountyId);
        uint256 possibleFrom = bounty.hasSubmissions ? _judgingDeadline(bounty) : bounty.submissionDeadline;
        if (block.timestamp < possibleFrom) revert SettlementTooEarly(bountyId, possibleFrom, block.timestamp);
        uint8 reason = Reason.QUORUM_NOT_REACHED;
        if (!bounty.hasSubmissions) reason = Reason.NO_SUBMISSIONS;
        else if (bounty.ballots == 0) reason = Reason.GUARDIANS_SILENT;
        _finalize(bountyId, bounty, reason, Ballots.NONE);
    }

    /// @dev The only place where a bounty becomes final, once.
    function _finalize(uint256 bountyId, Bounty storage bounty, uint8 reason, uint256 winningChoice) private {
        bounty.reason = reason;
        bounty.winningChoice = uint8(winningChoice);
        address winner = _winner(bountyId, bounty);
        Money.Split memory split = _split(bounty);
        emit BountyFinalized(
            bountyId,
            _outcome(bounty),
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
        if (payoutData.length != 0 || proof.length != 0) {
            _finalBounty(bountyId);
            revert PayoutDataNotEmpty(payoutData.length, proof.length);
        }
        _pay(msg.sender, _takeAward(bountyId));
    }

    /// @inheritdoc IHub
    function claimRefund(uint256 bountyId) external nonReentrant {
        _pay(msg.sender, _takeRefund(bountyId));
    }

    /// @inheritdoc IHub
    function claimGuardianFee(uint256 bountyId) external nonReentrant {
        _pay(msg.sender, _takeGuardianFee(bountyId));
    }

    /// @inheritdoc IHub
    function claimProtocolFee(uint256 bountyId) external nonReentrant {
        _pay(msg.sender, _takeProtocolFee(bountyId));
    }

    /// @inheritdoc IHub
    function claimMany(Claim[] calldata claims) external nonReentrant {
        if (claims.length == 0 || claims.length > MOST_CLAIMS) revert ClaimCountInvalid(claims.length, MOST_CLAIMS);
        uint256 amount = 0;
        for (uint256 i = 0; i < claims.length; ++i) {
            amount += _take(claims[i].kind, claims[i].bountyId);
        }
        _pay(msg.sender, amount);
    }

    // What follows checks the caller, marks a part as paid and logs it; the caller of each pays what it returns.

    function _take(uint8 kind, uint256 bountyId) private returns (uint256) {
        if (kind == ClaimKind.AWARD) return _takeAward(bountyId);
        if (kind == ClaimKind.REFUND) return _takeRefund(bountyId);
        if (kind == ClaimKind.GUARDIAN_FEE) return _takeGuardianFee(bountyId);
        if (kind == ClaimKind.PROTOCOL_FEE) return _takeProtocolFee(bountyId);
        revert ClaimKindInvalid(kind);
    }

    function _takeAward(uint256 bountyId) private returns (uint256 amount) {
        Bounty storage bounty = _finalBounty(bountyId);
        address winner = _winner(bountyId, bounty);
        if (winner == address(0)) revert NoAward(bountyId, _outcome(bounty));
        if (msg.sender != winner) revert NotWinner(bountyId, msg.sender, winner);
        uint256 escrow = bounty.escrow;
        uint256 protocolFee = Money.fee(escrow, bounty.protocolFeeBps);
        amount = Money.award(escrow, protocolFee, Money.fee(escrow, bounty.guardianFeeBps));
        _markPaid(bountyId, bounty, AWARD, amount);
        emit AwardClaimed(bountyId, msg.sender, amount);
    }

    function _takeRefund(uint256 bountyId) private returns (uint256 amount) {
        Bounty storage bounty = _finalBounty(bountyId);
        if (msg.sender != bounty.poster) revert NotPoster(bountyId, msg.sender, bounty.poster);
        amount = _split(bounty).refund;
        _markPaid(bountyId, bounty, REFUND, amount);
        emit RefundClaimed(bountyId, msg.sender, amount);
    }

    function _takeGuardianFee(uint256 bountyId) private returns (uint256 amount) {
        Bounty storage bounty = _finalBounty(bountyId);
        uint256 seatNumber = _seatOf(bounty, msg.sender).number;
        if (seatNumber == 0) revert NotGuardian(bountyId, msg.sender);
        amount = _guardianDue(bounty, _split(bounty).guardianFeeEach, seatNumber);
        _markPaid(bountyId, bounty, _guardianMark(seatNumber), amount);
        emit GuardianFeeClaimed(bountyId, msg.sender, amount);
    }

    function _takeProtocolFee(uint256 bountyId) private returns (uint256 amount) {
        Bounty storage bounty = _finalBounty(bountyId);
        address recipient = _feePolicies[bounty.feePolicyVersion].recipient;
        if (msg.sender != recipient) revert NotFeeRecipient(bountyId, msg.sender, recipient);
        bool isDue = _outcome(bounty) == Outcome.AWARDED;
        amount = isDue ? Money.fee(bounty.escrow, bounty.protocolFeeBps) : 0;
        _markPaid(bountyId, bounty, PROTOCOL_FEE, amount);
        emit ProtocolFeeClaimed(bountyId, msg.sender, amount);
    }

    /// @dev Each part of a bounty is paid once; written before the token is called.
    function _markPaid(uint256 bountyId, Bounty storage bounty, uint24 mark, uint256 amount) private {
        if (_isPaid(bounty, mark)) revert AlreadyClaimed(bountyId, msg.sender);
        if (amount == 0) revert NothingDue(bountyId, msg.sender);
        bounty.paid |= mark;
    }

    function _checkRange(string memory field, uint256 minimum, uint256 value, uint256 maximum) private pure {
        if (value < minimum || value > maximum) revert InvalidConfiguration(field, value);
    }
}
