"""Timeouts: how long anything waits, in seconds, by who waits for what.

| who waits | for | at most | then |
| --- | --- | --- | --- |
| an agent | `search_memory` | `SEARCH_MEMORY` | the answer is lexical |
| an agent | `search_experiences` | `SEARCH` | the answer is lexical |
| an agent | `list_values` with a question, `validate_value` | see Values | the order is lexical; an error says so |
| an agent | a tool that writes or forgets | `WRITE` | `indexed: false`; the entry is pending |
| an agent | `get_clusters` | `CLUSTERS` | an error says so |
| a session | a hub to start, or to answer a call | `CONNECT`, `HUNG_AFTER` | an error says so |
| a client | a hook | `HOOK_STDIN` + `HOOK_HUB` | nothing is printed |
| a client | a hook at a session's start, without a hub; its first prompt | `HOOK_START`; `FIRST_PROMPT` | the same |
| an agent | a lesson at a prompt or a failure | `ADVICE` + `HOOK_LESSON` | nothing is said |
| a person | a running hub | `COMMAND_HUNG_AFTER`, `OPERATION_SILENT` | the command says so |

Every wait is here that an agent, a client or a person can notice, and how long is kept what they can miss. What only
paces one algorithm stays where it is used: how often a loop looks, how soon a lock is tried again.

Nothing is imported: every front and every hook's command reads this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# ---- An agent, for the reply of a tool

SEARCH: Final = 2.0  # `search_experiences`, its lexical answer included
SEARCH_MEMORY: Final = 1.0  # `search_memory`, its lexical answer included
WRITE: Final = 1.0  # Until what a call wrote is indexed, or what it forgot is removed
CLUSTERS: Final = 8.0  # `get_clusters`, for an index
SETTLE: Final = 7.0  # `get_clusters` and commands, for an index to open and catch up once
REQUEST_SHARE: Final = 0.9  # Of a write, for each request: the caller should learn who was late
ADVICE: Final = 0.1  # Advice may add this to a call; late advice is not shown
FRESHNESS: Final = 0.02  # Of that, for anchored files; a late judgement is the earlier one
DASHBOARD_SETTLE: Final = 0.2  # A page of the dashboard, for the index to catch up
DASHBOARD_INDEX: Final = 2.0  # The command, before it is made
GIT: Final = 5  # One command of git
SHARED_GIT: Final = 30  # The same for shared lessons, in the background
PLACE: Final = (
    0.2  # The branch and the changed files, at the start of a session. In a large repository git takes longer.
)
ROOTS: Final = 120  # Git may look for root commits: all commits of a history are read for it, once

# Of SEARCH, SEARCH_MEMORY, or another deadline of a search

SEARCH_SHARES: Final = (0.6, 0.5, 0.75)  # One request to a server, the model, and the index before the re-ranking
ANSWERING: Final = 0.1  # Everything after the re-ranking
MEMORIES_JOURNAL_SHARE: Final = 4.0  # Deadlines that the journal then has, for long answers, too
MEMORIES_ROUNDS: Final = 0.5  # After these seconds a search starts no further round
MEMORIES_AGAIN: Final = 0.05  # Before a lost connection is tried again; the next wait is twice as long

# Re-ranking, where a model for it is set

RERANKING: Final = 2.0  # How much longer a search may take to be re-ranked, unless it has its own deadline
RERANKER_AGAIN: Final = 60.0  # After a failed load, or a re-ranking that timed out

# Values

# Budgets: a request to a server, the vector of the question, and both together
LISTING: Final = (0.8, 1.0, 1.8)  # `list_values`; after that, the order is lexical
MATCHING: Final = (0.4, 1.0, 1.0)  # Values that come along with a search
NAMED_VALUE: Final = 1.0  # `resolve_ghap`, for the value that it names
NAMED_VALUE_REQUEST: Final = 0.8  # One request to a server for it
VALUE_MODEL: Final = 0.9  # The vector of a value's text
VALIDATING: Final = 0.8  # `validate_value`: each request, and the comparison with other values
VALIDATING_CLUSTERS: Final = 1.2  # `validate_value`: the index, and the vectors of new clusters
STORING: Final = 0.4  # Each request of `store_value`, and the indexing of the value
STORING_CLUSTERS: Final = 0.6  # The same clusters for `store_value`
CLOSEST_READ: Final = 0.9  # The stored vectors to compare a value's text with
CLOSEST_MODEL: Final = 0.9  # The model has for the same; without it, the stored vectors decide

# ---- A tool, a command or the background, for an engine or a model

REQUEST: Final = 10.0  # One request of a command, or of the background
REACH: Final = 2.0  # A small request, such as a probe
LOAD: Final = 60.0  # A request to a server that may have to load the model first
SCALE: Final = 60.0  # To measure the scale of a model that is seen for the first time
FIRST_PROBE: Final = 0.2  # Until the first probe: one connection that was lost says little about the server
PROBE_EVERY: Final = 3.0  # From the end of one probe to the next
BUSY: Final = 0.25  # A deadline that is noticed this late: this process was busy
QDRANT: Final = 10.0  # One request to Qdrant, unless less is said here
QDRANT_READ: Final = 4.0  # One request that reads: a tool makes several, and the first late one fails
QDRANT_ADDRESS: Final = 0.4  # Each address of a cluster but the last, which has the rest
QDRANT_ADDRESS_LEAST: Final = 0.1  # An address is not asked with less
QDRANT_PAUSE: Final = 1.0  # How long an address that did not answer is left out; each further time doubles it
QDRANT_PAUSE_MAX: Final = 60.0  # The longest of these pauses
QDRANT_KEPT: Final = 60.0  # An idle connection; a new one costs a round trip, three with TLS
OLLAMA_CONNECT: Final = 5.0  # A connection to Ollama
OLLAMA_AGAIN: Final = 0.1  # Before the second attempt; the next wait is twice as long
MODEL_AGAIN: Final = 30.0  # Until a model that could not be loaded is tried again; see `embedding.service`
WRITE_AGAIN: Final = 1.0  # Before the second attempt to index something; the next wait is twice as long
CATCH_UP_EVERY: Final = 30.0  # Between attempts to catch up while something is pending
CHECK_EVERY: Final = 50.0  # Between looks at the index's counts, of a few milliseconds each
ARRIVAL: Final = 10.0  # Within this, a server that answers again does what it was asked earlier

FIT: Final = 300.0  # One fit of clusters in its process; 20,000 entries take half a minute
CHILD_END: Final = 5.0  # Such a process, to end by itself

# ---- A session, for the hub

CONNECT: Final = 25.0  # Until a hub is reached
SILENT_TIMES: Final = 2  # Times `CONNECT` that a reached hub may be silent: it imports first
RUNNING_IS_SILENT: Final = 8.0  # Silence of a hub that has served since it locked the data
STILL_SILENT: Final = 1.5  # A hub may be silent for which somebody has waited in vain
HELD: Final = 8.0  # Another process than a hub that has locked the data
QUEUE: Final = 1.0  # A connection while the hub's queue of them is full
SPAWN_AGAIN: Final = 0.5  # After this, a hub that was started but cannot be reached is started again
DRAIN: Final = 20.0  # A hub that was asked to give way to another
CALLS_END: Final = 10.0  # A hub that gives way, or is stopped, for running calls
HELLO: Final = 10.0  # A hub, for the first line of a connection
PING_AFTER: Final = 2.0  # The front pings a hub that is silent for this long while an answer is due
HUNG_AFTER: Final = 15.0  # Open calls fail after this without a sign of life from the hub
GRACE: Final = 5.0  # Open calls without a hub, after the client has closed its side

# ---- A client, for the command of a hook

HOOK_STDIN: Final = 1.0  # The client, to say something
HOOK_START: Final = 1.6  # A hub to start and answer at a session's start; the plugin's limit is 2
FIRST_PROMPT: Final = 1.5  # A session's first prompt, for a new hub; the plugin's limit is 2
HOOK_LESSON: Final = 0.45  # A lesson for a prompt or a failure, in addition to `ADVICE`
HOOK_HUB: Final = 1.0  # The hub, to answer: Claude Code gives all hooks at an end 1.5 s
CLEARED: Final = 60.0  # A client, between the two hooks of a session that it clears
HOOK_SILENCE: Final = 600.0  # A hub counts as silent: a killed one cannot say that it answers
HOOKS_REST: Final = 10.0  # Hooks are answered with nothing once no hub was reached
HOOK_IS_LATE: Final = 1.0  # After this silence, a hook that its client gives up says something about the hub

ONE_MESSAGE: Final = 0.3  # From one call of an agent's message to the next; a model takes longer for another message

# ---- A person, for a command

COMMAND_HUNG_AFTER: Final = 8.0  # A sign of life from a hub
COMMAND_SEARCH_HUB: Final = 1.0  # The same for a search, which can do without a hub
COMMAND_SEARCH_INDEX: Final = 3.0  # A search, for the index; then it is lexical
COMMAND_INDEX: Final = 2.0  # The same after a command that imported
OPERATION_SILENT: Final = 30.0  # A sign of life of an operation that runs: a hub that loads a model is busy
SIGN_OF_LIFE: Final = 1.0  # Between two signs of life that the hub gives during an operation
COUNT: Final = 1.0  # Each request to a server for counting points: whoever asks for the state should not wait
HUB_END: Final = 30.0  # A hub that was asked to end: its calls get `CALLS_END`, then the index is flushed
HUB_TERM: Final = 15.0  # A hub that does not answer, to end: as long as its calls and its flush
HUB_KILLED: Final = 10.0  # The kernel, to end a hub
DOCTOR_HUB: Final = 3.0  # The doctor, for a hub that holds the data to listen
DOCTOR_OLLAMA: Final = 10.0  # The doctor, for Ollama
DOWNLOAD_CONNECT: Final = 10.0  # `setup --model`, for a connection to the hub of models
DOWNLOAD: Final = 60.0  # The same, for the next byte
DOWNLOAD_AGAIN: Final = 1.0  # Before a lost download is continued; the next wait is twice as long
HANDSHAKE: Final = 30.0  # A started server's handshake; Claude Code waits this long
CLAUDE_COMMAND: Final = 60  # A command of Claude Code; it took 0.5 s
LSOF: Final = 10.0  # `lsof`, on macOS
OWN_PATTERN: Final = 1.0  # A pattern of the settings, on a text
OWN_PATTERN_PROBE: Final = 0.2  # Such a pattern, on a slow text, when the settings are read
UNWINDING: Final = 0.6  # A command, to clean up after Ctrl-C

# ---- How long something is kept, or counts

SHARED_AGAIN: Final = 5.0  # Between looks at the branches of a repository whose shared lessons are read
SESSION_HEARD: Final = 30 * 60  # A session without a front counts as running after a sign of life
RECENT: Final = 30 * 24 * 3600  # What counts as lately in `last_30_days` of a cluster
FIT_CHILD_KEPT: Final = 60.0  # The process that fits clusters, without a request
