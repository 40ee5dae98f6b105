// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Outcome, Reason, VerdictKind} from "../IHubTypes.sol";
import {Activity} from "./Activity.sol";
import {Ballots} from "./Ballots.sol";
import {Conditions} from "./Conditions.sol";
import {Ledger, LedgerFields} from "./Ledger.sol";
import {Money} from "./Money.sol";
import {Treasury} from "./Treasury.sol";

/// @title What is stored of bounties, and what anyone can read of them
/// @notice Three words a bounty, one word per active Submission, one word per candidate that a Verdict names.
abstract contract Bounties is Treasury {
    using Ballots for uint80;

    struct Bounty {
        Conditions conditions;
        Ledger ledger;
        bytes32 specCommitment;
    }

    /// @inheritdoc IHub
    uint256 public immutable revealDelay;

    mapping(uint256 bountyId => Bounty) internal _bounties;
    mapping(uint256 bountyId => mapping(address solver => bytes32)) internal _submissions;
    /// @dev The Solver behind a choice from `Ballots.FIRST_CANDIDATE` on. Its Submission is in `_submissions`, and
    /// cannot change any more: submitting ends before the first Verdict can be recorded.
    mapping(uint256 bountyId => mapping(uint256 choice => address solver)) internal _candidates;

    // ---------------------------------------------------------------- views

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

    // ---------------------------------------------------------------- what the transitions of Hub.sol read and write

    function _record(uint256 bountyId, Conditions conditions, Ledger ledger, bytes32 specCommitment) internal {
        Bounty storage bounty = _bounties[bountyId];
        bounty.conditions = conditions;
        bounty.ledger = ledger;
        bounty.specCommitment = specCommitment;
    }

    /// @dev Refuses an unknown id.
    function _bounty(uint256 bountyId) internal view returns (Bounty storage bounty, Conditions conditions) {
        bounty = _bounties[bountyId];
        conditions = bounty.conditions;
        if (conditions.poster() == address(0)) revert BountyNotFound(bountyId);
    }

    /// @dev Refuses an unknown id and a final bounty.
    function _openBounty(uint256 bountyId)
        internal
        view
        returns (Bounty storage bounty, Conditions conditions, Ledger ledger)
    {
        (bounty, conditions) = _bounty(bountyId);
        ledger = bounty.ledger;
        if (ledger.reason() != Reason.OPEN) revert BountyFinal(bountyId, ledger.outcome());
    }

    /// @dev Refuses an unknown id and an open bounty. One word says that a bounty is final; only a refusal reads a
    /// second.
    function _finalBounty(uint256 bountyId) internal view returns (Bounty storage bounty, Ledger ledger) {
        bounty = _bounties[bountyId];
        ledger = bounty.ledger;
        if (ledger.reason() != Reason.OPEN) return (bounty, ledger);
        _bounty(bountyId);
        revert BountyOpen(bountyId);
    }

    /// @dev Neither sum can overflow: a deadline and a window have 32 bits, and no delay of a deployment is above a
    /// year.
    function _revealAt(Conditions conditions) internal view returns (uint256) {
        unchecked {
            return conditions.submissionDeadline() + revealDelay;
        }
    }

    function _judgingDeadline(Conditions conditions) internal view returns (uint256) {
        unchecked {
            return _revealAt(conditions) + conditions.judgingWindow();
        }
    }

    /// @dev The winner of an awarded bounty, otherwise zero.
    function _winner(uint256 bountyId, Ledger ledger) internal view returns (address) {
        if (!ledger.isAwarded()) return address(0);
        return _candidates[bountyId][ledger.winningChoice()];
    }

    /// @dev The account's seat on the pinned roster, numbered from 1, and the roster's quorum; zeros for an account
    /// that is not on it. From the account's activity where this names the pinned version, otherwise from the version's
    /// own seat.
    function _seatOf(Conditions conditions, address account, Activity activity)
        internal
        view
        returns (uint256 number, uint256 quorum)
    {
        uint256 version = conditions.rosterVersion();
        if (activity.rosterVersion() == version) return (activity.seatNumber(), activity.quorum());
        Seat storage seat = _seats[version][account];
        return (seat.number, seat.quorum);
    }

    /// @dev The same seat number where no activity was read, and no quorum is needed.
    function _seatNumber(Conditions conditions, address account) internal view returns (uint256) {
        return _seats[conditions.rosterVersion()][account].number;
    }
}
