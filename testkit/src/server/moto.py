"""An S3 server on a free port of loopback, one request at a time, with the bucket "state"."""

import logging

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
s3_backends[DEFAULT_ACCOUNT_ID]["aws"].create_bucket("state", "eu-west-1")
application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=False)
print("port", server.server_port, flush=True)
server.serve_forever()
