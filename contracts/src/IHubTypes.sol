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

    /// @notice One roster version with the liveness of its members (0: never active).
    struct RosterView {
        bytes32 guardianRosterHash;
        uint256 quorum;
        address[] accounts;
        bytes32[] encryptionKeys;
        uint256[] lastActiveAt;
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
        uint256 protocolFeeBps;
        uint256 guardianFeeBps;
        address protocolFeeRecipient;
    }

    // ---------------------------------------------------------------- events: a bounty's life

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
    event SubmissionRecorded(uint256 indexed bountyId, address indexed solver, bytes32 indexed submissionCommitment);
    event VerdictRecorded(
        uint256 indexed bountyId,
        address indexed guardian,
        uint8 kind,
        address solver,
        bytes32 submissionCommitment,
        bytes32 reportCommitment
    );
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
    event AwardClaimed(uint256 indexed bountyId, address indexed solver, uint256 amount);
    event RefundClaimed(uint256 indexed bountyId, address indexed poster, uint256 amount);
    event GuardianFeeClaimed(uint256 indexed bountyId, address indexed guardian, uint256 amount);
    event ProtocolFeeClaimed(uint256 indexed bountyId, address indexed recipient, uint256 amount);

    // ---------------------------------------------------------------- events: the deployment's life

    event RosterPublished(
        uint256 indexed version,
        bytes32 indexed guardianRosterHash,
        address[] accounts,
        bytes32[] encryptionKeys,
        uint256 quorum
    );
    event GuardianHeartbeat(address indexed guardian);
    event DeliveryKeyPublished(bytes32 indexed key);
    event FeePolicyChanged(uint256 protocolFeeBps, uint256 guardianFeeBps, address indexed recipient);
    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    // ---------------------------------------------------------------- errors: deployment and owner

    /// @notice A constructor argument is out of its bounds.
    error InvalidConfiguration(string field, uint256 value);
    error NotOwner(address caller, address owner);
    error NotPendingOwner(address caller, address pendingOwner);
    error FeeAboveCap(uint256 feeBps, uint256 capBps);
    /// @notice A fee recipient is never zero, the Hub or the token.
    error FeeRecipientInvalid(address recipient);
    error RosterSizeInvalid(uint256 size, uint256 maxSize);
    error RosterLengthsDiffer(uint256 accounts, uint256 encryptionKeys);
    /// @notice A quorum is more than half of the roster and at most all of it.
    error RosterQuorumInvalid(uint256 quorum, uint256 size);
    /// @notice Accounts are strictly ascending and non-zero.
    error RosterAccountsNotAscending(uint256 index, address previous, address account);
    error RosterNotFound(uint256 version);
    error EncryptionKeyRepeated(bytes32 key);
    /// @notice An X25519 key is little-endian, below 2^255 - 19, top bit clear.
    error EncryptionKeyNotCanonical(bytes32 key);
    error EncryptionKeyLowOrder(bytes32 key);
    error NeverOnRoster(address account);
    /// @notice A value does not fit the storage field it is packed into.
    error ValueTooLarge(uint256 value, uint256 maximum);

    // ---------------------------------------------------------------- errors: creation and money

    error NoRosterPublished();
    error RosterHashMismatch(bytes32 given, bytes32 pinned);
    error SpecCommitmentZero();
    error EscrowTooSmall(uint256 amount, uint256 minimum);
    error EscrowTooLarge(uint256 amount, uint256 maximum);
    error SubmissionDeadlineOutOfRange(uint256 deadline, uint256 earliest, uint256 latest);
    error JudgingWindowOutOfRange(uint256 window, uint256 minimum, uint256 maximum);
    error ProtocolFeeAboveMaximum(uint256 fee, uint256 maximum);
    error GuardianFeeAboveMaximum(uint256 fee, uint256 maximum);
    error PosterZero();
    error PosterOnRoster(address poster, uint256 rosterVersion);
    /// @notice The token moved another amount than the Poster agreed to.
    error EscrowNotReceived(uint256 expected, uint256 received);
    error TokenTransferFailed(address from, address to, uint256 amount);
    error Reentered();

    // ---------------------------------------------------------------- errors: a bounty's life

    error BountyNotFound(uint256 bountyId);
    error BountyFinal(uint256 bountyId, uint8 outcome);
    error BountyOpen(uint256 bountyId);
    error SubmissionsClosed(uint256 bountyId, uint256 submissionDeadline, uint256 currentTime);
    error SubmissionCommitmentZero(uint256 bountyId);
    error SolverIsPoster(uint256 bountyId, address solver);
    error SolverOnRoster(uint256 bountyId, address solver);
    error NotGuardian(uint256 bountyId, address account);
    error JudgingNotStarted(uint256 bountyId, uint256 revealAt, uint256 currentTime);
    error JudgingEnded(uint256 bountyId, uint256 judgingDeadline, uint256 currentTime);
    error NothingToJudge(uint256 bountyId);
    error VerdictKindInvalid(uint8 kind);
    error ReportCommitmentZero(uint256 bountyId);
    error SubmissionNotActive(uint256 bountyId, address solver, bytes32 named, bytes32 active);
    /// @notice A `no_valid_submission` Verdict names no Solver and no Submission.
    error VerdictNamesSubmission(uint256 bountyId, address solver, bytes32 submissionCommitment);
    error SettlementTooEarly(uint256 bountyId, uint256 possibleFrom, uint256 currentTime);
    /// @notice Payout data and proof are an extension point; both are empty in this version.
    error PayoutDataNotEmpty(uint256 payoutDataLength, uint256 proofLength);
    error NoAward(uint256 bountyId, uint8 outcome);
    error NotWinner(uint256 bountyId, address caller, address winner);
    error NotPoster(uint256 bountyId, address caller, address poster);
    error NotFeeRecipient(uint256 bountyId, address caller, address recipient);
    error AlreadyClaimed(uint256 bountyId, address account);
    error NothingDue(uint256 bountyId, address account);
}
