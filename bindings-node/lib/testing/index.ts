/**
 * A test kit for programs: the real engine, in milliseconds, against simulated providers. It works with `node:test` and with any other
 * runner: assertions throw `AssertionError`.
 */
export type { Answer, Outputs, Subject } from "./answers";
export {
    type ArbitraryLike,
    type ConfigurationArbitrary,
    configurations,
    type Declared,
    type DrawnConfiguration,
    type FastCheck,
} from "./configurations";
export { type Crash, crashEverywhere, type CrashOptions } from "./crashes";
export { delay, type DelayOptions, fail, type FailOptions, Fault, type FaultCall, type FaultOptions, interrupt, kill, type KillOptions } from "./faults";
export { refactoring, type RefactoringOptions } from "./refactoring";
export { Resources, SimulatedResource } from "./resources";
export { type AssertionOptions, SimulatedResult, type SnapshotOptions } from "./result";
export {
    simulate,
    type SimulatedCall,
    type SimulatedOptions,
    type SimulatedProgramOptions,
    SimulatedStack,
    type SimulationOptions,
} from "./stack";
export { simulated, type TestContextLike } from "./test_context";
export { Thing, World } from "./world";
