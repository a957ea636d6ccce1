package seancecmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
)

// server answers an agent over the Model Context Protocol on standard input and output: one JSON
// message a line (modelcontextprotocol.io, 2025-06-18). Each tool runs a command of this program
// that only reads and prints no secrets. modelcontextprotocol/go-sdk would add 6 MB for it.
type server struct {
	Everywhere bool `help:"Also the sessions of other folders (default: those of the repository, or else folder, in which it is started)."`
}

const (
	protocol   = "2025-06-18"
	maxRequest = 1 << 20
	maxResult  = 60 << 10 // bytes of a tool's answer
	maxLine    = 4000     // columns of a line that a regular expression found
)

var protocols = []string{protocol, "2025-03-26", "2024-11-05"}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      schema `json:"inputSchema"`
	Hints       hints  `json:"annotations"`

	args func(c *server, in arguments) []string
}

type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

type property struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

type hints struct {
	ReadOnly  bool `json:"readOnlyHint"`
	OpenWorld bool `json:"openWorldHint"`
}

type arguments struct {
	Query   string `json:"query"`
	Regexp  bool   `json:"regexp"`
	Tools   bool   `json:"tools"`
	Agent   string `json:"agent"`
	Since   string `json:"since"`
	Session string `json:"session"`
	Turns   string `json:"turns"`
	Last    int    `json:"last"`
	File    string `json:"file"`
	Lines   string `json:"lines"`
	Commit  string `json:"commit"`
}

func (c *server) scopeArgs() []string {
	if c.Everywhere {
		return nil
	}
	return []string{"--here"}
}

// flag returns --name=value, in one word so that no value is taken for a flag, or nil for "".
func flag(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name + "=" + value}
}

var tools = []tool{
	{
		Name:        "search",
		Description: "Search what was said in past and present sessions of coding agents. Each line is: session id, turn, speaker, time, text. Use read to read on.",
		Schema: schema{"object", map[string]property{
			"query":  {"string", "Words that were said, run or changed after one request, in any order and case; the best session first."},
			"regexp": {"boolean", "The query is a regular expression (RE2) for a line; all lines that match."},
			"tools":  {"boolean", "With regexp: also tool calls, their results, and thoughts."},
			"agent":  {"string", "Only of this agent: claude, codex, ..."},
			"since":  {"string", "Only sessions active since then: 24h, 7d, yesterday, 2026-01-17."},
		}, []string{"query"}},
		args: func(c *server, in arguments) []string {
			all := append(flag("agent", in.Agent), flag("since", in.Since)...)
			all = append(all, c.scopeArgs()...)
			if !in.Regexp {
				return append(append([]string{"search"}, all...), append([]string{"--"}, strings.Fields(in.Query)...)...)
			}
			if in.Tools {
				all = append(all, "--tools")
			}
			return append(append([]string{"grep", "--ignore-case", "--width=" + strconv.Itoa(maxLine)}, all...), "--", in.Query)
		},
	},
	{
		Name:        "blame",
		Description: "Find which session, and which request in it, wrote lines of a file. Each line is: lines, session id, turn, time, commit, how sure, request. Use read to read on.",
		Schema: schema{"object", map[string]property{
			"file":   {"string", "The file. Without it, all that the commit added."},
			"lines":  {"string", "Only this line, or the lines from one to another: 12 or 12,18."},
			"commit": {"string", "Only the lines that this commit added."},
		}, nil},
		args: func(c *server, in arguments) []string {
			all := append(append([]string{"blame"}, flag("commit", in.Commit)...), c.scopeArgs()...)
			if in.File == "" {
				return all
			}
			if in.Lines != "" {
				in.File += ":" + in.Lines
			}
			return append(all, "--", in.File)
		},
	},
	{
		Name:        "read",
		Description: "Read the conversation of a session, or some turns of it. A turn begins with what the person asked.",
		Schema: schema{"object", map[string]property{
			"session": {"string", "The session's id, or its beginning."},
			"turns":   {"string", "Only these turns: 3, 3-7, 3- or -7."},
			"last":    {"integer", "Only the last so many turns."},
			"tools":   {"boolean", "Tool calls and their results in full."},
		}, []string{"session"}},
		args: func(_ *server, in arguments) []string {
			all := append([]string{"read"}, flag("turns", in.Turns)...)
			if in.Last > 0 {
				all = append(all, flag("last", strconv.Itoa(in.Last))...)
			}
			if in.Tools {
				all = append(all, "--tools")
			}
			return append(all, "--", in.Session)
		},
	},
	{
		Name:        "thread",
		Description: "What a line of sessions on one task knows: what the person asked for, their rules, the hand-overs.",
		Schema: schema{"object", map[string]property{
			"session": {"string", "A session of it, by its id or the beginning of it (default: the last one in this folder)."},
		}, nil},
		args: func(_ *server, in arguments) []string {
			if in.Session == "" {
				return []string{"thread"}
			}
			return []string{"thread", "--", in.Session}
		},
	},
}

// request is a message of the client. Without an id it is a notification.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *refusal        `json:"error,omitempty"`
}

type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const (
	notParsed     = -32700
	notValid      = -32600
	noMethod      = -32601
	invalidParams = -32602
)

// Run answers requests until standard input ends.
func (c *server) Run(env *cli.Env) error {
	for i := range tools {
		tools[i].Hints.ReadOnly = true
	}
	in, out := bufio.NewReaderSize(env.Stdin, 64<<10), json.NewEncoder(env.Stdout)
	for {
		line, err := readLine(in)
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == errTooLong:
			if err := out.Encode(response{Version: "2.0", ID: json.RawMessage("null"), Error: &refusal{notValid, err.Error()}}); err != nil {
				return err
			}
			continue
		case err != nil && err != io.EOF:
			return cli.Fail(cli.IO, fmt.Errorf("cannot read a request: %w", err))
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		var r request
		answer := response{Version: "2.0"}
		if err := json.Unmarshal(line, &r); err != nil {
			answer.ID, answer.Error = json.RawMessage("null"), &refusal{notParsed, "invalid JSON"}
		} else if len(r.ID) == 0 {
			continue
		} else {
			answer.ID = r.ID
			answer.Result, answer.Error = c.answerRequest(env, r)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}

var errTooLong = fmt.Errorf("the request is over %d bytes", maxRequest)

// readLine reads a line to its end, also one that is too long: the next can be read.
func readLine(r *bufio.Reader) (line []byte, err error) {
	size := 0
	for {
		part, err := r.ReadSlice('\n')
		if size += len(part); size <= maxRequest {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case size > maxRequest && (err == nil || err == io.EOF):
			return nil, errTooLong
		default:
			return line, err
		}
	}
}

// answerRequest returns a result or the protocol's error. A tool that fails has a result too, so
// that the model reads why.
func (c *server) answerRequest(env *cli.Env, r request) (any, *refusal) {
	switch r.Method {
	case "initialize":
		var in struct {
			Version string `json:"protocolVersion"`
		}
		if json.Unmarshal(r.Params, &in) != nil || !slices.Contains(protocols, in.Version) {
			in.Version = protocol
		}
		return map[string]any{
			"protocolVersion": in.Version,
			"capabilities":    map[string]any{"tools": struct{}{}},
			"serverInfo":      map[string]string{"name": "gt-seance", "version": cli.Version()},
		}, nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return map[string]any{"tools": tools}, nil
	case "tools/call":
		var in struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		var with arguments
		err := json.Unmarshal(r.Params, &in)
		if err == nil && len(in.Arguments) > 0 {
			err = json.Unmarshal(in.Arguments, &with)
		}
		if err != nil {
			return nil, &refusal{invalidParams, err.Error()}
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == in.Name })
		if i < 0 {
			return nil, &refusal{invalidParams, fmt.Sprintf("no tool %q", in.Name)}
		}
		given := map[string]json.RawMessage{}
		_ = json.Unmarshal(in.Arguments, &given) // arguments is one object, or nothing
		for _, name := range tools[i].Schema.Required {
			if given[name] == nil {
				return nil, &refusal{invalidParams, fmt.Sprintf("%s needs the argument %q", in.Name, name)}
			}
		}
		text, failed := c.runTool(env, tools[i], with)
		return map[string]any{"content": []map[string]string{{"type": "text", "text": text}}, "isError": failed}, nil
	}
	return nil, &refusal{noMethod, fmt.Sprintf("no method %q", r.Method)}
}

// runTool runs a tool's command and returns what it printed, its messages last.
func (c *server) runTool(env *cli.Env, t tool, in arguments) (text string, failed bool) {
	var out answerWriter
	var said bytes.Buffer
	run := &cli.Env{
		Args: t.args(c, in), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said,
		Environ: env.Environ, Dir: env.Dir, DirDeleted: env.DirDeleted, Now: env.Now, Started: env.Started,
	}
	if in.Session != "" && !c.Everywhere {
		if err := c.checkScope(run, in.Session); err != nil {
			return err.Error(), true
		}
	}
	own := Program()
	own.Prepare = nil // it was done
	code := cli.Run(run, own)
	if text = out.text.String(); out.full {
		if end := strings.LastIndexByte(text, '\n') + 1; end > maxResult/2 { // else a line is most of it
			text = text[:end]
		}
		return strings.TrimSuffix(strings.ToValidUTF8(text, ""), "\n") + "\n[cut: ask for less]\n", false
	}
	if text += said.String(); text == "" {
		text = "nothing was found\n"
	}
	// With AnswerNo and no error, nothing was found, which is an answer.
	return text, code > cli.AnswerNo || code == cli.AnswerNo && strings.Contains(said.String(), ": error: ")
}

// answerWriter keeps what a command prints, and stops the command after maxResult bytes.
type answerWriter struct {
	text bytes.Buffer
	full bool
}

func (w *answerWriter) Write(p []byte) (int, error) {
	room := maxResult - w.text.Len()
	if w.full = w.full || len(p) > room; w.full {
		p = p[:min(len(p), room)]
		w.text.Write(p)
		return len(p), io.ErrShortWrite
	}
	return w.text.Write(p)
}

// checkScope returns an error for a session of another folder. A subagent counts with its parent.
func (c *server) checkScope(env *cli.Env, id string) error {
	scope := selection{Here: true, All: true}
	all, f, err := scope.openCatalog(env)
	if err != nil {
		return err
	}
	s, err := findNamed(env, all, id)
	if err == nil && !f.Matches(s) {
		if parent := all.Get(s.SubagentOf); parent == nil || !f.Matches(parent) {
			err = fmt.Errorf("session %s worked in another folder, which this server does not read (gt-seance mcp --everywhere does)", s.ID)
		}
	}
	return err
}
