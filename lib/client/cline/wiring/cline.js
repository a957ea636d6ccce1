// gt: written by gt-hooks, which replaces this file whole; `gt-hooks uninstall cline` removes it.
//
// It calls the binaries of gt, one after the other, and does no more: what goes
// wrong there is theirs to log, and never this client's business.
//
// Cline runs a plugin in a process of its own: one for each session, and one without a
// session for each window. A session can be in the window or in a hub behind all windows.
import { spawn, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const agent = ["--agent", "cline"]

// run gives a binary a hook's input and returns what it says to the model; a
// binary that is missing, fails or takes longer than its seconds says nothing.
function run(seconds, binary, args, input, more) {
  return new Promise((done) => {
    try {
      let said = ""
      const p = spawn(binary, [...args, ...agent], {
        stdio: ["pipe", "pipe", "ignore"], timeout: seconds * 1000, killSignal: "SIGKILL", ...more,
      })
      p.on("error", () => done(""))
      p.on("close", (code) => done(code === 0 ? said : ""))
      p.stdin.on("error", () => {})
      p.stdout.setEncoding("utf8").on("data", (part) => (said += part))
      p.stdin.end(JSON.stringify(input) + "\n")
    } catch {
      done("")
    }
  })
}

// within waits for a promise, but not so long that Cline gives up on the hook (3 seconds)
// and with it on the turn.
const within = (promise) => Promise.race([promise, new Promise((go) => setTimeout(go, 2500))])

// ours is the environment, without what an agent that started this client told
// its own commands.
function ours() {
  const { GT_SESSION_UUID: inherited, GT_HOME, ...rest } = process.env
  return inherited ? rest : process.env
}

// transcript is the file with the session's messages, where it has its usual name.
function transcript(id) {
  const { CLINE_DIR: root = join(homedir(), ".cline"), CLINE_DATA_DIR: data = join(root, "data") } = process.env
  const { CLINE_SESSION_DATA_DIR: sessions = join(data, "sessions") } = process.env
  const path = join(sessions, id, `${id}.messages.json`)
  return existsSync(path) ? path : undefined
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`

let session = "" // none in a window's own process
let directory = process.cwd()
let begun = false // whether the start is told of
let home // the folder that gt keeps the session's state in
let shape = "" // what a compaction changes of the messages that the model is sent
let fewer = 0 // how many fewer messages it is sent than there are
let due // what the model is to be told with the next request
let last = Promise.resolve() // the binary that was called last
let called = Date.now() // when Cline called last
const prompts = new Set() // the person's messages that are told of
const told = new Map() // message: what the model is told before it, in every request

const input = (event, more) => ({ hook_event_name: event, session_id: session, cwd: directory, transcript_path: transcript(session), ...more })
const call = (event, more, seconds, binary, args) => (last = last.then(() => run(seconds, binary, args, input(event, more))))
const start = (source) => call("SessionStart", { source }, 10, "gt-prime", ["--hook"])
const touch = (event, more) => call(event, more, 5, "gt-keepalive", ["touch", "--hook"])

// source says how a session comes to be at work: a fork begins with older messages.
function source(messages) {
  if (!messages.some((m) => m.role === "assistant")) return "startup"
  const born = parseInt(session)
  return messages[0].createdAt < born ? "fork" : "resume"
}

// typed returns what the person typed of a message, or undefined if it is not theirs.
function typed(message) {
  if (message?.role !== "user") return
  const text = message.content.filter((p) => p.type === "text").map((p) => p.text).join("\n")
  return /<user_input[^>]*>([\s\S]*)<\/user_input>/.exec(text)?.[1].replace(/\r\n?/g, "\n") // a paste has a terminal's returns
}

const begin = (messages) => {
  begun = true
  home = run(10, "gt-prime", ["--state", "--json"], {}, { cwd: directory, env: ours() })
    .then((state) => JSON.parse(state).home).catch(() => {})
  for (const m of messages.slice(0, -1)) prompts.add(m.id)
  due = start(source(messages))
}

// compact saves the note only after the compaction; the conversation is still whole.
const compact = () => {
  call("PreCompact", { trigger: "auto" }, 30, "gt-handoff", ["--auto", "--hook", "--reason", "compaction"])
  due = start("compact")
}

// child says whether this is a subagent, which is part of the session.
const child = ({ snapshot }) => Boolean(snapshot.parentAgentId)

const hooks = {
  async beforeModel({ snapshot, request: { messages } }) {
    if (snapshot.iteration === 1) fewer = snapshot.messages.length - messages.length // else one may have come in between
    const now = JSON.stringify([fewer, messages[0]?.content])
    if (!begun) begin(snapshot.messages)
    else if (now !== shape) compact()
    shape = now
    const more = []
    for (const m of messages) {
      const prompt = typed(m)
      if (prompt === undefined || prompts.has(m.id)) continue
      prompts.add(m.id)
      more.push(touch("UserPromptSubmit", { prompt }))
    }
    const newest = messages.findLast((m) => m.role === "user")?.id
    if (due || more.length) {
      const asked = [due, ...more].filter(Boolean)
      const texts = await Promise.all(asked.map(within))
      const late = asked.filter((_, i) => texts[i] === undefined)
      due = late.length > 0 ? Promise.all(late).then((all) => all.filter(Boolean).join("\n")) : undefined
      const text = [told.get(newest), ...texts].filter(Boolean).join("\n")
      if (text) told.set(newest, text)
    }
    if (told.size === 0) return
    const before = (m) => (told.has(m.id) ? { ...m, content: [{ type: "text", text: told.get(m.id) }, ...m.content] } : m)
    return { messages: messages.map(before) }
  },
  async beforeTool({ toolCall, input: asked }) {
    if (toolCall.toolName === "ask_question") touch("Notification", { notification_type: "elicitation_dialog" })
    if (toolCall.toolName !== "run_commands" || !/\bgt-[a-z]/.test(JSON.stringify(asked ?? ""))) return
    // A hub's commands have nothing else that says whose they are.
    const dir = await within(home)
    const vars = `export GT_SESSION_UUID=${quoted(session)}${dir ? ` GT_HOME=${quoted(dir)}` : ""}; `
    const named = (c) => (typeof c === "string" && /\bgt-[a-z]/.test(c) ? vars + c : c)
    if (Array.isArray(asked?.commands)) return { input: { ...asked, commands: asked.commands.map(named) } }
  },
  afterTool({ toolCall, input: asked, result }) {
    // What a command of gt's asks for in a sandbox counts by what is shown here.
    const requests = /gt-request sha256:/.test(JSON.stringify(result?.output ?? ""))
    touch("PostToolUse", { tool_name: toolCall.toolName, ...(requests && { tool_input: asked, tool_response: result.output }) })
  },
  async afterRun({ snapshot, result }) {
    call("Stop", {}, 10, "gt-checkpoint", ["write", "--hook"])
    const error = snapshot.lastError ?? "" // the result's comes without its message
    if (result.status === "aborted") touch("Interrupt")
    else if (result.status === "failed") touch("StopFailure", { error: /limit|quota|too many|429/i.test(error) ? "rate_limit" : "server_error" })
    else touch("Stop")
    await within(last) // without a person, Cline ends now
  },
}

for (const [name, hook] of Object.entries(hooks)) {
  hooks[name] = async (context) => {
    called = Date.now()
    try {
      if (session && !child(context)) return await hook(context)
    } catch {}
  }
}

// Cline ends this process with the session or the window, and also when it has not called
// it for a while, which is no end.
const onEnd = () => {
  const idle = Number(process.env.CLINE_PLUGIN_IDLE_TIMEOUT_MS) || 30 * 60 * 1000
  if ((begun || !session) && Date.now() - called < idle - 1000) {
    const reason = session ? "session_stop" : "prompt_input_exit"
    spawnSync("gt-keepalive", ["end", "--hook", ...agent], {
      input: JSON.stringify(input("SessionEnd", { session_id: session || undefined, reason })), stdio: ["pipe", "ignore", "ignore"], timeout: 10000,
    })
  }
  process.exit(0)
}

export default {
  name: "gt",
  manifest: { capabilities: ["hooks"] },
  setup(_, context) {
    session = context.session?.sessionId ?? ""
    directory = context.workspaceInfo?.rootPath ?? directory
    process.on("SIGTERM", onEnd) // not of a copy of this file that another one replaces
  },
  hooks,
}
