#!/usr/bin/env node
/** The command `stackwright`: `npx stackwright up`. */
import { native } from "./native";

process.exitCode = native.runCommand(process.argv.slice(2));
