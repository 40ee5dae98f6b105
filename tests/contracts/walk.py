"""Long uniform walks over the moves of the machine: what hypothesis may miss by taste, these reach by length.

The weights have four walks of 1,500 steps meet each event and refusal about ten times, and five at the least.
"""

from random import Random

from tests.contracts.evm import CHOSEN
from tests.contracts.machine import EVERYONE, GUARDIANS, POSTERS, SOLVERS, HubMachine

WORDS = [bytes([number]) * 32 for number in (7, 8, 9, 7, 8, 9, 0)]
ESCROWS = [1_000, 1_001, 1_047, 10**6 + 370, 10**12 + 1, 2**88 - 1]


def walk(seed: int, steps: int, evm: str = CHOSEN) -> None:
    random = Random(seed)
    machine = HubMachine()
    machine.evm = evm
    machine.begin(250, 300, 3 if seed % 2 else 0, 0, False)
    machine.create(POSTERS[0], ESCROWS[0], 500, 500, -1, False, bytes(32))  # every other walk has no roster yet
    for _ in range(steps):
        step(machine, random)
        machine.everybody_agrees()
    machine.teardown()


def step(machine: HubMachine, random: Random) -> None:
    any_bounty = bool(machine.model.bounties)
    strange, spoil = random.random() < 0.08, random.choice([-1] * 12 + [*range(14), 13])  # 13 is the rarest
    other, back, member = random.choice(EVERYONE), random.randrange(6), random.randrange(5)
    match random.choices(range(9), weights=[6, 10, 9, 8, 14, 16, 6, 20, 2])[0]:
        case 0:
            machine.wait(random.choice([1, 30, 61, 200]))
        case 1 if any_bounty:
            machine.wait_for_edge(back, random.random() < 0.3, random.random() < 0.15)
        case 2:
            action = random.choice(["roster"] * 4 + ["fees", "fees", "delivery key", "withdraw", "offer", "accept"])
            members = set(random.sample(range(5), random.randrange(6)))
            bps = (random.randrange(1_050), random.randrange(2_100))
            wrong_roster, extra = random.choice([-1] * 3 + list(range(5))), random.choice([1, 1, 1, 0, 2])
            machine.owner(action, members, extra, wrong_roster, other, strange, bps)
        case 3:
            poster, escrow, salt = random.choice(POSTERS), random.choice(ESCROWS), random.randbytes(32)
            until, window, signed = random.choice([100, 500, 1_000]), random.choice([500, 2_000]), random.random() < 0.5
            machine.create(poster, escrow, until, window, spoil, signed, salt)
        case 4 if any_bounty:
            unknown, wrong = random.random() < 0.03, random.random() < 0.05
            sender = random.choice([*SOLVERS * 6, *POSTERS, *GUARDIANS[:2]])
            machine.submit(sender, other, strange, back, random.choice(WORDS), wrong, unknown)
        case 5 if any_bounty:
            bad = random.choice([-1] * 16 + list(range(4)))
            opinion = (random.randrange(4), bad, random.choice(WORDS))
            machine.record_verdicts(member, random.randrange(4), other, strange, back, *opinion)
        case 6 if any_bounty:
            machine.settle(other, back, random.random() < 0.7)
        case 7 if any_bounty:
            pull(machine, random, other, strange, back)
        case 8:
            machine.heartbeat_and_donation(random.choice(GUARDIANS), other, strange, 1 + random.randrange(1_000))


def pull(machine: HubMachine, random: Random, other: str, strange: bool, back: int) -> None:
    which = random.randrange(4)
    if random.random() < 0.2:
        machine.pull_many(which, other, strange, back, random.choice([-1] * 9 + [0, 1, 2]))
    else:
        strange, open_too, with_data = (random.random() < share for share in (0.2, 0.1, 0.1))
        machine.pull(which, other, strange, back, random.randrange(5), open_too, with_data)
