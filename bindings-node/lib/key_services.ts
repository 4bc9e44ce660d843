/** Key services that wrap the data keys of stacks, through the clients of their packages. */
import { InvalidInputError, SecretsError } from "./errors";
import type { KeyService } from "./host";
import { textOf } from "./thrown";

/** What the packages for AWS are asked: `@aws-sdk/client-kms` is no dependency of this one. */
export interface AwsKmsClient {
    send(command: never): Promise<unknown>;
}

/** The commands of `@aws-sdk/client-kms`: the module itself, or an object with these two classes of it. */
export interface AwsKmsCommands {
    EncryptCommand: new (input: never) => object;
    DecryptCommand: new (input: never) => object;
}

const AWS = "awskms";
const AWS_PACKAGE = "@aws-sdk/client-kms";
const CONTEXT = "context_";

/**
 * Wraps data keys with a key of AWS KMS.
 *
 * ```ts
 * import * as kms from "@aws-sdk/client-kms";
 * const secrets = awsKms(new kms.KMSClient(), "awskms://alias/shop", kms);
 * ```
 *
 * @param client A `KMSClient`, which has region and credentials: the parameters `region` and `profile` of a URL are of no effect.
 * @param key The key for new stacks: `awskms://alias/shop`, `awskms:///arn:aws:kms:…`, or the name of it without scheme. A parameter
 *     `context_NAME` is a member of the encryption context.
 * @param commands The module of the client; it is imported when it is left out.
 */
export function awsKms(client: AwsKmsClient, key: string, commands?: AwsKmsCommands): KeyService {
    const url = urlOf(key);
    parsed(url);
    const send = async (name: keyof AwsKmsCommands, input: object): Promise<{ [name: string]: unknown }> => {
        const command = new (commands ?? (await awsPackage(url)))[name](input as never);
        return (await client.send(command as never)) as { [name: string]: unknown };
    };
    return {
        url,
        async wrapKey(of, plaintext) {
            const { id, context } = parsed(of);
            const answer = await send("EncryptCommand", { KeyId: id, Plaintext: plaintext, EncryptionContext: context });
            return answer["CiphertextBlob"] as Uint8Array;
        },
        async unwrapKey(of, wrapped) {
            // The ciphertext names its key, which another alias may have by now.
            const answer = await send("DecryptCommand", { CiphertextBlob: wrapped, EncryptionContext: parsed(of).context });
            return answer["Plaintext"] as Uint8Array;
        },
    };
}

/** The module of the client of AWS. */
interface AwsPackage extends AwsKmsCommands {
    KMSClient: new (settings: object) => AwsKmsClient;
}

type Environment = { readonly [name: string]: string | undefined };

/**
 * Wraps data keys with the keys that URLs name, with clients that are made from an environment when they are needed.
 * @internal
 */
export class EnvironmentKeys {
    readonly #environment: Environment;
    readonly #keys = new Map<string, Promise<KeyService>>();

    constructor(environment: Environment) {
        this.#environment = environment;
    }

    async wrapKey(url: string, key: Uint8Array): Promise<Uint8Array> {
        return (await this.#of(url)).wrapKey(url, key);
    }

    async unwrapKey(url: string, wrapped: Uint8Array): Promise<Uint8Array> {
        return (await this.#of(url)).unwrapKey(url, wrapped);
    }

    #of(url: string): Promise<KeyService> {
        let made = this.#keys.get(url);
        if (made === undefined) {
            made = fromUrl(url, this.#environment);
            this.#keys.set(url, made);
        }
        return made;
    }
}

async function fromUrl(url: string, environment: Environment): Promise<KeyService> {
    if (!url.startsWith(`${AWS}://`)) {
        const scheme = url.split(":", 1)[0];
        throw new SecretsError(`${url}: this package has no client for ${scheme}; pass a key service of your own as secrets of an engine`);
    }
    const aws = await awsPackage(url);
    const { options } = parsed(url);
    const region = options.get("region") ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"];
    const endpoint = environment["AWS_ENDPOINT_URL_KMS"] ?? environment["AWS_ENDPOINT_URL"];
    const profile = options.get("profile") ?? undefined;
    const [accessKeyId, secretAccessKey] = [environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]];
    const hasCredentials = profile === undefined && accessKeyId !== undefined && secretAccessKey !== undefined;
    const sessionToken = environment["AWS_SESSION_TOKEN"];
    const client = new aws.KMSClient({
        ...(region === undefined ? {} : { region }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(profile === undefined ? {} : { profile }),
        ...(hasCredentials ? { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } } : {}),
    });
    return awsKms(client, url, aws);
}

async function awsPackage(url: string): Promise<AwsPackage> {
    try {
        // Not a literal: compilers and bundlers would look for a package that is no dependency.
        const name: string = AWS_PACKAGE;
        return (await import(name)) as AwsPackage;
    } catch (error) {
        const reason = textOf(error);
        throw new SecretsError(`${url}: the package ${AWS_PACKAGE} is not installed (${reason}): install it, or pass a client of the service as secrets`);
    }
}

function urlOf(key: string): string {
    if (typeof key !== "string" || key === "") {
        throw new InvalidInputError("the key is a string: its URL or its name");
    }
    if (key.includes("://")) {
        return key;
    }
    // The first colon of an ARN would begin a port.
    return key.includes(":") ? `${AWS}:///${key}` : `${AWS}://${key}`;
}

/** Returns the parts of a URL. */
function parsed(url: string): { id: string; context: { [name: string]: string }; options: URLSearchParams } {
    const [, scheme, rest, query] = /^([^:]+):\/\/([^?]*)\??(.*)$/s.exec(url) ?? [];
    if (scheme !== AWS) {
        throw new SecretsError(`the stack's key is one of ${scheme ?? "no service"}, and the client is one of ${AWS}: ${url}`);
    }
    const id = decodeURIComponent(rest ?? "").replace(/^\/+|\/+$/g, "");
    if (id === "") {
        throw new InvalidInputError(`the URL names no key: ${url}`);
    }
    const options = new URLSearchParams(query);
    const context = [...options].filter(([name]) => name.startsWith(CONTEXT));
    return { id, options, context: Object.fromEntries(context.map(([name, value]) => [name.slice(CONTEXT.length), value])) };
}
