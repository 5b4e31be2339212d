#!/usr/bin/env python3
"""A proxy that misbehaves on request, in front of a calendar server.

    fault_proxy.py UPSTREAM_PORT [keep-host]

The server does the real thing; this breaks what goes to it and what comes back.
With keep-host it is told the name that the client used, for the sake of links
that it makes.  What a request meets is said by rules, which a test puts through
the control port:

    POST /rules    add rules, a JSON list of {"method", "path", "fault",
                   "count"}: method is a comma-separated list of kinds, see
                   kind_of(); path is a prefix; fault is one of FAULTS; the rule
                   holds for count requests, 1 if absent
    POST /clear    forget all rules, and let go of what is held
    POST /forget   forget all rules; what is held stays so
    POST /release  let go of the requests of one kind that are held, a JSON text
    GET  /log      all requests that arrived, oldest first, as a JSON list

Prints one line with its ports when it is ready: proxy, other, control.  The
listener "other" stands for another host: what arrives there is logged as such.
Ends when its standard input does.
"""

import gzip
import http.client
import json
import re
import socket
import struct
import sys
import threading

lock = threading.Condition()
rules = []
log = []
connections = 0
epoch = 0  # counts what /clear lets go
released = {}  # the same of /release, by kind
ports = {}
upstream_port = int(sys.argv[1])
keep_host = sys.argv[2:] == ["keep-host"]
authorization = ""  # of the last request, for questions of our own


class Gone(Exception):
    """The connection is of no more use."""


class Connection:
    """One connection of a client."""

    def __init__(self, sock, listener):
        global connections
        self.sock = sock
        self.listener = listener
        self.input = b""
        with lock:
            connections += 1
            self.number = connections

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise Gone
        self.input += data

    def read_request(self):
        """Read and log a request: method, target, headers, body."""
        while b"\r\n\r\n" not in self.input:
            self.fill()
            if not self.input[:1].isalpha():  # TLS, which nobody speaks here
                raise Gone
        head, self.input = self.input.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            if name.lower() in headers:  # a list is one, however it is written
                value = headers[name.lower()] + ", " + value.strip()
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        while len(self.input) < length:
            self.fill()
        body, self.input = self.input[:length], self.input[length:]
        return method, target, headers, body

    def send(self, head, body=b""):
        self.sock.sendall(head.encode("latin-1").replace(b"\n", b"\r\n") + body)

    def answer(self, status, body=b"", **headers):
        lines = [f"HTTP/1.1 {status} Whatever"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines.append(f"Content-Length: {len(body)}")
        self.send("\n".join(lines) + "\n\n", body)

    def stall(self):
        """Say no more until the client goes."""
        while True:
            self.fill()

    def close(self):
        raise Gone

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Gone


def ask_upstream(request):
    """What the real server says: status, headers, body."""
    method, target, headers, body = request
    hop = ["connection", "content-length", "accept-encoding", "transfer-encoding", "expect"]
    hop += [] if keep_host else ["host"]
    upstream = http.client.HTTPConnection("127.0.0.1", upstream_port, timeout=30)
    upstream.request(
        method, target, body or None, {k: v for k, v in headers.items() if k not in hop}
    )
    answer = upstream.getresponse()
    content = answer.read()
    hop = ("connection", "content-length", "transfer-encoding", "keep-alive", "server", "date")
    kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in hop]
    upstream.close()
    return answer.status, kept, content


def head_of(answer, length):
    status, headers, _ = answer
    lines = [f"HTTP/1.1 {status} Whatever"] + [f"{k}: {v}" for k, v in headers]
    if length is not None and status != 204:
        lines.append(f"Content-Length: {length}")
    return "\n".join(lines) + "\n\n"


def deliver(conn, answer):
    conn.send(head_of(answer, len(answer[2])), answer[2])


BAD_TOKEN = b'<error xmlns="DAV:"><valid-sync-token/></error>'

HTML = b"<html><body><h1>Something went wrong</h1></body></html>"

# How Nextcloud refuses a UID that an event in its trash bin has.
TRASHED = b"""<?xml version="1.0" encoding="utf-8"?>
<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">
  <s:exception>Sabre\\DAV\\Exception\\BadRequest</s:exception>
  <s:message>Deleted calendar object with uid already exists in this calendar collection.</s:message>
</d:error>
"""


# A listing that names nothing, with a token as if it were complete.
EMPTY = b"""<?xml version="1.0" encoding="utf-8"?>
<multistatus xmlns="DAV:"><sync-token>http://example.org/sync/empty</sync-token></multistatus>
"""


def members(path):
    """What a collection holds, as the server says."""
    headers = {"authorization": authorization, "depth": "1", "content-type": "application/xml"}
    body = b'<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>'
    _, _, content = ask_upstream(("PROPFIND", path, headers, body))
    hrefs = re.findall(rb"<(?:\w+:)?href>([^<]+)</", content)
    return [href.decode() for href in hrefs if href.decode().endswith(".ics")]


def all_removed(conn, answer):
    """A listing that says of everything that it is gone."""
    lines = "".join(
        f"<response><href>{href}</href><status>HTTP/1.1 404 Not Found</status></response>"
        for href in members(conn.path)
    )
    body = EMPTY.decode().replace("<sync-token>", lines + "<sync-token>")
    conn.send(head_of((207, [("Content-Type", "application/xml")], b""), len(body)), body.encode())


def less_one(conn, answer):
    """A listing that leaves out one of its members, always the same one."""
    status, headers, body = answer
    parts = re.split(rb"(?=<(?:\w+:)?response>)", body)
    shown = sorted(part for part in parts[1:] if b".ics" in part)
    if shown:
        end = shown[0].rindex(b"</", 0, shown[0].rindex(b"response>")) + len(b"</response>")
        body = body.replace(shown[0][:end], b"", 1)
    deliver(conn, (status, headers, body))


def interim(conn, answer):
    """Interim answers with headers of their own come first."""
    conn.send("HTTP/1.1 100 Continue\nETag: \"wrong-100\"\n\n")
    conn.send("HTTP/1.1 103 Early Hints\nETag: \"wrong-103\"\nLink: </x>; rel=preload\n\n")
    deliver(conn, answer)


def cut_chunked(conn, answer):
    conn.send(head_of(answer, None).replace("\n\n", "\nTransfer-Encoding: chunked\n\n", 1))
    conn.send("40\n", b"only a part")
    conn.close()


def cut_close(conn, answer):
    """A body that ends with the connection, which is reset before that."""
    conn.send(head_of((200, [], b""), None), b"only a part")
    conn.reset()


def cut_silently(conn, answer):
    """A body that ends with the connection, and too early: nothing tells."""
    status, headers, body = answer
    conn.send(head_of((200, [], b""), None), body[: len(body) // 2])
    conn.close()


def bomb(conn):
    """Half a megabyte that unpacks to half a gigabyte."""
    body = gzip.compress(b"\0" * (64 << 20))
    conn.send(
        "HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Type: text/calendar\n"
        f"Content-Length: {len(body) * 8}\n\n"
    )
    for _ in range(8):
        conn.sock.sendall(body)


# Faults before the server has seen the request: it is not executed.
BEFORE = {
    "unavailable": lambda c: c.answer(503, HTML, Content_Type="text/html"),
    "bad_gateway": lambda c: c.answer(502, HTML, Content_Type="text/html"),
    "gateway_timeout": lambda c: c.answer(504, HTML, Retry_After=7),
    "unauthorized": lambda c: c.answer(401, HTML, Content_Type="text/html"),
    "forbidden": lambda c: c.answer(403, HTML, Content_Type="text/html"),
    "missing": lambda c: c.answer(404, HTML, Content_Type="text/html"),
    "empty": lambda c: c.answer(207, EMPTY, Content_Type="application/xml"),
    "refuse": lambda c: c.answer(413, HTML, Content_Type="text/html"),
    "trashed": lambda c: c.answer(400, TRASHED, Content_Type="application/xml; charset=utf-8"),
    "rate_limited": lambda c: c.answer(429, HTML, Retry_After=9),
    "not_implemented": lambda c: c.answer(501, HTML, Content_Type="text/html"),
    "bad_token": lambda c: c.answer(403, BAD_TOKEN, Content_Type="application/xml"),
    "redirect": lambda c: c.answer(307, Location=f"http://127.0.0.2:{ports['other']}/user/x/"),
    "reset": Connection.reset,
    "close": Connection.close,
    "stall": Connection.stall,
}

# Faults after the server has executed the request, given its answer.
AFTER = {
    "unavailable_after": lambda c, a: c.answer(503, HTML, Content_Type="text/html"),
    "bad_gateway_after": lambda c, a: c.answer(502, HTML, Content_Type="text/html"),
    "gateway_timeout_after": lambda c, a: c.answer(504, HTML, Retry_After=7),
    "reset_after": lambda c, a: c.reset(),
    "close_after": lambda c, a: c.close(),
    "stall_after": lambda c, a: (c.send(head_of(a, 1000)), c.stall()),
    "cut_length": lambda c, a: (c.send(head_of((200, a[1], b""), 1000), b"part"), c.close()),
    "cut_chunked": lambda c, a: cut_chunked(c, (200, a[1], b"")),
    "cut_close": cut_close,
    "cut_silently": cut_silently,
    "interim": interim,
    "all_removed": all_removed,
    "less_one": less_one,
    "bomb_after": lambda c, a: bomb(c),
}

# Held until /clear or /release: before the server sees it, before its answer is
# passed, or before another fault.
HOLD = ("hold", "hold_after", "held_reset", "held_rate_limited", "held_trashed")

FAULTS = (*BEFORE, *AFTER, *HOLD)


def kind_of(request):
    """A request that makes an event, changes one, looks for one by what it holds
    ("query"), or reads the calendars of web services ("list"); else its method.
    So REPORT is what reads a calendar of CalDAV."""
    method, target, headers, body = request
    path, _, query = target.partition("?")
    if method == "PUT":
        return "create" if "if-none-match" in headers else "update"
    if method == "REPORT" and b"calendar-query" in body:
        return "query"
    if method == "POST" and path.endswith("/events"):
        return "create"
    if method == "PATCH":
        return "update"
    if method == "GET" and ("privateExtendedProperty=" in query or "%2FAny(" in query):
        return "query"
    if method == "GET" and path.endswith(("/events", "/instances", "/delta")):
        return "list"
    return method


def take_fault(request):
    """The fault of the first rule that fits, None if there is none."""
    with lock:
        for rule in rules:
            if kind_of(request) not in rule["method"].split(","):
                continue
            if not request[1].startswith(rule["path"]):
                continue
            rule["count"] -= 1
            if rule["count"] == 0:
                rules.remove(rule)
            return rule["fault"]
    return None


def wait_for_clear(kind):
    with lock:
        begun = (epoch, released.get(kind, 0))
        lock.wait_for(lambda: (epoch, released.get(kind, 0)) != begun)


def serve(conn):
    """Requests of one connection, one after the other."""
    global authorization
    while True:
        request = conn.read_request()
        fault = take_fault(request) if conn.listener == "proxy" else None
        conn.path = request[1]
        authorization = request[2].get("authorization", authorization)
        entry = {
            "listener": conn.listener,
            "connection": conn.number,
            "kind": kind_of(request),
            "path": request[1],
            "fault": fault,
            "authorization": "authorization" in request[2],
            "hrefs": request[3].count(b"<href>"),
            "status": None,
            "passed": False,  # the server has answered, or never will
            "answered": False,
        }
        with lock:
            log.append(entry)
        if conn.listener == "other":
            conn.answer(200)
            continue
        if fault in HOLD and fault != "hold_after":
            wait_for_clear(entry["kind"])
            fault = fault.removeprefix("held_")
        if fault in BEFORE:
            BEFORE[fault](conn)
            continue
        try:
            answer = ask_upstream(request)
            entry["status"] = answer[0]
        finally:
            entry["passed"] = True
        if fault == "hold_after":
            wait_for_clear(entry["kind"])
        AFTER.get(fault, deliver)(conn, answer)
        entry["answered"] = True
        if fault in AFTER and fault != "interim":
            raise Gone


def control(conn):
    global epoch
    while True:
        method, target, _, body = conn.read_request()
        with lock:
            if target == "/rules":
                for rule in json.loads(body):
                    if rule["fault"] not in FAULTS:
                        conn.answer(400, b"no such fault")
                        break
                    rule.setdefault("count", 1)
                    rules.append(rule)
                else:
                    conn.answer(200)
                continue
            if target in ("/clear", "/forget"):
                rules.clear()
                epoch += target == "/clear"
                lock.notify_all()
                conn.answer(200)
                continue
            if target == "/release":
                kind = json.loads(body)
                released[kind] = released.get(kind, 0) + 1
                lock.notify_all()
                conn.answer(200)
                continue
            text = json.dumps(log).encode()
        conn.answer(200 if method == "GET" else 404, text, Content_Type="application/json")


def run(conn, code):
    try:
        code(conn)
    except (Gone, OSError, http.client.HTTPException):
        pass
    finally:
        conn.sock.close()


def accept(listener, name, code):
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(Connection(sock, name), code), daemon=True).start()


def main():
    for name, host, code in (
        ("proxy", "127.0.0.1", serve),
        ("other", "127.0.0.2", serve),
        ("control", "127.0.0.1", control),
    ):
        listener = socket.socket()
        listener.bind((host, 0))
        listener.listen(128)
        ports[name] = listener.getsockname()[1]
        threading.Thread(target=accept, args=(listener, name, code), daemon=True).start()
    print(" ".join(f"{name}={port}" for name, port in ports.items()), flush=True)
    sys.stdin.read()


main()
