/// <reference lib="esnext.disposable" preserve="true" />
/** Stackwright: an infrastructure deployment engine that runs inside this process. */
export { Config } from "./config";
export { Engine, type ConfigValue, type EngineOptions, type StackOptions } from "./engine";
export { Stack, type HistoryEntry, type ProgramOptions } from "./stack";
export { Operation, Result, type Deployment, type OperationOptions, type Outputs, type Plan, type ResourcePlan } from "./operation";
export {
    type Alias,
    type CustomTimeouts,
    type Diagnostic,
    type EnforcementLevel,
    type InvokeOptions,
    type Plugins,
    type PolicyPack,
    type PolicySettings,
    type PolicySeverity,
    type PropertyChange,
    type ReadOptions,
    type ResourceOptions,
    type Severity,
    type StackSettings,
    type Step,
    type StepOp,
    type StepStatus,
} from "./documents";
export {
    type CancelEvent,
    type DiagnosticEvent,
    type EngineEvent,
    type PolicyAnalyzeStackSummaryEvent,
    type PolicyAnalyzeSummaryEvent,
    type PolicyEvent,
    type PolicyLoadEvent,
    type PolicyRemediateSummaryEvent,
    type PolicyRemediationEvent,
    type PreludeEvent,
    type PropertyDifference,
    type ResourceFailedEvent,
    type ResourceOutputsEvent,
    type ResourcePreEvent,
    type StateMetadata,
    type StdoutEvent,
    type StepMetadata,
    type SummaryEvent,
} from "./event";
export { type AnyProgram, LanguageRuntime, languageRuntime } from "./program";
export {
    type Autonamer,
    type Fetch,
    type JournalReceiver,
    type NamingRequest,
    type ProposedName,
    type Secrets,
    type StackReader,
    type StackResource,
} from "./host";
export { type PluginInstaller } from "./installer";
export {
    type IdentifiedRecord,
    type JournalBaseRebuilt,
    type JournalBaseWritten,
    type JournalBegin,
    type JournalEntry,
    type JournalFailure,
    type JournalOutputs,
    type JournalSuccess,
    type StateRecord,
} from "./journal";
export { sdkProgram, SdkProgram, type SdkProgramFunction } from "./sdk";
export { ProgramContext, type Program } from "./context";
export { type AnyResource, Component, Resource, type Registered } from "./resource";
export { Output, type Input, type Inputs } from "./output";
export {
    type Autonaming,
    type CheckAnswer,
    type CheckFailure,
    type CheckRequest,
    type ConfigureRequest,
    type CreateAnswer,
    type CreateRequest,
    type DeleteRequest,
    type DiffAnswer,
    type DiffKind,
    type DiffRequest,
    InitFailedError,
    type InvokeAnswer,
    type InvokeRequest,
    type MappingAnswer,
    type MappingRequest,
    type Provider,
    type ProviderCapabilities,
    ProviderError,
    ProviderStatus,
    type ReadAnswer,
    type ReadRequest,
    type ResolutionRequest,
    type Resolver,
    type ResourceSubject,
    type SchemaRequest,
    type UpdateAnswer,
    type UpdateRequest,
    type View,
    type ViewAnswer,
    type ViewStep,
} from "./provider";
export {
    Archive,
    Asset,
    containsUnknown,
    isSecret,
    isUnknown,
    OutputValue,
    type PropertyMap,
    type PropertyValue,
    ResourceReference,
    Secret,
    secret,
    Unknown,
    type UnknownKind,
    unwrap,
} from "./values";
export { fromPlainJson, toPlainJson } from "./json";
export {
    CancelledError,
    ConflictError,
    DecryptError,
    errorClasses,
    FailedError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    PluginError,
    ProgramError,
    ProviderFailedError,
    SecretsError,
    StackwrightError,
    StateError,
    UnavailableError,
} from "./errors";
