/** Pictures of resources: what an operation did or would do, or what a stack has. */
import type { GraphEdge, GraphNode, ResourceGraph } from "./documents";
import { guarded, InvalidInputError } from "./errors";
import { inspectAs } from "./inspection";
import { native, type Native } from "./native";
import type { Plan } from "./operation";

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

    /**
     * Returns the resources of a plan's document, as a file of it has them or as `Result.plan` holds it. A plan has the new values of the
     * properties that change, and no others. It needs no key: encrypted secrets are masked, and texts outside of them are shown as the
     * document has them.
     *
     * ```js
     * const page = Picture.ofPlan(await readFile("plan.json", "utf8")).toHtml();
     * ```
     *
     * @param document The document, parsed or as JSON text.
     * @throws {InvalidInputError} It is no plan's document.
     */
    static ofPlan(document: Plan | string): Picture {
        const isObject = typeof document === "object" && document !== null && !("picture" in document);
        if (typeof document !== "string" && !isObject) {
            const isResult = typeof document === "object" && document !== null;
            const hint = isResult ? "a result; the picture of a result is its picture()" : document === null ? "null" : typeof document;
            throw new InvalidInputError(`Picture.ofPlan() takes a plan's document, not ${hint}`);
        }
        const text = typeof document === "string" ? document : JSON.stringify(document);
        return new Picture(guarded(() => native.Picture.ofPlan(text)));
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

    static {
        inspectAs(this, (picture) => `${JSON.stringify(picture.title)} of ${picture.size} resources`);
    }
}

/**
 * The recorded resources of a stack, and the references between them: data, and a picture.
 *
 * ```js
 * const graph = await stack.graph();
 * await writeFile("stack.html", graph.toHtml());
 * ```
 */
export class StackGraph implements ResourceGraph {
    readonly #native: Native.Graph;

    /** The references, in the order of the resources that refer. */
    readonly edges: readonly GraphEdge[];

    /** The resources: each stands after all that it refers to. */
    readonly nodes: readonly GraphNode[];

    /** @internal */
    constructor(native: Native.Graph) {
        this.#native = native;
        ({ edges: this.edges, nodes: this.nodes } = JSON.parse(native.document()) as ResourceGraph);
    }

    /** Returns the resources with their properties, to be drawn. */
    picture(): Picture {
        return new Picture(this.#native.picture());
    }

    /** Returns the picture as one HTML page; see `Picture.toHtml`. */
    toHtml(): string {
        return this.picture().toHtml();
    }

    /** Returns the picture as a flowchart of Mermaid. */
    toMermaid(): string {
        return this.picture().toMermaid();
    }

    /** Returns the picture as a digraph of Graphviz. */
    toDot(): string {
        return this.picture().toDot();
    }

    static {
        inspectAs(this, (graph) => `of ${graph.nodes.length} resources and ${graph.edges.length} references`);
    }
}
