/** Generators, which programs may not be: the body of one would never run. */
import { InvalidInputError } from "./errors";

/** Refuses a function with a `yield` in it, and what calling one returns. */
export function refuseGenerator(value: unknown, what = "the program"): void {
    const kind = Object.prototype.toString.call(value);
    if (/^\[object (Async)?Generator(Function)?\]$/.test(kind)) {
        throw new InvalidInputError(`${what} is a generator (function*), whose body would never run; make it a function`);
    }
}
