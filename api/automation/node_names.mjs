/**
 * Finds the public names of `@pulumi/pulumi/automation`, and the tests that use them; prints both as JSON.
 *
 * Both are found by the type checker, so that a use counts only for the interface whose member it is.
 */

import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const require = createRequire(join(ROOT, "package.json"));
const ts = require("typescript");

const UPSTREAM = "@pulumi/pulumi/automation/";
const OWN = "bindings-node/dist/automation/";
const TESTS = join(ROOT, "bindings-node", "tests");
const SCRIPTS = join(ROOT, "examples", "automation", "node");

const inFolder = (folder, matches) => {
    try {
        return readdirSync(folder).filter(matches).sort().map((name) => join(folder, name));
    } catch (error) {
        if (error.code === "ENOENT") {
            return [];
        }
        throw error;
    }
};
const tests = inFolder(TESTS, (name) => name.startsWith("automation") && name.endsWith(".mjs"));
const scripts = inFolder(SCRIPTS, (name) => name.endsWith(".mjs") && !name.startsWith("_"));
const index = join(ROOT, "node_modules", UPSTREAM, "index.d.ts");
const program = ts.createProgram([index, ...tests, ...scripts], {
    allowJs: true,
    checkJs: true,
    maxNodeModuleJsDepth: 0,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    target: ts.ScriptTarget.ES2022,
    types: ["node"],
});
const checker = program.getTypeChecker();

/** Returns whether a declaration is part of the interface. */
function isPublic(declaration) {
    const flags = ts.getCombinedModifierFlags(declaration);
    return (flags & ts.ModifierFlags.Private) === 0 && !ts.isConstructorDeclaration(declaration);
}

function membersOf(symbol) {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const kinds = ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.Enum;
    if ((symbol.flags & kinds) === 0) {
        return [];
    }
    if ((symbol.flags & ts.SymbolFlags.Enum) !== 0) {
        return [...symbol.exports.keys()].map((name) => `.${name}`);
    }
    const statics = [...(symbol.exports?.values() ?? [])].filter(({ name }) => name !== "prototype");
    const names = [];
    for (const member of [...checker.getPropertiesOfType(type), ...statics]) {
        const declarations = (member.declarations ?? []).filter((declaration) => declaration.getSourceFile().fileName.includes(UPSTREAM));
        if (declarations.length === 0 || !declarations.every(isPublic)) {
            continue;
        }
        names.push(`.${member.name}`);
        for (const parameter of declarations.flatMap(({ parameters }) => parameters ?? [])) {
            // The members of options are those of their interfaces.
            if (parameter.questionToken !== undefined && !/^(opts|options)$/.test(parameter.name.text)) {
                names.push(`.${member.name}(${parameter.name.text})`);
            }
        }
    }
    return [...new Set(names)].sort();
}

const names = {};
for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(index)))) {
    const target = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
    // The members of an interface are those of its implementation, or of the interfaces that extend it.
    names[symbol.name] = ["Workspace", "GlobalOpts"].includes(symbol.name) ? [] : membersOf(target);
}
const known = new Set(Object.entries(names).flatMap(([owner, members]) => [owner, ...members.map((member) => owner + member)]));

const uses = {};
let user = "";

function note(name) {
    if (known.has(name) && user !== "") {
        uses[name] ??= [];
        if (!uses[name].includes(user)) {
            uses[name].push(user);
        }
    }
}

function isOurs(declaration) {
    const { fileName } = declaration.getSourceFile();
    return fileName.includes(UPSTREAM) || fileName.includes(OWN);
}

/** The names of the classes and interfaces that a declared member belongs to. */
function noteSymbol(symbol) {
    const target = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
    for (const declaration of (target?.declarations ?? []).filter(isOurs)) {
        const owner = declaration.parent?.name?.text;
        const own = target.name === "Command" ? "PulumiCommand" : target.name;
        note(own);
        if (owner !== undefined) {
            for (const name of [owner === "Command" ? "PulumiCommand" : owner, owner === "Workspace" ? "LocalWorkspace" : owner]) {
                note(name);
                note(`${name}.${target.name}`);
            }
        }
    }
}

/** Notes a property of an object by the types that the object has, or is expected to have. */
function noteProperty(type, name) {
    const parts = type?.isUnionOrIntersection() ? type.types : type === undefined ? [] : [type];
    for (const part of parts) {
        const symbol = part.aliasSymbol ?? part.symbol;
        if (symbol?.declarations?.some(isOurs)) {
            note(symbol.name);
            note(`${symbol.name}.${name}`);
        }
    }
}

function noteCall(node) {
    const signature = checker.getResolvedSignature(node);
    const declaration = signature?.declaration;
    if (declaration === undefined || !isOurs(declaration)) {
        return;
    }
    const owner = declaration.parent.name?.text ?? "";
    node.arguments?.forEach((_, position) => {
        const parameter = declaration.parameters?.[position]?.name.text;
        for (const name of [owner, owner === "Workspace" ? "LocalWorkspace" : owner, owner === "Command" ? "PulumiCommand" : owner]) {
            note(`${name}.${declaration.name?.text}(${parameter})`);
        }
    });
}

function noteTypes(type, depth = 0) {
    if (type === undefined || depth > 3) {
        return;
    }
    for (const symbol of [type.aliasSymbol, type.symbol]) {
        if (symbol?.declarations?.some(isOurs)) {
            note(symbol.name);
        }
    }
    for (const argument of type.aliasTypeArguments ?? checker.getTypeArguments?.(type) ?? []) {
        noteTypes(argument, depth + 1);
    }
}

function visit(node) {
    const before = user;
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "test") {
        const [title] = node.arguments;
        if (title !== undefined && ts.isStringLiteralLike(title)) {
            user = `${basename(node.getSourceFile().fileName)}: ${title.text}`;
        }
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
        noteCall(node);
    }
    if (ts.isIdentifier(node)) {
        noteSymbol(checker.getSymbolAtLocation(node));
        noteTypes(checker.getTypeAtLocation(node));
    }
    if (ts.isPropertyAccessExpression(node)) {
        noteProperty(checker.getNonNullableType(checker.getTypeAtLocation(node.expression)), node.name.text);
    }
    if (ts.isObjectLiteralExpression(node)) {
        for (const property of node.properties) {
            if (property.name !== undefined && (ts.isIdentifier(property.name) || ts.isStringLiteral(property.name))) {
                noteProperty(checker.getContextualType(node), property.name.text);
            }
        }
    }
    if (ts.isObjectBindingPattern(node)) {
        for (const element of node.elements) {
            const name = element.propertyName ?? element.name;
            if (ts.isIdentifier(name)) {
                noteProperty(checker.getTypeAtLocation(node), name.text);
            }
        }
    }
    (node.jsDoc ?? []).forEach(visit);
    ts.forEachChild(node, visit);
    user = before;
}

const support = join(TESTS, "automation_support.mjs");
for (const file of [...tests, ...scripts]) {
    // Every test opens its stacks through the support.
    user = file === support || scripts.includes(file) ? relative(ROOT, file) : "";
    visit(program.getSourceFile(file));
}
process.stdout.write(`${JSON.stringify({ names, uses })}\n`);
