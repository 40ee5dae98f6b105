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

    struct Bounty {
        // First word: who and until when. Only `hasSubmissions` is written after creation; it stands here so that a
        // Submission touches no other word of the bounty.
        address poster;
        uint32 submissionDeadline; // the last is in 2106: after it no bounty is created, and none that exists is stuck
        uint32 judgingWindow;
        uint16 rosterVersion;
        uint8 rosterSize; // repeated from the pinned roster, so that settling and pulling read no word of it
        bool hasSubmissions;
        // Second word: money and progress. `reason` moves once, away from open; after that only `paid` moves. The fees
        // are repeated from the pinned policy, so that a claim reads no other word of terms.
        uint88 escrow;
        uint16 protocolFeeBps;
        uint16 guardianFeeBps;
        uint16 feePolicyVersion;
        uint80 ballots;
        uint8 reason;
        uint8 winningChoice;
        uint24 paid; // one bit a seat, then AWARD, REFUND, PROTOCOL_FEE
        // Third word.
        bytes32 specCommitment;
    }

    /// @inheritdoc IHub
    uint256 public immutable revealDelay;

    mapping(uint256 bountyId => Bounty) internal _bounties;
    mapping(uint256 bountyId => mapping(address solver => bytes32)) internal _submissions;
    /// @dev The Solver behind a choice from `Ballots.FIRST_CANDIDATE` on. Its Submission is implied: the active set
    /// is frozen before the first Verdict.
    mapping(uint256 bountyId => mapping(uint256 choice => address solver)) internal _candidates;

    uint24 internal constant AWARD = 1 << 15;
    uint24 internal constant REFUND = 1 << 16;
    uint24 internal constant PROTOCOL_FEE = 1 << 17;

    function _bounty(uint256 bountyId) internal view returns (Bounty storage bounty) {
        bounty = _bounties[bountyId];
        if (bounty.poster == address(0)) revert BountyNotFound(bountyId);
    }

    function _openBounty(uint256 bountyId) internal view returns (Bounty storage bounty) {
        bounty = _bounty(bountyId);
        if (bounty.reason != Reason.OPEN) revert BountyFinal(bountyId, _outcome(bounty));
    }

    function _finalBounty(uint256 bountyId) internal view returns (Bounty storage bounty) {
        bounty = _bounties[bountyId];
        if (bounty.reason != Reason.OPEN) return bounty;
        _bounty(bountyId); // an unknown bounty is not an open one
        revert BountyOpen(bountyId);
    }

    function _revealAt(Bounty storage bounty) internal view returns (uint256) {
        return uint256(bounty.submissionDeadline) + revealDelay;
    }

    function _judgingDeadline(Bounty storage bounty) internal view returns (uint256) {
        return _revealAt(bounty) + bounty.judgingWindow;
    }

    function _outcome(Bounty storage bounty) internal view returns (uint8) {
        if (bounty.reason == Reason.OPEN) return Outcome.OPEN;
        return bounty.winningChoice >= Ballots.FIRST_CANDIDATE ? Outcome.AWARDED : Outcome.NO_VALID_SUBMISSION;
    }

    /// @notice The winner of an awarded bounty, otherwise zero.
    function _winner(uint256 bountyId, Bounty storage bounty) internal view returns (address) {
        if (_outcome(bounty) != Outcome.AWARDED) return address(0);
        return _candidates[bountyId][bounty.winningChoice];
    }

    /// @notice The money table of a final bounty.
    function _split(Bounty storage bounty) internal view returns (Money.Split memory) {
        return Money.split(
            _outcome(bounty),
            bounty.escrow,
            Money.fee(bounty.escrow, bounty.protocolFeeBps),
            Money.fee(bounty.escrow, bounty.guardianFeeBps),
            bounty.rosterSize,
            bounty.ballots.cast()
        );
    }

    function _seatOf(Bounty storage bounty, address account) internal view returns (Seat memory) {
        return _seats[bounty.rosterVersion][account];
    }

    /// @notice A Guardian's unclaimed share of a final bounty.
    function _guardianDue(Bounty storage bounty, uint256 share, uint256 seatNumber) internal view returns (uint256) {
        if (seatNumber == 0 || bounty.ballots.choiceOf(seatNumber - 1) == Ballots.NONE) return 0;
        return _isPaid(bounty, _guardianMark(seatNumber)) ? 0 : share;
    }

    function _isPaid(Bounty storage bounty, uint24 mark) internal view returns (bool) {
        return bounty.paid & mark != 0;
    }

    function _guardianMark(uint256 seatNumber) internal pure returns (uint24) {
        assert(seatNumber >= 1 && seatNumber <= Ballots.SEATS);
        return uint24(1 << (seatNumber - 1));
    }
}
