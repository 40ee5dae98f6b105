// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../../src/IHub.sol";
import {IHubTypes, Reason} from "../../src/IHubTypes.sol";
import {Usdc} from "./Usdc.sol";
import {vm} from "./Vm.sol";

/// @notice Books kept beside the Hub, per bounty: what each must be, computed without asking it. `balance == total`
/// alone would miss a double claim paid from other bounties; these books do not.
abstract contract Ghosts is IHubTypes {
    struct Ghost {
        address poster;
        uint256 escrow;
        uint256 protocolFee;
        uint256 guardianFee;
        address feeRecipient;
        uint256 submissionDeadline;
        uint256 revealAt;
        uint256 judgingDeadline;
        address[] guardians;
        uint256 quorum;
        bytes32 rosterHash;
        address[] solvers;
        uint256 submissions; // how many Solvers have one
        bytes32 frozen; // the active set when the first Verdict came
        uint8 reason;
        address winner;
        uint256 verdicts;
        uint256 paidOut;
        bytes32 facts; // what may never change again
    }

    enum Stage {
        OPEN,
        ACCEPTING,
        JUDGEABLE,
        OWING
    }

    struct Ballot {
        uint8 kind;
        address solver;
    }

    IHub public immutable hub;
    Usdc public immutable token;

    uint256 public count;
    uint256 public donated;
    uint256 public liabilities;
    mapping(uint256 bountyId => Ghost) internal _ghosts;
    mapping(uint256 bountyId => mapping(address solver => bytes32)) internal _work;
    mapping(uint256 bountyId => mapping(address guardian => Ballot)) internal _ballots;
    mapping(uint256 bountyId => mapping(bytes32 role => bool)) internal _paid;
    address[] internal _solvers;
    address[] internal _guardians;

    constructor(IHub hub_, Usdc token_) {
        (hub, token) = (hub_, token_);
    }

    // ---------------------------------------------------------------- what must be

    /// @dev The money table, told a second time, from the ghosts alone.
    function _entitled(uint256 bountyId, uint256 which, address account)
        internal
        view
        returns (bytes32 role, uint256 amount)
    {
        Ghost storage g = _ghosts[bountyId];
        bool won = g.winner != address(0);
        uint256 share = g.guardianFee / g.guardians.length;
        if (which == 0) return ("award", won && account == g.winner ? g.escrow - g.protocolFee - g.guardianFee : 0);
        if (which == 1) {
            uint256 rest = (won ? g.guardianFee : g.escrow) - share * g.verdicts;
            return ("refund", account == g.poster ? rest : 0);
        }
        if (which == 2) {
            return (bytes32(uint256(uint160(account))), _ballots[bountyId][account].kind != 0 ? share : 0);
        }
        return ("protocol", won && account == g.feeRecipient ? g.protocolFee : 0);
    }

    function _party(Ghost storage g, uint256 which, uint256 seed) internal view returns (address) {
        if (which == 0) return g.winner != address(0) ? g.winner : _solvers[seed % 3];
        if (which == 1) return g.poster;
        if (which == 2) return g.guardians[seed % g.guardians.length];
        return g.feeRecipient;
    }

    /// @dev Ends a bounty whose time is up, in the books.
    function _endByTime(Ghost storage g) internal {
        if (g.submissions == 0) g.reason = Reason.NO_SUBMISSIONS;
        else g.reason = g.verdicts == 0 ? Reason.GUARDIANS_SILENT : Reason.QUORUM_NOT_REACHED;
    }

    /// @dev Keeps what may never change again.
    function _close(uint256 bountyId) internal {
        _ghosts[bountyId].facts = _facts(hub.getBounty(bountyId));
    }

    // ---------------------------------------------------------------- what the Hub says

    /// @notice The Hub's story of one bounty is the ghosts' story.
    function check(uint256 bountyId) public view {
        Ghost storage g = _ghosts[bountyId];
        BountyView memory b = hub.getBounty(bountyId);
        uint256 due = b.awardDue + b.refundDue + b.protocolFeeDue + b.guardianFeesDue;
        vm.assertEq(b.reason, g.reason, "reason");
        vm.assertEq(b.winner, g.winner, "winner");
        vm.assertEq(b.verdictCount, g.verdicts, "verdicts");
        vm.assertEq(due, g.reason == Reason.OPEN ? 0 : g.escrow - g.paidOut, "owed");
        vm.assertTrue(b.hasSubmissions == (g.submissions != 0), "hasSubmissions");
        vm.assertEq(b.winningSubmission, _work[bountyId][g.winner], "winning Submission");
        if (g.facts != 0) vm.assertEq(_facts(b), g.facts, "a final bounty changed");
        if (g.frozen != 0) vm.assertEq(_activeSet(bountyId), g.frozen, "the active set changed after a Verdict");
        _checkTerms(g, b);
        _checkBallots(bountyId);
    }

    function _checkTerms(Ghost storage g, BountyView memory b) private view {
        vm.assertEq(b.poster, g.poster, "poster");
        vm.assertEq(b.escrowAmount, g.escrow, "escrow");
        vm.assertEq(b.protocolFee, g.protocolFee, "protocol fee");
        vm.assertEq(b.guardianFee, g.guardianFee, "guardian fee");
        vm.assertEq(b.protocolFeeRecipient, g.feeRecipient, "recipient");
        vm.assertEq(b.submissionDeadline, g.submissionDeadline, "submission deadline");
        vm.assertEq(b.revealAt, g.revealAt, "reveal point");
        vm.assertEq(b.judgingDeadline, g.judgingDeadline, "judging deadline");
        vm.assertEq(b.guardianRosterHash, g.rosterHash, "roster");
    }

    function _checkBallots(uint256 bountyId) private view {
        for (uint256 i = 0; i < _guardians.length; ++i) {
            (uint8 kind, address solver, bytes32 work) = hub.getVerdict(bountyId, _guardians[i]);
            Ballot storage ballot = _ballots[bountyId][_guardians[i]];
            vm.assertEq(kind, ballot.kind, "ballot kind");
            vm.assertEq(solver, ballot.solver, "ballot Solver");
            vm.assertEq(work, _work[bountyId][ballot.solver], "ballot Submission");
        }
    }

    // ---------------------------------------------------------------- inside

    function _facts(BountyView memory b) internal pure returns (bytes32) {
        return keccak256(abi.encode(b.outcome, b.reason, b.winner, b.winningSubmission, b.verdictCount));
    }

    function _activeSet(uint256 bountyId) internal view returns (bytes32 set) {
        for (uint256 i = 0; i < 3; ++i) {
            set = keccak256(abi.encode(set, hub.getSubmission(bountyId, _solvers[i])));
        }
    }

    function _agreeing(uint256 bountyId, Ballot memory ballot) internal view returns (uint256 agreeing) {
        Ghost storage g = _ghosts[bountyId];
        for (uint256 i = 0; i < g.guardians.length; ++i) {
            Ballot storage other = _ballots[bountyId][g.guardians[i]];
            if (other.kind == ballot.kind && other.solver == ballot.solver) ++agreeing;
        }
    }

    function _isGuardian(Ghost storage g, address account) internal view returns (bool) {
        for (uint256 i = 0; i < g.guardians.length; ++i) {
            if (g.guardians[i] == account) return true;
        }
        return false;
    }

    /// @dev One of the last twelve bounties at this stage; now and then, or where there is none, any of them.
    function _pick(uint256 seed, Stage stage) internal view returns (uint256 bountyId) {
        uint256 window = count < 12 ? count : 12;
        if (window == 0) return 0;
        for (uint256 i = 0; i < window; ++i) {
            bountyId = count - (seed / 8 + i) % window;
            if (seed % 8 == 0 || _isAt(_ghosts[bountyId], stage)) return bountyId;
        }
        if (seed % 4 != 0) return 0;
    }

    function _isAt(Ghost storage g, Stage stage) internal view returns (bool) {
        uint256 time = vm.getBlockTimestamp();
        if (stage == Stage.OWING) return g.reason != Reason.OPEN && g.paidOut < g.escrow;
        if (g.reason != Reason.OPEN) return false;
        if (stage == Stage.ACCEPTING) return time < g.submissionDeadline;
        if (stage == Stage.JUDGEABLE) return g.submissions != 0 && time >= g.revealAt && time < g.judgingDeadline;
        return true;
    }

    function _live() internal view returns (uint256 live) {
        uint256 window = count < 12 ? count : 12;
        for (uint256 i = 0; i < window; ++i) {
            if (_isAt(_ghosts[count - i], Stage.OPEN)) ++live;
        }
    }
}
