// gt: written by gt-hooks, which replaces this file whole; `gt-hooks uninstall pi` removes it.
//
// It calls the binaries of gt, one after the other, and does no more: what goes
// wrong there is theirs to log, and never this client's business.
import { spawn } from "node:child_process";

const agent = ["--agent", "pi"];

// What outlives /reload, which reads this file again.
const state = ((globalThis as any)[Symbol.for("gt")] ??= {
  env: { ...process.env }, // as pi was started
  last: Promise.resolve(""), // the binary that was called last
  text: undefined as Promise<string> | undefined, // what the model is to be told with the next prompt
});

// run gives a binary a hook's input and returns what it says to the model; a
// binary that is missing, fails or takes longer than its seconds says nothing.
function run(seconds: number, binary: string, args: string[], input: object, more: object = {}): Promise<string> {
  return new Promise((done) => {
    try {
      let said = "";
      const p = spawn(binary, [...args, ...agent], {
        env: state.env, stdio: ["pipe", "pipe", "ignore"], timeout: seconds * 1000, killSignal: "SIGKILL", ...more,
      });
      p.on("error", () => done(""));
      p.on("close", (code) => done(code === 0 ? said : ""));
      p.stdin.on("error", () => {});
      p.stdout.setEncoding("utf8").on("data", (part) => (said += part));
      p.stdin.end(JSON.stringify(input) + "\n");
    } catch {
      done("");
    }
  });
}

// ours is the environment, without what an agent that started pi told its own
// commands.
function ours() {
  const { GT_SESSION_UUID: inherited, GT_HOME, ...rest } = state.env;
  return inherited ? rest : state.env;
}

export default function (pi: any) {
  const call = (ctx: any, event: string, more: object, seconds: number, binary: string, args: string[]): Promise<string> => {
    const sessions = ctx.sessionManager;
    const input = {
      hook_event_name: event, session_id: sessions.getSessionId(), cwd: ctx.cwd,
      transcript_path: sessions.getSessionFile(), pid: process.pid, ...more,
      headless: ctx.hasUI === false, // an editor (--mode rpc) has one
    };
    return (state.last = state.last.then(() => run(seconds, binary, args, input)));
  };
  const start = (ctx: any, source: string) => call(ctx, "SessionStart", { source }, 10, "gt-prime", ["--hook"]);
  const touch = (ctx: any, event: string, more: object = {}) => call(ctx, event, more, 5, "gt-keepalive", ["touch", "--hook"]);

  // knows says whether the model has been told a text since the last compaction.
  const knows = (ctx: any, text: string) => {
    const entries = ctx.sessionManager.getBranch();
    const since = entries.findLastIndex((e: any) => e.type === "compaction");
    return entries.slice(since + 1).some((e: any) => e.customType === "gt" && e.content === text);
  };

  let signalled = false;
  const signals = ["SIGTERM", "SIGHUP"] as const;
  const onSignal = () => void (signalled = true);

  pi.on("session_start", (event: any, ctx: any) => {
    // pi has handlers of its own; without them ours would keep it alive.
    for (const s of signals) if (process.listenerCount(s)) process.prependListener(s, onSignal);
    if (event.reason === "reload") return;
    const goesOn = ctx.sessionManager.getEntries().some((e: any) => e.type === "message");
    const source = {
      startup: process.argv.includes("--fork") ? "fork" : goesOn ? "resume" : "startup",
      new: "clear",
    }[event.reason as string] ?? event.reason;
    // Wired twice, the other copy of this file may have been told.
    state.text = Promise.all([state.text, start(ctx, source)]).then(([other, own]) => own || other || "");
    // For the commands that the model runs.
    process.env.GT_SESSION_UUID = ctx.sessionManager.getSessionId();
    delete process.env.GT_HOME;
    // pi has its arguments overwritten with its title. A key is for no command to see.
    const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    const open = args.filter((arg, i) => arg !== "--api-key" && args[i - 1] !== "--api-key");
    process.env.GT_AGENT_ARGS = JSON.stringify({ pid: process.pid, args: open });
    run(10, "gt-prime", ["--state", "--json"], {}, { cwd: ctx.cwd, env: ours() })
      .then((said) => (process.env.GT_HOME = JSON.parse(said).home))
      .catch(() => {});
  });
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const text = await state.text;
    state.text = undefined;
    for (const said of [text, await touch(ctx, "UserPromptSubmit", { prompt: event.prompt })]) {
      // At once, and so before the prompt.
      if (said && !knows(ctx, said)) pi.sendMessage({ customType: "gt", content: said, display: false }, { triggerTurn: false });
    }
  });
  pi.on("tool_result", (event: any, ctx: any) => {
    // What a command of gt's asks for in a sandbox counts by what is shown here.
    const asks = /gt-request sha256:/.test(JSON.stringify(event.content ?? ""));
    void touch(ctx, "PostToolUse", { tool_name: event.toolName, ...(asks && { tool_input: event.input, tool_response: event.content }) });
  });
  pi.on("agent_end", (event: any, ctx: any) => {
    void call(ctx, "Stop", {}, 10, "gt-checkpoint", ["write", "--hook"]);
    const { stopReason, errorMessage = "" } = event.messages?.findLast((m: any) => m.role === "assistant") ?? {};
    if (stopReason === "error") void touch(ctx, "StopFailure", { error: /limit|quota|too many/i.test(errorMessage) ? "rate_limit" : "server_error" });
    else void touch(ctx, "Stop");
  });
  pi.on("session_before_compact", async (event: any, ctx: any) => {
    const trigger = { trigger: event.reason === "manual" ? "manual" : event.reason ? "auto" : undefined };
    const keep = await call(ctx, "PreCompact", trigger, 30, "gt-handoff", ["--auto", "--hook", "--reason", "compaction"]);
    // There is no other way to the summariser but to do its work.
    if (keep) event.preparation.messagesToSummarize.push({ role: "custom", customType: "gt", content: keep, display: false, timestamp: 0 });
  });
  pi.on("session_compact", (_: any, ctx: any) => void (state.text = start(ctx, "compact")));
  pi.on("session_shutdown", async (event: any, ctx: any) => {
    for (const s of signals) process.off(s, onSignal);
    if (event.reason === "reload") return;
    state.text = undefined;
    const reason = { quit: signalled ? "other" : "prompt_input_exit", new: "clear" }[event.reason as string] ?? event.reason;
    await call(ctx, "SessionEnd", { reason }, 10, "gt-keepalive", ["end", "--hook"]);
  });
}
