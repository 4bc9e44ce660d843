/** The part of the package that pages use, without a server. */
"use strict";

const turned = (bytes) => bytes.map((byte) => byte ^ 0x55);

class EncryptCommand {
    constructor(input) {
        this.answer = { CiphertextBlob: turned(input.Plaintext) };
    }
}

class DecryptCommand {
    constructor(input) {
        this.answer = { Plaintext: turned(input.CiphertextBlob) };
    }
}

class KMSClient {
    async send(command) {
        return command.answer;
    }
}

module.exports = { DecryptCommand, EncryptCommand, KMSClient };
