/** Programs that the types allow or refuse. Type-checked, never run. */
import {
    CancelledError,
    type ConstructRequest,
    type EngineEvent,
    Engine,
    ErrorHook,
    Hook,
    type HookArgs,
    type InvokeTransform,
    type JournalEntry,
    languageRuntime,
    type MethodAnswer,
    type MethodRequest,
    type Operation,
    Output,
    type Outputs,
    Policy,
    type PropertyMap,
    type Provider,
    type Registered,
    type ResourceTransform,
    Secret,
    secret,
    type StackwrightError,
    type TransformOptions,
    unwrap,
} from "stackwright";
import { configurations, fail, refactoring, simulate } from "stackwright/testing";
import fc from "fast-check";

export async function allowed(engine: Engine): Promise<void> {
    const stack = await engine.stack("a/b", {
        config: { text: "t", number: 1, nested: { list: [1, secret("s")] } },
        program: async (context) => {
            const thing = context.resource("a:b:C", "c", { values: [1, { deep: Promise.resolve("x") }], none: undefined });
            const registered: Registered = await thing;
            const id: Output<string> = thing.id;
            const length: Output<number> = id.apply((text) => text.length);
            const plain: number = await length;
            const hidden: Secret<string> = secret("s");
            const marked: Output<Secret> = context.secret(length);
            context.resource("a:b:C", "d", { thing, length, plain, hidden, marked }, { parent: thing, protect: true });
            context.export("urn", registered.urn);
            const host = context.resource<{ address: string; ports: number[] }>("a:b:Host", "h", {}, { dependsOn: [thing, id, "urn:…"] });
            const address: Output<string> = host.get("address");
            const ports: number[] = (await host).outputs.ports;
            const found: Output<number> = context.read<{ size: number }>("a:b:C", "r", "id").get("size");
            context.resource("a:b:C", "e", { address, ports, found, host }, { parent: host, replaceWith: host });
            const box = context.remoteComponent<{ size: number }>("a:b:Box", "box", { host }, { protect: true });
            const size: Output<number> = box.get("size");
            const opened: Output<PropertyMap> = context.call("a:b:Box/open", box, { by: size }, { version: "1.0.0" });
            context.call("pulumi:providers:a/method");
            context.export("opened", opened.get("by"));
        },
    });
    const operation: Operation = stack.up({ signal: AbortSignal.timeout(1000), targets: ["urn"] });
    for await (const event of operation.events()) {
        const typed: EngineEvent = event;
        const op: string | undefined = typed.resourcePreEvent?.metadata.op;
        console.log(op);
    }
    const outputs: Outputs = (await operation).outputs;
    const values: PropertyMap = unwrap(outputs);
    console.log(outputs["x"]?.value, outputs["x"]?.secret, values["x"]);
    operation.catch((error: StackwrightError) => error.kind);
    const other = await engine.stack("a/c");
    const all = await engine.upAll([{ stack: other, dependsOn: [stack, "a/d"], parallel: 4 }, stack], {
        maxStacks: 8,
        maxCallsPerPlugin: 2,
        onEvent: ({ stack: name, event }) => console.log(name, event.sequence),
    });
    const created: number | undefined = all.changes.create;
    const reason: StackwrightError | undefined = all.stacks["a/c"]?.error;
    console.log(created, reason?.fleetResult?.skipped);
}

export async function hosting(): Promise<void> {
    const engine = new Engine({
        store: "memory://",
        stackReader: { stackOutputs: () => ({ a: 1 }), stackResourceOutputs: async () => ({}) },
        installer: {
            isInstalled: ({ name }) => name === "known",
            latestVersion: async ({ kind }) => (kind === "resource" ? "1.2.3" : undefined),
            install: async ({ version }, signal) => console.log(version?.length, signal.aborted),
        },
        autonamer: async ({ name, randomSeed }) => (randomSeed.length ? { name, mode: "enforce" } : name),
        secrets: { kind: "vault", state: { key: "id" }, encrypt: (texts) => texts, decrypt: async (texts) => texts },
    });
    const stack = await engine.stack("a/b", {
        program: languageRuntime("127.0.0.1:4711"),
        journal: async (entry: JournalEntry) => {
            if (entry.kind === "success") {
                const id: number | undefined = entry.new?.id;
                console.log(id, entry.resultOp);
            } else if (entry.kind === "base-written") {
                console.log(entry.records.length);
            } else if (entry.kind === "extension") {
                console.log(entry.extensionRef, entry.extension.value.length);
            }
        },
    });
    const operation = stack.up({ holdSession: true });
    await operation;
    await operation.release();
    // @ts-expect-error there is no such mode
    new Engine({ store: "memory://", autonamer: () => ({ name: "x", mode: "shout" }) });
    // @ts-expect-error a version is a text
    new Engine({ store: "memory://", installer: { latestVersion: () => 1 } });
    // @ts-expect-error decryption is needed too
    new Engine({ store: "memory://", secrets: { encrypt: (texts) => texts } });
}

export const boxes: Provider = {
    async construct(context, request: ConstructRequest, signal) {
        const lid = context.resource("a:b:Lid", `${request.name}-lid`, { size: request.inputs["size"] });
        console.log(request.urn, request.parent?.length, request.options.protect, request.preview, signal.aborted);
        return { size: lid.get("size"), lids: [lid.id], color: "red" };
    },
    call(context, { token, arguments: given }: MethodRequest): MethodAnswer {
        const made = context.resource("a:b:Lid", token, { by: given["by"] });
        return given["by"] === undefined ? { failures: [{ property: "by", reason: "is missing" }] } : { result: { by: made.get("by") } };
    },
};

export async function calledBack(engine: Engine): Promise<void> {
    const drain = new Hook("drain", async ({ id, oldOutputs, oldOptions }: HookArgs, signal) => {
        console.log(id.length, oldOutputs?.["address"], oldOptions?.dependsOn.length, signal.aborted);
    }, { onDryRun: true });
    const patient = new ErrorHook("patient", async ({ errors, failedOperation }) => failedOperation === "create" && errors.length < 3);
    const guard: ResourceTransform = ({ type, inputs, options }) =>
        type.startsWith("a:") ? { inputs: { ...inputs, tag: "x" }, options: { ...options, protect: true, hooks: { ...options.hooks, onError: [patient] } } } : undefined;
    const region: InvokeTransform = async ({ arguments: given }) => ({ arguments: { ...given, region: "north" } });
    const stack = await engine.stack("a/b", {
        program: (context) => {
            context.transform(guard);
            context.transform(({ name }) => console.log(name));
            context.transformInvokes(region);
            context.registerHook(drain);
            const base = context.resource("a:b:C", "base", {}, { transforms: [guard, () => ({ inputs: {} })] });
            const hooks = { beforeCreate: [drain, () => 1, "named"], beforeDelete: [drain], onError: [patient, () => true] };
            context.remoteComponent("a:b:C", "c", {}, { hooks, transforms: [() => ({ inputs: { base }, options: { dependsOn: base } })] });
        },
    });
    stack.up({ policies: [{ name: "guard", version: "1.0.0", policies: [new Policy("p", { check: () => "no" })] }, { path: "packs/guard" }] });
    // @ts-expect-error a hook has a name
    new Hook(() => undefined);
    // @ts-expect-error an error hook answers with a boolean
    new ErrorHook("x", () => "yes");
    // @ts-expect-error the inputs are an object
    const wrong: ResourceTransform = () => ({ inputs: 3 });
    // @ts-expect-error a transform cannot change the parent
    const moved: TransformOptions = { parent: "urn" };
    console.log(wrong, moved);
}

export const wrong: Provider = {
    // @ts-expect-error a date is no output
    construct: () => ({ when: new Date() }),
    // @ts-expect-error an answer has a result
    call: () => ({ size: 1 }),
};

export async function refused(engine: Engine): Promise<void> {
    // @ts-expect-error an engine needs a store
    new Engine({ passphrase: "x" });
    const stack = await engine.stack("a/b", {
        program: (context) => {
            // @ts-expect-error a date is not a value
            context.resource("a:b:C", "c", { when: new Date() });
            // @ts-expect-error a function is not a value
            context.resource("a:b:C", "c", { call: () => 1 });
            // @ts-expect-error there is no such output
            context.resource<{ address: string }>("a:b:C", "c").get("adress");
            // @ts-expect-error an output has the declared type
            const size: Output<number> = context.resource<{ address: string }>("a:b:C", "c").get("address");
            console.log(size);
            // @ts-expect-error a read has no such option
            context.read("a:b:C", "c", "id", {}, { protect: true });
            // @ts-expect-error there is no such option
            context.resource("a:b:C", "c", {}, { protected: true });
            // @ts-expect-error hooks of deletions have names
            context.resource("a:b:C", "c", {}, { hooks: { beforeDelete: [() => undefined] } });
            // @ts-expect-error there is no such moment
            context.resource("a:b:C", "c", {}, { hooks: { beforeRead: [] } });
            // @ts-expect-error a read has no transforms
            context.read("a:b:C", "c", "id", {}, { transforms: [] });
            // @ts-expect-error a method's call has no such option
            context.call("a:b:C/d", undefined, {}, { protect: true });
        },
    });
    // @ts-expect-error there is no such option of operations
    await stack.up({ target: ["a"] });
    // @ts-expect-error options are of the right types
    stack.up({ parallel: "3" });
    // @ts-expect-error a result may have no plan's document
    stack.up((await stack.preview()).plan);
    // @ts-expect-error codes are fixed
    const code: "other" = new CancelledError("x").kind;
    console.log(code);
}

export async function drawn(): Promise<void> {
    const program = (): void => undefined;
    const configs = await configurations(fc, "../shop", { size: fc.constantFrom("small", "large") });
    await fc.assert(
        fc.asyncProperty(configs, async (config) => {
            (await (await simulate(program, { config })).preview()).assertNoChanges();
        }),
    );
    const counted = await configurations<{ count: number }>(fc, { count: fc.integer({ min: 0, max: 5 }), label: "string" });
    await fc.assert(
        fc.asyncProperty(fc.integer(), counted, async (size, { count }) => {
            const sum: number = size + count;
            // @ts-expect-error a count is a number
            const text: string = count;
            await simulate(program, { config: { sum, text } });
        }),
    );
    // @ts-expect-error the package comes first
    await configurations({ count: "integer" });
    // @ts-expect-error faults are a list
    await simulate(program, { faults: fail("create") });
    // @ts-expect-error the second program is needed
    await refactoring(program, undefined);
}
