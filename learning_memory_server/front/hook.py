"""Where the hooks that earlier versions added to a client's settings start. The hook is in `hub/front/hook.py`.

Without this file, Python would end with status 2, which clients take for a refusal of what the agent is about to do.
"""

import sys
from os.path import abspath, dirname

sys.path.append(dirname(dirname(dirname(abspath(__file__)))))

from learning_memory_server.hub.front.hook import main

main()
