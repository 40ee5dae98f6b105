// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title What the Hub says: values, structs, events and errors
/// @notice One vocabulary for the Hub, whoever reads its log and whoever explains its refusals.
/// All numbers are uint256 so that an out-of-range value meets a named error; small enumerations are uint8.

/// @notice How a bounty ended.
library Outcome {
    uint8 internal constant OPEN = 0;
    uint8 internal constant AWARDED = 1;
    uint8 internal constant NO_VALID_SUBMISSION = 2;
}

/// @notice Why a bounty ended: silence never looks like a judgement.
library Reason {
    uint8 internal constant OPEN = 0;
    uint8 internal constant JUDGED = 1;
    uint8 internal constant NO_SUBMISSIONS = 2;
    uint8 internal constant GUARDIANS_SILENT = 3;
    uint8 internal constant QUORUM_NOT_REACHED = 4;
}

/// @notice What a Guardian says about a bounty.
library VerdictKind {
    uint8 internal constant NONE = 0;
    uint8 internal constant AWARDED = 1;
    uint8 internal constant NO_VALID_SUBMISSION = 2;
}

/// @notice Which part of a bounty a claim of a list pulls.
library ClaimKind {
    uint8 internal constant AWARD = 1;
    uint8 internal constant REFUND = 2;
    uint8 internal constant GUARDIAN_FEE = 3;
    uint8 internal constant PROTOCOL_FEE = 4;
}

interface IHubTypes {
    /// @notice Everything a Poster agrees to. The EIP-3009 nonce is the hash of all of it.
    struct Terms {
        bytes32 specCommitment;
        bytes32 expectedRosterHash;
        uint256 escrowAmount;
        uint256 submissionDeadline;
        uint256 judgingWindow;
        uint256 maxProtocolFee;
        uint256 maxGuardianFee;
        bytes32 salt;
    }

    /// @notice One bounty, whole. The `...Due` amounts are what is still unclaimed, 0 while open.
    struct BountyView {
        address poster;
        uint256 escrowAmount;
        bytes32 specCommitment;
        uint256 submissionDeadline;
        uint256 revealAt;
        uint256 judgingDeadline;
        uint256 rosterVersion;
        bytes32 guardianRosterHash;
        uint256 protocolFee;
        uint256 guardianFee;
        address protocolFeeRecipient;
        bool hasSubmissions;
        uint256 verdictCount;
        uint8 outcome;
        uint8 reason;
        address winner;
        bytes32 winningSubmission;
        uint256 awardDue;
        uint256 refundDue;
        uint256 protocolFeeDue;
        uint256 guardianFeesDue;
        bool awardClaimed;
        bool refundClaimed;
        bool protocolFeeClaimed;
    }

    /// @notice One roster version with the liveness of its members (0: never active), and the second from which it is
    /// what new bounties pin: in the past, or announced; 0 where a later publication replaced it before its time, so
    /// that no bounty ever pinned it.
    struct RosterView {
        bytes32 guardianRosterHash;
        uint256 quorum;
        address[] accounts;
        bytes32[] encryptionKeys;
        uint256[] lastActiveAt;
        uint256 effectiveFrom;
    }

    /// @notice One claim of a list: a `ClaimKind` and the bounty.
    struct Claim {
        uint8 kind;
        uint256 bountyId;
    }

    /// @notice What a deployment fixes: everything but the owner and the fee policy is immutable.
    struct HubConfig {
        address token;
        address owner;
        uint256 revealDelay;
        uint256 minSubmissionWindow;
        uint256 maxSubmissionWindow;
        uint256 minJudgingWindow;
        uint256 maxJudgingWindow;
        uint256 minEscrow;
        uint256 publicationDelay;
        uint256 protocolFeeBps;
        uint256 guardianFeeBps;
        address protocolFeeRecipient;
    }

    // ---------------------------------------------------------------- events: a bounty's life

    /// @notice A bounty is open and paid for. The fees and their recipient are pinned, as are roster and times.
    event BountyCreated(
        uint256 indexed bountyId,
        address indexed poster,
        bytes32 indexed specCommitment,
        bytes32 guardianRosterHash,
        uint256 rosterVersion,
        uint256 escrowAmount,
        uint256 submissionDeadline,
        uint256 revealAt,
        uint256 judgingDeadline,
        uint256 protocolFee,
        uint256 guardianFee,
        address protocolFeeRecipient,
        bytes32 authorizationNonce
    );
    /// @notice The Solver's active Submission; it replaces an earlier one.
    event SubmissionRecorded(uint256 indexed bountyId, address indexed solver, bytes32 indexed submissionCommitment);
    /// @notice The Guardian's Verdict; it replaces an earlier one of the same Guardian.
    event VerdictRecorded(
        uint256 indexed bountyId,
        address indexed guardian,
        uint8 kind,
        address solver,
        bytes32 submissionCommitment,
        bytes32 reportCommitment
    );
    /// @notice The bounty is final: the outcome, why, and who is owed what.
    event BountyFinalized(
        uint256 indexed bountyId,
        uint8 outcome,
        uint8 reason,
        address indexed winner,
        bytes32 submissionCommitment,
        uint256 award,
        uint256 refund,
        uint256 protocolFee,
        uint256 guardianFeeEach,
        uint256 guardianFeeCount
    );
    /// @notice The winner was paid.
    event AwardClaimed(uint256 indexed bountyId, address indexed solver, uint256 amount);
    /// @notice The Poster was paid its part.
    event RefundClaimed(uint256 indexed bountyId, address indexed poster, uint256 amount);
    /// @notice A Guardian was paid its share.
    event GuardianFeeClaimed(uint256 indexed bountyId, address indexed guardian, uint256 amount);
    /// @notice The pinned recipient was paid the protocol fee.
    event ProtocolFeeClaimed(uint256 indexed bountyId, address indexed recipient, uint256 amount);

    // ---------------------------------------------------------------- events: the deployment's life

    /// @notice A Hub was deployed with these values.
    event Deployed(HubConfig config);
    /// @notice A roster version with everything its hash binds, beside chain and Hub. From `effectiveFrom` on new
    /// bounties pin it, unless another version is published before that.
    event RosterPublished(
        uint256 indexed version,
        bytes32 indexed guardianRosterHash,
        address[] accounts,
        bytes32[] encryptionKeys,
        uint256 quorum,
        uint256 effectiveFrom
    );
    /// @notice An account that was ever on a roster is alive.
    event GuardianHeartbeat(address indexed guardian);
    /// @notice The deployment's X25519 delivery key from `effectiveFrom` on, unless another is published before that.
    event DeliveryKeyPublished(bytes32 indexed key, uint256 effectiveFrom);
    /// @notice The key is neither current nor announced any more.
    event DeliveryKeyWithdrawn(bytes32 indexed key);
    /// @notice The fees of bounties created from now on.
    event FeePolicyChanged(uint256 protocolFeeBps, uint256 guardianFeeBps, address indexed recipient);
    /// @notice Ownership is offered; zero withdraws the offer.
    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    /// @notice The offer was taken; from zero at deployment.
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    // ---------------------------------------------------------------- errors: deployment and owner

    /// @notice A constructor argument is out of its bounds.
    error InvalidConfiguration(string field, uint256 value);
    /// @notice Only the owner may call this.
    error NotOwner(address caller, address owner);
    /// @notice Only the account that ownership was offered to may take it.
    error NotPendingOwner(address caller, address pendingOwner);
    /// @notice A fee is above the cap that the code fixes.
    error FeeAboveCap(uint256 feeBps, uint256 capBps);
    /// @notice A fee recipient is never zero, the Hub or the token.
    error FeeRecipientInvalid(address recipient);
    /// @notice A roster has 1 to 15 members.
    error RosterSizeInvalid(uint256 size, uint256 maxSize);
    /// @notice Each account has one encryption key.
    error RosterLengthsDiffer(uint256 accounts, uint256 encryptionKeys);
    /// @notice A quorum is more than half of the roster and at most all of it.
    error RosterQuorumInvalid(uint256 quorum, uint256 size);
    /// @notice Accounts are strictly ascending and non-zero.
    error RosterAccountsNotAscending(uint256 index, address previous, address account);
    /// @notice No such roster version was published.
    error RosterNotFound(uint256 version);
    /// @notice Two members of a roster have the same key.
    error EncryptionKeyRepeated(bytes32 key);
    /// @notice An X25519 key is little-endian, below 2^255 - 19, top bit clear.
    error EncryptionKeyNotCanonical(bytes32 key);
    /// @notice The shared secret with this key would be zero, and anyone could open what is sealed to it.
    error EncryptionKeyLowOrder(bytes32 key);
    /// @notice The key is neither the current nor the announced delivery key.
    error DeliveryKeyNotPublished(bytes32 key);
    /// @notice Only an account that was ever on a roster has a heartbeat.
    error NeverOnRoster(address account);
    /// @notice A value does not fit the storage field it is packed into.
    error ValueTooLarge(uint256 value, uint256 maximum);

    // ---------------------------------------------------------------- errors: creation and money

    /// @notice Without a roster there is nobody to judge.
    error NoRosterPublished();
    /// @notice The caller expects another roster than the one that is or would be pinned.
    error RosterHashMismatch(bytes32 given, bytes32 pinned);
    /// @notice A bounty names its challenge page.
    error SpecCommitmentZero();
    /// @notice The escrow is below the deployment's minimum.
    error EscrowTooSmall(uint256 amount, uint256 minimum);
    /// @notice The escrow does not fit its field.
    error EscrowTooLarge(uint256 amount, uint256 maximum);
    /// @notice The submission deadline is too near or too far for this deployment.
    error SubmissionDeadlineOutOfRange(uint256 deadline, uint256 earliest, uint256 latest);
    /// @notice The judging window is too short or too long for this deployment.
    error JudgingWindowOutOfRange(uint256 window, uint256 minimum, uint256 maximum);
    /// @notice The protocol fee is above what the Poster agreed to.
    error ProtocolFeeAboveMaximum(uint256 fee, uint256 maximum);
    /// @notice The guardian fee is above what the Poster agreed to.
    error GuardianFeeAboveMaximum(uint256 fee, uint256 maximum);
    /// @notice A bounty has a Poster.
    error PosterZero();
    /// @notice A Guardian of the roster may not post.
    error PosterOnRoster(address poster, uint256 rosterVersion);
    /// @notice The token moved another amount than the Poster agreed to.
    error EscrowNotReceived(uint256 expected, uint256 received);
    /// @notice The token answered false.
    error TokenTransferFailed(address from, address to, uint256 amount);
    /// @notice A function that calls the token was called from inside the token.
    error Reentered();

    // ---------------------------------------------------------------- errors: a bounty's life

    /// @notice No bounty has this id.
    error BountyNotFound(uint256 bountyId);
    /// @notice The bounty is final; nothing moves it any more.
    error BountyFinal(uint256 bountyId, uint8 outcome);
    /// @notice The bounty is not final yet.
    error BountyOpen(uint256 bountyId);
    /// @notice The submission deadline has passed.
    error SubmissionsClosed(uint256 bountyId, uint256 submissionDeadline, uint256 currentTime);
    /// @notice A Submission names its envelope.
    error SubmissionCommitmentZero(uint256 bountyId);
    /// @notice The Poster may not submit to its own bounty.
    error SolverIsPoster(uint256 bountyId, address solver);
    /// @notice A Guardian of the pinned roster may not submit.
    error SolverOnRoster(uint256 bountyId, address solver);
    /// @notice The account is not on the pinned roster.
    error NotGuardian(uint256 bountyId, address account);
    /// @notice Before the reveal point nobody has opened anything.
    error JudgingNotStarted(uint256 bountyId, uint256 revealAt, uint256 currentTime);
    /// @notice The judging deadline has passed; anyone may settle.
    error JudgingEnded(uint256 bountyId, uint256 judgingDeadline, uint256 currentTime);
    /// @notice Nobody submitted; from the submission deadline anyone may settle.
    error NothingToJudge(uint256 bountyId);
    /// @notice A Verdict is of kind 1 or 2.
    error VerdictKindInvalid(uint8 kind);
    /// @notice A Verdict names its written reasons.
    error ReportCommitmentZero(uint256 bountyId);
    /// @notice The Verdict names another Submission than the Solver's active one.
    error SubmissionNotActive(uint256 bountyId, address solver, bytes32 named, bytes32 active);
    /// @notice A `no_valid_submission` Verdict names no Solver and no Submission.
    error VerdictNamesSubmission(uint256 bountyId, address solver, bytes32 submissionCommitment);
    /// @notice The time of the bounty is not up.
    error SettlementTooEarly(uint256 bountyId, uint256 possibleFrom, uint256 currentTime);
    /// @notice Payout data and proof are an extension point; both are empty in this version.
    error PayoutDataNotEmpty(uint256 payoutDataLength, uint256 proofLength);
    /// @notice A list of claims has 1 to 32 of them.
    error ClaimCountInvalid(uint256 count, uint256 maximum);
    /// @notice A claim is of kind 1 to 4.
    error ClaimKindInvalid(uint8 kind);
    /// @notice The bounty ended without a winner.
    error NoAward(uint256 bountyId, uint8 outcome);
    /// @notice Only the winner is paid the award.
    error NotWinner(uint256 bountyId, address caller, address winner);
    /// @notice Only the Poster is paid the refund.
    error NotPoster(uint256 bountyId, address caller, address poster);
    /// @notice Only the pinned recipient is paid the protocol fee.
    error NotFeeRecipient(uint256 bountyId, address caller, address recipient);
    /// @notice This part was paid before.
    error AlreadyClaimed(uint256 bountyId, address account);
    /// @notice This part is zero.
    error NothingDue(uint256 bountyId, address account);
}
