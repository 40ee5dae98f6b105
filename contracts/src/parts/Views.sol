// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Outcome, Reason, VerdictKind} from "../IHubTypes.sol";
import {Ballots} from "./Ballots.sol";
import {Bounties} from "./Bounties.sol";
import {Money} from "./Money.sol";

/// @title What anyone can read of a bounty
abstract contract Views is Bounties {
    using Ballots for uint80;

    /// @inheritdoc IHub
    function getBounty(uint256 bountyId) external view returns (BountyView memory b) {
        Bounty memory bounty = _bounty(bountyId);
        Progress memory progress = bounty.progress;
        FeePolicy memory policy = _feePolicies[progress.feePolicyVersion];
        b.poster = bounty.pinned.poster;
        b.escrowAmount = progress.escrow;
        b.specCommitment = bounty.specCommitment;
        b.submissionDeadline = bounty.pinned.submissionDeadline;
        b.revealAt = _revealAt(bounty.pinned);
        b.judgingDeadline = _judgingDeadline(bounty.pinned);
        b.rosterVersion = bounty.pinned.rosterVersion;
        b.guardianRosterHash = _rosters[b.rosterVersion].hash;
        b.protocolFee = Money.fee(b.escrowAmount, policy.protocolFeeBps);
        b.guardianFee = Money.fee(b.escrowAmount, policy.guardianFeeBps);
        b.protocolFeeRecipient = policy.recipient;
        b.hasSubmissions = progress.hasSubmissions;
        b.verdictCount = progress.ballots.cast();
        b.outcome = _outcome(progress);
        b.reason = progress.reason;
        b.winner = _winner(bountyId, progress);
        b.winningSubmission = _submissions[bountyId][b.winner];
        b.awardClaimed = progress.awardClaimed;
        b.refundClaimed = progress.refundClaimed;
        b.protocolFeeClaimed = progress.protocolFeeClaimed;
        if (progress.reason != Reason.OPEN) _fillDue(b, bounty.pinned, progress);
    }

    /// @inheritdoc IHub
    function getSubmission(uint256 bountyId, address solver) external view returns (bytes32) {
        _bounty(bountyId);
        return _submissions[bountyId][solver];
    }

    /// @inheritdoc IHub
    function getVerdict(uint256 bountyId, address guardian)
        external
        view
        returns (uint8 kind, address solver, bytes32 submissionCommitment)
    {
        Bounty storage bounty = _bounty(bountyId);
        uint256 seatNumber = _seatNumbers[bounty.pinned.rosterVersion][guardian];
        uint256 choice = seatNumber == 0 ? Ballots.NONE : bounty.progress.ballots.choiceOf(seatNumber - 1);
        if (choice == Ballots.NONE) return (VerdictKind.NONE, address(0), 0);
        if (choice == Ballots.NO_VALID_SUBMISSION) return (VerdictKind.NO_VALID_SUBMISSION, address(0), 0);
        solver = _candidates[bountyId][choice];
        return (VerdictKind.AWARDED, solver, _submissions[bountyId][solver]);
    }

    /// @inheritdoc IHub
    function claimable(uint256 bountyId, address account) external view returns (uint256 amount) {
        Bounty memory bounty = _bounty(bountyId);
        Progress memory progress = bounty.progress;
        if (progress.reason == Reason.OPEN) return 0;
        Money.Split memory split = _split(bounty.pinned, progress);
        if (!progress.awardClaimed && account == _winner(bountyId, progress)) amount += split.award;
        if (!progress.refundClaimed && account == bounty.pinned.poster) amount += split.refund;
        if (!progress.protocolFeeClaimed && account == _feePolicies[progress.feePolicyVersion].recipient) {
            amount += split.protocolFee;
        }
        amount += _guardianDue(split, progress, _seatNumbers[bounty.pinned.rosterVersion][account]);
    }

    function _fillDue(BountyView memory b, Pinned memory pinned, Progress memory progress) private view {
        Money.Split memory split = _split(pinned, progress);
        b.awardDue = progress.awardClaimed ? 0 : split.award;
        b.refundDue = progress.refundClaimed ? 0 : split.refund;
        b.protocolFeeDue = progress.protocolFeeClaimed ? 0 : split.protocolFee;
        for (uint256 seat = 1; seat <= _rosters[pinned.rosterVersion].size; ++seat) {
            b.guardianFeesDue += _guardianDue(split, progress, seat);
        }
    }
}
