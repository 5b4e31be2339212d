#!/usr/bin/env python3
#
# test/demo/lossy_proxy.py: a line to a calendar server that can go dead
#
#	lossy_proxy.py SERVER_PORT PORT_FILE DEAD_FILE
#
# Hands requests to the server on SERVER_PORT and its answers back, and writes
# the port it listens on to PORT_FILE.  Once DEAD_FILE exists, the line dies at
# the next PUT, which still reaches the server while its answer is lost: the worst
# moment for a line to fail.  Until DEAD_FILE is gone every other request is lost
# before it arrives.

import http.client
import http.server
import os
import sys

server_port, port_file, dead_file = int(sys.argv[1]), sys.argv[2], sys.argv[3]
lost = False
hop_by_hop = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Line(http.server.BaseHTTPRequestHandler):
	protocol_version = "HTTP/1.1"

	def __getattr__(self, name):
		if name.startswith("do_"):
			return self.forward
		raise AttributeError(name)

	def log_message(self, *arguments):
		pass

	def forward(self):
		global lost
		body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
		lost = os.path.exists(dead_file) and (lost or self.command == "PUT")
		if not lost or self.command == "PUT":
			server = http.client.HTTPConnection("127.0.0.1", server_port, timeout=30)
			headers = {name: value for name, value in self.headers.items()
					   if name.lower() not in hop_by_hop}
			server.request(self.command, self.path, body, headers)
			answer = server.getresponse()
			content = answer.read()
			server.close()
		if lost:
			self.close_connection = True
			return
		self.send_response_only(answer.status, answer.reason)
		for name, value in answer.getheaders():
			if name.lower() not in hop_by_hop:
				self.send_header(name, value)
		if answer.status >= 200 and answer.status != 204:
			self.send_header("Content-Length", str(len(content)))
		self.end_headers()
		if self.command != "HEAD":
			self.wfile.write(content)


line = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Line)
line.daemon_threads = True
with open(port_file + ".new", "w") as file:
	file.write("%d\n" % line.server_port)
os.rename(port_file + ".new", port_file)
line.serve_forever()
