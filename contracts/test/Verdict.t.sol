// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Outcome, Reason, VerdictKind} from "../src/IHubTypes.sol";
import {HubTest} from "./support/HubTest.sol";
import {vm} from "./support/Vm.sol";

/// @notice Judging: who, when, about what; replacing; and quorum on exactly one outcome.
contract VerdictTest is HubTest {
    function refused(address account, uint256 bountyId, uint8 kind, address named, bytes32 work, bytes memory why)
        private
    {
        vm.expectRevert(why);
        vm.prank(account);
        hub.recordVerdict(bountyId, kind, named, work, REPORT);
    }

    function refusedAward(address account, uint256 bountyId, bytes memory why) private {
        refused(account, bountyId, VerdictKind.AWARDED, solver, WORK, why);
    }

    function expectVerdict(uint256 bountyId, address guardian, uint8 kind, address named, bytes32 work) private view {
        (uint8 k, address s, bytes32 c) = hub.getVerdict(bountyId, guardian);
        vm.assertEq(k, kind);
        vm.assertEq(s, named);
        vm.assertEq(c, work);
    }

    // ---------------------------------------------------------------- quorum

    function test_verdict__quorum_on_one_submission__finalizes_in_that_transaction() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN);
        vm.expectEmit(address(hub));
        emit VerdictRecorded(bountyId, guardians[1], VerdictKind.AWARDED, solver, WORK, REPORT);
        vm.expectEmit(address(hub));
        emit BountyFinalized(
            bountyId, Outcome.AWARDED, Reason.JUDGED, solver, WORK, 945_000_001, 10_000_000, 25_000_000, 10_000_000, 2
        );
        award(1, bountyId, solver, WORK);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.outcome, Outcome.AWARDED);
        vm.assertEq(b.reason, Reason.JUDGED);
        vm.assertEq(b.winner, solver);
        vm.assertEq(b.winningSubmission, WORK);
        vm.assertEq(b.verdictCount, 2);
        expectVerdict(bountyId, guardians[0], VerdictKind.AWARDED, solver, WORK);
        expectVerdict(bountyId, guardians[2], VerdictKind.NONE, address(0), 0);
        expectVerdict(bountyId, stranger, VerdictKind.NONE, address(0), 0);
    }

    function test_verdict__quorum_on_no_valid_submission__refunds_the_poster() public {
        uint256 bountyId = judgeable();
        reject(2, bountyId);
        expectVerdict(bountyId, guardians[2], VerdictKind.NO_VALID_SUBMISSION, address(0), 0);
        vm.expectEmit(address(hub));
        emit BountyFinalized(
            bountyId,
            Outcome.NO_VALID_SUBMISSION,
            Reason.JUDGED,
            address(0),
            0,
            0,
            ESCROW - 20_000_000,
            0,
            10_000_000,
            2
        );
        reject(0, bountyId);
        vm.assertEq(hub.getBounty(bountyId).winner, address(0));
    }

    function test_verdict__different_outcomes__are_no_quorum() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        award(1, bountyId, rival, OTHER_WORK);
        reject(2, bountyId);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.outcome, Outcome.OPEN);
        vm.assertEq(b.verdictCount, 3);
        expectVerdict(bountyId, guardians[0], VerdictKind.AWARDED, solver, WORK);
        expectVerdict(bountyId, guardians[1], VerdictKind.AWARDED, rival, OTHER_WORK);
    }

    /// @custom:attack Guardian | votes twice | a later Verdict replaces the former
    function test_verdict__the_same_guardian_twice__counts_once() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK);
        award(0, bountyId, solver, WORK);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.verdictCount, 1);
        vm.assertEq(b.outcome, Outcome.OPEN);
    }

    function test_verdict__replaced__only_the_latest_counts() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, rival, OTHER_WORK);
        award(0, bountyId, solver, WORK);
        expectVerdict(bountyId, guardians[0], VerdictKind.AWARDED, solver, WORK);
        award(1, bountyId, rival, OTHER_WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN);
        award(2, bountyId, rival, OTHER_WORK);
        BountyView memory b = hub.getBounty(bountyId);
        vm.assertEq(b.winner, rival);
        vm.assertEq(b.winningSubmission, OTHER_WORK);
        expectVerdict(bountyId, guardians[0], VerdictKind.AWARDED, solver, WORK);
    }

    function test_verdict__a_candidate_number_is_given_back__other_ballots_keep_their_meaning() public {
        uint256 bountyId = judgeable();
        award(0, bountyId, solver, WORK); // candidate 2
        award(1, bountyId, rival, OTHER_WORK); // candidate 3
        reject(0, bountyId); // 2 is free
        expectVerdict(bountyId, guardians[1], VerdictKind.AWARDED, rival, OTHER_WORK);
        award(2, bountyId, solver, WORK); // 2 again
        expectVerdict(bountyId, guardians[1], VerdictKind.AWARDED, rival, OTHER_WORK);
        award(0, bountyId, rival, OTHER_WORK); // joins 3: quorum
        vm.assertEq(hub.getBounty(bountyId).winner, rival);
        expectVerdict(bountyId, guardians[2], VerdictKind.AWARDED, solver, WORK);
    }

    function test_verdict__fifteen_guardians_name_fifteen_solvers__every_ballot_is_kept() public {
        guardians = ascending(15);
        rosterHash = publish(guardians, 8);
        uint256 bountyId = create();
        for (uint256 i = 0; i < 15; ++i) {
            submitAs(address(uint160(0x9000 + i)), bountyId, bytes32(i + 1));
        }
        toReveal(bountyId);
        for (uint256 i = 0; i < 15; ++i) {
            award(i, bountyId, address(uint160(0x9000 + i)), bytes32(i + 1));
        }
        for (uint256 i = 0; i < 15; ++i) {
            expectVerdict(bountyId, guardians[i], VerdictKind.AWARDED, address(uint160(0x9000 + i)), bytes32(i + 1));
        }
        vm.assertEq(hub.getBounty(bountyId).verdictCount, 15);
        for (uint256 i = 0; i < 7; ++i) {
            award(i, bountyId, address(uint160(0x900E)), bytes32(uint256(15)));
        }
        vm.assertEq(hub.getBounty(bountyId).winner, address(uint160(0x900E)));
    }

    /// @dev Two Guardians change their minds in turn: each names a Solver whom nobody named before.
    function test_verdict__eighty_solvers_named_in_turn__numbers_never_run_out() public {
        uint256 bountyId = create();
        for (uint256 i = 1; i <= 80; ++i) {
            submitAs(address(uint160(0x9000 + i)), bountyId, bytes32(i));
        }
        toReveal(bountyId);
        for (uint256 i = 1; i <= 80; ++i) {
            award(i % 2, bountyId, address(uint160(0x9000 + i)), bytes32(i));
        }
        expectVerdict(bountyId, guardians[1], VerdictKind.AWARDED, address(uint160(0x9000 + 79)), bytes32(uint256(79)));
        award(2, bountyId, address(uint160(0x9000 + 80)), bytes32(uint256(80)));
        vm.assertEq(hub.getBounty(bountyId).winner, address(uint160(0x9000 + 80)));
    }

    // ---------------------------------------------------------------- when

    /// @custom:attack Guardian | votes after the end, or before the reveal point | judgeable only, to the second
    function test_verdict__first_and_last_second_of_judging() public {
        uint256 bountyId = judgeable();
        BountyView memory b = hub.getBounty(bountyId);
        vm.warp(b.revealAt - 1);
        refusedAward(
            guardians[0],
            bountyId,
            abi.encodeWithSelector(JudgingNotStarted.selector, bountyId, b.revealAt, b.revealAt - 1)
        );
        vm.warp(b.revealAt);
        award(0, bountyId, solver, WORK);
        vm.warp(b.judgingDeadline);
        refusedAward(
            guardians[1],
            bountyId,
            abi.encodeWithSelector(JudgingEnded.selector, bountyId, b.judgingDeadline, b.judgingDeadline)
        );
        vm.warp(b.judgingDeadline - 1);
        award(1, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED);
    }

    function test_verdict__after_final__is_refused() public {
        uint256 bountyId = awarded();
        refusedAward(guardians[2], bountyId, abi.encodeWithSelector(BountyFinal.selector, bountyId, Outcome.AWARDED));
    }

    function test_verdict__nothing_submitted__is_refused() public {
        uint256 bountyId = create();
        toReveal(bountyId);
        refused(
            guardians[0],
            bountyId,
            VerdictKind.NO_VALID_SUBMISSION,
            address(0),
            0,
            abi.encodeWithSelector(NothingToJudge.selector, bountyId)
        );
    }

    /// @dev An outcome names a Solver: who copied a commitment gets nothing of its author's Verdicts, nor gives any.
    function test_verdict__author_and_copyist_of_one_commitment__do_not_add_up() public {
        uint256 bountyId = create();
        submitAs(solver, bountyId, WORK);
        submitAs(rival, bountyId, WORK);
        toReveal(bountyId);
        award(0, bountyId, solver, WORK);
        award(1, bountyId, rival, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN, "one each");
        expectVerdict(bountyId, guardians[0], VerdictKind.AWARDED, solver, WORK);
        expectVerdict(bountyId, guardians[1], VerdictKind.AWARDED, rival, WORK);
        award(2, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).winner, solver);
        vm.assertEq(hub.claimable(bountyId, rival), 0);
    }

    // ---------------------------------------------------------------- who

    /// @custom:attack owner | picks new judges for an old bounty | the roster version is pinned
    function test_verdict__not_on_the_pinned_roster__is_refused() public {
        uint256 bountyId = judgeable();
        refusedAward(stranger, bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, stranger));
        refusedAward(poster, bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, poster));
        refusedAward(owner, bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, owner));
        address[] memory next = ascending(3);
        publish(next, 2);
        refusedAward(next[0], bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, next[0]));
        award(0, bountyId, solver, WORK); // the old roster still judges this bounty
    }

    /// @dev A Guardian's newest seat is kept in another word than its former ones: after it is announced on a roster of
    /// one, seat and quorum of the pinned roster still count.
    function test_verdict__seated_otherwise_since__has_the_pinned_seat_and_quorum() public {
        uint256 bountyId = judgeable();
        for (uint256 i = 0; i < 3; ++i) {
            address[] memory alone = new address[](1);
            alone[0] = guardians[i];
            announce(alone, 1);
        }
        award(1, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN, "one of two");
        award(2, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).verdictCount, 2, "each on its own seat");
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED, "two of two");
        refusedAward(guardians[0], bountyId, abi.encodeWithSelector(BountyFinal.selector, bountyId, Outcome.AWARDED));
    }

    /// @dev The former seat of a large roster has its whole quorum: a copy that holds less would let a minority decide.
    function test_verdict__seated_otherwise_since__the_largest_quorum_counts() public {
        guardians = ascending(15);
        rosterHash = publish(guardians, 15);
        uint256 bountyId = judgeable();
        announce(guardians, 8);
        for (uint256 i = 0; i < 14; ++i) {
            award(i, bountyId, solver, WORK);
            vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.OPEN, "fewer than fifteen");
        }
        award(14, bountyId, solver, WORK);
        vm.assertEq(hub.getBounty(bountyId).outcome, Outcome.AWARDED, "fifteen of fifteen");
    }

    function test_verdict__the_second_one__keeps_the_seat() public {
        uint256 first = judgeable();
        award(2, first, solver, WORK);
        award(2, first, solver, WORK);
        vm.assertEq(hub.getBounty(first).verdictCount, 1);
        vm.prank(guardians[2]);
        hub.heartbeat();
        award(2, first, rival, OTHER_WORK);
        expectVerdict(first, guardians[2], VerdictKind.AWARDED, rival, OTHER_WORK);
        vm.assertEq(hub.getBounty(first).verdictCount, 1);
    }

    // ---------------------------------------------------------------- what

    function test_verdict__names_another_submission__is_refused() public {
        uint256 bountyId = judgeable();
        address g = guardians[0];
        refused(
            g,
            bountyId,
            VerdictKind.AWARDED,
            solver,
            OTHER_WORK,
            abi.encodeWithSelector(SubmissionNotActive.selector, bountyId, solver, OTHER_WORK, WORK)
        );
        refused(
            g,
            bountyId,
            VerdictKind.AWARDED,
            stranger,
            WORK,
            abi.encodeWithSelector(SubmissionNotActive.selector, bountyId, stranger, WORK, bytes32(0))
        );
        refused(
            g,
            bountyId,
            VerdictKind.AWARDED,
            stranger,
            0,
            abi.encodeWithSelector(SubmissionNotActive.selector, bountyId, stranger, bytes32(0), bytes32(0))
        );
        refused(
            g,
            bountyId,
            VerdictKind.AWARDED,
            address(0),
            0,
            abi.encodeWithSelector(SubmissionNotActive.selector, bountyId, address(0), bytes32(0), bytes32(0))
        );
    }

    function test_verdict__no_valid_submission_names_something__is_refused() public {
        uint256 bountyId = judgeable();
        address g = guardians[0];
        uint8 kind = VerdictKind.NO_VALID_SUBMISSION;
        refused(
            g,
            bountyId,
            kind,
            solver,
            0,
            abi.encodeWithSelector(VerdictNamesSubmission.selector, bountyId, solver, bytes32(0))
        );
        refused(
            g,
            bountyId,
            kind,
            address(0),
            WORK,
            abi.encodeWithSelector(VerdictNamesSubmission.selector, bountyId, address(0), WORK)
        );
    }

    function test_verdict__of_a_stranger_before_the_reveal_point__is_refused_for_who_it_is() public {
        uint256 bountyId = create();
        submitAs(solver, bountyId, WORK);
        refusedAward(stranger, bountyId, abi.encodeWithSelector(NotGuardian.selector, bountyId, stranger));
        uint256 revealAt = hub.getBounty(bountyId).revealAt;
        bytes memory why =
            abi.encodeWithSelector(JudgingNotStarted.selector, bountyId, revealAt, vm.getBlockTimestamp());
        refusedAward(guardians[0], bountyId, why);
    }

    function test_verdict__unknown_kind__is_refused() public {
        uint256 bountyId = judgeable();
        refused(guardians[0], bountyId, 0, solver, WORK, abi.encodeWithSelector(VerdictKindInvalid.selector, 0));
        refused(guardians[0], bountyId, 3, solver, WORK, abi.encodeWithSelector(VerdictKindInvalid.selector, 3));
    }

    function test_verdict__report_commitment_zero__is_refused() public {
        uint256 bountyId = judgeable();
        vm.expectRevert(abi.encodeWithSelector(ReportCommitmentZero.selector, bountyId));
        vm.prank(guardians[0]);
        hub.recordVerdict(bountyId, VerdictKind.AWARDED, solver, WORK, 0);
    }

    function test_verdict__unknown_bounty__is_refused() public {
        refusedAward(guardians[0], 7, abi.encodeWithSelector(BountyNotFound.selector, 7));
    }

    function test_verdict__marks_the_guardian_as_active() public {
        uint256 bountyId = judgeable();
        award(1, bountyId, solver, WORK);
        vm.assertEq(hub.getRoster(1).lastActiveAt[1], vm.getBlockTimestamp());
        vm.assertEq(hub.getRoster(1).lastActiveAt[0], 0);
        for (uint256 i = 0; i < 3; ++i) {
            vm.warp(vm.getBlockTimestamp() + 77);
            award(1, bountyId, rival, OTHER_WORK);
            vm.assertEq(hub.getRoster(1).lastActiveAt[1], vm.getBlockTimestamp(), "the time of the newest one");
        }
    }
}
