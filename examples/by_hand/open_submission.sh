cast keccak "0x$(xxd -p -c0 envelope.json)"                 # = submission_commitment on the Hub
sha256sum artifact.age; stat -c %s artifact.age             # = ciphertext.sha256, ciphertext.byte_length
jq -j .key_capsule envelope.json | base64 -d > capsule.tlock
sha256sum capsule.tlock                                     # = key_capsule_sha256
head -c 200 capsule.tlock | sed -n 2p                       # -> tlock <round> <chain hash>, as in reveal_policy
tle --decrypt -n https://api.drand.sh -c 52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971 \
    -o identity.age capsule.tlock
grep -ac '^-> X25519 ' identity.age                         # = the number of Guardians
age --decrypt -i guardian.key -o identity.txt identity.age
age-keygen -y identity.txt                                  # = content_public_key, in Bech32
grep -a '^# bounty-escrow:' identity.txt                    # = the envelope's chain, Hub, bounty and Solver
grep -ac '^-> ' artifact.age                                # 1
age --decrypt -i identity.txt -o work.tar artifact.age
head -c 1024 work.tar | grep -ao 'bounty-escrow:.*'         # = the same line
mkdir work && tar --extract --no-same-permissions -C work -f work.tar
