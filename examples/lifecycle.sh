#!/bin/sh
# One whole bounty with nothing but service-cli and jq: funded, submitted, judged, paid, delivered.
#
#     lifecycle.sh STACK      STACK is the folder with a file for each person, as ./noxw -s stack leaves it: .local/stack
#
# Every value that a later step needs is read from the JSON lines of an earlier one.
set -eu
stack=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# as PERSON COMMAND...: the command with that person's keys and state; its events on stdout
as() {
    person=$1
    shift
    (
        set -a
        XDG_STATE_HOME="$work/$person"
        . "$stack/$person.env"
        set +a
        service-cli "$@"
    )
}

# field NAME EVENT: one field of one event
field() { jq -er --arg event "$2" "select(.event == \$event) | .$1"; }

deadline=$(($(date +%s) + 45))
sed "s/^submission_deadline: .*/submission_deadline: $deadline/" "$here/bounty_challenge.md" > page.md
# --again: beside one that an earlier run of this example left open
bounty=$(as poster poster:publish-fund --again page.md | field bounty_id publish_fund.bounty_created)

submitted=$(as solver-1 solver:submit "$bounty" "$here/artifact")
solver=$(echo "$submitted" | field solver submit.submission_recorded)
commitment=$(echo "$submitted" | field submission_commitment submit.submission_recorded)

echo "Every criterion holds." > verdict.md
for guardian in guardian-1 guardian-2; do
    account=$(. "$stack/$guardian.env" && echo "$SERVICE_GUARDIAN_ADDRESS")
    until [ -s judgeable.json ]; do
        sleep 1
        as "$guardian" guardian:judgeable --quiet --guardian-address "$account" |
            jq -c --arg id "$bounty" 'select(.bounty_id == $id)' > judgeable.json
    done
    rm judgeable.json
    as "$guardian" guardian:open "$bounty" "$solver" "$commitment" "opened-$guardian" |
        field file_count guardian_open.artifact_opened > /dev/null
    as "$guardian" guardian:verdict "$bounty" awarded "$solver" "$commitment" verdict.md |
        field report_commitment guardian_verdict.recorded > /dev/null
done

amount=$(as solver-1 claim "$bounty" | field claimable_amount claim.claimed)
as guardian-1 guardian:deliver-key "$bounty" "$solver" "$commitment" | field created guardian_deliver_key.stored > /dev/null
as poster poster:open-winning-submission "$bounty" won | field file_count open_winning_submission.artifact_opened > /dev/null
winner=$(as poster verification-record "$bounty" | field record.winner.solver_address verification_record.fetched)

jq -cn --arg bounty_id "$bounty" --arg winner "$winner" --arg paid "$amount" '{$bounty_id, $winner, $paid}'
