/** Names the package that this module needs, before a module asks for it. */
try {
    require.resolve("@pulumi/pulumi/automation");
} catch (error) {
    throw new Error("stackwright/automation needs the package @pulumi/pulumi, which is not installed: `npm install @pulumi/pulumi`", {
        cause: error,
    });
}
export {};
