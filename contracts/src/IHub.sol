// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes} from "./IHubTypes.sol";

/// @title The Hub's functions
/// @notice Parties who do not trust each other (Poster, Solver, Guardians, operator) settle one escrow token here.
/// Words: *open* is not final; *judgeable* is open and `revealAt <= t < judgingDeadline`; *active* is the Solver's
/// current Submission; *final* is settled on chain.
interface IHub is IHubTypes {
    // ---------------------------------------------------------------- Poster

    /// @notice Opens a bounty paid from the caller's allowance; the caller is its Poster.
    /// @return bountyId Counted from 1.
    function createBounty(Terms calldata terms) external returns (uint256 bountyId);

    /// @notice Opens a bounty paid by an EIP-3009 authorization of the Poster. Anyone may relay it: the nonce the
    /// Poster signed is `authorizationNonce(terms, poster)`, so only exactly these terms can be submitted.
    /// @param signature Over the token's `ReceiveWithAuthorization`; 65 bytes, or what the Poster's wallet accepts.
    function createBountyWithAuthorization(
        Terms calldata terms,
        address poster,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external returns (uint256 bountyId);

    /// @notice Pays the Poster's queued balance of a final bounty: the refund, or unpaid shares and dust.
    function claimRefund(uint256 bountyId) external;

    // ---------------------------------------------------------------- Solver

    /// @notice Records the caller's Submission, replacing an earlier one, while `t < submissionDeadline`.
    /// @param guardianRosterHash Must be the bounty's pinned roster, which the work was sealed for.
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external;

    /// @notice Pays the winner the escrow minus both snapshotted fees.
    /// @param payoutData Empty in this version.
    /// @param proof Empty in this version.
    function claim(uint256 bountyId, bytes calldata payoutData, bytes calldata proof) external;

    // ---------------------------------------------------------------- Guardian

    /// @notice Records or replaces the caller's Verdict while the bounty is judgeable. A quorum on one outcome
    /// (kind, Solver, Submission) finalizes the bounty in this transaction.
    /// @param kind 1 awarded, 2 no_valid_submission.
    /// @param solver Zero unless `kind` is 1.
    /// @param submissionCommitment The Solver's active Submission; zero unless `kind` is 1.
    function recordVerdict(
        uint256 bountyId,
        uint8 kind,
        address solver,
        bytes32 submissionCommitment,
        bytes32 reportCommitment
    ) external;

    /// @notice Says on chain that the caller, who was on a roster at some time, is alive.
    function heartbeat() external;

    /// @notice Pays the caller its share of the guardian fee: one share per recorded Verdict.
    function claimGuardianFee(uint256 bountyId) external;

    // ---------------------------------------------------------------- anyone

    /// @notice Finalizes as `no_valid_submission` a bounty whose time is up: from the submission deadline where
    /// nobody submitted, otherwise from the judging deadline.
    function settle(uint256 bountyId) external;

    /// @notice Pays the protocol fee of an awarded bounty to the recipient snapshotted at its creation.
    function claimProtocolFee(uint256 bountyId) external;

    /// @notice Pays several claims of the caller by one transfer; one refused claim refuses all.
    /// @param claims 1 to 32, each checked and logged as by its own function.
    function claimMany(Claim[] calldata claims) external;

    // ---------------------------------------------------------------- owner: no power over a bounty that exists

    /// @notice Announces the next roster version; bounties created from `publicationDelay` later on pin it. It replaces
    /// a version that is announced and not in effect yet. The first version is in effect at once.
    /// @param accounts 1 to 15, strictly ascending, non-zero.
    /// @param encryptionKeys One X25519 key per account: canonical, distinct, not low-order.
    /// @param quorum More than half, at most all.
    function publishRoster(address[] calldata accounts, bytes32[] calldata encryptionKeys, uint256 quorum) external;

    /// @notice Announces the deployment's X25519 delivery key, which takes effect `publicationDelay` later, so that a
    /// swapped key is public before it is used. It replaces an announced one. The first key is in effect at once.
    function publishDeliveryKey(bytes32 key) external;

    /// @notice Takes back the current or the announced delivery key at once. Without a current key deliveries pause,
    /// until another one that was published has waited for its time.
    function withdrawDeliveryKey(bytes32 key) external;

    /// @notice Changes the fees of future bounties within hard caps.
    function setFeePolicy(uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient) external;

    /// @notice Starts handing over ownership; zero withdraws an offer.
    function transferOwnership(address newOwner) external;

    /// @notice Completes the handover; only the account it was offered to.
    function acceptOwnership() external;

    // ---------------------------------------------------------------- views

    /// @notice One bounty, whole. Reverts for an unknown id.
    function getBounty(uint256 bountyId) external view returns (BountyView memory);

    /// @notice The version that is announced and from when it takes effect; zeros where none is.
    function announcedRoster() external view returns (uint256 version, uint256 effectiveFrom);

    /// @notice One roster version; its `effectiveFrom` says whether it is announced, took effect, or never will.
    /// Reverts for an unknown version.
    function getRoster(uint256 version) external view returns (RosterView memory);

    /// @notice The version that a bounty created now would pin; 0 before the first.
    function currentRosterVersion() external view returns (uint256);

    /// @notice The Solver's active Submission, or zero.
    function getSubmission(uint256 bountyId, address solver) external view returns (bytes32);

    /// @notice The Guardian's latest Verdict; kind 0 where there is none.
    function getVerdict(uint256 bountyId, address guardian)
        external
        view
        returns (uint8 kind, address solver, bytes32 submissionCommitment);

    /// @notice What the account can pull from this bounty now, summed over its roles.
    function claimable(uint256 bountyId, address account) external view returns (uint256);

    /// @notice The EIP-3009 nonce that binds a Poster's authorization to all terms, this chain and this Hub.
    function authorizationNonce(Terms calldata terms, address poster) external view returns (bytes32);

    /// @notice The delivery key in effect; zero before the first and after it was withdrawn.
    function deliveryKey() external view returns (bytes32);

    /// @notice The key that is announced and from when it takes effect; zeros where none is.
    function announcedDeliveryKey() external view returns (bytes32 key, uint256 effectiveFrom);

    /// @notice The fees of a bounty created now.
    function feePolicy() external view returns (uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient);

    /// @notice Who may publish rosters, fees and the delivery key.
    function owner() external view returns (address);
    /// @notice Whom ownership is offered to, or zero.
    function pendingOwner() external view returns (address);
    /// @notice The one escrow token.
    function token() external view returns (address);
    /// @notice Seconds from the publication of a roster or delivery key until it takes effect.
    function publicationDelay() external view returns (uint256);
    /// @notice Seconds from the submission deadline to the reveal point.
    function revealDelay() external view returns (uint256);
    /// @notice Least seconds from creation to the submission deadline.
    function minSubmissionWindow() external view returns (uint256);
    /// @notice Most seconds from creation to the submission deadline.
    function maxSubmissionWindow() external view returns (uint256);
    /// @notice Least seconds from the reveal point to the judging deadline.
    function minJudgingWindow() external view returns (uint256);
    /// @notice Most seconds from the reveal point to the judging deadline.
    function maxJudgingWindow() external view returns (uint256);
    /// @notice The least escrow, in units of the token.
    function minEscrow() external view returns (uint256);
    /// @notice The cap of the protocol fee, in basis points.
    function maxProtocolFeeBps() external view returns (uint256);
    /// @notice The cap of the guardian fee, in basis points.
    function maxGuardianFeeBps() external view returns (uint256);
}
