// gt: written by gt-hooks, which replaces this file whole; `gt-hooks uninstall opencode` removes it.
//
// It calls the binaries of gt, one after the other, and does no more: what goes
// wrong there is theirs to log, and never this client's business.
import { spawn, spawnSync } from "node:child_process"
import { closeSync, existsSync, openSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const agent = ["--agent", "opencode"]

// run gives a binary a hook's input and returns what it says to the model; a
// binary that is missing, fails or takes longer than its seconds says nothing.
function run(seconds, binary, args, input, more) {
  return new Promise((done) => {
    try {
      let said = ""
      const p = spawn(binary, [...args, ...agent], {
        stdio: ["pipe", "pipe", "ignore"], timeout: seconds * 1000, killSignal: "SIGKILL", ...more,
      })
      // Bun can lose the end of a process, and nobody waits for longer than it may run.
      const late = setTimeout(() => done(p.exitCode === 0 ? said : ""), (seconds + 1) * 1000)
      p.on("error", () => done(""))
      p.on("close", (code) => {
        clearTimeout(late)
        done(code === 0 ? said : "")
      })
      p.stdin.on("error", () => {})
      p.stdout.setEncoding("utf8").on("data", (part) => (said += part))
      p.stdin.end(JSON.stringify(input) + "\n")
    } catch {
      done("")
    }
  })
}

// ours is the environment, without what an agent that started this client told
// its own commands.
function ours() {
  const { GT_SESSION_UUID: inherited, GT_HOME, ...rest } = process.env
  return inherited ? rest : process.env
}

// database is the file in which all sessions are, where it has its usual name.
function database() {
  const { OPENCODE_DB: named = "opencode.db", XDG_DATA_HOME: data = join(homedir(), ".local", "share") } = process.env
  const path = isAbsolute(named) ? named : join(data, "opencode", named)
  return existsSync(path) ? path : undefined
}

// terminal says whether there is one. When it is closed under the client, that
// is all that is to be seen of it here.
function terminal() {
  try {
    closeSync(openSync("/dev/tty", "r"))
    return true
  } catch {
    return false
  }
}

export const Gt = async ({ client, directory }) => {
  const born = new Set() // sessions that this process made
  const children = new Map() // session: whether it is a subagent's
  const untitled = new Map() // session: when its title is asked for
  let settings // OpenCode's; another plugin may still change them
  const compacted = new Map() // session: what it is to be told after its compaction
  const added = new Map() // message: what was added to it for the model alone
  const asked = new Set() // questions that the person has not answered yet
  let retrying = false // the model did not answer, and is asked again
  let current = "" // the session that a person, or run, is at
  let home // the folder that gt keeps the session's state in
  let last = Promise.resolve() // the binary that was called last

  const input = (event, id, more) =>
    ({ hook_event_name: event, session_id: id, cwd: directory, transcript_path: database(), pid: process.pid, ...more })
  const call = (event, more, seconds, binary, args, id = current) =>
    (last = last.then(() => run(seconds, binary, args, input(event, id, more))))
  const start = (id, source) => call("SessionStart", { source }, 10, "gt-prime", ["--hook"], id)
  const touch = (event, more) => current && call(event, more, 5, "gt-keepalive", ["touch", "--hook"])
  // end waits: after it the process may be gone, and what runs meanwhile finds
  // half of the client taken down.
  const end = (reason) => {
    if (current) {
      spawnSync("gt-keepalive", ["end", "--hook", ...agent], {
        input: JSON.stringify(input("SessionEnd", current, { reason })), stdio: ["pipe", "ignore", "ignore"], timeout: 10000,
      })
    }
    current = ""
  }

  // isChild says whether a session is a subagent's, which is part of another.
  const isChild = async (id) => {
    if (!children.has(id)) children.set(id, Boolean((await client.session.get({ path: { id } })).data?.parentID))
    return children.get(id)
  }
  // asks tells that the person is asked, for permission or otherwise, and has answered: a
  // turn goes on then, if only to its end. Its own tool's end tells no more than that.
  const asks = (type, properties) => {
    const id = properties.requestID ?? properties.id
    if (type === "permission.asked" || type === "question.asked") asked.add(id)
    else if (!asked.delete(id) || asked.size) return
    if (type === "permission.asked") touch("PermissionRequest", { tool_name: properties.permission, tool_input: properties.metadata })
    else if (type === "question.asked") touch("Notification", { notification_type: "elicitation_dialog" })
    else touch("PostToolUse")
  }
  // retries tells that the model does not answer, once until answers tells that it does.
  const retries = (message) => {
    if (!retrying) touch("StopFailure", { error: /limit|quota|too many/i.test(message) ? "rate_limit" : "server_error" })
    retrying = true
  }
  const answers = ({ type, sessionID }) => {
    if (!retrying || sessionID !== current || !["text", "reasoning", "tool"].includes(type)) return
    retrying = false
    touch("PostToolUse")
  }
  // source says how a session comes to be at work in this process.
  const source = async (id) => {
    const before = (await client.session.messages({ path: { id }, query: { limit: 1 } })).data
    return !before?.length ? "startup" : born.has(id) ? "fork" : "resume"
  }
  // The model sees the text in this message; the title is made without it.
  const part = (text, id, sessionID, messageID) =>
    ({ id, sessionID, messageID, type: "text", text, synthetic: true, ignored: true, metadata: { gt: true } })

  // first says the prompt with which a session goes on in this process, once: the client
  // takes none together with a session.
  const first = async () => {
    const [id, ...words] = (process.env.GT_RESUME_PROMPT ?? "").split(" ")
    delete process.env.GT_RESUME_PROMPT // what this client starts is not told it again
    if (!words.length) return
    const before = (await client.session.messages({ path: { id }, query: { limit: 50 } })).data ?? []
    const { agent } = before.findLast((m) => m.info.role === "user")?.info ?? {}
    await client.session.promptAsync({ path: { id }, body: { agent, parts: [{ type: "text", text: words.join(" ") }] } })
  }

  const attended = terminal()

  const hooks = {
    config: async (config) => { settings = config },
    event: async ({ event: { type, properties } }) => {
      const id = properties?.sessionID ?? properties?.info?.id
      if (type === "session.created") {
        born.add(id)
        children.set(id, Boolean(properties.info.parentID))
        // OpenCode asks for a title only in place of this one.
        if (/^New session - [\dT:.-]+Z$/.test(properties.info.title) && !settings?.agent?.title?.disable) untitled.set(id, Promise.withResolvers())
      } else if (type === "message.part.updated") {
        answers(properties.part)
      } else if (/^(permission|question)\./.test(type)) {
        if (current && (id === current || (await isChild(id)))) asks(type, properties)
      } else if (id && id === current) {
        if (type === "session.status" && properties.status.type === "retry") retries(properties.status.message)
        if (type === "session.compacted") compacted.set(id, start(id, "compact"))
        if (type === "session.idle") {
          asked.clear()
          retrying = false
          call("Stop", {}, 10, "gt-checkpoint", ["write", "--hook"])
          touch("Stop")
        }
        if (type === "session.deleted") end("prompt_input_exit")
      }
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (await isChild(sessionID)) return
      let text = compacted.get(sessionID)
      compacted.delete(sessionID)
      if (sessionID !== current) {
        text = start(sessionID, await source(sessionID))
        current = sessionID
        home ??= run(10, "gt-prime", ["--state", "--json"], {}, { cwd: directory, env: ours() })
          .then((state) => JSON.parse(state).home).catch(() => {})
      }
      text = await text
      const said = parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text)
      const more = await touch("UserPromptSubmit", { prompt: said.join("\n") })
      text = [text, more].filter(Boolean).join("\n")
      if (text) parts.unshift(part(text, parts[0].id.slice(0, -1) + "-", sessionID, message.id))
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      const asked = messages.findLast((m) => m.info.role === "user")
      const waiting = asked && compacted.get(asked.info.sessionID)
      if (waiting) { // it went on by itself, nobody asked
        compacted.delete(asked.info.sessionID)
        added.set(asked.info.id, await waiting)
      }
      const told = new Set() // the same text once
      const show = (p) => p.metadata?.gt && !told.has(p.text) && told.add(p.text) ? { ...p, ignored: false } : p
      // The title is made from the same array at the same time, and without what
      // is added here: it goes first, and what is changed is a copy. On a busy machine
      // it needs seconds for that; where no title is made, nobody waits for longer.
      const id = asked?.info.sessionID
      await Promise.race([untitled.get(id)?.promise, untitled.has(id) && new Promise((go) => setTimeout(go, 5000))])
      untitled.delete(id)
      messages.forEach(({ info, parts }, i) => {
        const more = added.has(info.id) ? [part(added.get(info.id), "prt_gt", info.sessionID, info.id)] : []
        messages[i] = { info, parts: [...parts, ...more].map(show) }
      })
    },
    "chat.params": async ({ sessionID, agent }) => {
      if (agent === "title") untitled.get(sessionID)?.resolve()
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      if (await isChild(sessionID)) return
      const keep = await call("PreCompact", {}, 30, "gt-handoff", ["--auto", "--hook", "--reason", "compaction"], sessionID)
      if (keep) output.context.push(keep)
    },
    "tool.execute.after": async ({ tool, args }, result) => {
      // What a command of gt's asks for in a sandbox counts by what is shown here.
      const requests = /gt-request sha256:/.test(result?.output ?? "")
      // One that ran beside a tool which the person is asked about says nothing of that.
      if (asked.size && !requests) return
      void touch("PostToolUse", { tool_name: tool, ...(requests && { tool_input: args, tool_response: result.output }) })
    },
    "shell.env": async (_, { env }) => {
      if (!current) return
      env.GT_SESSION_UUID = current
      const dir = await home
      if (dir) env.GT_HOME = dir
    },
    dispose: async () => end(attended && !terminal() ? "other" : "prompt_input_exit"),
  }
  for (const [name, hook] of Object.entries(hooks)) {
    hooks[name] = (...args) => hook(...args).catch(() => {})
  }
  setTimeout(() => first().catch(() => {}), 0) // when the client has started
  return hooks
}

// OpenCode 2 refuses a file without this, and 1.18 reads it before the name above. Version 2
// has other hooks, which gt does not use yet: there it loads, and does nothing.
export default { id: "gt", server: Gt, setup: async () => {} }
