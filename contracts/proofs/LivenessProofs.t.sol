// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ledger} from "../src/parts/Ledger.sol";
import {Money} from "../src/parts/Money.sol";
import {HubStorage} from "./support/HubStorage.sol";

/// @notice No unit is stuck, proven by halmos from an arbitrary storage of the Hub. From the judging deadline on, anyone
/// ends an open bounty; what a final bounty still owes, each entitled party gets by a call of its own, whatever the
/// others did or never do. With the lemmas of HubProofs (an end owes the escrow to the unit; a pull pays what it owed)
/// every unit has a way out. Assumed, since only reachable states promise it: three seats, fees within their caps, and a
/// winner that is an account. That no sum of shares exceeds its escrow is not left to the solver: it is arithmetic,
/// floor(floor(e * b / 10,000) / n) * v <= e where b <= 10,000 and v <= n, which Fuzz.t.sol tries.
contract LivenessProofs is HubStorage {
    bytes4 private constant PANIC = bytes4(keccak256("Panic(uint256)"));

    function existing(uint256 bountyId) private {
        threeGuardians(bountyId);
        capped(bountyId);
        vm.assume(address(uint160(word(bountyId, 0))) != address(0));
    }

    function isFinal(uint256 bountyId) private view returns (bool) {
        return reasonOf(word(bountyId, 1)) != 0;
    }

    function isMarked(uint256 bountyId, uint256 mark) private view returns (bool) {
        return (word(bountyId, 1) >> (232 + mark)) & 1 != 0;
    }

    /// @dev The call works and pays its caller something.
    function leaves(address caller, bytes memory call) private {
        vm.prank(caller);
        (bool done,) = address(hub).call(call);
        assert(done);
        assert(token.received(caller) != 0);
    }

    function check_stuck__anyone_ends_a_bounty_whose_time_is_up(uint256 bountyId, address caller, uint256 time) public {
        existing(bountyId);
        uint256 first = word(bountyId, 0);
        vm.assume(!isFinal(bountyId));
        vm.assume(time >= deadlineOf(first) + 60 + ((first >> 192) & type(uint32).max));
        vm.warp(time);
        vm.prank(caller);
        (bool done, bytes memory refusal) = address(hub).call(abi.encodeCall(hub.settle, (bountyId)));
        assert(done ? isFinal(bountyId) : bytes4(refusal) == PANIC);
    }

    function check_stuck__a_winner_gets_the_award(uint256 bountyId) public {
        existing(bountyId);
        uint256 second = word(bountyId, 1);
        vm.assume(isFinal(bountyId) && isAwarded(second) && !isMarked(bountyId, 15));
        vm.assume(awardOf(bountyId) != 0);
        address winner = candidateOf(bountyId, (second >> 224) & 0xff);
        vm.assume(winner != address(0)); // a Verdict names an account with a Submission
        leaves(winner, abi.encodeCall(hub.claim, (bountyId, "", "")));
    }

    function check_stuck__a_poster_gets_the_rest(uint256 bountyId) public {
        existing(bountyId);
        vm.assume(isFinal(bountyId) && !isMarked(bountyId, 16) && refundOf(bountyId) != 0);
        leaves(address(uint160(word(bountyId, 0))), abi.encodeCall(hub.claimRefund, (bountyId)));
    }

    function check_stuck__a_guardian_gets_its_share(uint256 bountyId, address guardian) public {
        existing(bountyId);
        uint256 seat = seatNumber(rosterOf(word(bountyId, 0)), guardian);
        vm.assume(isFinal(bountyId) && seat >= 1 && seat <= 3);
        vm.assume((word(bountyId, 1) >> (136 + 5 * (seat - 1))) & 31 != 0 && !isMarked(bountyId, seat - 1));
        vm.assume(shareOf(bountyId) != 0);
        leaves(guardian, abi.encodeCall(hub.claimGuardianFee, (bountyId)));
    }

    function check_stuck__the_recipient_gets_the_protocol_fee(uint256 bountyId) public {
        existing(bountyId);
        vm.assume(isFinal(bountyId) && isAwarded(word(bountyId, 1)) && !isMarked(bountyId, 17));
        vm.assume(protocolDueOf(bountyId) != 0);
        leaves(feeRecipientOf(bountyId), abi.encodeCall(hub.claimProtocolFee, (bountyId)));
    }

    // ---------------------------------------------------------------- what is stored

    // What the Hub computes as due; HubProofs holds the amounts against a table of their own.

    function awardOf(uint256 bountyId) private view returns (uint256 award) {
        (award,,,,) = Money.split(Ledger.wrap(word(bountyId, 1)), 3);
    }

    function refundOf(uint256 bountyId) private view returns (uint256 refund) {
        (, refund,,,) = Money.split(Ledger.wrap(word(bountyId, 1)), 3);
    }

    function protocolDueOf(uint256 bountyId) private view returns (uint256 due) {
        (,, due,,) = Money.split(Ledger.wrap(word(bountyId, 1)), 3);
    }

    function shareOf(uint256 bountyId) private view returns (uint256 share) {
        (,,, share,) = Money.split(Ledger.wrap(word(bountyId, 1)), 3);
    }

    function candidateOf(uint256 bountyId, uint256 choice) private view returns (address) {
        bytes32 ofBounty = keccak256(abi.encode(bountyId, CANDIDATES));
        return address(uint160(uint256(vm.load(address(hub), keccak256(abi.encode(choice, ofBounty))))));
    }

    function feeRecipientOf(uint256 bountyId) private view returns (address) {
        uint256 version = (word(bountyId, 1) >> 120) & type(uint16).max;
        return address(uint160(uint256(vm.load(address(hub), keccak256(abi.encode(version, FEE_POLICIES))))));
    }
}
