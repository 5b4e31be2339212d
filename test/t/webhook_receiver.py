#!/usr/bin/env python3
#
# test/t/webhook_receiver.py
#
# A receiver of what subscribers are sent, with nothing but Python's own library:
# it verifies signatures as Standard Webhooks says, not as we do.
#
#	webhook_receiver.py FOLDER
#
# Prints its port.  A file in FOLDER named as the first part of the path says how
# that subscriber is answered: a status, with "after=SECONDS" for Retry-After and
# "location=URL"; "hang" never answers, "drop" closes the connection without an
# answer, and "big" answers 200 with a megabyte.  A file NAME.secrets has the
# secrets that its signatures are tried with.  Each request is one line of JSON in
# the file "requests", written before it is answered.

import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()


def read(name, otherwise):
    try:
        with open(os.path.join(folder, name)) as file:
            return file.read().split()
    except FileNotFoundError:
        return otherwise


def verified(secret, headers, body):
    """Which of the signatures the secret made, by their places."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return [n for n, one in enumerate(headers["webhook-signature"].split(" "))
            if hmac.compare_digest(one, right)]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        name = self.path.strip("/").split("/")[0]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            with open(os.path.join(folder, "requests"), "a") as log:
                print(json.dumps({
                    "name": name,
                    "at": time.time(),
                    "id": self.headers["webhook-id"],
                    "type": self.headers["Content-Type"],
                    "fresh": abs(time.time() - int(self.headers["webhook-timestamp"])) < 300,
                    "signatures": len(self.headers["webhook-signature"].split(" ")),
                    "verified": [verified(s, self.headers, body)
                                 for s in read(name + ".secrets", [])],
                    "body": json.loads(body),
                    "raw": body.decode()}), file=log)
        self.answer(read(name, ["200"]))

    def answer(self, words):
        if words[0] == "hang":
            threading.Event().wait()
        if words[0] == "drop":
            self.close_connection = True
            return
        content = b"x" * (1 << 20) if words[0] == "big" else b"{}"
        self.send_response(200 if words[0] == "big" else int(words[0]))
        for word in words[1:]:
            kind, value = word.split("=", 1)
            self.send_header({"after": "Retry-After", "location": "Location"}[kind], value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:
            self.close_connection = True

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
