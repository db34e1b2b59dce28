"""
A language model answers, with a known error
============================================

A language model sorts cards of records. How often is it wrong, and what do its answers do to the
clusters?
"""

# %%
# The model here is a stand-in: a server on this computer that knows the classes of the records and
# makes errors. For a real model, only the address changes.

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import matplotlib.pyplot as plt
import numpy as np

from linkwise import PCKMeans, Session
from linkwise.evaluation import score
from linkwise.llm import ChatOracle, answer_cards, audit_sample, weighted_links

rng = np.random.default_rng(0)
y = np.repeat(np.arange(4), 60)
X = rng.normal(size=(240, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y]
records = [f"record {row}" for row in range(240)]


class StandIn(BaseHTTPRequestHandler):
    """One record in four is placed at random."""

    def do_POST(self):
        """Answer a card."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shown = json.loads(body["messages"][-1]["content"])["records"]
        groups = {}
        for number, text in shown.items():
            kind = y[int(text.split()[1])] if rng.random() > 1 / 4 else rng.integers(4)
            groups.setdefault(int(kind), []).append(int(number))
        content = json.dumps({"groups": list(groups.values())})
        data = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Print nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
Thread(target=server.serve_forever, daemon=True).start()

# %%
# Sixty cards of eight records. With ``replies="work.db"``, the file of the session, every reply
# would be stored, and never paid for twice.

session = Session(X, who="ana", background=False)
oracle = ChatOracle(
    "stand-in",
    records=records,
    goal="are of the same class",
    base_url=f"http://127.0.0.1:{server.server_port}/v1",
    parallel=1,
)
print(oracle.estimate(60))
answer_cards(session, oracle, 60)
before = oracle.error_rates(session)

# %%
# A person checks 30 answers.

for answer in audit_sample(session, oracle.model):
    session.tell("same" if y[answer.i] == y[answer.j] else "different", answer.question)
after = oracle.error_rates(session)
print(after)

# %%
# The audit narrows the intervals. Links that weigh by these rates help more than links that are
# taken as right.

links = weighted_links(session, {oracle.model: after})
found = {
    "no links": PCKMeans(4, random_state=0).fit(X),
    "taken as right": PCKMeans(4, random_state=0).fit(X, constraints=session.constraints),
    "weighted": PCKMeans(4, noise="auto", random_state=0).fit(X, constraints=links),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for place, (rates, color) in enumerate([(before, "0.5"), (after, "#0072b2")]):
    for row, rate in enumerate([rates.wrong_same, rates.wrong_different]):
        height = row + 0.2 * place - 0.1
        axes[0].plot([rate.low, rate.high], [height, height], color=color, lw=4, alpha=0.5)
        axes[0].plot(rate.mean, height, "o", color=color)
axes[0].set(yticks=[0, 1], yticklabels=['its "same"', 'its "different"'], xlabel="share wrong")
axes[0].set_title("Before (gray) and after the audit", loc="left", size=10)
scores = [score(y, model.labels_).ari for model in found.values()]
axes[1].bar(list(found), scores, color=["0.7", "#e69f00", "#0072b2"])
axes[1].set(ylabel="ARI")
axes[1].set_title("Clusters", loc="left", size=10)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

session.close()
oracle.close()
server.shutdown()
server.server_close()
