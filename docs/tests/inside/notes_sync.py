import stackwright as sw


class Notes(sw.Provider):
    def create(self, request):
        return sw.CreateResult(id=request.name, outputs=request.inputs)

    def update(self, request):
        return sw.UpdateResult(outputs=request.inputs)

    def delete(self, request):
        pass


def program(ctx):
    note = ctx.resource("notes:index:Note", "first", {"text": "hello"})
    ctx.export("text", note["text"])


# BLOCK
