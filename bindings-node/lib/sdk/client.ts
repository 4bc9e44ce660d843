/** Objects in place of the SDK's gRPC clients: the protocol's bytes go straight to the engine, without any socket. */
import { AsyncResource } from "node:async_hooks";

import { StackwrightError } from "../errors";
import type { Run } from "../run";
import { textOf } from "../thrown";
import { WireError } from "../wire_error";
import type { SdkMethod, SdkService } from "./find";

/** The numbers of gRPC that the SDK looks at. */
const UNKNOWN = 2;
const UNAVAILABLE = 14;

interface Message {
    serializeBinary(): Uint8Array;
    getName?(): string;
}

/** What the calls do that no program may make after its end. */
const REGISTERED: { readonly [path: string]: string } = {
    "ResourceMonitor/RegisterResource": "registered",
    "ResourceMonitor/ReadResource": "read",
};

type Answer = (error: Error | null, response?: unknown) => void;

/** Returns a client with a method for each call of a service, for one run. */
export function makeClient(service: SdkService, run: Run): object {
    const client: { [name: string]: unknown } = {
        close() {},
        waitForReady: (_deadline: unknown, ready: (error?: Error) => void) => setImmediate(ready),
        getChannel: () => undefined,
    };
    for (const [name, method] of Object.entries(service)) {
        if (!method.requestStream && !method.responseStream) {
            const call = makeMethod(method, run);
            client[name] = name === "signalAndWaitForShutdown" ? whenSettled(call, run) : call;
        }
    }
    return client;
}

type Call = (request: Message, ...rest: unknown[]) => object;

/**
 * Delays `call`, with which the SDK reports that no registration follows, until Node has reported the rejections of that turn.
 * Otherwise a resource whose preparation failed would be deleted as one that is not registered.
 */
function whenSettled(call: Call, run: Run): Call {
    return (request, ...rest) => {
        void run.quiet().then(() => {
            if (run.stray === undefined) {
                call(request, ...rest);
            } else {
                callbackOf(rest)(serviceError(new WireError(UNAVAILABLE, "the program has failed")));
            }
        });
        return handle();
    };
}

function callbackOf(rest: unknown[]): Answer {
    return rest.findLast((argument) => typeof argument === "function") as Answer;
}

/** Returns the SDK's handle of a call, which it does not use. */
function handle(): object {
    return { cancel() {}, getPeer: () => "in-process" };
}

function makeMethod(method: SdkMethod, run: Run): Call {
    const path = method.path.replace(/^\/pulumirpc\./, "");
    // The request may be of another copy of the SDK than the one that runs the program: its own method makes the bytes.
    return (request, ...rest) => {
        const callback = callbackOf(rest);
        const what = REGISTERED[path];
        const late = what && run.late(`the resource "${request.getName?.() ?? ""}" was ${what}`);
        if (late) {
            setImmediate(callback, serviceError(late));
            return handle();
        }
        // The SDK looks at its settings in callbacks too, so these run in the context of the call.
        const context = new AsyncResource("stackwright.call");
        const answer: Answer = (error, response) => {
            try {
                context.runInAsyncScope(callback, undefined, error, response);
            } catch (failure) {
                run.fail(failure);
            }
        };
        run.call(
            (call) => run.bridge.native.monitorCall(run.number, call, path, request.serializeBinary()),
            (error, bytes) => {
                if (error !== undefined) {
                    answer(serviceError(error));
                    return;
                }
                let response: unknown;
                try {
                    response = method.responseDeserialize(bytes as Uint8Array);
                } catch (failure) {
                    answer(serviceError(new WireError(UNKNOWN, `the answer to ${path} cannot be read: ${textOf(failure)}`)));
                    return;
                }
                answer(null, response);
            },
        );
        return handle();
    };
}

/** Makes an error as gRPC clients give it. A run that has ended looks like a monitor that has gone away. */
function serviceError(error: Error): Error {
    const code = error instanceof WireError ? error.code : error instanceof StackwrightError ? UNAVAILABLE : UNKNOWN;
    const details = error.message;
    return Object.assign(new Error(`${code}: ${details}`), { code, details });
}
