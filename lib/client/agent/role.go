package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"gt/lib/client/contract"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

// roles assigns agents to a town's roles. In town.toml they are
//
//	default_agent = "claude"
//	[role_agents]
//	witness = "gemini"
//	[rigs.gastown]
//	agent = "codex"
//	[rigs.gastown.role_agents]
//	polecat = "opencode"
//
// Gas Town has them in settings/config.json of the town and of each rig.
type roles struct {
	Default string            `toml:"default_agent" json:"default_agent"`
	Roles   map[string]string `toml:"role_agents" json:"role_agents"`
	Rigs    map[string]struct {
		Agent string            `toml:"agent"`
		Roles map[string]string `toml:"role_agents"`
	} `toml:"rigs" json:"-"`

	town town.Town // has Gas Town's files of the rigs
}

func (r *roles) add(o roles) {
	r.Default = cmp.Or(o.Default, r.Default)
	if o.Roles != nil {
		r.Roles = o.Roles
	}
	if o.Rigs != nil {
		r.Rigs = o.Rigs
	}
}

// gastown adds what Gas Town's settings say and town.toml does not.
func (r *roles) gastown(t town.Town) error {
	r.town = t
	var theirs roles
	err := readSettings(t, ".", &theirs)
	r.Default = cmp.Or(r.Default, theirs.Default)
	for role, name := range theirs.Roles {
		if r.Roles[role] == "" {
			if r.Roles == nil {
				r.Roles = map[string]string{}
			}
			r.Roles[role] = name
		}
	}
	return err
}

// readSettings reads settings/config.json below a folder of the town. A missing file is
// not an error.
func readSettings(t town.Town, dir string, v any) error {
	name := path.Join(dir, "settings", "config.json")
	data, err := t.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return atomicfile.Error("read", filepath.Join(t.Root, name), json.Unmarshal(data, v))
}

// For returns the agent of a role in a rig. The first of these that is set counts: the
// rig's for that role, the town's for that role, the rig's, the town's, Claude Code. Role
// and rig may be empty. own reports that the agent is set for the role itself. For skips
// a name that is not in the table, and returns an error about it with the agent.
func (t *Table) For(role, rig string) (c Client, own bool, err error) {
	var theirs struct {
		Agent string            `json:"agent"`
		Roles map[string]string `json:"role_agents"`
	}
	var errs []error
	if rig != "" {
		errs = append(errs, readSettings(t.roles.town, rig, &theirs))
	}
	ours := t.roles.Rigs[rig]
	for i, name := range []string{
		ours.Roles[role], theirs.Roles[role], t.roles.Roles[role],
		ours.Agent, theirs.Agent, t.roles.Default,
	} {
		switch {
		case name == "":
		case t.Known(name):
			return t.Of(name), i < 3, errors.Join(errs...)
		default:
			errs = append(errs, unknown(name))
		}
	}
	return t.Of(contract.Default), false, errors.Join(errs...)
}

type unknown string

func (name unknown) Error() string {
	return "no agent is called '" + string(name) + "'"
}
