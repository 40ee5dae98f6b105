"""The Hub's refusals in plain sentences, each with a next step.

Every custom error of the Hub's ABI has its sentence here (a test fails when one is missing); a sentence may name the
values that came with the error, times as people read them. An error that is not the Hub's is reported as unexpected,
without raw data.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.abi import hub_abi, snake_case
from bounty_protocol.chain.rpc import RpcRefused
from bounty_protocol.clock import iso_utc

TIMES: Final = frozenset(
    {"submissionDeadline", "revealAt", "judgingDeadline", "possibleFrom", "deadline", "earliest", "latest"}
)
"""Values of errors that are seconds since 1970."""
_REREAD: Final = "Read the bounty again; its state does not permit this."
_TERMS: Final = "Change the page's terms and publish it again."
_OWNER: Final = "Correct the owner's call."
_AGAIN: Final = "Run the command again: it takes the Hub's current values."

SENTENCES: Final[dict[str, tuple[str, str]]] = {
    "AlreadyClaimed": ("This amount was already paid out to {account}.", "Nothing is left to claim in this role."),
    "BountyFinal": (
        "The bounty is already final.",
        "Nothing more can be recorded. See the bounty for what it pays.",
    ),
    "BountyNotFound": ("The Hub has no bounty {bountyId}.", "Check the bounty id and the deployment."),
    "BountyOpen": ("The bounty is still open.", "Wait until it is final, then try again."),
    "ClaimCountInvalid": ("A list takes 1 to {maximum} claims, not {count}.", "Claim in several lists."),
    "ClaimKindInvalid": ("A claim of kind {kind} does not exist.", "Use a kind from 1 to 4."),
    "DeliveryKeyNotPublished": ("The key {key} is neither the current nor the announced delivery key.", _OWNER),
    "EncryptionKeyLowOrder": ("The encryption key {key} is of low order.", _OWNER),
    "EncryptionKeyNotCanonical": ("The encryption key {key} is not canonical.", _OWNER),
    "EncryptionKeyRepeated": ("The encryption key {key} is in the roster twice.", _OWNER),
    "EscrowNotReceived": (
        "The token moved {received} instead of the {expected} that was signed.",
        "This token charges on transfer; the Hub refuses it.",
    ),
    "EscrowTooLarge": ("The escrow {amount} is above the Hub's maximum {maximum}.", _TERMS),
    "EscrowTooSmall": ("The escrow {amount} is below the Hub's minimum {minimum}.", _TERMS),
    "FeeAboveCap": ("The fee of {feeBps} basis points is above the cap of {capBps}.", _OWNER),
    "FeeRecipientInvalid": ("The fee recipient {recipient} cannot receive fees.", _OWNER),
    "GuardianFeeAboveMaximum": ("The guardian fee is now {fee}, above the agreed maximum of {maximum}.", _AGAIN),
    "InvalidConfiguration": ("The Hub's configuration value {field} is not acceptable.", _OWNER),
    "JudgingEnded": ("Judging ended at {judgingDeadline}.", "Anyone may settle the bounty now."),
    "JudgingNotStarted": ("Judging starts at the reveal point {revealAt}.", "Wait until then and try again."),
    "JudgingWindowOutOfRange": ("The judging window {window} is not within {minimum} to {maximum} seconds.", _TERMS),
    "NeverOnRoster": ("{account} was never on a roster.", "Use the account of a Guardian."),
    "NoAward": ("The bounty was not awarded.", "The Poster claims the refund instead."),
    "NoRosterPublished": ("No Guardian roster is published yet.", "Ask the operator to publish a roster."),
    "NotFeeRecipient": ("{caller} is not the fee recipient of this bounty.", "Use the recipient's account."),
    "NotGuardian": ("{account} is not on the roster that this bounty pinned.", "Use a pinned Guardian's account."),
    "NotOwner": ("{caller} is not the Hub's owner.", "Use the owner's account."),
    "NotPendingOwner": ("{caller} is not the Hub's next owner.", "Use the account named by the transfer."),
    "NotPoster": ("{caller} is not the Poster of this bounty.", "Use the Poster's account."),
    "NotWinner": ("{caller} is not the winner of this bounty.", "Use the winning Solver's account."),
    "NothingDue": (
        "Nothing is due to {account} in this bounty.",
        "See the bounty for what it pays, to whom, and what was claimed.",
    ),
    "NothingToJudge": ("The bounty has no Submission to judge.", "Anyone may settle it after the submission deadline."),
    "PayoutDataNotEmpty": ("Payout data and proof must be empty.", "Send both as empty bytes."),
    "PosterOnRoster": ("The Poster {poster} is a Guardian of the current roster.", "Fund with another account."),
    "PosterZero": ("The Poster is the zero address.", "Name the Poster's account."),
    "ProtocolFeeAboveMaximum": ("The protocol fee is now {fee}, above the agreed maximum of {maximum}.", _AGAIN),
    "Reentered": ("The Hub was called from within its own call.", "Do not call the Hub from a token's callback."),
    "ReportCommitmentZero": ("The report commitment is zero.", "Publish the written Verdict first."),
    "RosterAccountsNotAscending": ("The roster's accounts are not strictly ascending at {index}.", _OWNER),
    "RosterHashMismatch": ("The roster is {pinned}, not {given} as agreed.", _AGAIN),
    "RosterLengthsDiffer": ("The roster has {accounts} accounts and {encryptionKeys} keys.", _OWNER),
    "RosterNotFound": ("The Hub has no roster version {version}.", "Check the version and the deployment."),
    "RosterQuorumInvalid": ("A quorum of {quorum} is not possible with {size} members.", _OWNER),
    "RosterSizeInvalid": ("A roster has 1 to {maxSize} members, not {size}.", _OWNER),
    "SettlementTooEarly": ("The bounty can be settled from {possibleFrom}.", "Wait until then and try again."),
    "SolverIsPoster": ("The Poster cannot submit to its own bounty.", "Submit with another account."),
    "SolverOnRoster": ("A Guardian of this bounty cannot submit to it.", "Submit with another account."),
    "SpecCommitmentZero": ("The spec commitment is zero.", "Publish the challenge page first."),
    "SubmissionCommitmentZero": ("The submission commitment is zero.", "Prepare the Submission first."),
    "SubmissionDeadlineOutOfRange": (
        "The submission deadline {deadline} is not within {earliest} to {latest}.",
        "Change the page's submission_deadline and publish it again.",
    ),
    "SubmissionNotActive": (
        "The named Submission is not that Solver's active one.",
        "The Solver replaced it: open the new one, and name that.",
    ),
    "SubmissionsClosed": ("Submissions closed at {submissionDeadline}.", "Nothing more can be submitted to it."),
    "TokenTransferFailed": (
        "The escrow token refused the transfer of {amount}.",
        "Check the balance, and whether the token is paused or has blocked an account.",
    ),
    "ValueTooLarge": ("A value of {value} is above the Hub's maximum {maximum}.", "Use a smaller value."),
    "VerdictKindInvalid": ("A Verdict of kind {kind} does not exist.", "Use awarded or no_valid_submission."),
    "VerdictNamesSubmission": (
        "A no_valid_submission Verdict must not name a Submission.",
        "Leave Solver and Submission out.",
    ),
}
"""By the name of an error: what is refused and what to do next; names in braces are the error's own values."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call would revert. ``code`` is the error's name in snake_case, or ``reverted`` for an unknown one."""

    code: str
    message: str
    next_action: str


def explain(refusal: RpcRefused) -> Refusal:
    """Explain a reverted call in a sentence."""
    revert = hub_abi().revert(refusal.data)
    if revert is None or revert[0] not in SENTENCES:
        return Refusal("reverted", "The call would revert for a reason that the Hub does not give.", _REREAD)
    name, values = revert
    names = [parameter.name for parameter in next(e for e in hub_abi().errors.values() if e.name == name).inputs]
    message, next_action = SENTENCES[name]
    shown = {each: _shown(each, value) for each, value in zip(names, values, strict=True)}
    return Refusal(snake_case(name), message.format(**shown), next_action)


def _shown(name: str, value: object) -> object:
    """Format a time for people; return any other value unchanged."""
    if name not in TIMES or not isinstance(value, int):
        return value
    try:
        return iso_utc(value).replace("T", " ").replace("Z", " UTC")
    except (ValueError, OverflowError, OSError):  # a deadline that no calendar holds
        return f"{value} seconds after 1970"
