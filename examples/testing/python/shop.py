"""The program that is tested: machines, a record for each, and a database that is protected where it is live."""


def program(ctx):
    size = ctx.config.get("size", "small")
    live = ctx.stack == "live"
    database = ctx.resource("cloud:index:Database", "orders", {"engine": "postgres-16", "password": ctx.config.secret("password")}, protect=live)
    for number in range(2 if live else 1):
        web = ctx.resource("cloud:index:Machine", f"web-{number}", {"size": size, "database": database["address"]})
        ctx.resource("cloud:index:Record", f"web-{number}.shop", {"address": web["address"]})
    ctx.export("database", database["address"])
