package ask

import (
	"context"
	"os/signal"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/state/session"
)

// importWait bounds an import. A client's first start alone can take a minute.
const importWait = 5 * time.Minute

// Import has a client import a conversation. It fails unless the client prints the
// conversation's id.
func Import(env *cli.Env, agents *agent.Table, client agent.Client, dir string, args []string, id session.ID) error {
	out, complaint, err := short(env, agents, client, dir, args)
	if err == nil && strings.Contains(out, string(id)) {
		return nil
	}
	return refusal(client, "take in the conversation", 1, err, complaint, out)
}

// FirstLine runs a client and returns the first line that it prints.
func FirstLine(env *cli.Env, agents *agent.Table, client agent.Client, dir string, args []string) (string, error) {
	out, complaint, err := short(env, agents, client, dir, args)
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return "", refusal(client, "say which models it has", 1, err, complaint, out)
	}
	return line, nil
}

// short runs a client that ends by itself and returns what it prints.
func short(env *cli.Env, agents *agent.Table, client agent.Client, dir string, args []string) (out, complaint string, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, importWait)
	defer cancel()
	cmd, err := prepare(ctx, dir, slices.Concat(client.Command, args), Environ(agents, env.ChildEnviron()))
	if err != nil {
		return "", "", err
	}
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err = cmd.Run(); ctx.Err() == context.Canceled {
		err = ErrInterrupted
	}
	return stdout.String(), stderr.String(), err
}
