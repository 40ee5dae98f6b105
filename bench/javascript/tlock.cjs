// node tlock.cjs <relay> <chain hash> <public key> <round> <rounds>: medians of tlock-js in milliseconds, as JSON
const { Buffer, HttpCachingChain, HttpChainClient, timelockDecrypt, timelockEncrypt } = require("tlock-js")

const print = console.log
console.log = () => {} // tlock-js prints the beacons it receives

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

async function main([relay, chainHash, publicKey, round, rounds]) {
    const options = { disableBeaconVerification: false, noCache: false, chainVerificationParams: { chainHash, publicKey } }
    const client = new HttpChainClient(new HttpCachingChain(`${relay}/${chainHash}`, options), options)
    const payload = Buffer.from("x".repeat(74))
    const encrypting = [], decrypting = []
    for (let i = 0; i < Number(rounds); i++) {
        let started = performance.now()
        const sealed = await timelockEncrypt(Number(round), payload, client)
        encrypting.push(performance.now() - started)
        started = performance.now()
        await timelockDecrypt(sealed, client)
        decrypting.push(performance.now() - started)
    }
    print(JSON.stringify({ encrypt: median(encrypting), decrypt: median(decrypting) }))
}

main(process.argv.slice(2)).catch((error) => {
    console.error(error.message)
    process.exit(1)
})
