#!/usr/bin/env node
/** The command `stackwright`: `npx stackwright up`. */
import { native } from "./native";

/** Takes the place of Node's own handling, which ends the process at once: the command handles these signals. */
const ignored = (): void => {};
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

SIGNALS.forEach((signal) => process.on(signal, ignored));
process.exitCode = native.runCommand(process.argv.slice(2));
SIGNALS.forEach((signal) => process.off(signal, ignored));
