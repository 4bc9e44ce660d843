/** The caller's span of OpenTelemetry, where the program uses `@opentelemetry/api`. */

/** The parts of `@opentelemetry/api` that are used. */
interface Api {
    readonly context: { active(): unknown };
    readonly trace: {
        getSpan(context: unknown): { spanContext(): { traceId: string; spanId: string; traceFlags: number } } | undefined;
    };
}

const PACKAGE = "@opentelemetry/api";

let loaded: Api | false | undefined;

/** Returns the package; all its copies of one version share the active span. */
function api(): Api | undefined {
    if (loaded === undefined) {
        try {
            loaded = require(require.resolve(PACKAGE, { paths: [process.cwd(), __dirname] })) as Api;
        } catch {
            loaded = false;
        }
    }
    return loaded === false ? undefined : loaded;
}

/**
 * Returns the option with the active span; nothing where there is none.
 *
 * @internal
 */
export function caller(): { traceparent?: string } {
    try {
        const found = api();
        const span = found?.trace.getSpan(found.context.active())?.spanContext();
        if (span === undefined || !/^(?!0+$)[0-9a-f]{32}$/.test(span.traceId) || !/^(?!0+$)[0-9a-f]{16}$/.test(span.spanId)) {
            return {};
        }
        const flags = (span.traceFlags & 0xff).toString(16).padStart(2, "0");
        return { traceparent: `00-${span.traceId}-${span.spanId}-${flags}` };
    } catch {
        // A tracer of the host that fails does not fail its operations.
        return {};
    }
}
