package krccmd

import (
	"fmt"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/log/retention"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type config struct {
	Show  configShow  `cmd:"" default:"withargs" help:"Show how long events are kept (the default)."`
	Set   configSet   `cmd:"" help:"Set how long events of a type are kept."`
	Unset configUnset `cmd:"" help:"Keep events of a type for the default time."`
	Reset configReset `cmd:"" help:"Go back to the defaults."`
}

type configShow struct {
	JSON bool `name:"json" help:"One JSON object, with durations in nanoseconds."`
}

func (c *configShow) Run(env *cli.Env) error {
	p, err := openBooks(env)
	if err != nil {
		return err
	}
	if c.JSON {
		return env.JSON(p.policy)
	}
	rows := [][]string{{"KEPT FOR", "CURVE", "TYPE"}}
	for _, kind := range p.policy.Patterns() {
		// Only a town's programs log these, and nobody has set a time for them.
		if p.town.Personal && p.policy.OnlyInTowns(kind) {
			continue
		}
		rows = append(rows, []string{p.policy.TTLs[kind].String(), string(retention.CurveOf(kind)), kind})
	}
	rows = append(rows, []string{p.policy.DefaultTTL.String(), string(retention.Steady), "all others (default)"})
	if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "\nat least %s stay, whatever their age (keep)\nprune --auto, where something runs it, prunes at most every %s (interval)\n",
		count.Plural(p.policy.Keep, "event"), p.policy.Interval)
	return err
}

type configSet struct {
	What string `arg:"" help:"A type of event, or a pattern in which * matches any characters (session_*); or default, interval, keep."`
	To   string `arg:"" help:"How long: 12h, 3d, 2w. For keep, how many events."`
}

// Run sets one value of the policy. It hints at types whose own time a new pattern does not change.
func (c *configSet) Run(env *cli.Env) error {
	message := c.What + " are kept for " + c.To
	switch c.What {
	case "keep":
		message = "at least " + c.To + " events stay"
	case "default":
		message = "all others are kept for " + c.To
	case "interval":
		message = "prune --auto prunes at most every " + c.To
	}
	return changePolicy(env, message, func(p *retention.Policy) error {
		if c.What == "keep" {
			n, err := strconv.Atoi(c.To)
			if err != nil || n < 0 || n > retention.MaxKeep {
				return fmt.Errorf("'%s' is not a number of events from 0 to %d", c.To, retention.MaxKeep)
			}
			p.Keep = n
			return nil
		}
		var ttl retention.TTL
		if err := ttl.UnmarshalText([]byte(c.To)); err != nil {
			return err
		}
		switch c.What {
		case "default":
			p.DefaultTTL = ttl
		case "interval":
			p.Interval = ttl
		default:
			if err := p.Set(c.What, ttl); err != nil {
				return err
			}
			if own := p.Overrides(c.What); len(own) > 0 {
				env.Hint("%s: these have their own time, which overrides that of a shorter pattern", strings.Join(own, ", "))
			}
		}
		return nil
	})
}

type configUnset struct {
	What string `arg:"" help:"A type of event, or a pattern, as config shows it."`
}

func (c *configUnset) Run(env *cli.Env) error {
	return changePolicy(env, c.What+" are kept for the default time", func(p *retention.Policy) error {
		if !p.Unset(c.What) {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing was set for '%s'", c.What), "gt-krc config shows what is set")
		}
		return nil
	})
}

type configReset struct{}

func (c *configReset) Run(env *cli.Env) error {
	return withPolicyLock(env, "the defaults count again", func(p logBooks) error { return retention.Reset(p.town.Retention(), p.env.WarnError) })
}

// changePolicy applies by to the stored policy, under its lock.
func changePolicy(env *cli.Env, message string, by func(*retention.Policy) error) error {
	return withPolicyLock(env, message, func(p logBooks) error {
		policy, err := retention.Repair(p.town.Retention(), p.env.WarnError)
		if err != nil {
			return err
		}
		if err := by(&policy); err != nil {
			if cli.ExitCode(err) == cli.AnswerNo {
				return err
			}
			return cli.Fail(cli.Usage, err)
		}
		return policy.Store(p.town.Retention(), p.env.WarnError)
	})
}

// withPolicyLock calls write under the policy's lock, and then prints message. It does not load the
// policy: config reset must work when the file is damaged.
func withPolicyLock(env *cli.Env, message string, write func(logBooks) error) error {
	p, err := openLogs(env)
	if err != nil {
		return err
	}
	lock, err := retention.Lock(p.town.Retention())
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := write(p); err != nil {
		return err
	}
	return env.Println(term.Clean(message))
}

type byteSize int64

func (s *byteSize) UnmarshalText(text []byte) error {
	n, ok := term.ParseSize(string(text))
	if !ok {
		return fmt.Errorf("invalid size '%s' (try 64MiB or 1G)", text)
	}
	*s = byteSize(n)
	return nil
}
