#!/usr/bin/env python3
"""A web server that misbehaves on request, for the tests of the HTTP engine.

    fault_server.py RECORD CERTIFICATE KEY

The path of a request names the behaviour, see BEHAVIOURS.  Every request that
was read as a whole is first written to the file RECORD, one JSON object a
line, so that a test can assert what arrived, how often, and on which
connection; and so is the end of a connection by the client.

Prints one line with the ports of its listeners when all of them are ready:

    plain, other    HTTP
    tls             HTTP with the certificate
    reset           resets each connection when it could read something
    mute            accepts connections and never says anything
    full            accepts no connection: its queue is full

Ends when its standard input does.
"""

import gzip
import json
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

record_lock = threading.Lock()
connections = 0


class Gone(Exception):
    """The client closed the connection."""


class Connection:
    """One connection of a client: reads requests, writes what it is told to."""

    def __init__(self, sock, listener, record):
        global connections
        self.sock = sock
        self.listener = listener
        self.record = record
        self.requests = 0
        self.input = b""
        with record_lock:
            connections += 1
            self.number = connections

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            self.note({"closed": self.number})
            raise Gone
        self.input += data

    def note(self, entry):
        with record_lock:
            with open(self.record, "a", encoding="ascii") as file:
                file.write(json.dumps(entry) + "\n")

    def read_request(self):
        """Read and record a request."""
        while b"\r\n\r\n" not in self.input:
            self.fill()
            if not self.input[:1].isalpha():  # TLS
                self.answer(400)
                raise Gone
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        while len(self.input) < length:
            self.fill()
        body, self.input = self.input[:length], self.input[length:]
        self.requests += 1
        self.note({
            "listener": self.listener,
            "connection": self.number,
            "method": method,
            "target": target,
            "headers": headers,
            "length": len(body),
            "body": body[:1000].decode("latin-1"),
        })
        return method, target

    def send(self, *parts):
        for part in parts:
            self.sock.sendall(part.encode("latin-1") if isinstance(part, str) else part)

    def answer(self, status, headers=(), body=b""):
        """A whole answer that leaves the connection open."""
        lines = [f"HTTP/1.1 {status} Whatever"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines) + "\r\n\r\n", body)

    def stall(self):
        """Say no more until the client goes."""
        while True:
            self.fill()

    def reset(self):
        """Close with a reset instead of an end."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone


# Behaviours: called with connection, method and query; what returns leaves the
# connection open for the next request, Gone closes it.


def ok(conn, _method, _query):
    conn.answer(
        200,
        [
            ("ETag", '"final"'),
            ("DAV", "1, 3"),
            ("dav", "calendar-access"),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Location", "/elsewhere"),
            ("Schedule-Tag", '"scheduled"'),
        ],
        b"hello",
    )


def head_only(conn, _method, _query):
    conn.send('HTTP/1.1 200 OK\r\nETag: "head"\r\nContent-Length: 5\r\n\r\n')


def status(conn, _method, query):
    """The status, and any headers, that the query names."""
    code = int(query.pop("code"))
    body = b"" if code in (204, 304) else b"status"
    lines = [f"HTTP/1.1 {code} Whatever"]
    lines += [f"{name}: {value}" for name, value in query.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    conn.send("\r\n".join(lines) + "\r\n\r\n", body)


def interim(conn, _method, _query):
    conn.send(
        'HTTP/1.1 100 Continue\r\nETag: "wrong"\r\nLocation: /wrong\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nETag: "wrong"\r\nDAV: wrong\r\n\r\n',
    )
    conn.answer(201, [("ETag", '"right"')])


def interim_only(conn, _method, _query):
    conn.send('HTTP/1.1 103 Early Hints\r\nETag: "wrong"\r\n\r\n')
    raise Gone


def interim_forever(conn, _method, _query):
    while True:
        conn.send("HTTP/1.1 103 Early Hints\r\nX-Hint: " + "x" * 200 + "\r\n\r\n")


def interim_stall(conn, _method, _query):
    conn.send("HTTP/1.1 100 Continue\r\n\r\n")
    conn.stall()


def trailer(conn, _method, _query):
    conn.send(
        'HTTP/1.1 200 OK\r\nETag: "right"\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n',
        '5\r\nhello\r\n0\r\nETag: "wrong"\r\nDAV: wrong\r\n\r\n',
    )


def old(conn, _method, _query):
    conn.send('HTTP/1.0 200 OK\r\nETag: "old"\r\n\r\nhello')
    raise Gone


def late(conn, _method, query):
    time.sleep(int(query["ms"]) / 1000)
    conn.answer(200, body=b"late")


def silent(conn, _method, _query):
    conn.stall()


def stall_in_headers(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "half"\r\n')
    conn.stall()


def stall_in_body(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "whole"\r\nContent-Length: 10\r\n\r\nhello')
    conn.stall()


def trickle(conn, _method, _query):
    conn.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        conn.send("x")
        time.sleep(0.05)


def cut_length(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "cut"\r\nContent-Length: 10\r\n\r\nhello')
    raise Gone


def cut_chunked(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "cut"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    raise Gone


def cut_close(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "cut"\r\nConnection: close\r\n\r\nhello')
    raise Gone


def cut_reset(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "cut"\r\nConnection: close\r\n\r\nhello')
    # the client has the bytes once it asks for more or goes; a reset could overtake them
    time.sleep(0.2)
    conn.reset()


def cut_headers(conn, _method, _query):
    conn.send('HTTP/1.1 201 Created\r\nETag: "cut"\r\n')
    raise Gone


def reset_after(conn, _method, _query):
    conn.reset()


def drop(conn, _method, _query):
    raise Gone


def drop_reused(conn, _method, _query):
    if conn.requests > 1:
        raise Gone
    conn.answer(200, body=b"fresh")


def compressed(conn, _method, _query):
    conn.answer(200, [("Content-Encoding", "gzip")], gzip.compress(b"hello" * 100))


def compressed_badly(conn, _method, _query):
    conn.answer(200, [("Content-Encoding", "gzip")], gzip.compress(b"hello" * 100)[:-20] + b"x" * 20)


def bomb(conn, _method, query):
    """So many megabytes of zeros in a thousandth of that."""
    block = gzip.compress(bytes(1024 * 1024), 9)
    conn.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(int(query["mb"])):
        conn.send(f"{len(block):x}\r\n", block, "\r\n")
    conn.send("0\r\n\r\n")


def big(conn, _method, query):
    conn.answer(200, [("ETag", '"big"')], b"x" * int(query["bytes"]))


def many_headers(conn, _method, _query):
    conn.answer(200, [(f"X-{i}", "y") for i in range(1000)], b"hello")


def long_headers(conn, _method, _query):
    conn.answer(200, [(f"X-{i}", "y" * 10000) for i in range(10)], b"hello")


def odd_headers(conn, _method, _query):
    conn.send(
        "HTTP/1.1 200 OK\r\n",
        'ETag:\t "first" \t\r\n',
        'ETag: "second"\r\n',
        "Content-Type: text/\x01plain\r\n",
        "Location:\r\n",
        ": nameless\r\n",
        "Content-Length: 5\r\n\r\nhello",
    )


def no_colon(conn, _method, _query):
    conn.send("HTTP/1.1 200 OK\r\nETag: x\r\nno colon\r\nContent-Length: 5\r\n\r\nhello")


def ancient(conn, _method, _query):
    conn.send("hello without any header\n")
    raise Gone


def garbage(conn, _method, _query):
    conn.send("HTTP/1.1 abc\r\nETag: x\r\n\r\nhello")
    raise Gone


def redirect(conn, _method, query):
    conn.answer(int(query.get("code", "302")), [("Location", query["to"])], b"go away")


def circle(conn, _method, _query):
    conn.answer(302, [("Location", f"/circle?{conn.requests}")])


def challenge(conn, _method, _query):
    conn.answer(
        401,
        [
            ("WWW-Authenticate", "Negotiate"),
            ("WWW-Authenticate", 'Digest realm="x", nonce="y", qop="auth"'),
            ("WWW-Authenticate", 'Basic realm="x"'),
        ],
    )


def cookie(conn, _method, _query):
    conn.answer(200, [("Set-Cookie", "taste=sweet; Path=/")], b"cookie")


BEHAVIOURS = {
    f"/{function.__name__}": function
    for function in (
        ok, head_only, status, interim, interim_only, interim_forever,
        interim_stall, trailer, old, late, silent, stall_in_headers,
        stall_in_body, trickle, cut_length, cut_chunked, cut_close, cut_reset,
        cut_headers, reset_after, drop, drop_reused, compressed,
        compressed_badly, bomb, big, many_headers, long_headers, odd_headers,
        no_colon, ancient, garbage, redirect, circle, challenge, cookie,
    )
}


def serve(sock, listener, record, context):
    """Serve one connection to its end."""
    try:
        if context is not None:
            sock = context.wrap_socket(sock, server_side=True)
        conn = Connection(sock, listener, record)
        if listener == "mute":
            conn.stall()
        if listener == "reset":
            sock.recv(1, socket.MSG_PEEK)
            conn.reset()
        while True:
            method, target = conn.read_request()
            url = urllib.parse.urlsplit(target)
            query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
            behaviour = BEHAVIOURS.get(re.sub(r"\d*$", "", url.path))
            if behaviour is None:
                conn.answer(404)
            else:
                behaviour(conn, method, query)
    except (Gone, OSError, ValueError):
        pass
    finally:
        sock.close()


def listen(listener, record, context=None):
    """Serve a port, each connection in a thread of its own."""
    server = socket.create_server(("127.0.0.1", 0), backlog=256)

    def accept():
        while True:
            sock, _ = server.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(sock, listener, record, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def listen_full(keep):
    """A port whose queue of connections is full."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    keep.append(server)
    for _ in range(4):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(server.getsockname())
        keep.append(sock)
    return server.getsockname()[1]


def main():
    record, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    keep = []
    ports = {
        "plain": listen("plain", record),
        "other": listen("other", record),
        "tls": listen("tls", record, context),
        "reset": listen("reset", record),
        "mute": listen("mute", record),
        "full": listen_full(keep),
    }
    print(" ".join(f"{name}={port}" for name, port in ports.items()), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
