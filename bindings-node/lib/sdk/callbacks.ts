/**
 * Functions of an SDK program that the engine calls, its transforms and hooks: called in this process, without a server.
 *
 * The SDK keeps such functions in an object of a class that is not public, and that is a gRPC server as well. Here each run
 * gets an object of that class that only keeps them. An SDK whose class has changed starts its server, which the engine then calls.
 */
import { AsyncResource } from "node:async_hooks";

import { InvalidInputError } from "../errors";
import type { Run } from "../run";
import { textOf } from "../thrown";
import type { Sdk, SdkCallbacks, SdkStore } from "./find";

/** How many objects keep functions: each has a target of its own, in the place of a server's address. */
let targets = 0;

/** After how many turns of the event loop a trial has failed that waits for what never comes. It needs none. */
const TRIAL_TURNS = 100;

interface Message {
    serializeBinary(): Uint8Array;
}

/** Takes an encoded request. */
type SdkFunction = (request: Uint8Array) => Promise<Message>;

/** Functions by token, each with the asynchronous context in which it was registered: that of its program's run. */
class Functions extends Map<string, SdkFunction> {
    override set(token: string, called: SdkFunction): this {
        return super.set(token, AsyncResource.bind(called));
    }

    /** Calls a function; returns the encoded response. */
    async call(token: string, request: Uint8Array): Promise<Uint8Array> {
        const called = this.get(token);
        if (called === undefined) {
            throw new Error(`the program has no function ${JSON.stringify(token)}`);
        }
        return (await called(request)).serializeBinary();
    }
}

/** The methods of the SDK's object by which functions are registered. */
interface Registering extends SdkCallbacks {
    registerTransform(transform: unknown): Promise<Callback>;
    registerStackTransform(transform: unknown): void;
    registerStackInvokeTransform(transform: unknown): void;
    registerResourceHook(hook: unknown): Promise<void>;
    registerErrorHook(hook: unknown): Promise<void>;
    awaitStackRegistrations(): Promise<void>;
}

interface Callback {
    getTarget(): string;
    getToken(): string;
}

type CallbackServer = NonNullable<Sdk["callbacks"]["CallbackServer"]>;

/** Whether objects of a class can be used without their server. */
const usable = new WeakMap<CallbackServer, Promise<boolean>>();

/** Has the engine call the functions of this run's program directly, if this version of the SDK allows it. */
export async function serveCallbacks(sdk: Sdk, run: Run, store: SdkStore): Promise<void> {
    const { CallbackServer } = sdk.callbacks;
    if (CallbackServer === undefined) {
        keepContext(sdk, undefined, run, store);
        return;
    }
    let isUsable = usable.get(CallbackServer);
    if (isUsable === undefined) {
        // In settings of its own: what is tried here is no part of the run.
        isUsable = sdk.state.withLocalStorage(() => Promise.race([tries(CallbackServer), after(TRIAL_TURNS)]));
        usable.set(CallbackServer, isUsable);
    }
    if (!(await isUsable)) {
        keepContext(sdk, CallbackServer.prototype, run, store);
        return;
    }
    const functions = new Functions();
    const target = `in-process-${++targets}`;
    if (run.bridge.serveFunctions(run.number, target, (token, request) => functions.call(token, request))) {
        store.callbacks = make(CallbackServer, store.settings.monitor, functions, target);
    }
}

/** The contexts of the programs that have started servers of functions. */
const contexts = new WeakMap<object, AsyncResource>();

/**
 * Has the SDK's own server run the functions of a program in the context of the program. Its requests have none: the functions
 * would see the settings of no run, and their secrets would be sent in plain. The server ends with the operation, which can call
 * its functions after the code that has registered them.
 */
function keepContext({ version }: Sdk, prototype: SdkCallbacks | undefined, run: Run, store: SdkStore): void {
    const served = prototype as { invoke?: (...call: unknown[]) => unknown } | undefined;
    const invoke = served?.invoke;
    let server: SdkCallbacks | undefined;
    const set = (started: SdkCallbacks | undefined): void => {
        if (started !== undefined && invoke === undefined && !bindsFunctions(started)) {
            throw new InvalidInputError(`transforms and hooks are not supported with @pulumi/pulumi ${version}`);
        }
        if (started !== undefined) {
            contexts.set(started, new AsyncResource("stackwright.functions"));
            const unused = (): Promise<never> => Promise.reject(new Error("the SDK's own server has the functions"));
            run.bridge.serveFunctions(run.number, `server-${++targets}`, unused, () => started.shutdown());
        }
        server = started;
    };
    Object.defineProperty(store, "callbacks", { configurable: true, enumerable: true, get: () => server, set });
    if (served === undefined || invoke === undefined || wrapped.has(invoke)) {
        return;
    }
    const inContext = function (this: object, ...call: unknown[]): unknown {
        const context = contexts.get(this);
        return context === undefined ? invoke.apply(this, call) : context.runInAsyncScope(invoke, this, ...call);
    };
    wrapped.add(inContext);
    served.invoke = inContext;
}

/** Has a server of an unknown class run each function in the context in which it is registered; returns whether that is possible. */
function bindsFunctions(started: SdkCallbacks): boolean {
    const keeps = started as { _callbacks?: unknown };
    if (!(keeps._callbacks instanceof Map) || keeps._callbacks.size > 0) {
        return false;
    }
    keeps._callbacks = new Functions();
    return true;
}

/** The methods that run in the contexts of programs. */
const wrapped = new WeakSet<object>();

interface Hook {
    callback?: (args: unknown) => unknown;
}

/** Returns a hook whose errors have a message: the SDK takes a thrown value without one for a success. */
function withMessage(hook: Hook): Hook {
    const callback = async (args: unknown): Promise<unknown> => {
        try {
            return await hook.callback?.(args);
        } catch (error) {
            if (typeof (error as Error | undefined)?.message === "string" && (error as Error).message !== "") {
                throw error;
            }
            throw new Error(textOf(error), { cause: error });
        }
    };
    return Object.assign(Object.create(hook) as Hook, { callback });
}

/** Makes an object of the SDK's class without its server. */
function make(CallbackServer: CallbackServer, monitor: unknown, functions: Functions, target: string): Registering {
    const { registerResourceHook, registerErrorHook } = CallbackServer.prototype as Registering;
    return Object.assign(Object.create(CallbackServer.prototype) as Registering, {
        registerResourceHook(this: Registering, hook: Hook) {
            return registerResourceHook.call(this, withMessage(hook));
        },
        registerErrorHook(this: Registering, hook: Hook) {
            return registerErrorHook.call(this, withMessage(hook));
        },
        _callbacks: functions,
        _monitor: monitor,
        _server: { forceShutdown() {} },
        _target: Promise.resolve(target),
        _pendingRegistrations: 0,
        _awaitQueue: [],
    });
}

/** Resolves to false after a number of turns of the event loop. */
async function after(turns: number): Promise<boolean> {
    for (let turn = 0; turn < turns; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
    }
    return false;
}

/** Tries whether an object that is no server takes all kinds of functions, in the way that this module relies on. */
async function tries(CallbackServer: CallbackServer): Promise<boolean> {
    const functions = new Functions();
    const callbacks: Callback[] = [];
    const take = (request: Callback & { getCallback?(): Callback }, answer: (error: null) => void): void => {
        callbacks.push(request.getCallback?.() ?? request);
        answer(null);
    };
    const monitor = {
        registerStackTransform: take,
        registerStackInvokeTransform: take,
        registerResourceHook: take,
        registerErrorHook: take,
    };
    const nothing = (): undefined => undefined;
    try {
        const made = make(CallbackServer, monitor, functions, "trial");
        const callback = await made.registerTransform(nothing);
        callbacks.push(callback);
        made.registerStackTransform(nothing);
        made.registerStackInvokeTransform(nothing);
        await made.awaitStackRegistrations();
        await made.registerResourceHook({ name: "hook", callback: nothing });
        await made.registerErrorHook({ name: "hook", callback: nothing });
        await functions.call(callback.getToken(), new Uint8Array());
        made.shutdown();
        const isOwn = (found: Callback): boolean => found.getTarget() === "trial" && functions.has(found.getToken());
        return callbacks.length === 5 && functions.size === 5 && callbacks.every(isOwn);
    } catch {
        return false;
    }
}
