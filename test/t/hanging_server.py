# test/t/hanging_server.py
#
# A calendar server for tests of the worker's life, where it matters what the
# server does and when, and not that it is a real one.
#
#	hanging_server.py FOLDER
#
# Prints its port.  The first segment of a path names a client; the file of that
# name in FOLDER says how the client is served from now on:
#
#	store	events are stored, read and deleted
#	hang	nothing happens, and no answer ever comes
#	swallow	events are stored and deleted, but no answer ever comes
#	deny	401
#	busy	503
#
# Each request is a line "METHOD PATH" in FOLDER/requests, written before the
# answer.  FOLDER/most has the most requests that were served at one time.

import hashlib
import http.server
import os
import sys
import threading
from xml.sax.saxutils import escape

folder = sys.argv[1]
lock = threading.Lock()
stored = {}
served = most = 0
never = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        with open(f"{folder}/{self.path.split('/')[1]}") as file:
            behaviour = file.read().strip()
        if behaviour in ("store", "swallow"):
            self.store(body)
        with lock, open(f"{folder}/requests", "a") as file:
            file.write(f"{self.command} {self.path}\n")
        self.count(1)
        if behaviour in ("hang", "swallow"):
            never.wait()
        self.count(-1)
        if behaviour == "deny":
            self.answer(401, WWW_Authenticate='Basic realm="x"')
        elif behaviour == "busy":
            self.answer(503)
        else:
            self.reply()

    # One request more, or less, is being served.
    def count(self, change):
        global served, most
        with lock:
            served += change
            if served > most:
                most = served
                # whole at any time, for a test may be reading it
                with open(f"{folder}/most.new", "w") as file:
                    file.write(f"{most}\n")
                os.replace(f"{folder}/most.new", f"{folder}/most")

    # The effect of a request; reply() then tells it.
    def store(self, body):
        with lock:
            event = stored.get(self.path)
            self.reply = lambda: self.answer(405)
            if self.command == "PUT":
                if event and self.headers.get("If-None-Match") == "*":
                    self.reply = lambda: self.answer(412)
                    return
                stored[self.path] = body
                self.reply = lambda: self.answer(
                    204 if event else 201, ETag=etag(body))
            elif self.command == "DELETE":
                stored.pop(self.path, None)
                self.reply = lambda: self.answer(204 if event else 404)
            elif self.command == "GET":
                self.reply = lambda: (
                    self.answer(200, event, ETag=etag(event),
                                Content_Type="text/calendar")
                    if event else self.answer(404))
            elif self.command == "REPORT":
                self.reply = lambda: self.answer(
                    207, listing(self.path), Content_Type="application/xml")
            elif self.command == "PROPFIND":
                self.reply = lambda: self.answer(
                    207, calendar(self.path), Content_Type="application/xml")

    do_PUT = do_GET = do_DELETE = do_REPORT = do_PROPFIND = do_OPTIONS = serve


def etag(body):
    return f'"{hashlib.sha256(body).hexdigest()}"'


def multistatus(parts):
    return ('<d:multistatus xmlns:d="DAV:" '
            'xmlns:c="urn:ietf:params:xml:ns:caldav">'
            + "".join(parts) + "</d:multistatus>").encode()


def resource(href, properties):
    return (f"<d:response><d:href>{escape(href)}</d:href><d:propstat>"
            f"<d:prop>{properties}</d:prop>"
            "<d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>")


# All events below a path; a filter may be ignored by who asks for one event.
def listing(path):
    return multistatus(
        resource(href, f"<d:getetag>{escape(etag(body))}</d:getetag>"
                       f"<c:calendar-data>{escape(body.decode())}"
                       "</c:calendar-data>")
        for href, body in stored.items() if href.startswith(path))


# The calendar itself.
def calendar(path):
    return multistatus([resource(
        path, "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype>"
              "<d:current-user-privilege-set><d:privilege><d:all/>"
              "</d:privilege></d:current-user-privilege-set>")])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
