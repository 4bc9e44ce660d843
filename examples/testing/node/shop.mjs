/** The program that is tested: machines, a record for each, and a database that is protected where it is live. */
export function program(context) {
    const size = context.config.get("size") ?? "small";
    const live = context.stack === "live";
    const password = context.config.secret("password");
    const database = context.resource("cloud:index:Database", "orders", { engine: "postgres-16", password }, { protect: live });
    for (let number = 0; number < (live ? 2 : 1); number++) {
        const web = context.resource("cloud:index:Machine", `web-${number}`, { size, database: database.get("address") });
        context.resource("cloud:index:Record", `web-${number}.shop`, { address: web.get("address") });
    }
    context.export("database", database.get("address"));
}
