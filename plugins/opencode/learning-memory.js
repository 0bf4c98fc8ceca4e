// Tells opencode's agent what the learning memory knows: copy this to ~/.config/opencode/plugins/.
import { spawn } from "node:child_process"

const COMMAND = ["learning-memory-server", "hook"]

// What the memory says to an event, which it takes in Claude Code's form; nothing if it is late or anything fails.
const ask = (cwd, given) =>
  new Promise((resolve) => {
    const hook = spawn(COMMAND[0], COMMAND.slice(1), { cwd, stdio: ["pipe", "pipe", "ignore"], timeout: 2000 })
    let said = ""
    hook.stdout.on("data", (part) => (said += part))
    hook.stdin.on("error", () => {})
    hook.on("error", () => resolve(""))
    hook.on("close", () => {
      try {
        resolve(JSON.parse(said).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    hook.stdin.end(JSON.stringify({ cwd, ...given }))
  })

export const LearningMemory = async ({ directory }) => {
  const contexts = new Map()
  const hook = (event, session, given) =>
    ask(directory, { hook_event_name: event, session_id: session, ...given })
  return {
    event: async ({ event }) => {
      const session = event.properties?.info?.id
      if (event.type === "session.created" && !event.properties.info.parentID) {
        contexts.set(session, hook("SessionStart", session, { source: "startup" }))
      } else if (event.type === "session.deleted") {
        contexts.delete(session)
        await hook("SessionEnd", session, {})
      }
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      const context = await contexts.get(sessionID)
      if (context) output.system.push(context)
    },
    "chat.message": async ({ sessionID }, output) => {
      const written = output.parts.find((part) => part.type === "text" && !part.synthetic)
      const told = written && (await hook("UserPromptSubmit", sessionID, { prompt: written.text }))
      if (told) written.text += `\n\n${told}`
    },
    "tool.execute.after": async ({ tool, sessionID, args }, output) => {
      const status = output.metadata?.exit
      if (tool !== "bash" || typeof status !== "number") return
      const ran = { tool_name: "Bash", tool_input: { command: args.command } }
      const ended =
        status === 0
          ? hook("PostToolUse", sessionID, { ...ran, tool_response: { stdout: output.output } })
          : hook("PostToolUseFailure", sessionID, { ...ran, error: `Exit code ${status}\n${output.output}` })
      const told = await ended
      if (told) output.output += `\n\n${told}`
    },
  }
}
