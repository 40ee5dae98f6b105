import{a,b,c,d,e}from"./chunk-7H6ZK2BL.js";import"./chunk-2HMZUUYX.js";import"./chunk-SQE76S5B.js";export{e as encodeToCurve,d as hashToCurve,b as schnorr,a as secp256k1,c as secp256k1_hasher};
