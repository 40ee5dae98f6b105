// node tlock.js encrypt|decrypt <relay> <chain hash> <public key> <round> <input file> <output file>
const fs = require("fs")
const { Buffer, HttpCachingChain, HttpChainClient, timelockDecrypt, timelockEncrypt } = require("tlock-js")

console.log = () => {} // tlock-js prints the beacons it receives

async function main([mode, relay, chainHash, publicKey, round, input, output]) {
    const options = { disableBeaconVerification: false, noCache: false, chainVerificationParams: { chainHash, publicKey } }
    const client = new HttpChainClient(new HttpCachingChain(`${relay}/${chainHash}`, options), options)
    const data = fs.readFileSync(input)
    const result =
        mode === "encrypt"
            ? await timelockEncrypt(Number(round), Buffer.from(data), client)
            : await timelockDecrypt(data.toString("latin1"), client)
    fs.writeFileSync(output, result)
}

main(process.argv.slice(2)).catch((error) => {
    console.error(error.message)
    process.exit(1)
})
