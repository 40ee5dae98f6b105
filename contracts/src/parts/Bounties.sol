// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../IHub.sol";
import {Reason} from "../IHubTypes.sol";
import {Activity} from "./Activity.sol";
import {Conditions} from "./Conditions.sol";
import {Ledger} from "./Ledger.sol";
import {Treasury} from "./Treasury.sol";

/// @title What is stored of bounties
/// @notice Three words a bounty, one word per active Submission, one word per candidate that a Verdict names.
abstract contract Bounties is Treasury {
    struct Bounty {
        Conditions conditions;
        Ledger ledger;
        bytes32 specCommitment;
    }

    /// @inheritdoc IHub
    uint256 public immutable revealDelay;

    mapping(uint256 bountyId => Bounty) internal _bounties;
    mapping(uint256 bountyId => mapping(address solver => bytes32)) internal _submissions;
    /// @dev The Solver behind a choice from `Ballots.FIRST_CANDIDATE` on. Its Submission is implied: the active set
    /// is frozen before the first Verdict.
    mapping(uint256 bountyId => mapping(uint256 choice => address solver)) internal _candidates;

    function _record(uint256 bountyId, Conditions conditions, Ledger ledger, bytes32 specCommitment) internal {
        Bounty storage bounty = _bounties[bountyId];
        bounty.conditions = conditions;
        bounty.ledger = ledger;
        bounty.specCommitment = specCommitment;
    }

    function _bounty(uint256 bountyId) internal view returns (Bounty storage bounty, Conditions conditions) {
        bounty = _bounties[bountyId];
        conditions = bounty.conditions;
        if (conditions.poster() == address(0)) revert BountyNotFound(bountyId);
    }

    function _openBounty(uint256 bountyId)
        internal
        view
        returns (Bounty storage bounty, Conditions conditions, Ledger ledger)
    {
        (bounty, conditions) = _bounty(bountyId);
        ledger = bounty.ledger;
        if (ledger.reason() != Reason.OPEN) revert BountyFinal(bountyId, ledger.outcome());
    }

    function _finalBounty(uint256 bountyId) internal view returns (Bounty storage bounty, Ledger ledger) {
        bounty = _bounties[bountyId];
        ledger = bounty.ledger;
        if (ledger.reason() != Reason.OPEN) return (bounty, ledger);
        _bounty(bountyId); // an unknown bounty is not an open one
        revert BountyOpen(bountyId);
    }

    /// @dev Neither sum can overflow: a deadline and a window have 32 bits, and no delay of a deployment is above a year.
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

    /// @notice The winner of an awarded bounty, otherwise zero.
    function _winner(uint256 bountyId, Ledger ledger) internal view returns (address) {
        if (!ledger.isAwarded()) return address(0);
        return _candidates[bountyId][ledger.winningChoice()];
    }

    /// @notice The account's number on the pinned roster, from 1, and the roster's quorum; zeros for others.
    /// @dev Its activity has the seat of the newest version that names it; for any other the version's own word is read.
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

    function _seatNumber(Conditions conditions, address account) internal view returns (uint256) {
        return _seats[conditions.rosterVersion()][account].number;
    }
}
