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
        Bounty storage bounty = _bounty(bountyId);
        b.poster = bounty.poster;
        b.escrowAmount = bounty.escrow;
        b.specCommitment = bounty.specCommitment;
        b.submissionDeadline = bounty.submissionDeadline;
        b.revealAt = _revealAt(bounty);
        b.judgingDeadline = _judgingDeadline(bounty);
        b.rosterVersion = bounty.rosterVersion;
        b.guardianRosterHash = _rosters[b.rosterVersion].hash;
        b.protocolFee = Money.fee(b.escrowAmount, bounty.protocolFeeBps);
        b.guardianFee = Money.fee(b.escrowAmount, bounty.guardianFeeBps);
        b.protocolFeeRecipient = _feePolicies[bounty.feePolicyVersion].recipient;
        b.hasSubmissions = bounty.hasSubmissions;
        b.verdictCount = bounty.ballots.cast();
        b.outcome = _outcome(bounty);
        b.reason = bounty.reason;
        b.winner = _winner(bountyId, bounty);
        b.winningSubmission = _submissions[bountyId][b.winner];
        b.awardClaimed = _isPaid(bounty, AWARD);
        b.refundClaimed = _isPaid(bounty, REFUND);
        b.protocolFeeClaimed = _isPaid(bounty, PROTOCOL_FEE);
        if (b.outcome != Outcome.OPEN) _fillDue(b, bounty);
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
        uint256 seatNumber = _seatOf(bounty, guardian).number;
        uint256 choice = seatNumber == 0 ? Ballots.NONE : bounty.ballots.choiceOf(seatNumber - 1);
        if (choice == Ballots.NONE) return (VerdictKind.NONE, address(0), 0);
        if (choice == Ballots.NO_VALID_SUBMISSION) return (VerdictKind.NO_VALID_SUBMISSION, address(0), 0);
        solver = _candidates[bountyId][choice];
        return (VerdictKind.AWARDED, solver, _submissions[bountyId][solver]);
    }

    /// @inheritdoc IHub
    function claimable(uint256 bountyId, address account) external view returns (uint256 amount) {
        Bounty storage bounty = _bounty(bountyId);
        if (bounty.reason == Reason.OPEN) return 0;
        Money.Split memory split = _split(bounty);
        if (!_isPaid(bounty, AWARD) && account == _winner(bountyId, bounty)) amount += split.award;
        if (!_isPaid(bounty, REFUND) && account == bounty.poster) amount += split.refund;
        if (!_isPaid(bounty, PROTOCOL_FEE) && account == _feePolicies[bounty.feePolicyVersion].recipient) {
            amount += split.protocolFee;
        }
        amount += _guardianDue(bounty, split.guardianFeeEach, _seatOf(bounty, account).number);
    }

    function _fillDue(BountyView memory b, Bounty storage bounty) private view {
        Money.Split memory split = _split(bounty);
        b.awardDue = b.awardClaimed ? 0 : split.award;
        b.refundDue = b.refundClaimed ? 0 : split.refund;
        b.protocolFeeDue = b.protocolFeeClaimed ? 0 : split.protocolFee;
        for (uint256 seatNumber = 1; seatNumber <= bounty.rosterSize; ++seatNumber) {
            b.guardianFeesDue += _guardianDue(bounty, split.guardianFeeEach, seatNumber);
        }
    }
}
