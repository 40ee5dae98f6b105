// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHubTypes} from "./IHubTypes.sol";

/// @title The Hub's functions
/// @notice Parties who do not trust each other (Poster, Solver, Guardians, operator) settle one escrow token here.
/// Words: *open* is not final; *judgeable* is open and `revealAt <= t < judgingDeadline`, submitted to or not;
/// *active* is the Solver's current Submission; *final* is settled on chain.
interface IHub is IHubTypes {
    // ---------------------------------------------------------------- Poster

    /// @notice Opens a bounty paid from the caller's allowance; the caller is its Poster.
    /// @param terms What the Poster agrees to; amounts in units of the token, times in seconds.
    /// @return bountyId Counted from 1.
    function createBounty(Terms calldata terms) external returns (uint256 bountyId);

    /// @notice Opens a bounty paid by an EIP-3009 authorization of the Poster. Anyone may relay it: the nonce the
    /// Poster signed is `authorizationNonce(terms, poster)`, so only exactly these terms can be submitted.
    /// @param terms What the Poster agrees to; amounts in units of the token, times in seconds.
    /// @param poster Who signed and pays.
    /// @param validAfter The authorization is good after this second (unix time).
    /// @param validBefore The authorization is good before this second (unix time).
    /// @param signature Over the token's `ReceiveWithAuthorization`; 65 bytes, or what the Poster's wallet accepts.
    /// @return bountyId Counted from 1.
    function createBountyWithAuthorization(
        Terms calldata terms,
        address poster,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external returns (uint256 bountyId);

    /// @notice Pays the Poster's queued balance of a final bounty: the refund, or unpaid shares and dust.
    /// @param bountyId A final bounty of the caller.
    function claimRefund(uint256 bountyId) external;

    // ---------------------------------------------------------------- Solver

    /// @notice Records the caller's Submission, replacing an earlier one, while `t < submissionDeadline`.
    /// @param bountyId A bounty before its submission deadline.
    /// @param submissionCommitment The commitment to the sealed work; not zero.
    /// @param guardianRosterHash Must be the bounty's pinned roster, which the work was sealed for.
    function submit(uint256 bountyId, bytes32 submissionCommitment, bytes32 guardianRosterHash) external;

    /// @notice Pays the winner the escrow minus both snapshotted fees.
    /// @param bountyId A bounty that was awarded to the caller.
    /// @param payoutData Empty in this version.
    /// @param proof Empty in this version.
    function claim(uint256 bountyId, bytes calldata payoutData, bytes calldata proof) external;

    // ---------------------------------------------------------------- Guardian

    /// @notice Records or replaces the caller's Verdict while the bounty is judgeable. A quorum on one outcome
    /// (kind, Solver, Submission) finalizes the bounty in this transaction.
    /// @param bountyId A judgeable bounty with a Submission, whose pinned roster names the caller.
    /// @param kind 1 awarded, 2 no_valid_submission.
    /// @param solver Zero unless `kind` is 1.
    /// @param submissionCommitment The Solver's active Submission; zero unless `kind` is 1.
    /// @param reportCommitment keccak256 of the written Verdict's bytes; not zero.
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
    /// @param bountyId A final bounty for which the caller recorded a Verdict.
    function claimGuardianFee(uint256 bountyId) external;

    // ---------------------------------------------------------------- anyone

    /// @notice Finalizes as `no_valid_submission` a bounty whose time is up: from the submission deadline where
    /// nobody submitted, otherwise from the judging deadline.
    /// @param bountyId An open bounty.
    function settle(uint256 bountyId) external;

    /// @notice Pays the protocol fee of an awarded bounty to the recipient snapshotted at its creation.
    /// @param bountyId An awarded bounty that pinned the caller as fee recipient.
    function claimProtocolFee(uint256 bountyId) external;

    /// @notice Pays several claims of the caller by one transfer; one refused claim refuses all.
    /// @param claims 1 to 32, each checked and logged as by its own function.
    function claimMany(Claim[] calldata claims) external;

    // ---------------------------------------------------------------- owner: no power over a bounty's money or judges

    /// @notice Announces the next roster version; bounties created from `publicationDelay` later on pin it. It replaces
    /// a version that is announced and not in effect yet. The first version is in effect at once.
    /// @param accounts 1 to 15, strictly ascending, non-zero.
    /// @param encryptionKeys One X25519 key per account: canonical, distinct, not low-order.
    /// @param quorum In members: more than half, at most all.
    function publishRoster(address[] calldata accounts, bytes32[] calldata encryptionKeys, uint256 quorum) external;

    /// @notice Announces the deployment's X25519 delivery key, which takes effect `publicationDelay` later, so that a
    /// swapped key is public before it is used. It replaces an announced one. The first key is in effect at once.
    /// @param key Canonical, not low-order.
    function publishDeliveryKey(bytes32 key) external;

    /// @notice Takes back the current or the announced delivery key at once. Without a current key deliveries pause,
    /// until another one that was published has waited for its time.
    /// @param key The current or the announced one.
    function withdrawDeliveryKey(bytes32 key) external;

    /// @notice Changes the fees of future bounties within hard caps.
    /// @param protocolFeeBps In basis points of the escrow, at most `maxProtocolFeeBps`.
    /// @param guardianFeeBps In basis points of the escrow, at most `maxGuardianFeeBps`; for all Guardians together.
    /// @param recipient Of the protocol fee; not zero, the Hub or the token.
    function setFeePolicy(uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient) external;

    /// @notice Starts handing over ownership; zero withdraws an offer.
    /// @param newOwner Who may accept it.
    function transferOwnership(address newOwner) external;

    /// @notice Completes the handover; only the account it was offered to.
    function acceptOwnership() external;

    // ---------------------------------------------------------------- views

    /// @notice One bounty, whole. Reverts for an unknown id.
    /// @param bountyId Counted from 1.
    /// @return bounty Amounts in units of the token, times in seconds (unix time).
    function getBounty(uint256 bountyId) external view returns (BountyView memory bounty);

    /// @notice The version that is announced; zeros where none is.
    /// @return version Of the announced roster.
    /// @return effectiveFrom The second (unix time) from which new bounties pin it.
    function announcedRoster() external view returns (uint256 version, uint256 effectiveFrom);

    /// @notice One roster version; its `effectiveFrom` says whether it is announced, took effect, or never will.
    /// Reverts for an unknown version.
    /// @param version Counted from 1.
    /// @return roster Members in the order of their accounts; times in seconds (unix time).
    function getRoster(uint256 version) external view returns (RosterView memory roster);

    /// @notice The version that a bounty created now would pin.
    /// @return version 0 before the first.
    function currentRosterVersion() external view returns (uint256 version);

    /// @notice The Solver's active Submission.
    /// @param bountyId Counted from 1.
    /// @param solver Whose Submission.
    /// @return submissionCommitment Zero where there is none.
    function getSubmission(uint256 bountyId, address solver) external view returns (bytes32 submissionCommitment);

    /// @notice The Guardian's latest Verdict.
    /// @param bountyId Counted from 1.
    /// @param guardian Whose Verdict.
    /// @return kind 1 awarded, 2 no_valid_submission; 0 where there is none.
    /// @return solver Zero unless `kind` is 1.
    /// @return submissionCommitment Zero unless `kind` is 1.
    function getVerdict(uint256 bountyId, address guardian)
        external
        view
        returns (uint8 kind, address solver, bytes32 submissionCommitment);

    /// @notice What the account can pull from this bounty now, summed over its roles.
    /// @param bountyId Counted from 1.
    /// @param account Whose claims.
    /// @return amount In units of the token.
    function claimable(uint256 bountyId, address account) external view returns (uint256 amount);

    /// @notice The EIP-3009 nonce that binds a Poster's authorization to all terms, this chain and this Hub. The token
    /// takes each nonce of a Poster once; bounties paid from an allowance with the same terms repeat it.
    /// @param terms What the Poster agrees to; amounts in units of the token, times in seconds.
    /// @param poster Who signs.
    /// @return nonce The same for the same terms: change the salt for another.
    function authorizationNonce(Terms calldata terms, address poster) external view returns (bytes32 nonce);

    /// @notice The delivery key in effect.
    /// @return key Zero before the first and after it was withdrawn.
    function deliveryKey() external view returns (bytes32 key);

    /// @notice The delivery key that is announced; zeros where none is.
    /// @return key The announced one.
    /// @return effectiveFrom The second (unix time) from which it is the delivery key.
    function announcedDeliveryKey() external view returns (bytes32 key, uint256 effectiveFrom);

    /// @notice The fees of a bounty created now.
    /// @return protocolFeeBps In basis points of the escrow.
    /// @return guardianFeeBps In basis points of the escrow, for all Guardians together.
    /// @return recipient Of the protocol fee.
    function feePolicy() external view returns (uint256 protocolFeeBps, uint256 guardianFeeBps, address recipient);

    /// @notice Who may publish rosters, fees and the delivery key.
    /// @return The owner.
    function owner() external view returns (address);
    /// @notice Whom ownership is offered to.
    /// @return Zero where it is offered to nobody.
    function pendingOwner() external view returns (address);
    /// @notice The one escrow token.
    /// @return An ERC-20 contract with EIP-3009 authorizations.
    function token() external view returns (address);
    /// @notice From the publication of a roster or delivery key until it takes effect.
    /// @return In seconds.
    function publicationDelay() external view returns (uint256);
    /// @notice From the submission deadline to the reveal point.
    /// @return In seconds.
    function revealDelay() external view returns (uint256);
    /// @notice Least time from creation to the submission deadline.
    /// @return In seconds.
    function minSubmissionWindow() external view returns (uint256);
    /// @notice Most time from creation to the submission deadline.
    /// @return In seconds.
    function maxSubmissionWindow() external view returns (uint256);
    /// @notice Least time from the reveal point to the judging deadline.
    /// @return In seconds.
    function minJudgingWindow() external view returns (uint256);
    /// @notice Most time from the reveal point to the judging deadline.
    /// @return In seconds.
    function maxJudgingWindow() external view returns (uint256);
    /// @notice The least escrow.
    /// @return In units of the token.
    function minEscrow() external view returns (uint256);
    /// @notice The cap of the protocol fee.
    /// @return In basis points of the escrow.
    function maxProtocolFeeBps() external view returns (uint256);
    /// @notice The cap of the guardian fee.
    /// @return In basis points of the escrow.
    function maxGuardianFeeBps() external view returns (uint256);
}
