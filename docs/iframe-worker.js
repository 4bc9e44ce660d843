// The search of a site that is opened from files, of which browsers start no workers: a worker is a script in a hidden frame there.
if (location.protocol === "file:") {
    class IFrameWorker extends EventTarget {
        #scope;
        #loaded;

        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.append(frame);
            this.#scope = frame.contentWindow;
            this.#scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
            const script = frame.contentDocument.createElement("script");
            script.src = url;
            this.#loaded = new Promise((resolve) => script.addEventListener("load", resolve));
            frame.contentDocument.body.append(script);
        }

        async postMessage(data) {
            await this.#loaded;
            this.#scope.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
        }
    }
    // The theme's worker looks for this name.
    window.IFrameWorker = window.Worker = IFrameWorker;
}
