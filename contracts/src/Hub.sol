// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "./IHub.sol";
import {ClaimKind, Reason, VerdictKind} from "./IHubTypes.sol";
import {Activity} from "./parts/Activity.sol";
import {Ballots} from "./parts/Ballots.sol";
import {Bounties} from "./parts/Bounties.sol";
import {Conditions, ConditionsFields} from "./parts/Conditions.sol";
import {Ledger, LedgerFields} from "./parts/Ledger.sol";
import {Money} from "./parts/Money.sol";
import {Narrow} from "./parts/Narrow.sol";
import {Registry} from "./parts/Registry.sol";

/// @title The Hub: the one contract that holds money
/// @notice Immutable, no proxy, no pause, and no power of the owner over an existing bounty's money or judges. A
/// bounty's life reads from top to bottom of this file: create, submit, judge, settle, pull.
/// @dev Four contracts, each inherits the one before: Registry (all that the owner can reach), Treasury (the only code
/// that calls the token), Bounties (what is stored, and the views), Hub (the transitions). Beside them are pure
/// libraries: three packed words (Conditions, Ledger, Activity), Ballots, Money, Narrow, X25519Keys.
contract Hub is Bounties {
    using Ballots for uint80;

    bytes32 private constant TERMS_TYPEHASH = keccak256(
        "ServiceBounty(uint256 chainId,address hub,address poster,bytes32 specCommitment,bytes32 expectedRosterHash,"
        "uint256 escrowAmount,uint256 submissionDeadline,uint256 judgingWindow,uint256 maxProtocolFee,"
        "uint256 maxGuardianFee,bytes32 salt)"
    );
    /// @dev No delay or window of a deployment is longer. So a judging window fits into 32 bits, and sums of the
    /// current time, a deadline (32 bits), delays and windows never overflow.
    uint256 private constant LONGEST_TIME = 365 days;
    /// @dev The most claims of one `claimMany`, so that each list fits into a block.
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
        (Conditions conditions, Ledger ledger, address recipient) = _pin(terms, msg.sender);
        _collect(msg.sender, terms.escrowAmount);
        return _open(terms, conditions, ledger, recipient, authorizationNonce(terms, msg.sender));
    }

    /// @inheritdoc IHub
    function createBountyWithAuthorization(
        Terms calldata terms,
        address poster,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external nonReentrant returns (uint256 bountyId) {
        (Conditions conditions, Ledger ledger, address recipient) = _pin(terms, poster);
        bytes32 nonce = authorizationNonce(terms, poster);
        _collectAuthorized(poster, terms.escrowAmount, validAfter, validBefore, nonce, signature);
        return _open(terms, conditions, ledger, recipient, nonce);
    }

    /// @inheritdoc IHub
    function authorizationNonce(Terms calldata terms, address poster) public view returns (bytes32) {
        return keccak256(abi.encode(TERMS_TYPEHASH, block.chainid, address(this), poster, terms));
    }

    /// @dev Refuses terms that are out of bounds, or that expect another roster or lower fees. The words that it
    /// returns are what `_open` stores, so that nothing that happens inside the token's call changes what is pinned.
    function _pin(Terms calldata terms, address poster) private view returns (Conditions, Ledger, address) {
        if (poster == address(0)) revert PosterZero();
        _checkBounds(terms);
        Conditions conditions = _pinRoster(terms, poster);
        (Ledger ledger, address recipient) = _pinFees(terms);
        return (conditions, ledger, recipient);
    }

    function _pinRoster(Terms calldata terms, address poster) private view returns (Conditions) {
        (uint16 version, uint8 size) = _currentRoster();
        if (version == 0) revert NoRosterPublished();
        bytes32 rosterHash = _rosters[version].hash;
        if (terms.expectedRosterHash != rosterHash) revert RosterHashMismatch(terms.expectedRosterHash, rosterHash);
        if (_seats[version][poster].number != 0) revert PosterOnRoster(poster, version);
        uint32 deadline = Narrow.toUint32(terms.submissionDeadline);
        uint32 window = uint32(terms.judgingWindow); // at most LONGEST_TIME
        return ConditionsFields.pack(poster, deadline, window, version, size);
    }

    function _pinFees(Terms calldata terms) private view returns (Ledger ledger, address) {
        uint16 version = _counters.feePolicyVersion;
        FeePolicy storage policy = _feePolicies[version];
        uint88 escrow = uint88(terms.escrowAmount); // refused by EscrowTooLarge where it does not fit
        ledger = LedgerFields.pack(escrow, policy.protocolFeeBps, policy.guardianFeeBps, version);
        uint256 protocolFee = Money.protocolFee(ledger);
        if (protocolFee > terms.maxProtocolFee) revert ProtocolFeeAboveMaximum(protocolFee, terms.maxProtocolFee);
        uint256 guardianFee = Money.guardianFee(ledger);
        if (guardianFee > terms.maxGuardianFee) revert GuardianFeeAboveMaximum(guardianFee, terms.maxGuardianFee);
        return (ledger, policy.recipient);
    }

    function _checkBounds(Terms calldata terms) private view {
        if (terms.specCommitment == 0) revert SpecCommitmentZero();
        if (terms.escrowAmount < minEscrow) revert EscrowTooSmall(terms.escrowAmount, minEscrow);
        if (terms.escrowAmount > type(uint88).max) revert EscrowTooLarge(terms.escrowAmount, type(uint88).max);
        (uint256 earliest, uint256 latest) = _submissionDeadlines();
        if (terms.submissionDeadline < earliest || terms.submissionDeadline > latest) {
            revert SubmissionDeadlineOutOfRange(terms.submissionDeadline, earliest, latest);
        }
        if (terms.judgingWindow < minJudgingWindow || terms.judgingWindow > maxJudgingWindow) {
            revert JudgingWindowOutOfRange(terms.judgingWindow, minJudgingWindow, maxJudgingWindow);
        }
    }

    /// @dev The earliest and the latest submission deadline of a bounty created now; for the sums see `LONGEST_TIME`.
    function _submissionDeadlines() private view returns (uint256, uint256) {
        unchecked {
            return (block.timestamp + minSubmissionWindow, block.timestamp + maxSubmissionWindow);
        }
    }

    /// @dev Writes a bounty that is already paid for. The effects come after the token's call, because only what this
    /// call was measured to bring is an escrow. Nothing is written before, and a call from inside the token gains
    /// nothing: the guard refuses every function that calls the token, and for all others the bounty does not exist
    /// yet.
    function _open(Terms calldata terms, Conditions conditions, Ledger ledger, address recipient, bytes32 nonce)
        private
        returns (uint256 bountyId)
    {
        bountyId = ++_counters.bounties;
        _record(bountyId, conditions, ledger, terms.specCommitment);
        emit BountyCreated(
            bountyId,
            conditions.poster(),
            terms.specCommitment,
            terms.expectedRosterHash,
            conditions.rosterVersion(),
            ledger.escrow(),
            conditions.submissionDeadline(),
            _revealAt(conditions),
            _judgingDeadline(conditions),
            Money.protocolFee(ledger),
            Money.guardianFee(ledger),
            recipient,
            nonce
        );
    }

    // ---------------------------------------------------------------- submit

    /// @inheritdoc IHub
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external {
        (Bounty storage bounty, Conditions conditions) = _bounty(bountyId);
        if (block.timestamp >= conditions.submissionDeadline()) {
            revert SubmissionsClosed(bountyId, conditions.submissionDeadline(), block.timestamp);
        }
        if (submissionCommitment == 0) revert SubmissionCommitmentZero(bountyId);
        bytes32 rosterHash = _rosters[conditions.rosterVersion()].hash;
        if (guardianRosterHash != rosterHash) revert RosterHashMismatch(guardianRosterHash, rosterHash);
        if (msg.sender == conditions.poster()) revert SolverIsPoster(bountyId, msg.sender);
        if (_seatNumber(conditions, msg.sender) != 0) revert SolverOnRoster(bountyId, msg.sender);
        _submissions[bountyId][msg.sender] = submissionCommitment;
        if (!conditions.hasSubmissions()) bounty.conditions = conditions.withSubmissions();
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
        (Bounty storage bounty, Conditions conditions, Ledger ledger) = _openBounty(bountyId);
        (uint256 seat, uint256 quorum) = _actAsGuardian(bountyId, conditions);
        _requireJudgeable(bountyId, conditions);
        if (reportCommitment == 0) revert ReportCommitmentZero(bountyId);

        uint80 ballots = ledger.ballots().without(seat);
        uint256 choice = _choose(bountyId, ballots, kind, solver, submissionCommitment);
        ballots = ballots.withChoice(seat, choice);
        ledger = ledger.withBallots(ballots);
        emit VerdictRecorded(bountyId, msg.sender, kind, solver, submissionCommitment, reportCommitment);
        if (ballots.count(choice) < quorum) {
            bounty.ledger = ledger;
        } else {
            ledger = ledger.ended(Reason.JUDGED, choice);
            _finalize(bountyId, bounty, conditions.rosterSize(), ledger, solver, submissionCommitment);
        }
    }

    /// @dev Returns the caller's seat, numbered from 0, and its roster's quorum, and writes the time into the caller's
    /// activity; if the Verdict is refused later, this is undone with everything else.
    function _actAsGuardian(uint256 bountyId, Conditions conditions) private returns (uint256 seat, uint256 quorum) {
        Guardian storage guardian = _guardians[msg.sender];
        Activity activity = guardian.activity;
        (seat, quorum) = _seatOf(conditions, msg.sender, activity);
        if (seat == 0) revert NotGuardian(bountyId, msg.sender);
        guardian.activity = activity.seenAt(block.timestamp);
        return (seat - 1, quorum);
    }

    /// @dev The reveal point is later than the submission deadline, so that here no Submission changes any more.
    function _requireJudgeable(uint256 bountyId, Conditions conditions) private view {
        uint256 revealAt = _revealAt(conditions);
        uint256 judgingDeadline = revealAt + conditions.judgingWindow();
        if (block.timestamp < revealAt) revert JudgingNotStarted(bountyId, revealAt, block.timestamp);
        if (block.timestamp >= judgingDeadline) revert JudgingEnded(bountyId, judgingDeadline, block.timestamp);
        if (!conditions.hasSubmissions()) revert NothingToJudge(bountyId);
    }

    /// @dev The choice that stands for this Verdict in `Ballots`, given the other Guardians' ballots.
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

    /// @dev The number under which other Guardians already name this Solver, or else the lowest number that none of
    /// them uses, which from now on is this Solver's. Above the highest number in use `chosen` has no bit.
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
        (Bounty storage bounty, Conditions conditions, Ledger ledger) = _openBounty(bountyId);
        bool hasSubmissions = conditions.hasSubmissions();
        uint256 possibleFrom = hasSubmissions ? _judgingDeadline(conditions) : conditions.submissionDeadline();
        if (block.timestamp < possibleFrom) revert SettlementTooEarly(bountyId, possibleFrom, block.timestamp);
        uint8 reason = Reason.QUORUM_NOT_REACHED;
        if (!hasSubmissions) reason = Reason.NO_SUBMISSIONS;
        else if (ledger.ballots() == 0) reason = Reason.GUARDIANS_SILENT;
        _finalize(bountyId, bounty, conditions.rosterSize(), ledger.ended(reason, Ballots.NONE), address(0), 0);
    }

    /// @dev The only place where a bounty becomes final, once.
    function _finalize(
        uint256 bountyId,
        Bounty storage bounty,
        uint256 rosterSize,
        Ledger ledger,
        address winner,
        bytes32 submissionCommitment
    ) private {
        bounty.ledger = ledger;
        (uint256 award, uint256 refund, uint256 protocolFee, uint256 feeEach, uint256 feeCount) =
            Money.split(ledger, rosterSize);
        emit BountyFinalized(
            bountyId,
            ledger.outcome(),
            ledger.reason(),
            winner,
            submissionCommitment,
            award,
            refund,
            protocolFee,
            feeEach,
            feeCount
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

    // `_take` chooses one of the four after it. Each of them checks the caller, marks one part as paid, logs it and
    // returns the amount, which the function that called it pays.

    function _take(uint8 kind, uint256 bountyId) private returns (uint256) {
        if (kind == ClaimKind.AWARD) return _takeAward(bountyId);
        if (kind == ClaimKind.REFUND) return _takeRefund(bountyId);
        if (kind == ClaimKind.GUARDIAN_FEE) return _takeGuardianFee(bountyId);
        if (kind == ClaimKind.PROTOCOL_FEE) return _takeProtocolFee(bountyId);
        revert ClaimKindInvalid(kind);
    }

    function _takeAward(uint256 bountyId) private returns (uint256 amount) {
        (Bounty storage bounty, Ledger ledger) = _finalBounty(bountyId);
        address winner = _winner(bountyId, ledger);
        if (winner == address(0)) revert NoAward(bountyId, ledger.outcome());
        if (msg.sender != winner) revert NotWinner(bountyId, msg.sender, winner);
        amount = Money.award(ledger);
        bounty.ledger = _paid(bountyId, ledger, LedgerFields.AWARD, amount);
        emit AwardClaimed(bountyId, msg.sender, amount);
    }

    function _takeRefund(uint256 bountyId) private returns (uint256 amount) {
        (Bounty storage bounty, Ledger ledger) = _finalBounty(bountyId);
        Conditions conditions = bounty.conditions;
        if (msg.sender != conditions.poster()) revert NotPoster(bountyId, msg.sender, conditions.poster());
        (, amount,,,) = Money.split(ledger, conditions.rosterSize());
        bounty.ledger = _paid(bountyId, ledger, LedgerFields.REFUND, amount);
        emit RefundClaimed(bountyId, msg.sender, amount);
    }

    function _takeGuardianFee(uint256 bountyId) private returns (uint256 amount) {
        (Bounty storage bounty, Ledger ledger) = _finalBounty(bountyId);
        Conditions conditions = bounty.conditions;
        uint256 seatNumber = _seatNumber(conditions, msg.sender);
        if (seatNumber == 0) revert NotGuardian(bountyId, msg.sender);
        bool hasVerdict = ledger.ballots().choiceOf(seatNumber - 1) != Ballots.NONE;
        amount = hasVerdict ? Money.guardianFeeEach(ledger, conditions.rosterSize()) : 0;
        bounty.ledger = _paid(bountyId, ledger, LedgerFields.markOf(seatNumber), amount);
        emit GuardianFeeClaimed(bountyId, msg.sender, amount);
    }

    function _takeProtocolFee(uint256 bountyId) private returns (uint256 amount) {
        (Bounty storage bounty, Ledger ledger) = _finalBounty(bountyId);
        address recipient = _feePolicies[ledger.feePolicyVersion()].recipient;
        if (msg.sender != recipient) revert NotFeeRecipient(bountyId, msg.sender, recipient);
        amount = ledger.isAwarded() ? Money.protocolFee(ledger) : 0;
        bounty.ledger = _paid(bountyId, ledger, LedgerFields.PROTOCOL_FEE, amount);
        emit ProtocolFeeClaimed(bountyId, msg.sender, amount);
    }

    /// @dev The ledger with one more part marked as paid; refuses a part that was paid before, or is zero. The callers
    /// store it before the token is called.
    function _paid(uint256 bountyId, Ledger ledger, uint256 mark, uint256 amount) private view returns (Ledger) {
        if (ledger.isPaid(mark)) revert AlreadyClaimed(bountyId, msg.sender);
        if (amount == 0) revert NothingDue(bountyId, msg.sender);
        return ledger.withPaid(mark);
    }

    function _checkRange(string memory field, uint256 minimum, uint256 value, uint256 maximum) private pure {
        if (value < minimum || value > maximum) revert InvalidConfiguration(field, value);
    }
}
