"""An S3 server on a free port of loopback with the bucket "state". It runs one request at a time, once it was read."""

import io
import logging
import threading

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket("state", "eu-west-1")
application = DomainDispatcherApplication(create_backend_app)
turn = threading.Lock()


def one_at_a_time(environ, start_response):
    length = int(environ.get("CONTENT_LENGTH") or 0)
    environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))
    with turn:
        return list(application(environ, start_response))


server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True)
server.daemon_threads = True
print("port", server.server_port, flush=True)
server.serve_forever()
