"use strict";
(() => {
  const graph = JSON.parse(document.getElementById("data").textContent);
  const nodes = graph.nodes;
  const find = (id) => document.getElementById(id);

  /** Number of shown resources from which on components are folded at first. */
  const MAX_UNFOLDED = 300;
  const NODE_WIDTH = 200;
  const NODE_HEIGHT = 44;
  const GAP_X = 56;
  const GAP_Y = 14;
  const PADDING = 18;
  const HEADING = 26;
  /** Largest proportion of width to height that rows of unconnected resources aim at. */
  const PROPORTION = 1.7;
  /** The width from which on a chain of layers, which is much wider than high, is continued below. */
  const MAX_CHAIN_WIDTH = 4000;
  const SWEEPS = 3;
  const FONT = "system-ui, sans-serif";
  const FONT_SIZE = 12;
  /** Space between the border of a box and its text. */
  const MARGIN = 10;
  /** Smallest space in which the type of an open component follows its name. */
  const MIN_TYPE_WIDTH = 60;
  const MAX_FIRST_ZOOM = 1.1;
  /** Number of dependencies from which on only those of the selected resource are drawn. */
  const EDGE_LIMIT = 4000;

  /** Sign, and the name of the colours, of each operation. */
  const OPERATIONS = {
    create: ["+", "create"],
    update: ["~", "update"],
    replace: ["±", "replace"],
    delete: ["−", "delete"],
    import: ["=", "read"],
    "import-replacement": ["±", "replace"],
    read: [">", "read"],
    refresh: ["↻", "read"],
    discard: ["<", "same"],
    same: [" ", "same"],
  };
  const signOf = (node) => (node.failure === undefined ? OPERATIONS[node.op][0] : "!");
  const colourOf = (node) => OPERATIONS[node.op][1];
  /** What happens to a resource, in words. */
  function wordingOf(node) {
    if (node.pendingDeletion) return "pending deletion";
    return node.op === "same" ? "unchanged" : node.op;
  }

  const children = nodes.map(() => []);
  const dependents = nodes.map(() => []);
  nodes.forEach((node, at) => {
    if (node.parent !== undefined) children[node.parent].push(at);
    for (const from of node.dependsOn) dependents[from].push(at);
  });
  const isGroup = (at) => nodes[at].kind !== "stack" && children[at].length > 0;
  const searched = nodes.map((node) => `${node.urn} ${node.type} ${node.name}`.toLowerCase());

  const shownOps = new Set(nodes.map((node) => node.op));
  const folded = new Set();
  /** The folded components that are open as long as a search has hits in them. */
  let opened = new Set();
  /** The components that the user has folded since the words of the search last changed: these it does not open. */
  const closed = new Set();
  let searchedWords = "";
  const isFolded = (at) => folded.has(at) && !opened.has(at);
  const OUTPUTS = "outputs";
  let selected;
  let view;
  /** Whether the graph has still to be fitted into its place: it cannot be as long as the page or the graph is hidden. */
  let isFitDue = true;
  /** The dependencies that are drawn with the selected resource only. */
  let undrawn = [];
  let summary = "";

  // ---- what is shown ----

  /** Whether a node can be shown with the present choice of providers: one to which something happens always can. */
  function isOffered(node) {
    if (node.kind === "stack") return false;
    return node.kind !== "provider" || node.op !== "same" || node.failure !== undefined || find("providers").checked;
  }

  /** The nodes that pass the filters, and their ancestors. */
  function filtered() {
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const within = find("component").value === "" ? undefined : Number(find("component").value);
    const passes = (at) => {
      const node = nodes[at];
      if (!isOffered(node) || !shownOps.has(node.op)) return false;
      return words.every((word) => searched[at].includes(word));
    };
    const shown = new Set();
    const above = new Set();
    const inside = nodes.map(() => within === undefined);
    let count = 0;
    nodes.forEach((node, at) => {
      inside[at] ||= at === within || (node.parent !== undefined && inside[node.parent]);
      if (!inside[at] || !passes(at)) return;
      count++;
      for (let up = at; up !== undefined && nodes[up].kind !== "stack" && !shown.has(up); up = nodes[up].parent) shown.add(up);
      for (let up = node.parent; up !== undefined && !above.has(up); up = nodes[up].parent) above.add(up);
    });
    if (words.join(" ") !== searchedWords) closed.clear();
    searchedWords = words.join(" ");
    opened = new Set(words.length > 0 && count <= MAX_UNFOLDED ? [...above].filter((at) => !closed.has(at)) : []);
    return { shown, count };
  }

  /** The number of resources that can be shown with the present choice of providers. */
  const total = () => nodes.filter(isOffered).length;

  /** The shown ancestor, or node itself, that stands for a node: the outermost folded one. */
  function representative(at) {
    let stands = at;
    for (let up = at; up !== undefined; up = nodes[up].parent) if (isFolded(up)) stands = up;
    return stands;
  }

  // ---- places ----

  /** Puts items in layers by their edges, and those without edges in rows below; returns their places and the size of all. */
  function arrange(items, edges, sizeOf) {
    const index = new Map(items.map((item, place) => [item, place]));
    const before = items.map(() => []);
    const after = items.map(() => []);
    for (const [from, to] of edges) {
      before[index.get(to)].push(index.get(from));
      after[index.get(from)].push(index.get(to));
    }
    const layer = layersOf(before, after);
    const layers = [];
    const loose = [];
    items.forEach((_, place) => {
      if (before[place].length + after[place].length === 0) loose.push(place);
      else (layers[layer[place]] ??= []).push(place);
    });
    order(layers, before, after);
    const places = new Map();
    // A long layer has several columns.
    const heightOf = (place) => sizeOf(items[place]).height + GAP_Y;
    const sum = (column) => column.reduce((total, place) => total + heightOf(place), 0);
    const limit = Math.max(480, Math.sqrt(sum(layers.flat()) * NODE_WIDTH));
    const columns = layers.flatMap((layer) => columnsOf(layer, heightOf, limit));
    const widthOfColumn = (column) => Math.max(...column.map((place) => sizeOf(items[place]).width)) + GAP_X;
    let [width, top] = [0, 0];
    for (const band of bandsOf(columns, widthOfColumn, sum)) {
      const height = Math.max(...band.map(sum));
      let x = 0;
      for (const column of band) {
        let y = top + (height - sum(column)) / 2;
        for (const place of column) {
          places.set(items[place], { x, y });
          y += heightOf(place);
        }
        x += widthOfColumn(column);
      }
      width = Math.max(width, x - GAP_X);
      top += height;
    }
    return rows(loose.map((place) => items[place]), sizeOf, places, width, Math.max(0, top - GAP_Y));
  }

  /** Divides the columns of a long chain into bands, one below the other; all others are one band. */
  function bandsOf(columns, widthOf, heightOf) {
    if (columns.length === 0) return [];
    const width = columns.reduce((total, column) => total + widthOf(column), 0);
    const height = Math.max(...columns.map(heightOf));
    if (width < MAX_CHAIN_WIDTH || width < 3 * height) return [columns];
    const limit = Math.sqrt(width * height * PROPORTION);
    const bands = [[]];
    let used = 0;
    for (const column of columns) {
      if (used > 0 && used + widthOf(column) > limit) {
        bands.push([]);
        used = 0;
      }
      bands.at(-1).push(column);
      used += widthOf(column);
    }
    return bands;
  }

  /** Puts items in rows below what has been placed. */
  function rows(items, sizeOf, places, width, top) {
    const sum = items.reduce((total, item) => total + (sizeOf(item).width + GAP_Y) * (sizeOf(item).height + GAP_Y), 0);
    const limit = Math.max(width, Math.sqrt(sum * PROPORTION));
    let [x, y, tallest] = [0, top === 0 ? 0 : top + GAP_Y, 0];
    for (const item of items) {
      const size = sizeOf(item);
      if (x > 0 && x + size.width > limit) [x, y, tallest] = [0, y + tallest + GAP_Y, 0];
      places.set(item, { x, y });
      x += size.width + GAP_Y;
      tallest = Math.max(tallest, size.height);
      width = Math.max(width, x - GAP_Y);
    }
    return { places, width, height: Math.max(top, y + tallest) };
  }

  /** The longest way to each item; edges that close a circle are left out. */
  function layersOf(before, after) {
    const layer = before.map(() => 0);
    const waits = before.map((list) => list.length);
    const ready = [];
    waits.forEach((count, place) => count === 0 && ready.push(place));
    const done = before.map(() => false);
    let next = 0;
    for (let taken = 0; taken < before.length; taken++) {
      if (next === ready.length) {
        const stuck = done.findIndex((is, place) => !is && waits[place] > 0);
        waits[stuck] = 0;
        ready.push(stuck);
      }
      const place = ready[next++];
      done[place] = true;
      for (const to of after[place]) {
        if (done[to] || waits[to] <= 0) continue;
        layer[to] = Math.max(layer[to], layer[place] + 1);
        if (--waits[to] === 0) ready.push(to);
      }
    }
    return layer;
  }

  /** Orders each layer by the mean place of its neighbours, there and back. */
  function order(layers, before, after) {
    const at = new Map();
    const note = (layer) => layer.forEach((place, index) => at.set(place, index / layer.length));
    layers.forEach(note);
    const mean = (places, place) =>
      places[place].length === 0 ? at.get(place) : places[place].reduce((sum, other) => sum + (at.get(other) ?? 0), 0) / places[place].length;
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      const [from, neighbours] = sweep % 2 === 0 ? [layers, before] : [[...layers].reverse(), after];
      for (const layer of from) {
        const key = new Map(layer.map((place) => [place, mean(neighbours, place)]));
        layer.sort((left, right) => key.get(left) - key.get(right));
        note(layer);
      }
    }
  }

  function columnsOf(layer, heightOf, limit) {
    const columns = [[]];
    let height = 0;
    for (const place of layer) {
      if (height > 0 && height + heightOf(place) > limit) {
        columns.push([]);
        height = 0;
      }
      columns.at(-1).push(place);
      height += heightOf(place);
    }
    return columns;
  }

  /** The visible nodes with their places, and the edges between them. */
  function layout(shown) {
    const visible = [...shown].filter((at) => representative(at) === at).sort((left, right) => left - right);
    const isVisible = new Set(visible);
    const container = (at) => {
      const parent = nodes[at].parent;
      return parent !== undefined && isVisible.has(parent) ? parent : -1;
    };
    const members = new Map([[-1, []]]);
    for (const at of visible) {
      const within = container(at);
      if (!members.has(within)) members.set(within, []);
      members.get(within).push(at);
    }
    const edges = new Map();
    const lifted = new Map();
    const wayUp = (at) => {
      const way = [at];
      while (way.at(-1) !== -1) way.push(container(way.at(-1)));
      return way.reverse();
    };
    for (const at of shown) {
      for (const dependency of nodes[at].dependsOn) {
        if (!shown.has(dependency)) continue;
        const [from, to] = [representative(dependency), representative(at)];
        const key = `${from}-${to}`;
        if (from === to || edges.has(key)) continue;
        const [left, right] = [wayUp(from), wayUp(to)];
        let depth = 0;
        while (depth < left.length && left[depth] === right[depth]) depth++;
        // One contains the other: it is drawn inside.
        if (depth === left.length || depth === right.length) continue;
        edges.set(key, [from, to]);
        const siblings = `${left[depth]}-${right[depth]}`;
        if (!lifted.has(left[depth - 1])) lifted.set(left[depth - 1], new Map());
        lifted.get(left[depth - 1]).set(siblings, [left[depth], right[depth]]);
      }
    }
    const sizes = new Map();
    const inner = new Map();
    const sizeOf = (at) => sizes.get(at) ?? { width: NODE_WIDTH, height: NODE_HEIGHT };
    // Children come after their parents, so that backwards each group knows its members' sizes.
    for (const group of [...members.keys()].sort((left, right) => right - left)) {
      const placed = arrange(members.get(group), [...(lifted.get(group)?.values() ?? [])], sizeOf);
      inner.set(group, placed.places);
      if (group !== -1) {
        sizes.set(group, {
          width: Math.max(NODE_WIDTH, placed.width + 2 * PADDING),
          height: placed.height + 2 * PADDING + HEADING,
        });
      }
    }
    const places = new Map([[-1, { x: 0, y: 0 }]]);
    for (const group of [...members.keys()].sort((left, right) => left - right)) {
      const origin = places.get(group);
      const offset = group === -1 ? { x: 0, y: 0 } : { x: PADDING, y: PADDING + HEADING };
      for (const [at, place] of inner.get(group)) places.set(at, { x: origin.x + offset.x + place.x, y: origin.y + offset.y + place.y });
    }
    return { visible, places, edges: [...edges.values()], isOpen: (at) => members.has(at), container, widthOfBox: (at) => sizeOf(at).width };
  }

  // ---- the graph ----

  function styleOf() {
    const computed = getComputedStyle(document.documentElement);
    const colour = (name) => computed.getPropertyValue(`--${name}`).trim();
    const text = { color: colour("text"), "font-family": FONT, "min-zoomed-font-size": 5 };
    return [
      {
        selector: "node",
        style: {
          ...text, shape: "round-rectangle", width: NODE_WIDTH, height: NODE_HEIGHT, label: "data(label)", "font-size": FONT_SIZE, "line-height": 1.3,
          "text-wrap": "wrap", "text-valign": "center", "text-halign": "center", "border-width": 1.5,
          "background-color": colour("same"), "border-color": colour("same-line"),
        },
      },
      ...["create", "update", "replace", "delete", "read"].map((name) => ({
        selector: `.${name}`,
        style: { "background-color": colour(name), "border-color": colour(`${name}-line`), "border-width": 2 },
      })),
      {
        selector: ".group",
        style: {
          "text-valign": "top", "text-halign": "center", "text-margin-y": -5, padding: PADDING, "background-color": colour("component"),
          "font-weight": 600,
        },
      },
      { selector: ".folded", style: { "border-style": "double", "border-width": 5, "font-weight": 600 } },
      { selector: ".component, .group", style: { shape: "rectangle" } },
      { selector: ".provider", style: { shape: "cut-rectangle" } },
      { selector: ".failed", style: { "border-color": colour("failed"), "border-style": "dashed", "border-width": 3 } },
      {
        selector: "edge",
        style: {
          width: 1.2, "line-color": colour("edge"), "target-arrow-color": colour("edge"), "target-arrow-shape": "triangle", "arrow-scale": 0.8,
          "curve-style": "bezier",
        },
      },
      { selector: ".many", style: { "curve-style": "haystack" } },
      {
        // The arrows of the selected resource pass over other boxes, so that none seems to end at one of these.
        selector: ".near",
        style: {
          "line-color": colour("focus"), "target-arrow-color": colour("focus"), width: 2.5, "z-index": 9, "z-index-compare": "manual",
          "z-compound-depth": "top",
        },
      },
      { selector: ":selected", style: { "overlay-color": colour("focus"), "overlay-opacity": 0.18, "overlay-padding": 4 } },
    ];
  }

  const shortened = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

  const pen = document.createElement("canvas").getContext("2d");
  const widths = [new Map(), new Map()];
  function widthOf(text, isBold) {
    const known = widths[Number(isBold)];
    if (!known.has(text)) {
      pen.font = `${isBold ? 600 : 400} ${FONT_SIZE}px ${FONT}`;
      known.set(text, pen.measureText(text).width);
    }
    return known.get(text);
  }

  /** The text; where it is wider than the space, without its middle, since both ends tell names apart. */
  function fitted(text, space, isBold) {
    if (widthOf(text, isBold) <= space) return text;
    const characters = [...text];
    const without = (kept) => `${characters.slice(0, Math.ceil(kept / 2)).join("")}…${characters.slice(characters.length - Math.floor(kept / 2)).join("")}`;
    let [fits, exceeds] = [0, characters.length];
    while (exceeds - fits > 1) {
      const middle = (fits + exceeds) >> 1;
      if (widthOf(without(middle), isBold) <= space) fits = middle;
      else exceeds = middle;
    }
    return without(fits);
  }

  /** The type; where it is wider than the space, its short form: `aws:ec2:Subnet` for `aws:ec2/subnet:Subnet`. */
  function fittedType(type, space, isBold) {
    if (widthOf(type, isBold) <= space) return type;
    const [, module, file, name] = /^([^:]*:[^:]*)\/([^:/]*):([^:]*)$/.exec(type) ?? [];
    return fitted(file !== undefined && file.toLowerCase() === name.toLowerCase() ? `${module}:${name}` : type, space, isBold);
  }

  /** The text in a box of a width, or above one that is open. */
  function labelOf(at, isOpen, width) {
    const node = nodes[at];
    const sign = signOf(node).trim();
    const isBold = isOpen || isFolded(at);
    const space = isOpen ? width : width - 2 * MARGIN;
    const prefix = sign === "" ? "" : `${sign} `;
    const name = prefix + fitted(node.name, space - widthOf(prefix, isBold), isBold);
    if (node.pendingDeletion) return `${name}\npending deletion`;
    if (isOpen) {
      const left = space - widthOf(`${name}  ·  `, isBold);
      return left < MIN_TYPE_WIDTH ? name : `${name}  ·  ${fittedType(node.type, left, isBold)}`;
    }
    return `${name}\n${isFolded(at) ? fitted(totalsBelow(at), space, isBold) : fittedType(node.type, space, isBold)}`;
  }

  /** What happens to the resources of a folded component: `12 below: +3 ~1`. */
  function totalsBelow(at) {
    const counts = new Map();
    let total = 0;
    const pending = [...children[at]];
    while (pending.length > 0) {
      const below = pending.pop();
      total++;
      const sign = signOf(nodes[below]).trim();
      if (sign !== "") counts.set(sign, (counts.get(sign) ?? 0) + 1);
      pending.push(...children[below]);
    }
    const changes = [...counts].map(([sign, count]) => ` ${sign}${count}`).join("");
    return `${total} below${changes === "" ? "" : `: ${changes}`}`;
  }

  function countBelow(at) {
    return children[at].reduce((sum, child) => sum + 1 + countBelow(child), 0);
  }

  const arrow = ([from, to], classes) => ({ group: "edges", data: { id: `e${from}-${to}`, source: `n${from}`, target: `n${to}` }, classes });

  /** Fits the graph into its place, if that has a size; a small one is not enlarged much. */
  function fitWhenSized() {
    if (find("graph").clientWidth === 0 || find("graph").clientHeight === 0) return;
    view.resize();
    fit();
    if (view.zoom() > MAX_FIRST_ZOOM) {
      view.zoom(MAX_FIRST_ZOOM);
      view.center();
    }
    isFitDue = false;
  }

  function draw() {
    const { shown, count } = filtered();
    const { visible, places, edges, isOpen, container, widthOfBox } = layout(shown);
    const many = edges.length > 600;
    const elements = visible.map((at) => {
      const node = nodes[at];
      const classes = [colourOf(node), node.kind];
      if (node.failure !== undefined) classes.push("failed");
      if (isFolded(at)) classes.push("folded");
      if (isOpen(at)) classes.push("group");
      const data = { id: `n${at}`, label: labelOf(at, isOpen(at), widthOfBox(at)) };
      if (container(at) !== -1) data.parent = `n${container(at)}`;
      const { x, y } = places.get(at);
      return { group: "nodes", data, classes, position: { x: x + NODE_WIDTH / 2, y: y + NODE_HEIGHT / 2 } };
    });
    const isDense = edges.length > EDGE_LIMIT;
    undrawn = isDense ? edges : [];
    for (const edge of isDense ? [] : edges) elements.push(arrow(edge, many ? ["many"] : []));
    const kept = view === undefined || isFitDue ? undefined : { zoom: view.zoom(), pan: view.pan() };
    view?.destroy();
    view = cytoscape({
      container: find("graph"), elements, style: styleOf(), layout: { name: "preset", fit: false },
      minZoom: 0.02, maxZoom: 3, boxSelectionEnabled: false, autoungrabify: true,
      hideEdgesOnViewport: many, textureOnViewport: visible.length > 500, pixelRatio: visible.length > 1000 ? 1 : "auto",
    });
    if (kept === undefined) fitWhenSized();
    else view.viewport(kept);
    find("graph").removeAttribute("title");
    view.on("mouseover", "node", (event) => {
      const node = nodes[Number(event.target.id().slice(1))];
      find("graph").title = `${node.name}\n${node.type}`;
    });
    view.on("mouseout", "node", () => find("graph").removeAttribute("title"));
    view.on("tap", "node", (event) => select(Number(event.target.id().slice(1))));
    view.on("dbltap", "node", (event) => toggle(Number(event.target.id().slice(1))));
    view.on("tap", (event) => event.target === view && select(undefined));
    const folds = visible.length === shown.size ? "" : `, ${visible.length} drawn; fold or unfold with a double click`;
    summary = `${count} of ${total()} resources${folds}`;
    mark();
  }

  function announce() {
    const drawn = undrawn.length === 0 ? "" : `; ${view.edges().length} of ${undrawn.length} dependencies are drawn: those of the selected resource`;
    find("status").textContent = summary + drawn;
  }

  function mark() {
    if (view === undefined) return;
    view.elements(".near").removeClass("near");
    view.elements(".of-selected").remove();
    view.elements(":selected").unselect();
    if (selected !== undefined && selected !== OUTPUTS) markSelected(representative(selected));
    announce();
  }

  function markSelected(at) {
    const drawn = view.getElementById(`n${at}`);
    if (drawn.empty()) return;
    view.add(undrawn.filter(([from, to]) => from === at || to === at).map((edge) => arrow(edge, ["of-selected"])));
    drawn.select();
    drawn.connectedEdges().addClass("near");
    const box = drawn.renderedBoundingBox({ includeOverlays: false });
    if (box.x1 < 0 || box.y1 < 0 || box.x2 > view.width() || box.y2 > view.height()) view.center(drawn);
  }

  function fold(at, folds) {
    for (const set of [folded, closed]) folds ? set.add(at) : set.delete(at);
  }

  function toggle(at) {
    if (!isGroup(at)) return;
    fold(at, !isFolded(at));
    refresh(false);
  }

  // ---- the list ----

  function drawList() {
    const { shown, count } = filtered();
    find("status").textContent = `${count} of ${total()} resources`;
    const tree = find("tree");
    const items = (places, level) =>
      places.filter((at) => shown.has(at)).map((at) => {
        const node = nodes[at];
        const below = children[at].filter((child) => shown.has(child));
        const item = element("li", { role: "treeitem", tabindex: "-1", "data-at": at, "aria-level": level });
        if (below.length > 0) item.setAttribute("aria-expanded", String(!isFolded(at)));
        item.setAttribute("aria-selected", String(at === selected));
        const wording = wordingOf(node);
        const row = element("div", { class: "row" }, [
          element("span", { class: "fold", "aria-hidden": "true" }, below.length === 0 ? "" : isFolded(at) ? "▸" : "▾"),
          element("span", { class: "sign", style: `color: var(--${node.failure === undefined ? `${colourOf(node)}-line` : "failed"})`, title: wording, "aria-label": node.failure === undefined ? wording : `${wording} failed` }, signOf(node)),
          element("span", {}, node.name),
          element("span", { class: "type" }, node.type),
          ...(below.length > 0 && isFolded(at) ? [element("span", { class: "count" }, `${countBelow(at)} below`)] : []),
        ]);
        item.append(row);
        if (below.length > 0 && !isFolded(at)) item.append(element("ul", { role: "group" }, items(below, level + 1)));
        return item;
      });
    const roots = nodes.map((_, at) => at).filter((at) => {
      const parent = nodes[at].parent;
      return nodes[at].kind !== "stack" && (parent === undefined || nodes[parent].kind === "stack");
    });
    tree.replaceChildren(...items(roots, 1));
    const first = tree.querySelector(`[data-at="${selected}"]`) ?? tree.querySelector('[role="treeitem"]');
    first?.setAttribute("tabindex", "0");
  }

  function focusItem(item) {
    if (item === null || item === undefined) return;
    for (const other of find("tree").querySelectorAll('[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
  }

  find("tree").addEventListener("click", (event) => {
    const item = event.target.closest('[role="treeitem"]');
    if (item === null) return;
    const at = Number(item.dataset.at);
    event.target.classList.contains("fold") ? toggle(at) : select(at);
  });
  find("tree").addEventListener("keydown", (event) => {
    const item = event.target.closest('[role="treeitem"]');
    if (item === null) return;
    const at = Number(item.dataset.at);
    const all = [...find("tree").querySelectorAll('[role="treeitem"]')];
    const place = all.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded");
    const keys = {
      ArrowDown: () => focusItem(all[place + 1]),
      ArrowUp: () => focusItem(all[place - 1]),
      Home: () => focusItem(all[0]),
      End: () => focusItem(all.at(-1)),
      ArrowRight: () => (isOpen === "false" ? toggleItem(at) : isOpen === "true" && focusItem(all[place + 1])),
      ArrowLeft: () => (isOpen === "true" ? toggleItem(at) : focusItem(item.parentElement.closest('[role="treeitem"]'))),
      Enter: () => open(at),
      " ": () => open(at),
    };
    if (keys[event.key] === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });

  /** Shows a resource and moves the focus to it, so that it is read. */
  function open(at) {
    select(at);
    find("details").querySelector("h2")?.focus();
  }

  function toggleItem(at) {
    toggle(at);
    focusItem(find("tree").querySelector(`[data-at="${at}"]`));
  }

  // ---- one resource ----

  function element(name, attributes, content = []) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...(Array.isArray(content) ? content : [content]));
    return made;
  }

  /** The text of an error; several lines, such as a traceback, keep their columns. */
  const message = (text) => (text.trim().includes("\n") ? element("code", { class: "lines" }, text) : text);

  function link(at) {
    const button = element("button", { class: "link", title: nodes[at].urn }, nodes[at].name);
    button.addEventListener("click", () => select(at));
    return button;
  }

  function links(places) {
    return places.flatMap((at, index) => (index === 0 ? [link(at)] : [", ", link(at)]));
  }

  const SIGNS = { add: ["+", "create-line"], delete: ["−", "delete-line"], update: ["~", "update-line"] };

  function rowOf(property) {
    const [sign, colour] = SIGNS[property.kind] ?? ["", "text"];
    const value = [];
    if (property.old !== undefined) value.push(element("span", { class: property.new === undefined && property.kind === undefined ? "plain" : "old" }, property.old));
    if (property.old !== undefined && property.new !== undefined) value.push(" → ");
    if (property.new !== undefined) value.push(element("span", { class: property.kind === undefined ? "plain" : "new" }, property.new));
    if (property.replaces) value.push(element("span", { class: "forces" }, " forces a replacement"));
    return element("tr", {}, [
      element("td", { class: "sign", style: `color: var(--${colour})`, "aria-label": property.kind ?? "unchanged" }, sign),
      element("td", {}, property.path),
      element("td", {}, value),
    ]);
  }

  /** The title of the outputs: whether they are those that change. */
  const outputsTitle = () => (graph.outputs.some((output) => output.kind !== undefined) ? "Changed outputs" : "Outputs");

  function closing() {
    const close = element("button", { class: "close", "aria-label": "Close" }, "×");
    close.addEventListener("click", shut);
    return close;
  }

  /** Closes the panel; the focus goes back to the list. */
  function shut() {
    const last = selected;
    select(undefined);
    if (!find("list").hidden && last !== undefined) focusItem(find("tree").querySelector(`[data-at="${last}"]`));
  }

  function drawDetails() {
    const panel = find("details");
    panel.hidden = selected === undefined;
    if (selected === undefined) return;
    if (selected === OUTPUTS) {
      const heading = element("h2", { tabindex: "-1" }, outputsTitle());
      panel.replaceChildren(closing(), heading, element("table", {}, [element("tbody", {}, graph.outputs.map(rowOf))]));
      return;
    }
    const node = nodes[selected];
    const facts = [];
    const fact = (name, content) => facts.push(element("dt", {}, name), element("dd", {}, content));
    fact("type", node.type);
    fact("URN", node.urn);
    if (node.id !== undefined) fact("id", node.id);
    if (node.protect) fact("protected", "yes");
    if (node.parent !== undefined && nodes[node.parent].kind !== "stack") fact("parent", [link(node.parent)]);
    if (children[selected].length > 0) fact("children", String(countBelow(selected)));
    const seen = (places) => places.filter((at) => nodes[at].kind !== "stack");
    if (seen(node.dependsOn).length > 0) fact("depends on", links(seen(node.dependsOn)));
    if (dependents[selected].length > 0) fact("needed by", links(dependents[selected]));
    const colour = node.failure === undefined ? `${colourOf(node)}-line` : "failed";
    const isStep = node.op !== "same" && !node.pendingDeletion;
    const wording = isStep && graph.planned ? `to ${node.op}` : wordingOf(node);
    const content = [
      closing(),
      element("h2", { tabindex: "-1" }, node.name),
      element("span", { class: "badge", style: `border-color: var(--${colour}); color: var(--${colour})` }, wording),
    ];
    if (isGroup(selected)) {
      const button = element("button", { class: "link" }, isFolded(selected) ? "unfold" : "fold");
      const at = selected;
      button.addEventListener("click", () => toggle(at));
      content.push(" ", button);
    }
    if (node.failure !== undefined) content.push(element("p", { class: "failure" }, [message(node.failure)]));
    content.push(element("dl", {}, facts));
    if (node.properties.length > 0) {
      const changes = node.properties.some((property) => property.kind !== undefined);
      content.push(element("h3", {}, changes ? "Changes" : "Inputs"), element("table", {}, [element("tbody", {}, node.properties.map(rowOf))]));
    }
    panel.replaceChildren(...content);
  }

  function select(at) {
    const wasOpen = selected !== undefined;
    selected = at;
    drawDetails();
    if (!find("list").hidden) {
      for (const item of find("tree").querySelectorAll('[role="treeitem"]')) item.setAttribute("aria-selected", String(Number(item.dataset.at) === at));
    } else {
      if (wasOpen !== (at !== undefined)) view?.resize();
      mark();
    }
  }

  // ---- controls ----

  function refresh(fits) {
    isFitDue ||= fits;
    if (find("list").hidden) draw();
    else drawList();
    drawDetails();
  }

  function showList(isList) {
    find("list").hidden = !isList;
    find("graph").hidden = isList;
    find("show-graph").setAttribute("aria-pressed", String(!isList));
    find("show-list").setAttribute("aria-pressed", String(isList));
    refresh(false);
  }

  function foldAll(folds) {
    nodes.forEach((_, at) => isGroup(at) && fold(at, folds));
    refresh(true);
  }

  /** Writes the number of resources of each operation, of those that can be shown, and how many of these have failed. */
  function countOperations() {
    for (const button of find("operations").children) {
      const { op } = button.dataset;
      const counted = nodes.filter((node) => node.op === op && isOffered(node));
      const words = new Set(counted.map(wordingOf));
      button.hidden = counted.length === 0;
      const failed = counted.filter((node) => node.failure !== undefined).length;
      const failures = failed === 0 ? "" : `, ${failed} failed`;
      button.textContent = `${OPERATIONS[op][0]} ${counted.length} ${words.size === 1 ? [...words][0] : op}${failures}`.trim();
    }
  }

  function makeFilters() {
    const present = new Set(nodes.filter((node) => node.kind !== "stack").map((node) => node.op));
    for (const op of Object.keys(OPERATIONS)) {
      if (!present.has(op)) continue;
      const colour = OPERATIONS[op][1];
      const button = element("button", { class: "operation", "data-op": op, "aria-pressed": "true", style: `background: var(--${colour}); border-color: var(--${colour}-line)` });
      button.addEventListener("click", () => {
        shownOps.has(op) ? shownOps.delete(op) : shownOps.add(op);
        button.setAttribute("aria-pressed", String(shownOps.has(op)));
        refresh(true);
      });
      find("operations").append(button);
    }
    countOperations();
    const select = find("component");
    select.append(element("option", { value: "" }, "All components"));
    nodes.forEach((node, at) => isGroup(at) && select.append(element("option", { value: at }, shortened(`${node.name} (${node.type})`, 60))));
    select.hidden = select.options.length === 1;
  }

  new ResizeObserver(() => {
    if (isFitDue && find("list").hidden) fitWhenSized();
    else view.resize();
  }).observe(find("graph"));

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    view?.style(styleOf());
  }

  const scheme = matchMedia("(prefers-color-scheme: dark)");
  let isThemeChosen = false;
  /** Sets the system's theme, as long as the user has not chosen one. */
  function followScheme() {
    if (!isThemeChosen) setTheme(scheme.matches ? "dark" : "light");
  }

  const move = (x, y) => view?.panBy({ x, y });
  const zoom = (factor) => view?.zoom({ level: view.zoom() * factor, renderedPosition: { x: view.width() / 2, y: view.height() / 2 } });
  const fit = () => view?.fit(undefined, 30);
  find("graph").addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
    };
    if (keys[event.key] === undefined) return;
    event.preventDefault();
    keys[event.key]();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !(event.target instanceof HTMLInputElement)) {
      event.preventDefault();
      find("search").focus();
    } else if (event.key === "Escape") {
      shut();
    }
  });
  let pending;
  find("search").addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(() => refresh(true), 120);
  });
  find("component").addEventListener("change", () => refresh(true));
  find("providers").addEventListener("change", () => {
    countOperations();
    refresh(true);
  });
  find("show-graph").addEventListener("click", () => showList(false));
  find("show-list").addEventListener("click", () => showList(true));
  find("fold-all").addEventListener("click", () => foldAll(true));
  find("unfold-all").addEventListener("click", () => foldAll(false));
  find("zoom-in").addEventListener("click", () => zoom(1.25));
  find("zoom-out").addEventListener("click", () => zoom(0.8));
  find("fit").addEventListener("click", fit);
  find("theme").addEventListener("click", () => {
    isThemeChosen = true;
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  scheme.addEventListener("change", followScheme);

  function drawOutcome() {
    const isOver = graph.outcome !== undefined && graph.outcome !== "succeeded";
    find("outcome").hidden = !isOver;
    if (isOver) find("outcome").replaceChildren(element("strong", {}, graph.planned ? `Preview ${graph.outcome}` : graph.outcome), ...(graph.error === undefined ? [] : [" ", message(graph.error)]));
    const button = find("outputs");
    button.hidden = graph.outputs === undefined;
    if (button.hidden) return;
    const changes = graph.outputs.filter((output) => output.kind !== undefined).length;
    button.textContent = changes === 0 ? "Outputs" : `Outputs: ${changes} changed`;
    button.addEventListener("click", () => open(OUTPUTS));
  }

  find("title").textContent = graph.title;
  drawOutcome();
  followScheme();
  makeFilters();
  if (nodes.length > MAX_UNFOLDED) nodes.forEach((_, at) => isGroup(at) && folded.add(at));
  draw();
})();
