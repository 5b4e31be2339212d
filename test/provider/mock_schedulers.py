#!/usr/bin/env python3
"""test/provider/mock_schedulers.py

The APIs of Acuity, Cal.com and Calendly for the tests, by what is documented.

    mock_schedulers.py PORT

Acuity is under /acuity, Cal.com under /calcom, Calendly under /calendly.  No live
account is at hand where tests run, so each behaviour names its source, and where
sources leave something open the stricter reading is taken: what the reader may
not rely on does not happen here.

    ACU      developers.acuityscheduling.com, appointments/:id, errors
    CALCOM   cal.com/docs/api-reference/v2, bookings of 2024-08-13, get all
    CALY     developer.calendly.com, users/me, scheduled_events, invitees
    CALY-P   the same, pagination: page tokens are opaque
    HTTP     RFC 9110

Whatever a request does that a client should not do is a complaint; tests demand
that there is none.  Control is by requests to /_control:

    POST /_control/state     {"appointments": {...}, "bookings": [...], ...}
    POST /_control/fault     {"match": "GET /acuity", "action": ..., "times": n}
    GET  /_control/log       requests, complaints
"""

import base64
import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

LOCK = threading.RLock()

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")

# Parameters of each method (CALCOM, CALY); any other one is a complaint.
PARAMETERS = {
    "appointment": set(),
    "bookings": {"afterUpdatedAt", "sortUpdatedAt", "skip", "take"},
    "me": set(),
    "events": {"count", "min_start_time", "organization", "page_token", "sort", "user"},
    "invitees": {"count", "page_token", "sort"},
}


class World:
    """Everything there is."""

    def __init__(self):
        self.appointments = {}              # id -> appointment of Acuity
        self.bookings = []                  # of Cal.com
        self.events = []                    # of Calendly, each with its "invitees"
        self.basic = ["user", "key"]        # that Acuity accepts
        self.token = "token"                # that Cal.com and Calendly accept
        self.page_size = None               # fewer than asked for, if set
        self.admin = False                  # may list the organization
        self.others = []                    # events of the organization's others
        self.out = {}                       # requests under way, by sender
        self.held = False                   # answers that are to wait do
        self.faults = []
        self.requests = []
        self.complaints = []


WORLD = World()
USER = "https://api.calendly.com/users/SELF"
ORGANIZATION = "https://api.calendly.com/organizations/ALL"


class Refusal(Exception):
    """An error of one of the APIs."""

    def __init__(self, status, body):
        super().__init__(str(status))
        self.status = status
        self.body = body


def acuity_error(status, word):
    """ACU, errors: a status, a word and a message."""
    return Refusal(status, {"status_code": status, "message": "SECRET-MESSAGE", "error": word})


def calcom_error(status, code):
    """CALCOM: the status is a word, the rest an object."""
    return Refusal(status, {"status": "error", "path": "/v2/bookings",
                            "error": {"code": code, "message": "SECRET-MESSAGE"}})


def calendly_error(status, title):
    """CALY, errors: a title and a message."""
    return Refusal(status, {"title": title, "message": "SECRET-MESSAGE"})


def token_of(what, offset, query):
    """A page token is opaque, and of the request that it came from (CALY-P)."""
    rest = {k: v for k, v in query.items() if k != "page_token"}
    seal = hashlib.sha256(json.dumps([what, offset, rest], sort_keys=True).encode()).hexdigest()
    return base64.urlsafe_b64encode(("%d/%s+&=" % (offset, seal[:20])).encode()).decode() + "/+="


def offset_of(what, query):
    """Where a page begins."""
    token = query.get("page_token")
    if token is None:
        return 0
    try:
        offset = int(base64.urlsafe_b64decode(token[:-3]).decode().split("/")[0])
    except (ValueError, UnicodeDecodeError):
        raise calendly_error(400, "Invalid Argument") from None
    if token != token_of(what, offset, query):
        raise calendly_error(400, "Invalid Argument")
    return offset


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def complain(self, text):
        WORLD.complaints.append("%s %s: %s" % (self.command, self.path, text))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/_control/"):
            with LOCK:
                answer = control(self.path[len("/_control/"):], json.loads(raw))
            self.send(200, answer)
            return
        with LOCK:
            self.complain("a request that writes")
        self.send(405, {})

    do_PUT = do_PATCH = do_DELETE = do_POST

    def do_GET(self):
        if self.path == "/_control/log":
            with LOCK:
                answer = shown()
            self.send(200, answer)
            return
        sender = self.path.split("/")[1]
        with LOCK:
            WORLD.requests.append({"method": self.command, "path": self.path,
                                   "headers": {k.lower(): v for k, v in self.headers.items()
                                               if k.lower() != "authorization"}})
            WORLD.out[sender] = WORLD.out.get(sender, 0) + 1
            if WORLD.out[sender] > 1:
                self.complain("a second request at a time")
            action = fault_for("%s %s" % (self.command, self.path))
            try:
                status, answer = self.answer()
            except Refusal as refusal:
                status, answer = refusal.status, refusal.body
        if action == "held":
            # answered as it was when it was asked, when the test says so
            while WORLD.held:
                time.sleep(0.01)
            action = None
        with LOCK:
            WORLD.out[sender] -= 1
        self.finish_with(action, status, answer)

    def finish_with(self, action, status, answer):
        """Answer, or do what a fault says."""
        if action == "lost":
            self.close_connection = True
            self.connection.shutdown(2)
        elif action == "garbage":
            self.send_raw(200, b"<html>not JSON</html>", "text/html")
        elif action == "empty":
            self.send_raw(200, b"{}", "application/json")
        elif action == "huge":
            self.send_raw(200, b"[" + b" " * (10 << 20) + b"]", "application/json")
        elif action == "proxy404":
            self.send_raw(404, b"<html>no such page</html>", "text/html")
        elif isinstance(action, list):
            self.send(action[0], {}, action[1])
        elif action is not None:
            self.send(action, {})
        else:
            self.send(status, answer)

    def answer(self):
        parts = urlsplit(self.path)
        segments = parts.path.split("/")[1:]
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        query = dict(pairs)
        if len(query) != len(pairs):
            self.complain("a parameter twice")
        if self.headers.get("Accept") != "application/json":
            self.complain("an answer in JSON is not asked for")
        if self.headers.get("Content-Length") not in (None, "0"):
            self.complain("a body of a GET (HTTP, 9.3.1)")
        if segments[0] == "acuity":
            return self.acuity(segments[1:], query)
        if segments[0] == "calcom":
            return self.calcom(segments[1:], query)
        if segments[0] == "calendly":
            return self.calendly(segments[1:], query)
        self.complain("no API")
        return 404, {}

    def allow(self, what, query):
        if set(query) - PARAMETERS[what]:
            self.complain("unknown parameters of %s" % what)

    def bearer(self, refusal):
        if self.headers.get("Authorization") != "Bearer " + WORLD.token:
            raise refusal

    def acuity(self, segments, query):
        """ACU: Basic with the user's id and the API key; appointments by id.  A
        canceled one is there with "canceled" true; one that is not there is
        answered 404 with the error not_found."""
        basic = base64.b64encode(":".join(WORLD.basic).encode()).decode()
        if self.headers.get("Authorization") != "Basic " + basic:
            raise acuity_error(401, "unauthorized")
        if len(segments) != 2 or segments[0] != "appointments":
            self.complain("no path of Acuity")
            raise acuity_error(404, "not_found")
        self.allow("appointment", query)
        if segments[1] not in WORLD.appointments:
            raise acuity_error(404, "not_found")
        return 200, WORLD.appointments[segments[1]]

    def calcom(self, segments, query):
        """CALCOM: an API key as Bearer, the version in a header, without which an
        older API answers; at most 100 at a time, 100 where nothing is said; those
        that changed at the time or later, sorted as asked for and else in no
        order."""
        self.bearer(calcom_error(401, "UnauthorizedException"))
        if segments != ["bookings"]:
            self.complain("no path of Cal.com")
            raise calcom_error(404, "NOT_FOUND")
        if self.headers.get("cal-api-version") != "2024-08-13":
            self.complain("without the version of the API")
            raise calcom_error(404, "NOT_FOUND")
        self.allow("bookings", query)
        take = int(query.get("take", "100"))
        skip = int(query.get("skip", "0"))
        since = query.get("afterUpdatedAt", "")
        if not 1 <= take <= 100 or skip < 0 or not TIME.match(since):
            raise calcom_error(400, "BAD_REQUEST")
        found = [b for b in WORLD.bookings if moment(b["updatedAt"]) >= moment(since)]
        found.sort(key=lambda b: b["uid"], reverse=True)
        if query.get("sortUpdatedAt") == "asc":
            found.sort(key=lambda b: moment(b["updatedAt"]))
        page = found[skip:skip + min(take, WORLD.page_size or take)]
        left = len(found) - skip - len(page)
        return 200, {"status": "success", "data": page, "pagination": {
            "returnedItems": len(page), "totalItems": len(found), "itemsPerPage": take,
            "remainingItems": left, "hasNextPage": left > 0, "hasPreviousPage": skip > 0}}

    def calendly(self, segments, query):
        """CALY: a token as Bearer; users/me says who it is of; events of a user or,
        for its administrators, of an organization; invitees by event."""
        self.bearer(calendly_error(401, "Unauthenticated"))
        if segments == ["users", "me"]:
            self.allow("me", query)
            return 200, {"resource": {"uri": USER, "current_organization": ORGANIZATION,
                                      "name": "Eve", "timezone": "UTC"}}
        if segments == ["scheduled_events"]:
            return self.scheduled_events(query)
        if len(segments) == 3 and segments[0] == "scheduled_events" and segments[2] == "invitees":
            return self.invitees(segments[1], query)
        self.complain("no path of Calendly")
        raise calendly_error(404, "Resource Not Found")

    def scheduled_events(self, query):
        """CALY: sorted by start_time and nothing else; no choice by changes."""
        self.allow("events", query)
        if query.get("sort") not in ("start_time:asc", "start_time:desc"):
            raise calendly_error(400, "Invalid Argument")
        if not TIME.match(query.get("min_start_time", "")):
            raise calendly_error(400, "Invalid Argument")
        if "organization" in query:
            if query["organization"] != ORGANIZATION or not WORLD.admin:
                raise calendly_error(403, "Permission Denied")
            events = WORLD.events + WORLD.others
        elif query.get("user") == USER:
            events = WORLD.events
        else:
            raise calendly_error(403, "Permission Denied")
        events = [e for e in events if moment(e["start_time"]) >= moment(query["min_start_time"])]
        events.sort(key=lambda e: moment(e["start_time"]))
        return self.page("events", events, query,
                         lambda e: {k: v for k, v in e.items() if k != "invitees"})

    def invitees(self, uuid, query):
        """CALY: sorted by created_at."""
        self.allow("invitees", query)
        if query.get("sort") not in ("created_at:asc", "created_at:desc"):
            raise calendly_error(400, "Invalid Argument")
        for event in WORLD.events + WORLD.others:
            if event["uri"].rsplit("/", 1)[1] == uuid:
                return self.page("invitees " + uuid, event["invitees"], query, lambda i: i)
        raise calendly_error(404, "Resource Not Found")

    def page(self, what, items, query, view):
        """CALY-P: 20 where nothing is said, at most 100; a token of the next page."""
        count = int(query.get("count", "20"))
        if not 1 <= count <= 100:
            raise calendly_error(400, "Invalid Argument")
        offset = offset_of(what, query)
        until = offset + min(count, WORLD.page_size or count)
        more = token_of(what, until, query) if until < len(items) else None
        return 200, {"collection": [view(i) for i in items[offset:until]], "pagination": {
            "count": len(items[offset:until]), "next_page_token": more,
            "previous_page_token": None,
            "next_page": more and "https://elsewhere.example.org/" + more}}

    def send(self, status, answer, retry_after=None):
        self.send_raw(status, json.dumps(answer).encode(), "application/json", retry_after)

    def send_raw(self, status, body, kind, retry_after=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


def moment(text):
    """A time that can be compared as text."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return whole + "." + fraction.ljust(6, "0")


def fault_for(request):
    """What is to go wrong with a request, if anything is."""
    for fault in WORLD.faults:
        if fault["times"] > 0 and request.startswith(fault["match"]):
            fault["times"] -= 1
            return fault["action"]
    return None


def shown():
    """What tests see of the world."""
    return {"requests": WORLD.requests, "complaints": WORLD.complaints}


def control(what, value):
    """What tests do to the world."""
    if what == "fault":
        WORLD.faults.append(dict({"times": 1}, **value))
    elif what == "state":
        value.pop("calendars", None)        # there are none
        for key, setting in value.items():
            if not hasattr(WORLD, key):
                raise ValueError(key)
            setattr(WORLD, key, setting)
    return shown()


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
