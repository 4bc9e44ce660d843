/** Pictures of resources: what an operation did or would do, or what a stack has. */
import type { Native } from "./native";

/**
 * A picture of resources with their parents, dependencies and changes; secrets are masked.
 *
 * ```js
 * const preview = await stack.preview();
 * await writeFile("preview.html", preview.toHtml());
 * ```
 */
export class Picture {
    readonly #native: Native.Picture;

    /** @internal */
    constructor(native: Native.Picture) {
        this.#native = native;
    }

    /** The operation and the stack. */
    get title(): string {
        return this.#native.title();
    }

    /** The number of resources. */
    get size(): number {
        return this.#native.size();
    }

    /**
     * Returns one HTML page, which needs no other file and makes no request. It shows the graph, and the same resources as a list for
     * keyboards and screen readers; both can be searched, filtered by operation and by component, and folded. A click on a resource shows
     * its properties. The page has about 0.5 MB and a few hundred bytes a resource.
     */
    toHtml(): string {
        return this.#native.toHtml();
    }

    /** Returns a flowchart of Mermaid, as wikis and forges show it. */
    toMermaid(): string {
        return this.#native.toMermaid();
    }

    /** Returns a digraph of Graphviz. */
    toDot(): string {
        return this.#native.toDot();
    }

    /** Shows the title and the number of resources. */
    [Symbol.for("nodejs.util.inspect.custom")](): string {
        return `Picture { ${JSON.stringify(this.title)}, ${this.size} resources }`;
    }
}
