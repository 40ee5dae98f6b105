// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Outcome, Reason} from "../IHubTypes.sol";
import {Ballots} from "./Ballots.sol";
import {Money} from "./Money.sol";
import {Treasury} from "./Treasury.sol";

/// @title What is stored of a bounty, and what follows from it
/// @notice Three words a bounty, one word per active Submission, one word per candidate that a Verdict names.
/// Times, outcome, winner and amounts are derived here, once, for the functions and the views alike.
abstract contract Bounties is Treasury {
    using Ballots for uint80;

    /// @dev First word: who and until when. Never written again after creation.
    struct Pinned {
        address poster;
        uint40 submissionDeadline;
        uint32 judgingWindow;
        uint24 rosterVersion;
    }

    /// @dev Second word: money and progress. `reason` moves once, away from open; after that only the paid marks move.
    struct Progress {
        uint96 escrow;
        uint80 ballots;
        uint16 guardianFeesPaid; // one bit a seat
        uint16 feePolicyVersion;
        uint8 reason;
        uint8 winningChoice;
        bool hasSubmissions;
        bool awardClaimed;
        bool refundClaimed;
        bool protocolFeeClaimed;
    }

    struct Bounty {
        Pinned pinned;
        Progress progress;
        bytes32 specCommitment;
    }

    /// @inheritdoc IHub
    uint256 public immutable revealDelay;

    uint256 internal _bountyCount;
    mapping(uint256 bountyId => Bounty) internal _bounties;
    mapping(uint256 bountyId => mapping(address solver => bytes32)) internal _submissions;
    /// @dev The Solver behind a choice from `Ballots.FIRST_CANDIDATE` on. Its Submission is implied: the active set
    /// is frozen before the first Verdict.
    mapping(uint256 bountyId => mapping(uint256 choice => address solver)) internal _candidates;

    function _bounty(uint256 bountyId) internal view returns (Bounty storage bounty) {
        bounty = _bounties[bountyId];
        if (bounty.pinned.poster == address(0)) revert BountyNotFound(bountyId);
    }

    function _requireOpen(uint256 bountyId, Progress memory progress) internal pure {
        if (progress.reason != Reason.OPEN) revert BountyFinal(bountyId, _outcome(progress));
    }

    function _requireFinal(uint256 bountyId, Progress memory progress) internal pure {
        if (progress.reason == Reason.OPEN) revert BountyOpen(bountyId);
    }

    function _revealAt(Pinned memory pinned) internal view returns (uint256) {
        return uint256(pinned.submissionDeadline) + revealDelay;
    }

    function _judgingDeadline(Pinned memory pinned) internal view returns (uint256) {
        return _revealAt(pinned) + pinned.judgingWindow;
    }

    function _outcome(Progress memory progress) internal pure returns (uint8) {
        if (progress.reason == Reason.OPEN) return Outcome.OPEN;
        return progress.winningChoice >= Ballots.FIRST_CANDIDATE ? Outcome.AWARDED : Outcome.NO_VALID_SUBMISSION;
    }

    /// @notice The winner of an awarded bounty, otherwise zero.
    function _winner(uint256 bountyId, Progress memory progress) internal view returns (address) {
        if (_outcome(progress) != Outcome.AWARDED) return address(0);
        return _candidates[bountyId][progress.winningChoice];
    }

    /// @notice The money table of a final bounty.
    function _split(Pinned memory pinned, Progress memory progress) internal view returns (Money.Split memory) {
        FeePolicy memory policy = _feePolicies[progress.feePolicyVersion];
        return Money.split(
            _outcome(progress),
            progress.escrow,
            Money.fee(progress.escrow, policy.protocolFeeBps),
            Money.fee(progress.escrow, policy.guardianFeeBps),
            _rosters[pinned.rosterVersion].size,
            progress.ballots.cast()
        );
    }

    /// @notice A Guardian's unclaimed share of a final bounty.
    function _guardianDue(Money.Split memory split, Progress memory progress, uint256 seatNumber)
        internal
        pure
        returns (uint256)
    {
        if (seatNumber == 0 || progress.ballots.choiceOf(seatNumber - 1) == Ballots.NONE) return 0;
        return progress.guardianFeesPaid & _seatBit(seatNumber) == 0 ? split.guardianFeeEach : 0;
    }

    function _seatBit(uint256 seatNumber) internal pure returns (uint16) {
        return uint16(1 << (seatNumber - 1));
    }
}
