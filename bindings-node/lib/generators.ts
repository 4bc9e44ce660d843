/** What programs may not be, and not return: it would be ignored, as if the program wanted nothing. */
import { InvalidInputError } from "./errors";

/** Refuses a function with a `yield` in it, and what calling one returns. */
export function refuseGenerator(value: unknown, what = "the program"): void {
    const kind = Object.prototype.toString.call(value);
    if (/^\[object (Async)?Generator(Function)?\]$/.test(kind)) {
        throw new InvalidInputError(`${what} is a generator (function*), whose body would never run; make it a function`);
    }
}

/** Refuses what a program has returned when it is outputs, as a program that is written with `@pulumi/pulumi` returns them. */
export function refuseOutputs(returned: unknown): void {
    if (typeof returned === "object" && returned !== null && Object.getPrototypeOf(returned) === Object.prototype) {
        throw new InvalidInputError(
            "the program returned an object, which would be ignored: context.export(name, value) makes an output, and a function that is " +
                "written with @pulumi/pulumi is passed as sdkProgram(function)",
        );
    }
}
