/** The JavaScript side of the bridge to the engine: takes waiting messages in one call, and dispatches each to its receiver. */
import { fromNative, fromText, guarded } from "./errors";
import { native, type Native } from "./native";
import type { HostObject } from "./host";
import { hideValues } from "./inspection";
import { type BodyStart, type Callee, describeError, isBody, methodBits, methodName, requireProviderMethods, type Resolver } from "./provider";
import { Raised } from "./raised";
import { owned, type Owner } from "./strays";
import { textOf } from "./thrown";
import { revive } from "./values";
import { WireError } from "./wire_error";

/** The parameters of a program's run. */
export interface RunInfo {
    readonly project: string;
    readonly stack: string;
    readonly organization: string;
    /** The directory that relative paths of the program start from; absent when there is none. */
    readonly rootDirectory?: string;
    /** Configuration by `namespace:name`, in the clear. */
    readonly config: { readonly [name: string]: string };
    /** The names of the secret ones. */
    readonly configSecretKeys: readonly string[];
    /** True for previews. */
    readonly dryRun: boolean;
    /** How many steps may run at the same time. */
    readonly parallel: number;
}

/** Takes an answer: an error, or a value. */
export type Callback = (error: Error | undefined, value: unknown) => void;

/** Starts a program; `run` is the number of its run on the bridge. */
export type ProgramStart = (run: number, info: RunInfo) => void;

/** Runs a method of a provider that gets a context. */
type CallBody = (
    bridge: Bridge,
    start: BodyStart,
    keepsOutputs: boolean,
    method: (...given: unknown[]) => unknown,
) => Promise<unknown>;

/** The timers of Node, where a test of the host replaces them later. */
const { clearInterval, setInterval } = globalThis;

/** The longest time that a timer can have, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/** The places of one message in the list that the native side gives. */
const STRIDE = 4;
const enum Tag {
    Answered,
    Failed,
    Status,
    ProviderCall,
    ProviderGivenUp,
    Program,
    ProgramStop,
    ProgramDropped,
    HostDropped,
    FunctionCall,
    FunctionsDropped,
}

/** Calls a function of a program by its token, with an encoded request; returns the encoded response. */
export type ProgramFunctions = (token: string, request: Uint8Array) => Promise<Uint8Array>;

/** A provider's object as the native side takes it. */
export interface ProviderEntry {
    package: string;
    number: number;
    methods: number;
    secrets: boolean;
    outputs: boolean;
    preview: boolean;
    waits: boolean;
}

/** A call of a method of the host; a failure that nothing handles in what it started fails the call. */
interface Asked extends Owner {
    readonly call: number;
    readonly request: unknown;
    answered: boolean;
    controller: AbortController | undefined;
}

/** Returns whether a value can have properties of its own. */
function mayHold(value: unknown): value is object {
    return (typeof value === "object" && value !== null) || typeof value === "function";
}

function warn(message: string): void {
    process.emitWarning(message, { type: "StackwrightWarning" });
}

/** The bridge of one engine. */
export class Bridge {
    readonly native: Native.Bridge;
    /** Whether the engine exports spans, so that operations are within the caller's. */
    exportsSpans = false;
    /** What providers and programs threw. */
    readonly raised = new Raised();
    readonly #calls = new Map<number, Callback>();
    readonly #providers: (Callee | undefined)[] = [];
    /** The numbers of dropped objects of the host. */
    readonly #free: number[] = [];
    readonly #providerCalls = new Map<number, Asked>();
    readonly #programs = new Map<number, ProgramStart>();
    readonly #stops = new Map<number, () => void>();
    readonly #functions = new Map<number, { readonly functions: ProgramFunctions; readonly dropped: (() => void) | undefined }>();
    #functionsMade = 0;
    /** Answers that wait to go back together: number, succeeded, value. */
    #answers: unknown[] = [];
    #dispatching = false;
    #flushing = false;
    #nextCall = 0;
    #nextProgram = 0;
    /** What keeps Node alive while `#held` is not 0: the wake function does not. */
    #alive: NodeJS.Timeout | undefined;
    #held = 0;

    /** `callBody` runs the methods of providers that get a context. */
    constructor(private readonly callBody?: CallBody) {
        this.native = new native.Bridge(() => this.#drain(), revive as never);
    }

    /** Makes a provider's object callable. */
    addProvider(name: string, provider: Callee): ProviderEntry {
        const number = this.#providers.push(provider) - 1;
        return {
            package: name,
            number,
            methods: methodBits(provider),
            secrets: provider.capabilities?.secrets ?? false,
            outputs: provider.capabilities?.outputs ?? false,
            preview: provider.capabilities?.preview ?? false,
            waits: provider.capabilities?.waitsForRegistrations ?? false,
        };
    }

    /** Makes a resolver callable, as an object with one method. */
    addResolver(resolver: Resolver): ProviderEntry {
        const made = new WeakMap<object, ProviderEntry>();
        return this.addProvider("", {
            resolve: async (request) => {
                const found = await resolver(request);
                if (typeof found === "string") {
                    return { address: found };
                }
                if (typeof found !== "object" || found === null) {
                    return undefined;
                }
                requireProviderMethods(request.name, found);
                const entry = made.get(found) ?? this.addProvider(request.name, found);
                made.set(found, entry);
                return entry;
            },
        });
    }

    /** Makes an object of the host callable and returns its number; the engine reports when it has dropped it. */
    addHost(host: HostObject): number {
        const number = this.#free.pop() ?? this.#providers.length;
        this.#providers[number] = host;
        return number;
    }

    /** Makes a program startable and returns its number. */
    addProgram(start: ProgramStart): number {
        const number = this.#nextProgram++;
        this.#programs.set(number, start);
        return number;
    }

    /** Calls `stop` when the operation of a run fails or is cancelled. */
    onStop(run: number, stop: () => void): void {
        this.#stops.set(run, stop);
    }

    /**
     * Has the engine call functions of a run at a target, as long as its operation goes on. Returns false when the target has
     * functions already. `dropped` is called once the operation is over.
     */
    serveFunctions(run: number, target: string, functions: ProgramFunctions, dropped?: () => void): boolean {
        const number = ++this.#functionsMade;
        this.#functions.set(number, { functions, dropped });
        // What is not served is dropped by a message, too.
        return guarded(() => this.native.serveFunctions(run, target, number));
    }

    /** Ends a run; `ending` is absent unless the program failed. */
    finishRun(run: number, ending?: { message: string; reported: boolean }): void {
        this.#stops.delete(run);
        guarded(() => this.native.finishRun(run, ending?.message, ending?.reported));
    }

    /** Makes a call that is answered later; `send` receives the call's number, which the answer repeats. */
    call(send: (call: number) => void, callback: Callback): void {
        const call = this.#nextCall;
        this.#nextCall = (call + 1) >>> 0;
        this.#calls.set(call, callback);
        try {
            send(call);
        } catch (error) {
            this.#calls.delete(call);
            throw fromNative(error);
        }
    }

    /** Keeps Node alive until {@link release} is called as often. */
    hold(): void {
        this.#held++;
        this.#alive ??= setInterval(() => undefined, MAX_DELAY);
    }

    release(): void {
        this.#held--;
        if (this.#held === 0) {
            clearInterval(this.#alive);
            this.#alive = undefined;
        }
    }

    /** Does what {@link call} does, with a promise. */
    request<T>(send: (call: number) => void): Promise<T> {
        return new Promise<T>((resolve, reject) => {
            this.call(send, (error, value) => (error === undefined ? resolve(value as T) : reject(error)));
        });
    }

    /** Takes all waiting messages. Called by the engine; must not throw, so each message is handled on its own. */
    #drain(): void {
        const messages = this.native.drain();
        this.#dispatching = true;
        for (let at = 0; at < messages.length; at += STRIDE) {
            try {
                this.#take(messages[at] as Tag, messages[at + 1] as number, messages[at + 2], messages[at + 3]);
            } catch (error) {
                // A fault of this package: the other messages arrive all the same, and the process goes on.
                warn(`a message of the engine was not handled: ${textOf(error)}`);
            }
        }
        this.#dispatching = false;
        this.#flush();
    }

    #take(tag: Tag, number: number, a: unknown, b: unknown): void {
        switch (tag) {
            case Tag.Answered:
                return this.#settle(number, undefined, a);
            case Tag.Failed:
                return this.#settle(number, fromText(a as string), undefined);
            case Tag.Status:
                return this.#settle(number, new WireError(a as number, b as string), undefined);
            case Tag.ProviderCall:
                return this.#provide(number, a as number, b);
            case Tag.ProviderGivenUp: {
                const asked = this.#providerCalls.get(number);
                this.#providerCalls.delete(number);
                // What a listener of the signal throws belongs to the call.
                return asked && owned(asked, () => asked.controller?.abort());
            }
            case Tag.Program:
                return this.#start(number, a as number, b as RunInfo);
            case Tag.ProgramStop:
                this.#stops.get(number)?.();
                return;
            case Tag.ProgramDropped:
                this.#programs.delete(number);
                return;
            case Tag.HostDropped:
                this.#providers[number] = undefined;
                this.#free.push(number);
                return;
            case Tag.FunctionCall:
                return this.#callFunction(number, a as number, b as { token: string; request: Uint8Array });
            case Tag.FunctionsDropped: {
                const served = this.#functions.get(number);
                this.#functions.delete(number);
                return served?.dropped?.();
            }
        }
    }

    /** Calls a function of a program. Each call is answered. */
    #callFunction(call: number, number: number, { token, request }: { token: string; request: Uint8Array }): void {
        const functions = this.#functions.get(number)?.functions;
        if (functions === undefined) {
            this.#reply(call, false, "the program has ended");
            return;
        }
        functions(token, request).then(
            (response) => this.#reply(call, true, response),
            (error: unknown) => this.#reply(call, false, textOf(error)),
        );
    }

    #settle(number: number, error: Error | undefined, value: unknown): void {
        const callback = this.#calls.get(number);
        this.#calls.delete(number);
        callback?.(error, value);
    }

    #start(run: number, program: number, info: RunInfo): void {
        const start = this.#programs.get(program);
        if (start === undefined) {
            this.finishRun(run, { message: "the program has been released", reported: false });
            return;
        }
        start(run, info);
    }

    #provide(call: number, target: number, request: unknown): void {
        const callee = this.#providers[target >>> 5];
        const name = methodName(target & 31);
        const asked: Asked = {
            call,
            caller: name === "callFunction" ? callee?.run : undefined,
            request,
            answered: false,
            controller: undefined,
            fail: (error) => {
                if (asked.answered) {
                    warn(`a method failed after its call had been answered: ${textOf(error)}`);
                } else {
                    this.#fail(asked, error);
                }
            },
        };
        owned(asked, () => this.#ask(asked, callee, name));
    }

    /** Calls a method. Each call is answered, also when there is no such method or it throws. Never throws. */
    #ask(asked: Asked, provider: Callee | undefined, name: keyof Callee | undefined): void {
        let result: unknown;
        let isThenable: boolean;
        try {
            // The native side asks only for methods that the object had when it was given.
            const method = provider?.[name as keyof Callee] as (...given: unknown[]) => unknown;
            const hidesValues = provider?.capabilities?.secrets !== true;
            if (hidesValues) {
                hideValues(name, asked.request);
            }
            if (this.callBody !== undefined && isBody(name)) {
                const keepsOutputs = provider?.capabilities?.outputs ?? false;
                result = this.callBody(this, asked.request as BodyStart, keepsOutputs, (...given) => {
                    if (hidesValues) {
                        hideValues(name, given[1]);
                    }
                    return Reflect.apply(method, provider, given);
                });
            } else if (method.length === 1) {
                // It declares only the request: creating a signal is expensive in thousands of calls.
                result = Reflect.apply(method, provider, [asked.request]);
            } else {
                asked.controller = new AbortController();
                this.#providerCalls.set(asked.call, asked);
                result = Reflect.apply(method, provider, [asked.request, asked.controller.signal]);
            }
            isThenable = mayHold(result) && typeof (result as Partial<PromiseLike<unknown>>).then === "function";
        } catch (error) {
            this.#fail(asked, error);
            return;
        }
        if (isThenable) {
            // A promise of our own: it calls back once, and takes a `then` that throws for a failure.
            new Promise((resolve) => resolve(result)).then(
                (value) => this.#answer(asked, true, value),
                (error: unknown) => this.#fail(asked, error),
            );
        } else {
            this.#answer(asked, true, result);
        }
    }

    #fail(asked: Asked, error: unknown): void {
        this.raised.ofProvider(asked.request, error);
        this.#answer(asked, false, describeError(error));
    }

    #answer(asked: Asked, succeeded: boolean, value: unknown): void {
        if (asked.answered) {
            return;
        }
        asked.answered = true;
        this.#providerCalls.delete(asked.call);
        this.#reply(asked.call, succeeded, value);
    }

    #reply(call: number, succeeded: boolean, value: unknown): void {
        this.#answers.push(call, succeeded, value);
        if (!this.#dispatching && !this.#flushing) {
            this.#flushing = true;
            queueMicrotask(() => this.#flush());
        }
    }

    #flush(): void {
        this.#flushing = false;
        if (this.#answers.length !== 0) {
            const answers = this.#answers;
            this.#answers = [];
            this.native.answer(answers);
        }
    }
}
