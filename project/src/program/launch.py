# Runs the program of a folder: the facts of the run come from the standard input, as JSON. Text after them states that the program is
# complete.
import asyncio, concurrent.futures, json, logging, os, runpy, sys, traceback

facts = json.loads(sys.stdin.buffer.read())
completion = os.dup(0)
# The folder of `-c`; that of the program takes its place.
sys.path[:] = [folder for folder in sys.path if folder]

try:
    import pulumi
except ModuleNotFoundError as error:
    if error.name != "pulumi":
        raise
    sys.exit(
        f"the interpreter {sys.executable} has no package 'pulumi': install it there, or name the environment of the program in "
        "Pulumi.yaml (runtime.options.virtualenv)"
    )
from pulumi import runtime

REPORTED = 32
MONITOR_GONE = "Resource monitor has terminated, shutting down"

program = os.path.abspath(facts["program"])
folder = program if os.path.isdir(program) else os.path.dirname(program)


def own(frames):
    """Leaves out the frames of this launcher and of the SDK before those of the program. A syntax error has none of the program."""
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(folder):
        frames = frames.tb_next
    return frames


def fail(text, code):
    pulumi.log.error(text)
    return code


def run_program():
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        # One without a code is the end of the program.
        if ended.code:
            raise


def run():
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = [program]
    runtime.set_all_config(facts["config"], facts["secretKeys"])
    runtime.configure(
        runtime.Settings(
            project=facts["project"],
            stack=facts["stack"],
            organization=facts["organization"],
            root_directory=facts["root"],
            monitor=facts["address"],
            engine=facts["address"],
            parallel=facts["parallel"],
            dry_run=facts["dryRun"],
        )
    )
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(4 * max(1, facts["parallel"])))
    try:
        loop.run_until_complete(runtime.run_in_stack(run_program))
    except pulumi.RunError as error:
        # The failure that has ended the monitor is reported by the engine.
        return REPORTED if str(error) == MONITOR_GONE else fail(str(error), 1)
    except SystemExit:
        raise
    except KeyboardInterrupt:
        # The engine interrupts the program of an operation that is cancelled, and reports that itself.
        print("the program was interrupted", file=sys.stderr)
        return REPORTED
    except BaseException as error:
        frames = "".join(traceback.format_exception(type(error), error, own(error.__traceback__)))
        return fail("Program failed with an unhandled exception:\n" + frames, REPORTED)
    return 0


code = run()
os.write(completion, b"complete")
sys.stdout.flush()
sys.stderr.flush()
sys.exit(code)
