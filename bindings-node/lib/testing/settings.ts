/** The names of settings and options, the refusal of others, and which of them belong to an operation. */
import { OPERATION_OPTIONS_MEMBERS } from "../documents";
import { InvalidInputError } from "../errors";
import type { OperationOptions } from "../operation";
import { type Names, refuseUnknown } from "../options";
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
