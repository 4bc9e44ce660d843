/** The names of settings and options, the refusal of others, and which of them belong to an operation. */
import { OPERATION_OPTIONS_MEMBERS } from "../documents";
import { InvalidInputError } from "../errors";
import type { OperationOptions } from "../operation";
import { described, isCollection, type Names, refuseUnknown } from "../options";
import { LanguageRuntime } from "../program";
import { SdkProgram } from "../sdk";
import type { SimulatedOptions, SimulatedProgramOptions, SimulationOptions } from "./stack";

type Known = { readonly [name: string]: true };

/** Options that an operation which is repeated cannot have: a dry run changes nothing, and an id belongs to one run. */
const NOT_REPEATABLE = ["dryRun", "runId"];

/** What only a function or an object can express. */
const LISTENERS: Names<Pick<OperationOptions, "onEvent" | "onOutput" | "signal">> = { onEvent: true, onOutput: true, signal: true };

const OPERATION: Known = { ...(Object.fromEntries(OPERATION_OPTIONS_MEMBERS.map((name) => [name, true])) as Known), ...LISTENERS };

const SIMULATED: Names<Pick<SimulatedOptions, "faults" | "check">> = { faults: true, check: true };

/** The options of `refresh()` and `destroy()` of a simulated stack. */
export const SIMULATED_OPTIONS: Known = { ...OPERATION, ...SIMULATED };

/** Those of `up()` and `preview()`. */
export const PROGRAM_OPTIONS: Known = { ...SIMULATED_OPTIONS, config: true };

const SETTINGS: Names<Omit<SimulationOptions, keyof SimulatedProgramOptions>> = {
    allowUnmatched: true,
    deleteBeforeReplace: true,
    existing: true,
    functions: true,
    outputs: true,
    passphrase: true,
    plugins: true,
    project: true,
    providers: true,
    real: true,
    record: true,
    replaceOn: true,
    run: true,
    schemas: true,
    settings: true,
    stack: true,
    stacks: true,
    state: true,
};

/** Refuses a name that is neither a setting of simulations nor an option of operations, nor one of `own`, or that is one of `without`. */
export function refuseUnknownSettings(what: string, options: object, own: readonly string[] = [], without: readonly string[] = []): void {
    const known = { ...PROGRAM_OPTIONS, ...SETTINGS, ...Object.fromEntries(own.map((name) => [name, true])) };
    refuseUnknown(what, options, Object.fromEntries(Object.entries(known).filter(([name]) => !without.includes(name))));
}

/** Refuses the options that an operation which is repeated cannot have. */
export function refuseUnrepeatable(what: string, options: object): void {
    const refused = NOT_REPEATABLE.find((name) => (options as { [name: string]: unknown })[name] !== undefined);
    if (refused !== undefined) {
        throw new InvalidInputError(`${what} repeats operations, which cannot have the option ${refused}`);
    }
}

/** Returns the options of one operation: those of every operation, faults and `check`. */
export function operationOptionsOf(options: SimulationOptions): SimulatedOptions {
    return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(SIMULATED_OPTIONS, name)));
}

/** Refuses a text that is none of the names of an option. */
export function oneOf(option: string, value: unknown, names: readonly string[]): void {
    if (!names.includes(value as string)) {
        const given = typeof value === "string" ? JSON.stringify(value) : typeof value;
        throw new InvalidInputError(`${option} takes one of ${names.map((name) => JSON.stringify(name)).join(", ")}, not ${given}`);
    }
}

/** Describes a value that an option does not take: texts and numbers with their content. */
export function shown(value: unknown): string {
    return typeof value === "string" ? `the text ${JSON.stringify(value)}` : typeof value === "number" ? String(value) : described(value);
}

function refusal(option: string, wanted: string, value: unknown): InvalidInputError {
    return new InvalidInputError(`${option} takes ${wanted}, not ${shown(value)}`);
}

/** Returns a list as it was given; anything else is refused. */
export function listed(option: string, value: unknown, wanted: string): readonly unknown[] {
    if (!Array.isArray(value)) {
        throw refusal(option, wanted, value);
    }
    return value;
}

/** Returns a list of texts as it was given; anything else is refused. */
export function texts(option: string, value: unknown, wanted: string): readonly string[] {
    const items = listed(option, value, wanted);
    if (!items.every((item) => typeof item === "string")) {
        throw refusal(option, wanted, items.find((item) => typeof item !== "string"));
    }
    return items as readonly string[];
}

/** Returns the members of a plain object; anything else is refused. */
export function membersOf(option: string, value: unknown, wanted: string): [string, unknown][] {
    if (typeof value !== "object" || value === null || Array.isArray(value) || isCollection(value)) {
        throw refusal(option, wanted, value);
    }
    return Object.entries(value);
}

/** Refuses an option that is neither true nor false; `undefined` is accepted. */
export function requireBoolean(option: string, value: unknown): void {
    if (value !== undefined && typeof value !== "boolean") {
        throw refusal(option, "true or false", value);
    }
}

/** Refuses a text option of another kind. */
export function requireText(option: string, value: unknown): void {
    if (typeof value !== "string") {
        throw refusal(option, "a text", value);
    }
}

/** Refuses what is no program. `others` is what the option takes as well. */
export function requireProgram(option: string, program: unknown, others = ""): void {
    if (typeof program !== "function" && !(program instanceof SdkProgram) && !(program instanceof LanguageRuntime)) {
        throw refusal(option, `a program (a function, or what sdkProgram() or languageRuntime() returns)${others}`, program);
    }
}

/** Refuses what is no configuration; `undefined` is accepted. */
export function requireConfig(config: unknown): void {
    if (config !== undefined && config !== null) {
        membersOf("config", config, "an object of values by keys");
    }
}
