package gt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// client stands for an agent's client where a scenario needs one: a process
// that runs hooks and commands as its children.
//
//	client key=value... -- command [arg...]
//	    a client that runs one command and is gone. The pairs become the JSON
//	    on the command's standard input; without any, the input is empty.
//	client -serve NAME
//	    a client that lives on; run it in the background.
//	client -at NAME [key=value...] -- command [arg...]
//	    has that client run the command, in this directory and environment.
//	client -kill NAME
//	    kills that client, as a crash would.
//
// NAME is a file in $WORK.
func client() {
	if err := runClient(os.Args[1:]); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(99)
	}
}

// job is what a client is asked to run.
type job struct {
	Args, Env []string
	Dir       string
	Stdin     string
}

// result is what came of it.
type result struct {
	Stdout, Stderr string
	Code           int
}

func runClient(args []string) error {
	if len(args) == 2 {
		path := filepath.Join(os.Getenv("WORK"), args[1])
		switch args[0] {
		case "-serve":
			return serve(path)
		case "-kill":
			var pid int
			data, err := os.ReadFile(path + ".pid")
			if err != nil {
				return err
			}
			if _, err := fmt.Sscan(string(data), &pid); err != nil {
				return err
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			if err := p.Kill(); err != nil {
				return err
			}
			// Its end is over when nobody listens any more.
			for {
				c, err := net.Dial("tcp", addressOf(path))
				if err != nil {
					return nil
				}
				c.Close()
			}
		}
	}
	at := ""
	if len(args) > 1 && args[0] == "-at" {
		at, args = filepath.Join(os.Getenv("WORK"), args[1]), args[2:]
	}
	j := job{Env: os.Environ()}
	input := map[string]any{}
	for i, arg := range args {
		if arg == "--" {
			j.Args = args[i+1:]
			break
		}
		key, value, _ := strings.Cut(arg, "=")
		input[key] = value
	}
	if len(j.Args) == 0 {
		return errors.New("no command")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	j.Dir = dir
	if len(input) > 0 {
		if _, ok := input["cwd"]; !ok {
			input["cwd"] = dir
		}
		data, err := json.Marshal(input)
		if err != nil {
			return err
		}
		j.Stdin = string(data) + "\n"
	}
	if at == "" {
		return report(j.run())
	}
	c, err := net.Dial("tcp", addressOf(at))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(j); err != nil {
		return err
	}
	var r result
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return err
	}
	return report(r)
}

func serve(path string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".pid", fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", []byte(l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var j job
		if err := json.NewDecoder(c).Decode(&j); err == nil {
			_ = json.NewEncoder(c).Encode(j.run()) // who asked may be gone
		}
		c.Close()
	}
}

func addressOf(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "127.0.0.1:0"
	}
	return string(data)
}

func (j job) run() result {
	cmd := exec.Command(j.Args[0], j.Args[1:]...)
	cmd.Dir, cmd.Env = j.Dir, j.Env
	if j.Stdin != "" {
		cmd.Stdin = strings.NewReader(j.Stdin)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return result{Stderr: err.Error() + "\n", Code: 98}
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func report(r result) error {
	os.Stdout.WriteString(r.Stdout)
	os.Stderr.WriteString(r.Stderr)
	if r.Code != 0 {
		os.Exit(r.Code)
	}
	return nil
}
