import asyncio
import json
from pathlib import Path

import stackwright as sw


class Notes(sw.Provider):
    def create(self, request):
        return sw.CreateResult(id=f"note-{request.name}", outputs=request.inputs)

    def read(self, request):
        return sw.ReadResult(request.id, {"text": "hello"}, {"text": "hello"})

    def update(self, request):
        return sw.UpdateResult(outputs=request.inputs)

    def delete(self, request):
        pass


async def program(ctx):
    note = ctx.resource("notes:index:Note", "first", {"text": "hello"})
    ctx.export("text", note["text"])


async def main():
    async with sw.Engine(store="memory://", passphrase="correct horse", providers={"notes": Notes()}) as engine:
        stack = await engine.stack("shop/dev", program)
        # BLOCK


asyncio.run(main())
