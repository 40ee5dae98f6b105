"""The committed ABI is the interface that indexer, client and audit were written for, name by name."""

import re

import pytest
from bounty_protocol.chain.abi import Parameter, parse_abi

from tests.contracts.evm import ARTIFACTS

TERMS = "(bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,bytes32)"
BOUNTY = (
    "(address,uint256,bytes32,uint256,uint256,uint256,uint256,bytes32,uint256,uint256,address,bool,uint256,uint8,uint8,"
    "address,bytes32,uint256,uint256,uint256,uint256,bool,bool,bool)"
)
FUNCTIONS = f"""
createBounty({TERMS}) -> uint256
createBountyWithAuthorization({TERMS},address,uint256,uint256,bytes) -> uint256
submit(uint256,bytes32,bytes32) ->
recordVerdict(uint256,uint8,address,bytes32,bytes32) ->
settle(uint256) ->
claim(uint256,bytes,bytes) ->
claimRefund(uint256) ->
claimGuardianFee(uint256) ->
claimProtocolFee(uint256) ->
claimMany((uint8,uint256)[]) ->
heartbeat() ->
publishRoster(address[],bytes32[],uint256) ->
publishDeliveryKey(bytes32) ->
withdrawDeliveryKey(bytes32) ->
setFeePolicy(uint256,uint256,address) ->
transferOwnership(address) ->
acceptOwnership() ->
getBounty(uint256) -> {BOUNTY}
getRoster(uint256) -> (bytes32,uint256,address[],bytes32[],uint256[],uint256)
currentRosterVersion() -> uint256
announcedRoster() -> uint256,uint256
getSubmission(uint256,address) -> bytes32
getVerdict(uint256,address) -> uint8,address,bytes32
claimable(uint256,address) -> uint256
authorizationNonce({TERMS},address) -> bytes32
deliveryKey() -> bytes32
announcedDeliveryKey() -> bytes32,uint256
feePolicy() -> uint256,uint256,address
owner() -> address
pendingOwner() -> address
token() -> address
publicationDelay() -> uint256
revealDelay() -> uint256
minSubmissionWindow() -> uint256
maxSubmissionWindow() -> uint256
minJudgingWindow() -> uint256
maxJudgingWindow() -> uint256
minEscrow() -> uint256
maxProtocolFeeBps() -> uint256
maxGuardianFeeBps() -> uint256
"""
CONFIG = "(address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address)"
EVENTS = f"""
Deployed({CONFIG} config)
BountyCreated(uint256 indexed bountyId, address indexed poster, bytes32 indexed specCommitment,
    bytes32 guardianRosterHash, uint256 rosterVersion, uint256 escrowAmount, uint256 submissionDeadline,
    uint256 revealAt, uint256 judgingDeadline, uint256 protocolFee, uint256 guardianFee, address protocolFeeRecipient,
    bytes32 authorizationNonce)
SubmissionRecorded(uint256 indexed bountyId, address indexed solver, bytes32 indexed submissionCommitment)
VerdictRecorded(uint256 indexed bountyId, address indexed guardian, uint8 kind, address solver,
    bytes32 submissionCommitment, bytes32 reportCommitment)
BountyFinalized(uint256 indexed bountyId, uint8 outcome, uint8 reason, address indexed winner,
    bytes32 submissionCommitment, uint256 award, uint256 refund, uint256 protocolFee, uint256 guardianFeeEach,
    uint256 guardianFeeCount)
AwardClaimed(uint256 indexed bountyId, address indexed solver, uint256 amount)
RefundClaimed(uint256 indexed bountyId, address indexed poster, uint256 amount)
GuardianFeeClaimed(uint256 indexed bountyId, address indexed guardian, uint256 amount)
ProtocolFeeClaimed(uint256 indexed bountyId, address indexed recipient, uint256 amount)
RosterPublished(uint256 indexed version, bytes32 indexed guardianRosterHash, address[] accounts,
    bytes32[] encryptionKeys, uint256 quorum, uint256 effectiveFrom)
GuardianHeartbeat(address indexed guardian)
DeliveryKeyPublished(bytes32 indexed key, uint256 effectiveFrom)
DeliveryKeyWithdrawn(bytes32 indexed key)
FeePolicyChanged(uint256 protocolFeeBps, uint256 guardianFeeBps, address indexed recipient)
OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner)
OwnershipTransferred(address indexed previousOwner, address indexed newOwner)
"""
STRUCT_FIELDS = {
    "createBounty": "specCommitment expectedRosterHash escrowAmount submissionDeadline judgingWindow maxProtocolFee "
    "maxGuardianFee salt",
    "getBounty": "poster escrowAmount specCommitment submissionDeadline revealAt judgingDeadline rosterVersion "
    "guardianRosterHash protocolFee guardianFee protocolFeeRecipient hasSubmissions verdictCount outcome reason winner "
    "winningSubmission awardDue refundDue protocolFeeDue guardianFeesDue awardClaimed refundClaimed protocolFeeClaimed",
    "getRoster": "guardianRosterHash quorum accounts encryptionKeys lastActiveAt effectiveFrom",
}
ABI = parse_abi((ARTIFACTS / "Hub.abi.json").read_text(encoding="utf-8"))


def types(parameters: tuple[Parameter, ...]) -> str:
    return ",".join(parameter.type for parameter in parameters)


def declared(parameter: Parameter) -> str:
    return f"{parameter.type} {'indexed ' if parameter.indexed else ''}{parameter.name}"


def test_functions_of_the_abi_are_the_interface() -> None:
    told = {f"{f.name}({types(f.inputs)}) -> {types(f.outputs)}".strip() for f in ABI.functions.values()}
    assert told == set(FUNCTIONS.strip().splitlines())


@pytest.mark.spec(67)
def test_events_of_the_abi_are_the_interface() -> None:
    told = {f"{event.name}({', '.join(map(declared, event.inputs))})" for event in ABI.events.values()}
    assert told == set(re.sub(r"\n\s+", " ", EVENTS).strip().splitlines())


def test_struct_fields_have_the_interfaces_names() -> None:
    for name, fields in STRUCT_FIELDS.items():
        function = ABI.functions[name]
        struct = (function.inputs if name == "createBounty" else function.outputs)[0]
        assert [field.name for field in struct.fields] == fields.split()
