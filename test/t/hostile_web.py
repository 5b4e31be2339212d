#!/usr/bin/env python3
"""Calendars of Google and of Microsoft Graph as somebody would make them who wishes
the reader no good.

    hostile_web.py PORT

The name of a calendar says what is wrong with it: one of SHAPES, which are events
beside forty good ones, or of LISTINGS, which are answers as a whole; a number is a
calendar of so many good events.  The mailbox of Graph has that name.  Requests of
both are known by their paths; what is written is not known at all.

    GET /_log    requests that have come here by another name of this host, as JSON
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MEGA = 1024 * 1024
GOOD = 40
ELSEWHERE = []  # requests that came by the name "localhost"


def event(kind, ident, **more):
    """A good event, as JSON text without its end, and what is added to it."""
    if kind == "google":
        value = {
            "id": ident, "etag": '"e-%s"' % ident[:20], "status": "confirmed",
            "start": {"dateTime": "2030-05-01T10:00:00Z"}, "end": {"dateTime": "2030-05-01T11:00:00Z"},
        }
    else:
        value = {
            "id": ident, "@odata.etag": 'W/"e-%s"' % ident[:20], "type": "singleInstance",
            "isCancelled": False, "isAllDay": False, "showAs": "busy", "attendees": [],
            "start": {"dateTime": "2030-05-01T10:00:00.0000000", "timeZone": "UTC"},
            "end": {"dateTime": "2030-05-01T11:00:00.0000000", "timeZone": "UTC"},
        }
    value.update(more)
    return json.dumps(value)


def person(kind, address):
    if kind == "google":
        return {"email": address, "responseStatus": "accepted"}
    return {"emailAddress": {"address": address}, "type": "required", "status": {"response": "accepted"}}


def raw(text, more):
    """Text of an object with another member, which may be no JSON."""
    return text[:-1] + ", " + more + "}"


def title(kind, text):
    return {"summary" if kind == "google" else "subject": text}


# Events that are bad in a way, each named "bad".
SHAPES = {
    "long_title": lambda k: event(k, "bad", **title(k, "x" * MEGA)),
    "long_person": lambda k: event(k, "bad", attendees=[person(k, "x" * MEGA + "@example.org")]),
    "long_id": lambda k: event(k, "b" * MEGA),
    "long_etag": lambda k: event(k, "bad", **{"etag" if k == "google" else "@odata.etag": '"' + "x" * MEGA + '"'}),
    "long_uid": lambda k: event(k, "bad", **{"iCalUID" if k == "google" else "iCalUId": "x" * MEGA}),
    "long_marker": lambda k: event(
        k, "bad", **({"extendedProperties": {"private": {"bookingId": "x" * MEGA}}}
                     if k == "google" else {"transactionId": "x" * MEGA})),
    "long_start": lambda k: event(k, "bad", start={"dateTime": "2" * MEGA, "timeZone": "UTC"}),
    "long_zone": lambda k: event(k, "bad", start={"dateTime": "2030-05-01T10:00:00", "timeZone": "x" * MEGA}),
    "long_number": lambda k: raw(event(k, "bad"), '"sequence": ' + "9" * MEGA),
    "people": lambda k: event(k, "bad", attendees=[person(k, "p%d@example.org" % i) for i in range(10000)]),
    "members": lambda k: raw(event(k, "bad"), ", ".join('"a%d": 1' % i for i in range(50000))),
    "no_start": lambda k: event(k, "bad", start=None),
    "no_times": lambda k: event(k, "bad", start=5, end=[]),
    "backwards": lambda k: event(k, "bad", end={"dateTime": "1970-01-01T00:00:00Z", "timeZone": "UTC"}),
    "far": lambda k: event(k, "bad", end={"dateTime": "9999-12-31T23:59:59Z", "timeZone": "UTC"}),
    "types": lambda k: event(k, "bad", attendees={"a": 1}, status=7, organizer=[1], recurrence=4,
                             extendedProperties="x", showAs=3, type=None, transactionId=5),
    "nul_title": lambda k: raw(event(k, "bad"), '"%s": "a\\u0000b"' % ("summary" if k == "google" else "subject")),
    "surrogate": lambda k: raw(event(k, "bad"), '"x": "\\ud800 \\udc00\\ud800"'),
    "none": lambda k: "null",
    "number": lambda k: "17",
    "list": lambda k: "[[], {}]",
    "nothing": lambda k: "{}",
    "empty_id": lambda k: event(k, ""),
    "nul_id": lambda k: raw(event(k, "x"), '"id": "a\\u0000b"'),
    "overlong": lambda k: raw(event(k, "x"), '"id": "a\udcc0\udc80b", "x": "\udcc0\udc80"'),
    "path_id": lambda k: event(k, "../../../x?y#z"),
    "line_id": lambda k: event(k, "bad\r\nX-Evil: 1"),
}


def items(kind, texts, end):
    name = "items" if kind == "google" else "value"
    return '{"%s": [%s], %s}' % (name, ", ".join(texts), end)


def end_of(kind, link):
    if kind == "google":
        return '"nextSyncToken": "t"'
    return '"@odata.deltaLink": "%s"' % link("$deltatoken", "t")


def goes_on(kind, link, page):
    if kind == "google":
        return '"nextPageToken": "%s"' % page
    return '"@odata.nextLink": "%s"' % link("$skiptoken", page)


def good(kind):
    return [event(kind, "good%d" % i) for i in range(GOOD)]


def circle(kind, link, page):
    """Three pages that lead to one another."""
    return items(kind, good(kind), goes_on(kind, link, str((int(page or 0) + 1) % 3)))


# Answers that are bad as a whole, by the page that is asked for.
LISTINGS = {
    "list_deep": lambda k, link, page: items(k, [raw(event(k, "bad"), '"x": ' + "[" * 100000 + "]" * 100000)],
                                             end_of(k, link)),
    "list_objects": lambda k, link, page: items(k, [raw(event(k, "bad"), '"x": ' + '{"y": ' * 500 + "1" + "}" * 500)],
                                                end_of(k, link)),
    "list_open": lambda k, link, page: '{"items": ' + "[" * MEGA,
    "list_empty_objects": lambda k, link, page: items(k, ["{}"] * 2000000, end_of(k, link)),
    "list_numbers": lambda k, link, page: items(k, ["1"] * 5000000, end_of(k, link)),
    "list_large": lambda k, link, page: items(k, good(k), '"x": "%s", %s' % ("x" * (40 * MEGA), end_of(k, link))),
    "list_same": lambda k, link, page: items(k, [event(k, "same")] * 5000, end_of(k, link)),
    "list_many": lambda k, link, page: items(k, [event(k, "e%d" % i) for i in range(5000)], end_of(k, link)),
    "list_very_many": lambda k, link, page: items(k, [event(k, "e%d" % i) for i in range(20000)], end_of(k, link)),
    "list_latin": lambda k, link, page: items(k, [raw(event(k, "bad"), '"x": "\udce9"')], end_of(k, link)),
    "list_sixteen": lambda k, link, page: items(k, good(k), end_of(k, link)).encode("utf-16"),
    "list_mark": lambda k, link, page: b"\xef\xbb\xbf" + items(k, good(k), end_of(k, link)).encode(),
    "list_nul": lambda k, link, page: items(k, [raw(event(k, "bad"), '"x": "a\0b"')], end_of(k, link)),
    "list_cut": lambda k, link, page: items(k, good(k), end_of(k, link))[:-30],
    "list_junk": lambda k, link, page: "".join(chr(33 + i * 7919 % 90) for i in range(100000)),
    "list_none": lambda k, link, page: "",
    "list_array": lambda k, link, page: "[]",
    "list_string": lambda k, link, page: '{"items": "x", "value": "x", %s}' % end_of(k, link),
    "list_both": lambda k, link, page: items(k, good(k), goes_on(k, link, "p") + ", " + end_of(k, link)),
    "list_token": lambda k, link, page: items(
        k, good(k), end_of(k, link).replace('"t"', '"%s"' % ("t" * MEGA)).replace("=t", "=" + "t" * MEGA)),
    "list_same_page": lambda k, link, page: items(k, good(k), goes_on(k, link, "p")),
    "list_circle": circle,
    "list_endless": lambda k, link, page: items(k, [], goes_on(k, link, str(int(page or 0) + 1))),
    "list_growing": lambda k, link, page: items(k, [event(k, "g%d" % i) for i in range(250)],
                                                goes_on(k, link, str(int(page or 0) + 1))),
    "list_elsewhere": lambda k, link, page: items(k, good(k), goes_on(k, link, "p")),
}


def many(kind, link, page, count, size):
    """A page of a calendar with very many events, all good."""
    at = int(page or 0)
    until = min(at + size, count)
    texts = [event(kind, "e%d" % i, **title(kind, "x" * 50)) for i in range(at, until)]
    return items(kind, texts, goes_on(kind, link, str(until)) if until < count else end_of(kind, link))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or what follows the headers waits for 40 ms

    def log_message(self, *args):
        pass

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {k: v[-1] for k, v in parse_qs(parts.query).items()}
        if parts.path == "/_log":
            return self.send(json.dumps(ELSEWHERE))
        if self.headers["Host"].startswith("localhost"):
            ELSEWHERE.append(self.path)
        words = parts.path.split("/")
        google = words[1] == "calendars"
        name = words[2] if google else words[3]
        if not (parts.path.endswith("/events") if google else parts.path.endswith("/delta")):
            return self.send("{}", 404)
        host = "localhost:%d" % self.server.server_port if name == "list_elsewhere" else self.headers["Host"]

        def link(key, value):
            return "http://%s%s?%s=%s" % (host, parts.path, key, value)

        kind = "google" if google else "graph"
        page = query.get("pageToken" if google else "$skiptoken")
        if name.isdigit():
            return self.send(many(kind, link, page, int(name), 250))
        if name in LISTINGS:
            return self.send(LISTINGS[name](kind, link, page))
        texts = good(kind)
        texts.insert(GOOD // 2, SHAPES[name](kind))
        return self.send(items(kind, texts, end_of(kind, link)))

    def send(self, body, status=200):
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # whoever has had enough


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    print(json.dumps({"shapes": sorted(SHAPES), "listings": sorted(LISTINGS)}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
