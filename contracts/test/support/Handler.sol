// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IHub} from "../../src/IHub.sol";
import {ClaimKind, Reason, VerdictKind} from "../../src/IHubTypes.sol";
import {Ghosts} from "./Ghosts.sol";
import {Usdc} from "./Usdc.sol";
import {vm} from "./Vm.sol";

/// @notice Plays all parties at random, biased so that most calls succeed, and writes the books. It never reads an
/// amount or an outcome from the Hub before the books say what it must be. Every call that must be refused is tried
/// too, and its acceptance is a failure.
contract Handler is Ghosts {
    address private immutable _owner;
    address[] private _posters;
    address[] private _recipients;
    uint256 public moves;
    uint256 public touched; // the bounty of the last move
    mapping(bytes32 transition => uint256) public reached;

    constructor(IHub hub_, Usdc token_, address owner_) Ghosts(hub_, token_) {
        _owner = owner_;
        for (uint256 i = 0; i < 3; ++i) {
            _posters.push(address(uint160(0xA000 + i)));
            _solvers.push(address(uint160(0xB000 + i)));
            _recipients.push(address(uint160(0xD000 + i)));
            vm.prank(_posters[i]);
            token.approve(address(hub), type(uint256).max);
        }
        for (uint256 i = 0; i < 5; ++i) {
            _guardians.push(address(uint160(0xC000 + i)));
        }
        publishRoster(2);
        _policy(123, 456, 0);
    }

    // ---------------------------------------------------------------- time and owner

    /// @notice Small steps, so that bounties meet at different ages.
    function wait(uint256 seed) external {
        seed = _shuffled(seed);
        vm.warp(vm.getBlockTimestamp() + 1 + seed % 400);
    }

    /// @notice To the next moment at which something changes for a live bounty, to the second; seldom past the
    /// deadline of one without a Submission, since that is a short life.
    function waitForEdge(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 bountyId = _pick(seed, Stage.OPEN);
        if (bountyId == 0) return;
        Ghost storage g = _ghosts[bountyId];
        uint256 time = vm.getBlockTimestamp();
        if (time < g.submissionDeadline) {
            if (g.submissions != 0 || seed % 64 < 8) vm.warp(g.submissionDeadline);
        } else if (time < g.revealAt) {
            vm.warp(g.revealAt);
        } else if (time < g.judgingDeadline && seed % 3 == 0) {
            vm.warp(g.judgingDeadline);
        }
    }

    function publishRoster(uint256 seed) public {
        seed = _shuffled(seed);
        uint256 size = 1 + seed % 5;
        uint256 quorum = size / 2 + 1 + (seed >> 8) % (size - size / 2);
        address[] memory accounts = new address[](size);
        bytes32[] memory keys = new bytes32[](size);
        uint256 first = (seed >> 16) % (6 - size);
        for (uint256 i = 0; i < size; ++i) {
            accounts[i] = _guardians[first + i];
            keys[i] = bytes32((9 + i) << 248);
        }
        vm.prank(_owner);
        hub.publishRoster(accounts, keys, quorum);
        reached["roster"]++;
    }

    function setFeePolicy(uint256 seed) external {
        seed = _shuffled(seed);
        _policy(seed % 1_001, (seed >> 16) % 2_001, seed >> 32);
        reached["fee policy"]++;
    }

    function _policy(uint256 protocolBps, uint256 guardianBps, uint256 recipient) private {
        vm.prank(_owner);
        hub.setFeePolicy(protocolBps, guardianBps, _recipients[recipient % 3]);
    }

    function donate(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 amount = 1 + seed % 1_000;
        token.mint(address(hub), amount);
        donated += amount;
    }

    function heartbeat(uint256 seed) external {
        seed = _shuffled(seed);
        address guardian = _guardians[seed % 5];
        vm.prank(guardian);
        (bool ok,) = address(hub).call(abi.encodeCall(IHub.heartbeat, ()));
        reached[ok ? bytes32("heartbeat") : bytes32("heartbeat refused")]++;
    }

    // ---------------------------------------------------------------- create and submit

    function create(uint256 seed) external {
        seed = _shuffled(seed);
        if (_live() >= 5) return;
        Ghost memory g;
        RosterView memory roster = hub.getRoster(hub.currentRosterVersion());
        (uint256 protocolBps, uint256 guardianBps, address recipient) = hub.feePolicy();
        g.poster = _posters[seed % 3];
        g.escrow = 1_000 + (seed >> 8) % 1e12;
        if (seed % 5 == 0) g.escrow = 1_000 + (seed >> 8) % 50; // small numbers round most
        g.protocolFee = g.escrow * protocolBps / 10_000;
        g.guardianFee = g.escrow * guardianBps / 10_000;
        g.feeRecipient = recipient;
        g.submissionDeadline = vm.getBlockTimestamp() + 100 + (seed >> 64) % 900;
        g.revealAt = g.submissionDeadline + 60;
        g.judgingDeadline = g.revealAt + 500 + (seed >> 80) % 1_500;
        (g.guardians, g.quorum, g.rosterHash) = (roster.accounts, roster.quorum, roster.guardianRosterHash);
        Terms memory t = Terms({
            specCommitment: bytes32(seed | 1),
            expectedRosterHash: g.rosterHash,
            escrowAmount: g.escrow,
            submissionDeadline: g.submissionDeadline,
            judgingWindow: g.judgingDeadline - g.revealAt,
            maxProtocolFee: g.protocolFee,
            maxGuardianFee: g.guardianFee,
            salt: bytes32(seed)
        });
        token.mint(g.poster, g.escrow);
        vm.prank(g.poster);
        uint256 bountyId = hub.createBounty(t);
        vm.assertEq(bountyId, ++count, "ids count from 1");
        _ghosts[bountyId] = g;
        (liabilities, touched) = (liabilities + g.escrow, bountyId);
        reached["created"]++;
    }

    function submit(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 bountyId = _pick(seed, (seed >> 16) % 8 == 0 ? Stage.OPEN : Stage.ACCEPTING); // some too late
        if (bountyId == 0) return;
        Ghost storage g = _ghosts[bountyId];
        touched = bountyId;
        address solver = _solvers[(seed >> 8) % 3];
        bytes32 work = keccak256(abi.encode(seed));
        bool allowed = vm.getBlockTimestamp() < g.submissionDeadline;
        vm.prank(solver);
        (bool ok,) = address(hub).call(abi.encodeCall(IHub.submit, (bountyId, work, g.rosterHash)));
        vm.assertTrue(ok == allowed, "submit: accepted exactly before the deadline");
        if (!ok) {
            reached["submission refused"]++;
            return;
        }
        vm.assertEq(g.frozen, bytes32(0), "submit after a Verdict");
        if (_work[bountyId][solver] == 0) {
            ++g.submissions;
            g.solvers.push(solver);
            reached["submitted"]++;
        } else {
            reached["resubmitted"]++;
        }
        _work[bountyId][solver] = work;
    }

    // ---------------------------------------------------------------- judge

    function judge(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 bountyId = _pick(seed, Stage.JUDGEABLE);
        if (bountyId % 6 == 5 && seed % 8 != 0) return; // the Guardians of some bounties stay silent
        if (bountyId == 0) return;
        Ghost storage g = _ghosts[bountyId];
        touched = bountyId;
        address guardian = g.guardians[(seed >> 16) % g.guardians.length];
        if (seed % 20 == 0) guardian = _guardians[(seed >> 16) % 5]; // perhaps not on this roster
        Ballot memory ballot;
        bytes32 work;
        // Guardians tend to agree, or nothing would ever be decided: three votes of four follow the bounty's number.
        uint256 opinion = (seed >> 24) % 4 == 0 ? (seed >> 32) % 3 : bountyId % 3;
        if (opinion == 0 || g.submissions == 0) {
            ballot.kind = VerdictKind.NO_VALID_SUBMISSION;
        } else {
            ballot = Ballot(VerdictKind.AWARDED, g.solvers[opinion % g.submissions]);
            work = _work[bountyId][ballot.solver];
        }
        _vote(bountyId, guardian, ballot, work);
    }

    function _vote(uint256 bountyId, address guardian, Ballot memory ballot, bytes32 work) private {
        Ghost storage g = _ghosts[bountyId];
        bool allowed = _isAt(g, Stage.JUDGEABLE) && _isGuardian(g, guardian);
        vm.prank(guardian);
        (bool ok,) = address(hub)
            .call(abi.encodeCall(IHub.recordVerdict, (bountyId, ballot.kind, ballot.solver, work, bytes32(uint256(1)))));
        vm.assertTrue(ok == allowed, "verdict: accepted exactly from the pinned roster while judgeable");
        if (!ok) {
            reached["verdict refused"]++;
            return;
        }
        if (g.frozen == 0) g.frozen = _activeSet(bountyId);
        reached[_ballots[bountyId][guardian].kind == 0 ? bytes32("verdict") : bytes32("verdict replaced")]++;
        if (_ballots[bountyId][guardian].kind == 0) ++g.verdicts;
        _ballots[bountyId][guardian] = ballot;
        if (_agreeing(bountyId, ballot) >= g.quorum) {
            (g.reason, g.winner) = (Reason.JUDGED, ballot.solver);
            reached[ballot.solver == address(0) ? bytes32("judged none") : bytes32("awarded")]++;
            _close(bountyId);
        }
    }

    function settle(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 bountyId = _pick(seed, Stage.OPEN);
        if (bountyId == 0) return;
        Ghost storage g = _ghosts[bountyId];
        touched = bountyId;
        uint256 from = g.submissions == 0 ? g.submissionDeadline : g.judgingDeadline;
        bool allowed = g.reason == Reason.OPEN && vm.getBlockTimestamp() >= from;
        vm.prank(address(uint160(seed | 1)));
        (bool ok,) = address(hub).call(abi.encodeCall(IHub.settle, (bountyId)));
        vm.assertTrue(ok == allowed, "settle: accepted exactly when the time is up");
        if (!ok) {
            reached["settlement refused"]++;
            return;
        }
        _endByTime(g);
        if (g.reason == Reason.NO_SUBMISSIONS) reached["settled empty"]++;
        if (g.reason == Reason.GUARDIANS_SILENT) reached["settled silent"]++;
        if (g.reason == Reason.QUORUM_NOT_REACHED) reached["settled without quorum"]++;
        _close(bountyId);
    }

    // ---------------------------------------------------------------- pull

    /// @notice Anyone tries any pull on any final bounty, entitled or not.
    function pull(uint256 seed) external {
        seed = _shuffled(seed);
        uint256 bountyId = _pick(seed, Stage.OWING);
        if (bountyId == 0) return;
        Ghost storage g = _ghosts[bountyId];
        uint256 which = (seed >> 8) % 4;
        if (which == 3 && seed % 3 == 0) which = 0; // the award is the rarest
        address account = _party(g, which, seed >> 16);
        if (seed % 10 == 0) account = _party(g, (which + 1) % 4, seed >> 16);
        pullAs(bountyId, which, account);
    }

    function pullAs(uint256 bountyId, uint256 which, address account) public {
        Ghost storage g = _ghosts[bountyId];
        touched = bountyId;
        (bytes32 role, uint256 amount) = _entitled(bountyId, which, account);
        bool allowed = g.reason != Reason.OPEN && amount != 0 && !_paid[bountyId][role];
        uint256 before = token.balanceOf(account);
        vm.prank(account);
        (bool ok,) = address(hub).call(_pullCall(bountyId, which));
        vm.assertTrue(ok == allowed, "pull: accepted exactly once and from the entitled caller");
        vm.assertEq(token.balanceOf(account) - before, ok ? amount : 0, "pull: another amount");
        if (!ok) {
            bytes32[4] memory refused =
                [bytes32("award refused"), "refund refused", "guardian fee refused", "protocol fee refused"];
            reached[refused[which]]++;
            return;
        }
        _paid[bountyId][role] = true;
        g.paidOut += amount;
        liabilities -= amount;
        bytes32[4] memory names = [bytes32("award"), "refund", "guardian fee", "protocol fee"];
        reached[names[which]]++;
    }

    /// @dev By its own function, or as a list of one.
    function _pullCall(uint256 bountyId, uint256 which) private view returns (bytes memory) {
        if (moves % 2 == 0) {
            Claim[] memory claims = new Claim[](1);
            claims[0] = Claim(uint8(which) + ClaimKind.AWARD, bountyId);
            return abi.encodeCall(IHub.claimMany, (claims));
        }
        if (which == 0) return abi.encodeCall(IHub.claim, (bountyId, "", ""));
        if (which == 1) return abi.encodeCall(IHub.claimRefund, (bountyId));
        if (which == 2) return abi.encodeCall(IHub.claimGuardianFee, (bountyId));
        return abi.encodeCall(IHub.claimProtocolFee, (bountyId));
    }

    // ---------------------------------------------------------------- the end

    /// @notice From wherever the run ended, using only parties who want to move, every unit leaves.
    function drainEverything() external {
        for (uint256 bountyId = 1; bountyId <= count; ++bountyId) {
            Ghost storage g = _ghosts[bountyId];
            if (vm.getBlockTimestamp() < g.judgingDeadline) vm.warp(g.judgingDeadline);
            if (g.reason == Reason.OPEN) this.settleOne(bountyId);
            for (uint256 which = 0; which < 4; ++which) {
                for (uint256 i = 0; i < (which == 2 ? g.guardians.length : 1); ++i) {
                    pullAs(bountyId, which, _party(g, which, i));
                }
            }
            vm.assertEq(g.paidOut, g.escrow, "units stuck");
            check(bountyId);
        }
        vm.assertEq(token.balanceOf(address(hub)), donated, "only unsolicited tokens remain");
    }

    function settleOne(uint256 bountyId) external {
        Ghost storage g = _ghosts[bountyId];
        hub.settle(bountyId);
        _endByTime(g);
        _close(bountyId);
    }

    // ---------------------------------------------------------------- inside

    /// @dev The fuzzer likes some numbers; every move should be equally likely.
    function _shuffled(uint256 seed) private returns (uint256) {
        return uint256(keccak256(abi.encode(seed, ++moves)));
    }
}
