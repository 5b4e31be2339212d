#!/usr/bin/env python3
"""test/provider/mock_graph.py

Calendars of Microsoft Graph v1.0 and a token endpoint for the tests, by what is
documented.

    mock_graph.py PORT

No live account is at hand where tests run, so each behaviour names its source,
and where sources leave something open the stricter reading is taken, or both are,
by a setting.  Pages without a host are of learn.microsoft.com/graph.

    M-TYPES   types of the npm package @microsoft/microsoft-graph-types 2.43.1

Whatever a request does that a client of Graph should not do is a complaint; tests
demand that there is none.  Control is by requests to /_control:

    POST /_control/state     {"calendars": ["user/calendar"], "repeat": ..., ...}
    POST /_control/fault     {"match": "POST ...", "action": ..., "times": n,
                              "after": so many that match}
    POST /_control/edit      {"calendar", "id", "set": {...}, "delete", "move"}
    POST /_control/fill      {"calendar", "count", "keep": every which remains}
    POST /_control/vanish    {"calendar", "ids"}, without a trace
    GET  /_control/log       requests, complaints, events, mails, token calls
    GET  /_control/brief     how many requests, and complaints
"""

import json
import re
import sys
import threading
import time
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit

LOCK = threading.RLock()

# Requests under way, by mailbox: four are allowed (throttling-limits).
BUSY = {}
BUSY_LOCK = threading.Lock()

NAMESPACE = "{d0cab8b5-48e5-43ca-8591-90d542674ed2}"

# What an occurrence has in a delta (microsoft-graph-docs#7632).
SPARSE = ("@odata.etag", "id", "type", "seriesMasterId", "start", "end")

# What may be asked of each kind of request; any other parameter is a complaint.
PARAMETERS = {
    "event": {"$select", "$expand"},
    "search": {"$select", "$expand", "$filter", "$top", "$skip"},
    "view": {"$select", "$expand", "$top", "$skip", "startDateTime", "endDateTime"},
    # $select and its like are not supported (api/event-delta)
    "delta": {"startDateTime", "endDateTime"},
    "link": {"$skiptoken", "$deltatoken"},
    "calendar": {"$select"},
    "calendars": {"$select", "$top"},
    "write": set(),
}


class World:
    """Everything there is."""

    def __init__(self):
        self.calendars = {}         # "user/calendar" -> True
        self.events = {}            # user -> id -> event
        self.transactions = {}      # user -> transactionId -> (id, body)
        self.clock = 0              # grows with every change
        self.serial = 0
        self.faults = []
        self.requests = []
        self.complaints = []
        self.mails = []
        self.repeat = "recognize"   # of a create: or the status of the refusal
        self.trash = True           # a deleted event can still be read
        self.channels = {}          # id -> subscription
        self.meet = 0               # readings before a meeting is there, or "failure"
        self.people = {}            # address -> busy times, or the code of an error
        self.lag = 0                # searches that do not see what is new
        self.page_size = None
        self.twice = False          # a round tells something twice
        self.dead_before = 0        # links of an earlier clock are dead
        self.access = {"static": None}
        self.token_calls = []
        self.dead = [410, "SyncStateNotFound"]  # what they are answered
        self.pause = 0.01           # that a request takes
        self.held = 0               # requests that were slow before they were done
        self.links = {}             # opaque word -> what it stands for

    def tick(self):
        self.clock += 1
        return self.clock


WORLD = World()


class Refusal(Exception):
    """An error of the API (errors): codes nest, messages are not to be read."""

    def __init__(self, status, code, inner=None, more=None):
        super().__init__(code)
        self.status = status
        self.body = {"error": dict({"code": code, "message": "SECRET-MESSAGE",
                                    "innerError": {"request-id": "x"}}, **(more or {}))}
        if inner:
            self.body["error"]["innerError"]["code"] = inner


def complain(text):
    WORLD.complaints.append(text)


def etag(event):
    """Weak in form; the change key changes with each change (M-TYPES, changeKey)."""
    event["@odata.etag"] = 'W/"key%d=="' % WORLD.clock
    event["_changed"] = WORLD.clock


def moment(text):
    """A time without its fraction and offset, which is always zero here."""
    return text[:19]


def show(event, query=None):
    """An event as it is returned: extended properties only if they are expanded
    (api/singlevaluelegacyextendedproperty-get), and what was selected."""
    expanded = query is not None and "singleValueExtendedProperties" in query.get("$expand", "")
    wanted = query.get("$select", "").split(",") if query and "$select" in query else None
    result = {}
    for key, value in event.items():
        if key.startswith("_") or (key == "singleValueExtendedProperties" and not expanded):
            continue
        if wanted and key not in wanted and not key.startswith("@") and key != "singleValueExtendedProperties":
            continue
        result[key] = value
    return result


def occurrences(event):
    """The events that a calendar shows of one that is stored."""
    return event["_occurrences"] if event["type"] == "seriesMaster" else [event]


def completed(item, master):
    """An occurrence as it is read alone, or in a view: whole."""
    result = {k: v for k, v in master.items() if not k.startswith("_") and k not in
              ("id", "type", "start", "end", "iCalUId", "transactionId", "singleValueExtendedProperties")}
    result.update({k: v for k, v in item.items() if not k.startswith("_")})
    return result


class Api:
    """The methods of the API, on a world that is locked."""

    def __init__(self, handler, user):
        self.handler = handler
        self.user = user
        self.events = WORLD.events.setdefault(user, {})

    def check(self, kind, query):
        for name in set(query) - PARAMETERS[kind]:
            complain("%s: parameter %s" % (kind, name))
        # on every request (outlook-immutable-id)
        if 'IdType="ImmutableId"' not in self.handler.headers.get("Prefer", ""):
            complain("%s without immutable ids" % kind)

    def calendar(self, name):
        if "%s/%s" % (self.user, name) not in WORLD.calendars:
            raise Refusal(404, "ErrorItemNotFound")
        return name

    def mail(self, kind, event):
        """Nothing can prevent it (api/user-post-events, api/event-delete)."""
        people = [a["emailAddress"]["address"] for a in event.get("attendees", [])]
        if people:
            WORLD.mails.append([kind, event["subject"] if "subject" in event else "", people])

    def check_body(self, body):
        for name in ("start", "end"):
            value = body.get(name)
            if value is None:
                continue
            if re.search(r"(Z|[+-]\d\d:\d\d)$", value.get("dateTime", "Z")) or not value.get("timeZone"):
                raise Refusal(400, "ErrorPropertyValidationFailure")
        if "start" in body and body["start"]["dateTime"] > body["end"]["dateTime"]:
            raise Refusal(400, "ErrorPropertyValidationFailure")
        for entry in body.get("singleValueExtendedProperties", []):
            # one form, in a namespace of one's own (api/resources/extended-properties-overview)
            if not entry["id"].startswith("String %s Name " % NAMESPACE):
                complain("a property that is not ours")
        for name in ("id", "organizer", "changeKey", "iCalUId", "type", "isCancelled"):
            if name in body:
                complain("a body with %s" % name)

    def create(self, calendar, query, raw):
        self.check("write", query)
        self.calendar(calendar)
        body = json.loads(raw)
        self.check_body(body)
        transaction = body.get("transactionId")
        if not transaction or not body.get("singleValueExtendedProperties"):
            complain("a create that cannot be found again")
        known = WORLD.transactions.setdefault(self.user, {})
        if transaction in known:
            ident, before = known[transaction]
            event = self.events.get(ident)
            # the same content is recognized, or even that is not relied on; a
            # deleted event keeps it (M-TYPES, transactionId; alcionai/corso#2490)
            if before == raw and WORLD.repeat == "recognize" and event and event["_calendar"]:
                return 201, show(event)
            raise Refusal(WORLD.repeat if WORLD.repeat != "recognize" else 409,
                          "ErrorDuplicateTransactionId", more={"@event.existingEventId": ident})
        WORLD.serial += 1
        WORLD.tick()
        event = {"id": "AAMk%dAb-_=" % WORLD.serial, "type": "singleInstance", "isCancelled": False,
                 "isAllDay": False, "showAs": "busy", "isOnlineMeeting": False, "onlineMeeting": None,
                 "seriesMasterId": None, "iCalUId": "0400000082%06d" % WORLD.serial,
                 "organizer": {"emailAddress": {"name": self.user, "address": self.user}},
                 "originalStartTimeZone": "UTC", "originalEndTimeZone": "UTC", "attendees": []}
        event.update(body, _calendar=calendar)
        self.settle(event)
        self.events[event["id"]] = event
        known[transaction] = (event["id"], raw)
        self.mail("invite", event)
        return 201, show(event)

    def settle(self, event):
        """What Exchange makes of what was sent."""
        etag(event)
        for name in ("start", "end"):
            event[name] = {"dateTime": moment(event[name]["dateTime"]) + ".0000000", "timeZone": "UTC"}
        for attendee in event["attendees"]:
            attendee.setdefault("status", {"response": "none"})
        if event["isOnlineMeeting"] and WORLD.meet == "failure":
            event["isOnlineMeeting"] = False
        self.meeting(event)
        if "body" in event:
            event["body"] = {"contentType": "html", "content": "<html>%s</html>" % event["body"]["content"]}
        event["lastModifiedDateTime"] = "2030-01-01T00:%02d:%02dZ" % (WORLD.clock // 60 % 60, WORLD.clock % 60)

    def meeting(self, event):
        """An online meeting is made by now, or not yet."""
        if event["isOnlineMeeting"] and WORLD.meet != "failure" and event.get("_readings", 0) >= WORLD.meet:
            event["onlineMeeting"] = {"joinUrl": "https://teams.example.org/" + event["id"]}

    def find(self, ident):
        """An event by its id, or an occurrence by its own.  One that was deleted
        may still be there, in Deleted Items: both readings."""
        event = self.events.get(ident)
        if event is not None:
            if event["_calendar"] is None and not WORLD.trash:
                raise Refusal(404, "ErrorItemNotFound")
            return event
        for master in self.events.values():
            for item in master.get("_occurrences", []):
                if item["id"] == ident and master["_calendar"]:
                    return dict(completed(item, master), _calendar=master["_calendar"])
        raise Refusal(404, "ErrorItemNotFound")

    def match(self, event):
        wanted = self.handler.headers.get("If-Match")
        if wanted is None:
            complain("a write without If-Match")
        elif wanted != event["@odata.etag"]:
            raise Refusal(412, "ErrorIrresolvableConflict")

    def update(self, ident, query, raw):
        self.check("write", query)
        event = self.find(ident)
        self.match(event)
        if event["_calendar"] is None:
            complain("an update in Deleted Items")
        body = json.loads(raw)
        self.check_body(body)
        for name in ("subject", "location", "showAs", "isAllDay"):
            if name in body and name != "isAllDay" and body[name] == event.get(name):
                complain("update: %s does not change" % name)
        if "transactionId" in body:         # it cannot be changed (M-TYPES)
            raise Refusal(400, "ErrorInvalidRequest")
        old = event["attendees"]
        properties = {p["id"]: p for p in event.get("singleValueExtendedProperties", []) +
                      body.pop("singleValueExtendedProperties", [])}
        WORLD.tick()
        event.update(body, singleValueExtendedProperties=list(properties.values()))
        for attendee in event["attendees"]:
            for before in old:
                if before["emailAddress"]["address"] == attendee["emailAddress"]["address"]:
                    attendee["status"] = before["status"]
        self.settle(event)
        self.mail("update", event)
        return 200, show(event)

    def delete(self, ident, query):
        self.check("write", query)
        event = self.find(ident)
        if event["_calendar"] is None:
            raise Refusal(404, "ErrorItemNotFound")
        self.match(event)
        WORLD.tick()
        event["_calendar"] = None
        etag(event)
        self.mail("cancel", event)
        return 204, None

    def get(self, ident, query):
        self.check("event", query)
        event = self.find(ident)
        answer = show(event, query)
        # a meeting may be made after the event (resources/event, onlineMeeting)
        if event.get("isOnlineMeeting") and not event.get("onlineMeeting"):
            event["_readings"] = event.get("_readings", 0) + 1
            self.meeting(event)
        return 200, answer

    def search(self, calendar, query):
        """Over the whole mailbox; the value without case, the name with it
        (api/singlevaluelegacyextendedproperty-get)."""
        self.check("search", query)
        self.calendar(calendar)
        match = re.fullmatch(r"singleValueExtendedProperties/Any\(ep: ep/id eq '([^']*)' and ep/value eq '([^']*)'\)",
                             query.get("$filter", ""))
        if not match:
            raise Refusal(400, "ErrorInvalidUrlQueryFilter")
        if WORLD.lag > 0:
            WORLD.lag -= 1
            return 200, {"value": []}
        found = []
        for event in self.events.values():
            for entry in event.get("singleValueExtendedProperties", []):
                if entry["id"] == match.group(1) and entry["value"].lower() == match.group(2).lower() and \
                        (event["_calendar"] or WORLD.trash):
                    found.append(show(event, query))
        return 200, self.page(query, found)

    def subscription(self, method, ident, body):
        """Subscriptions (api/subscription-post-subscriptions, -update, -delete).
        More than 4230 minutes are refused (resources/subscription)."""
        ends = body and body.get("expirationDateTime")
        if method == "POST":
            if set(body) != {"changeType", "notificationUrl", "lifecycleNotificationUrl", "resource",
                             "clientState", "expirationDateTime"} or len(body["clientState"]) > 128:
                complain("a subscription with %s" % sorted(body))
            WORLD.serial += 1
            ident = "sub-%d" % WORLD.serial
            WORLD.channels[ident] = dict(body, id=ident, open=True)
            return 201, {"id": ident, "expirationDateTime": ends, "resource": body["resource"]}
        if ident not in WORLD.channels or not WORLD.channels[ident]["open"]:
            raise Refusal(404, "ResourceNotFound")
        if method == "DELETE":
            WORLD.channels[ident]["open"] = False
            return 204, None
        if set(body) != {"expirationDateTime"}:
            complain("a renewal with %s" % sorted(body))
        WORLD.channels[ident].update(body)
        return 200, {"id": ident, "expirationDateTime": ends}

    def schedule(self, body):
        """When people are busy (api/calendar-getschedule).  What goes wrong with
        one of them is told inside the 200 (resources/scheduleinformation)."""
        if set(body) != {"schedules", "startTime", "endTime"}:
            complain("getSchedule: %s" % sorted(body))
        told = []
        for name in body["schedules"]:
            known = WORLD.people.get(name, "ErrorMailRecipientNotFound")
            if isinstance(known, str):
                told.append({"scheduleId": name, "error": {"message": "SECRET-MESSAGE", "responseCode": known}})
                continue
            times = [{"status": "busy", "start": {"dateTime": s[:19] + ".0000000", "timeZone": "UTC"},
                      "end": {"dateTime": e[:19] + ".0000000", "timeZone": "UTC"}} for s, e in known
                     if e[:19] > body["startTime"]["dateTime"][:19] and s[:19] < body["endTime"]["dateTime"][:19]]
            told.append({"scheduleId": name, "availabilityView": "", "scheduleItems": times})
        return 200, {"value": told}

    def page(self, query, found):
        """A page may be empty and go on (delta-query-overview)."""
        at, size = int(query.get("$skip", 0)), min(int(query.get("$top", 10)), WORLD.page_size or 1000)
        result = {"value": found[at:at + size]}
        if at + size < len(found):
            more = dict(query, **{"$skip": str(at + size)})
            result["@odata.nextLink"] = self.handler.link(more)
        return result

    def shown(self, calendar, query):
        """What a calendar shows in a window, series expanded."""
        if "startDateTime" not in query or "endDateTime" not in query:
            raise Refusal(400, "ErrorInvalidRequest")
        start, end = moment(query["startDateTime"]), moment(query["endDateTime"])
        for event in self.events.values():
            if event["_calendar"] != calendar:
                continue
            for item in occurrences(event):
                if moment(item["end"]["dateTime"]) > start and moment(item["start"]["dateTime"]) < end:
                    yield event, item

    def view(self, calendar, query):
        self.check("view", query)
        self.calendar(calendar)
        found = [show(i if i is e else completed(i, e), query) for e, i in self.shown(calendar, query)]
        return 200, self.page(query, found)

    def delta(self, calendar, query):
        """api/event-delta.  Links hold all there is to know, and are opaque."""
        self.calendar(calendar)
        match = re.search(r"odata.maxpagesize=(\d+)", self.handler.headers.get("Prefer", ""))
        size = min(int(match.group(1)) if match else 10, WORLD.page_size or 1000)
        word = query.get("$skiptoken") or query.get("$deltatoken")
        if word is None:
            self.check("delta", query)
            items, at, window, now = self.changes(calendar, query, 0), 0, query, WORLD.clock
        else:
            self.check("link", query)
            if word not in WORLD.links:
                raise Refusal(400, "ErrorInvalidUrlQuery")
            link = WORLD.links[word]
            if link["clock"] < WORLD.dead_before:
                # an error "40X" is promised, 410 is seen (delta-query-overview)
                raise Refusal(*WORLD.dead)
            window = link["window"]
            if "items" in link:
                items, at, now = link["items"], link["at"], link["clock"]
            else:
                items, at, now = self.changes(calendar, window, link["clock"]), 0, WORLD.clock
        here = items[at:at + size]
        rest = {"window": window, "clock": now}
        if at == 0 and word is None and len(items) > size:
            here, at = [], -size            # empty, and goes on
        if at + size < len(items):
            return 200, {"value": here, "@odata.nextLink":
                         self.remember("$skiptoken", dict(rest, items=items, at=at + size))}
        return 200, {"value": here, "@odata.deltaLink": self.remember("$deltatoken", rest)}

    def remember(self, name, link):
        WORLD.serial += 1
        word = "R0usm%d-_" % WORLD.serial
        WORLD.links[word] = link
        return self.handler.link({name: word})

    def changes(self, calendar, window, since):
        """Occurrences are sparse.  What is not in the window, whether it ever was
        or not, is said to be removed."""
        shown = [(e, i) for e, i in self.shown(calendar, window)]
        ids = {i["id"] for _, i in shown}
        items = []
        for event, item in shown:
            if event["_changed"] <= since:
                continue
            if item is event:
                items.append(show(dict(event, body={"content": "SECRET-MESSAGE"})))
            else:
                items.append({k: item.get(k, event.get(k)) for k in SPARSE})
        if since > 0:
            for event in self.events.values():
                gone = [i for i in occurrences(event) + event.get("_dropped", []) if i["id"] not in ids]
                if event["_changed"] > since:
                    items += [{"id": i["id"], "@removed": {"reason": "deleted"}} for i in gone]
        if WORLD.twice and items:
            items.append(items[0])
        return items


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or what follows the headers waits for 40 ms
    mailbox = None                  # that a request is under way to

    def log_message(self, *args):
        pass

    def link(self, query):
        """Links are absolute and hold their whole query."""
        path = urlsplit(self.path).path
        return "http://%s%s?%s" % (self.headers["Host"], path,
                                   "&".join("%s=%s" % (k, quote(v)) for k, v in query.items()))

    def do(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path.startswith("/_control/"):
            with LOCK:
                return self.send(200, control(parts.path[10:], json.loads(raw or b"null")))
        if parts.path == "/tenant/oauth2/v2.0/token":
            return self.token(raw)
        mailbox = "/".join(parts.path.split("/")[2:4])
        with BUSY_LOCK:
            BUSY[mailbox] = BUSY.get(mailbox, 0) + 1
            if BUSY[mailbox] > 4:
                complain("five requests to a mailbox at a time")
        self.mailbox = mailbox
        time.sleep(WORLD.pause)
        try:
            self.api(parts, query, raw)
        finally:
            self.over()

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do

    def over(self):
        """A request is over: before its answer goes out, or the next one could
        come in before that."""
        if self.mailbox is not None:
            with BUSY_LOCK:
                BUSY[self.mailbox] -= 1
            self.mailbox = None

    def api(self, parts, query, raw):
        with LOCK:
            WORLD.requests.append({"method": self.command, "path": self.path, "body": raw.decode(),
                                   "headers": self.headers.items()})
            fault = self.take_fault()
            action = fault["action"] if fault else None
            if action == "drop_before":
                return self.drop()
            if action == "slow_before":
                WORLD.held += 1
                self.over()             # who waits for this dies meanwhile
                LOCK.release()
                time.sleep(3)
                LOCK.acquire()
                return self.drop()
            if isinstance(action, list):
                return self.send(action[0], Refusal(action[0], *action[1:3]).body,
                                 action[3] if len(action) > 3 else None)
            if action == "gateway":
                return self.send_raw(502, b"<html>SECRET-MESSAGE</html>", "text/html")
            status, answer = self.answer(parts, query, raw)
            if action == "partial":
                # msgraph-sdk-ruby#38: the event is there, without its extensions
                for events in WORLD.events.values():
                    if answer["id"] in events:
                        del events[answer["id"]]["singleValueExtendedProperties"]
        if action == "slow_after":
            self.over()
            time.sleep(3)
        if action == "drop_after":
            return self.drop()
        if action in ("broken_after", "partial"):
            return self.send(503, Refusal(503, "ErrorConcurrentItemSave").body, 1)
        if action == "other_id":
            answer = dict(answer, id="AAMkOther=", transactionId="other")
        if action == "empty":
            return self.send_raw(status, b"", "application/json")
        if action == "cut":
            text = json.dumps(answer).encode()
            return self.send_raw(status, text[:len(text) // 2], "application/json")
        return self.send(status, answer)

    def take_fault(self):
        for fault in WORLD.faults:
            if fault["times"] > 0 and re.match(fault["match"], self.command + " " + unquote(self.path)):
                if fault["after"] > 0:
                    fault["after"] -= 1
                    continue
                fault["times"] -= 1
                return fault
        return None

    def answer(self, parts, query, raw):
        try:
            bearer = self.headers.get("Authorization", "")
            end = WORLD.access.get(bearer[7:], 0) if bearer.startswith("Bearer ") else 0
            if end is not None and end < time.time():
                raise Refusal(401, "InvalidAuthenticationToken")
            if raw and not self.headers.get("Content-Type", "").startswith("application/json"):
                complain("a body that is not said to be JSON")
            segments = [unquote(s) for s in parts.path.split("/")[1:]]
            if segments[:1] != ["v1.0"]:
                raise Refusal(404, "BadRequest")
            if segments[1:2] == ["subscriptions"]:
                return Api(self, None).subscription(self.command, (segments[2:] or [None])[0],
                                                    json.loads(raw) if raw else None)
            if segments[1:2] == ["me"]:
                # a token of an app has no user (auth-v2-service)
                return self.route(Api(self, "me"), segments[2:], query, raw)
            return self.route(Api(self, segments[2]), segments[3:], query, raw)
        except Refusal as refusal:
            return refusal.status, refusal.body

    def route(self, api, rest, query, raw):
        if rest == ["calendars"]:
            api.check("calendars", query)
            return 200, {"value": [{"id": c.split("/")[1], "name": c} for c in WORLD.calendars
                                   if c.startswith(api.user + "/")]}
        if rest[:1] == ["events"] and len(rest) == 2:
            if self.command == "PATCH":
                return api.update(rest[1], query, raw)
            if self.command == "DELETE":
                return api.delete(rest[1], query)
            if self.command == "GET":
                return api.get(rest[1], query)
        elif rest == ["calendar", "getSchedule"] and self.command == "POST":
            return api.schedule(json.loads(raw))
        elif rest[:1] == ["calendars"]:
            name, rest = rest[1], rest[2:]
            if rest == [] and self.command == "GET":
                api.check("calendar", query)
                return 200, {"id": api.calendar(name), "canEdit": True}
            if rest == ["events"]:
                if self.command == "POST":
                    return api.create(name, query, raw.decode())
                return api.search(name, query)
            if rest == ["calendarView"]:
                return api.view(name, query)
            if rest == ["calendarView", "delta"]:
                return api.delta(name, query)
        complain("no such resource: %s %s" % (self.command, self.path))
        raise Refusal(404, "BadRequest")

    def token(self, raw):
        """Client credentials (auth-v2-service)."""
        form = dict(parse_qsl(raw.decode()))
        with LOCK:
            WORLD.token_calls.append({k: v for k, v in form.items() if k in ("grant_type", "scope")})
            if form.get("grant_type") != "client_credentials" or form.get("client_secret") != "SECRET-CLIENT":
                return self.send(401, {"error": "invalid_client", "error_description": "SECRET-MESSAGE"})
            WORLD.serial += 1
            token = "SECRET-TOKEN-%d" % WORLD.serial
            WORLD.access[token] = time.time() + 3600
        return self.send(200, {"token_type": "Bearer", "expires_in": 3600, "ext_expires_in": 3600,
                               "access_token": token})

    def drop(self):
        self.over()
        self.close_connection = True
        self.connection.shutdown(2)

    def send(self, status, answer, retry_after=None):
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_raw(status, body, "application/json; charset=utf-8", retry_after)

    def send_raw(self, status, body, kind, retry_after=None):
        self.over()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        # what others write into headers is nobody's business either
        self.send_header("WWW-Authenticate", 'Bearer realm="SECRET-HEADER", error="SECRET-HEADER"')
        self.send_header("X-Request-Id", "SECRET-HEADER")
        self.end_headers()
        if status != 204:
            self.wfile.write(body)


def make_series(event, count):
    """A daily series; each occurrence has an id of its own."""
    event["type"] = "seriesMaster"
    event["_occurrences"] = []
    for i in range(count):
        item = {"id": "%s.OID%d" % (event["id"], i), "type": "occurrence", "seriesMasterId": event["id"]}
        for name in ("start", "end"):
            at = datetime.fromisoformat(moment(event[name]["dateTime"])) + timedelta(days=i)
            item[name] = {"dateTime": at.isoformat() + ".0000000", "timeZone": "UTC"}
        item["originalStart"] = item["start"]["dateTime"][:19] + "Z"
        event["_occurrences"].append(item)


def edit(value):
    """What somebody does in a calendar."""
    user, calendar = value["calendar"].split("/")
    events = WORLD.events.setdefault(user, {})
    WORLD.tick()
    event = events.setdefault(value["id"], {
        "id": value["id"], "type": "singleInstance", "isCancelled": False, "isAllDay": False,
        "showAs": "busy", "iCalUId": "0400" + value["id"], "attendees": [], "seriesMasterId": None,
        "originalStartTimeZone": "UTC", "originalEndTimeZone": "UTC", "subject": "SECRET-MESSAGE",
        "organizer": {"emailAddress": {"address": "somebody@example.org"}}, "_calendar": calendar})
    change = value.get("set", {})
    count = change.pop("_daily", None)
    drop = change.pop("_drop", None)
    event.update(change)
    etag(event)
    if count:
        make_series(event, count)
    if drop is not None:
        event.setdefault("_dropped", []).append(event["_occurrences"].pop(drop))
    if value.get("move"):
        event["_calendar"] = value["move"]
    if value.get("delete"):
        event["_calendar"] = None
        event.setdefault("_dropped", []).extend(event.pop("_occurrences", []))
        if event["type"] == "seriesMaster":
            event["_occurrences"] = []


def fill(calendar, count, keep):
    """Many events of others, or, without a trace for a dead link, fewer."""
    for i in range(count):
        ident = "fill%06d" % i
        if keep is None:
            at = "2030-07-%02dT%02d:" % (1 + i % 28, i % 23)
            edit({"calendar": calendar, "id": ident, "set": {
                "start": {"dateTime": at + "00:00.0000000", "timeZone": "UTC"},
                "end": {"dateTime": at + "30:00.0000000", "timeZone": "UTC"}}})
        elif i % keep:
            del WORLD.events[calendar.split("/")[0]][ident]


def control(what, value):
    """What tests do to the world, and see of it."""
    if what == "fault":
        WORLD.faults.append(dict({"times": 1, "after": 0}, **value))
    elif what == "state":
        for name in value.pop("calendars", []):
            WORLD.calendars[name] = True
        if value.pop("kill_tokens", False):
            WORLD.dead_before = WORLD.tick()
        if value.pop("expire_access", False):
            WORLD.access = {}
        for key, setting in value.items():
            if not hasattr(WORLD, key):
                raise ValueError(key)
            setattr(WORLD, key, setting)
    elif what == "edit":
        edit(value)
    elif what == "fill":
        fill(value["calendar"], value["count"], value.get("keep"))
        return {}
    elif what == "vanish":
        for ident in value["ids"]:
            del WORLD.events[value["calendar"].split("/")[0]][ident]
        return {}
    elif what == "brief":
        return {"requests": len(WORLD.requests), "held": WORLD.held, "complaints": WORLD.complaints}
    return {"channels": WORLD.channels, "requests": WORLD.requests, "complaints": WORLD.complaints, "mails": WORLD.mails,
            "token_calls": WORLD.token_calls,
            "calendars": {name: {i: e for i, e in WORLD.events.get(name.split("/")[0], {}).items()
                                 if e["_calendar"] == name.split("/")[1]}
                          for name in WORLD.calendars}}


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
