// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Outcome, Reason, VerdictKind} from "../IHubTypes.sol";
import {Ballots} from "./Ballots.sol";
import {Bounties} from "./Bounties.sol";
import {Conditions} from "./Conditions.sol";
import {Ledger, LedgerFields} from "./Ledger.sol";
import {Money} from "./Money.sol";

/// @title What anyone can read of a bounty
abstract contract Views is Bounties {
    using Ballots for uint80;

    /// @inheritdoc IHub
    function getBounty(uint256 bountyId) external view returns (BountyView memory b) {
        (Bounty storage bounty, Conditions conditions) = _bounty(bountyId);
        Ledger ledger = bounty.ledger;
        b.poster = conditions.poster();
        b.escrowAmount = ledger.escrow();
        b.specCommitment = bounty.specCommitment;
        b.submissionDeadline = conditions.submissionDeadline();
        b.revealAt = _revealAt(conditions);
        b.judgingDeadline = _judgingDeadline(conditions);
        b.rosterVersion = conditions.rosterVersion();
        b.guardianRosterHash = _rosters[b.rosterVersion].hash;
        b.protocolFee = Money.protocolFee(ledger);
        b.guardianFee = Money.guardianFee(ledger);
        b.protocolFeeRecipient = _feePolicies[ledger.feePolicyVersion()].recipient;
        b.hasSubmissions = conditions.hasSubmissions();
        b.verdictCount = ledger.ballots().cast();
        b.outcome = ledger.outcome();
        b.reason = ledger.reason();
        b.winner = _winner(bountyId, ledger);
        b.winningSubmission = _submissions[bountyId][b.winner];
        b.awardClaimed = ledger.isPaid(LedgerFields.AWARD);
        b.refundClaimed = ledger.isPaid(LedgerFields.REFUND);
        b.protocolFeeClaimed = ledger.isPaid(LedgerFields.PROTOCOL_FEE);
        if (b.outcome != Outcome.OPEN) _fillDue(b, ledger, conditions.rosterSize());
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
        (Bounty storage bounty, Conditions conditions) = _bounty(bountyId);
        uint256 seatNumber = _seatNumber(conditions, guardian);
        uint256 choice = seatNumber == 0 ? Ballots.NONE : bounty.ledger.ballots().choiceOf(seatNumber - 1);
        if (choice == Ballots.NONE) return (VerdictKind.NONE, address(0), 0);
        if (choice == Ballots.NO_VALID_SUBMISSION) return (VerdictKind.NO_VALID_SUBMISSION, address(0), 0);
        solver = _candidates[bountyId][choice];
        return (VerdictKind.AWARDED, solver, _submissions[bountyId][solver]);
    }

    /// @inheritdoc IHub
    function claimable(uint256 bountyId, address account) external view returns (uint256 amount) {
        (Bounty storage bounty, Conditions conditions) = _bounty(bountyId);
        Ledger ledger = bounty.ledger;
        if (ledger.reason() == Reason.OPEN) return 0;
        (uint256 award, uint256 refund, uint256 protocolFee, uint256 share,) =
            Money.split(ledger, conditions.rosterSize());
        if (!ledger.isPaid(LedgerFields.AWARD) && account == _winner(bountyId, ledger)) amount += award;
        if (!ledger.isPaid(LedgerFields.REFUND) && account == conditions.poster()) amount += refund;
        if (!ledger.isPaid(LedgerFields.PROTOCOL_FEE) && account == _feePolicies[ledger.feePolicyVersion()].recipient) {
            amount += protocolFee;
        }
        uint256 seatNumber = _seatNumber(conditions, account);
        if (seatNumber != 0 && ledger.isSeatDue(seatNumber)) amount += share;
    }

    function _fillDue(BountyView memory b, Ledger ledger, uint256 rosterSize) private pure {
        (uint256 award, uint256 refund, uint256 protocolFee, uint256 share,) = Money.split(ledger, rosterSize);
        b.awardDue = b.awardClaimed ? 0 : award;
        b.refundDue = b.refundClaimed ? 0 : refund;
        b.protocolFeeDue = b.protocolFeeClaimed ? 0 : protocolFee;
        for (uint256 seatNumber = 1; seatNumber <= rosterSize; ++seatNumber) {
            if (ledger.isSeatDue(seatNumber)) b.guardianFeesDue += share;
        }
    }
}
