// Package identity names agents. An agent has three names, each of which can be derived
// from the others: its address (in events, on notes, in GT_ROLE), the name of its tmux
// session, and its folder in the town.
//
//	address                 session name         folder in the town
//	mayor                   hq-mayor             mayor
//	deacon                  hq-deacon            deacon
//	boot                    hq-boot              deacon/dogs/boot
//	overseer                hq-overseer          deacon
//	<rig>/witness           <prefix>-witness     <rig>/witness
//	<rig>/refinery          <prefix>-refinery    <rig>/refinery/rig
//	<rig>/crew/<name>       <prefix>-crew-<name> <rig>/crew/<name>
//	<rig>/polecats/<name>   <prefix>-<name>      <rig>/polecats/<name>
//
// <prefix> is the rig's short name, which the town's settings define (gt for gastown).
// Outside a town an agent has no role and takes its name from its repository.
package identity

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/text/plain"
)

// Role is what an agent is in its town; empty outside one.
type Role string

const (
	Mayor    Role = "mayor"
	Deacon   Role = "deacon"
	Boot     Role = "boot"
	Overseer Role = "overseer"
	Witness  Role = "witness"
	Refinery Role = "refinery"
	Crew     Role = "crew"
	Polecat  Role = "polecat"
)

// hq is the prefix of sessions that belong to the town itself, not to a rig.
const hq = "hq"

type Identity struct {
	Role Role
	Rig  string // "" for the town's own roles and outside a town
	Name string // of a crew member or polecat; outside a town, of the repository
}

// townRoles maps the roles that exist once in a town to their folders.
var townRoles = map[Role]string{
	Mayor:    "mayor",
	Deacon:   "deacon",
	Boot:     "deacon/dogs/boot",
	Overseer: "deacon",
}

// Address returns the name in events, on notes and in GT_ROLE; "" for the zero Identity.
func (i Identity) Address() string {
	switch i.Role {
	case Witness, Refinery:
		return i.Rig + "/" + string(i.Role)
	case Crew:
		return i.Rig + "/crew/" + i.Name
	case Polecat:
		return i.Rig + "/polecats/" + i.Name
	case "":
		return i.Name
	}
	return string(i.Role)
}

// Dir returns the agent's folder, relative to the town and with slashes; "" outside a town.
func (i Identity) Dir() string {
	switch i.Role {
	case "":
		return ""
	case Refinery:
		return i.Rig + "/refinery/rig"
	case Witness, Crew, Polecat:
		return i.Address()
	}
	return townRoles[i.Role]
}

// String returns the name as people and beacons write it: "crew max (rig: gastown)",
// "witness (rig: gastown)", "mayor".
func (i Identity) String() string {
	switch i.Role {
	case Crew, Polecat:
		return fmt.Sprintf("%s %s (rig: %s)", i.Role, i.Name, i.Rig)
	case Witness, Refinery:
		return fmt.Sprintf("%s (rig: %s)", i.Role, i.Rig)
	case "":
		return i.Name
	}
	return string(i.Role)
}

// Parse parses an address. A single name that is not one of the town's roles is an agent outside.
func Parse(address string) (Identity, error) {
	parts := strings.Split(strings.TrimSuffix(address, "/"), "/")
	for _, p := range parts {
		if err := checkName(p, len(parts) == 1); err != nil {
			return Identity{}, fmt.Errorf("not an address: '%s': %w", address, err)
		}
	}
	switch {
	case address == "deacon/boot": // from Gas Town's start-up
		return Identity{Role: Boot}, nil
	case len(parts) == 1:
		if _, ok := townRoles[Role(parts[0])]; ok {
			return Identity{Role: Role(parts[0])}, nil
		}
		return Identity{Name: parts[0]}, nil
	case len(parts) == 2 && (parts[1] == "witness" || parts[1] == "refinery"):
		return Identity{Role: Role(parts[1]), Rig: parts[0]}, nil
	case len(parts) == 3 && parts[1] == "crew":
		return Identity{Role: Crew, Rig: parts[0], Name: parts[2]}, nil
	case len(parts) == 3 && parts[1] == "polecats":
		return Identity{Role: Polecat, Rig: parts[0], Name: parts[2]}, nil
	}
	return Identity{}, fmt.Errorf("not an address: '%s' is not one of mayor, deacon, boot, overseer, "+
		"<rig>/witness, <rig>/refinery, <rig>/crew/<name>, <rig>/polecats/<name>", address)
}

// FromEnv returns the identity in the environment: GT_ROLE as an address, or as a bare role with
// GT_RIG and GT_CREW or GT_POLECAT. ok is false if GT_ROLE is unset or, with an error, invalid.
func FromEnv(getenv func(string) string) (id Identity, ok bool, err error) {
	role := getenv("GT_ROLE")
	if role == "" {
		return Identity{}, false, nil
	}
	switch rig := getenv("GT_RIG"); role {
	case "crew":
		role = rig + "/crew/" + getenv("GT_CREW")
	case "polecat":
		role = rig + "/polecats/" + getenv("GT_POLECAT")
	case "witness", "refinery":
		role = rig + "/" + role
	}
	id, err = Parse(role)
	return id, err == nil, err
}

// FromDir returns the identity whose folder contains rel, a path relative to the town.
func FromDir(rel string) (id Identity, ok bool) {
	parts := strings.Split(path.Clean(filepath.ToSlash(rel)), "/")
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	address := ""
	switch {
	case at(0) == "deacon" && at(1) == "dogs" && at(2) == "boot":
		address = string(Boot)
	case at(0) == "mayor", at(0) == "deacon":
		address = at(0)
	case at(1) == "witness", at(1) == "refinery":
		address = at(0) + "/" + at(1)
	case at(1) == "crew", at(1) == "polecats":
		address = at(0) + "/" + at(1) + "/" + at(2)
	}
	id, err := Parse(address) // a name that is not valid in an address (".git", "..") belongs to no agent
	return id, err == nil
}

// NameByBase is NameFolder for a dir whose base name no other folder has.
func NameByBase(dir string) Identity { return parseName(filepath.Base(dir)) }

// NameFolder returns the identity of an agent in dir outside a town: the shortest end of dir's
// path that is no other folder's name, or only its base name if every end is. Dashes join the
// elements, because slashes would make a town's address. readNames returns which names the
// folders with these base names have.
func NameFolder(dir string, readNames func(bases []string) map[string]bool) Identity {
	var candidates []Identity
	var bases []string
	suffix := ""
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		suffix = strings.TrimSuffix(filepath.Base(at)+"-"+suffix, "-")
		candidates, bases = append(candidates, parseName(suffix)), append(bases, filepath.Base(at), suffix)
		if filepath.Dir(at) == at || len(suffix) > maxName {
			break
		}
	}
	taken := readNames(bases)
	for _, id := range candidates {
		if !taken[id.Name] {
			return id
		}
	}
	return candidates[0]
}

// parseName makes a valid name from any text. It keeps the names of a town's roles free.
func parseName(text string) Identity {
	name := strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '-'
	}, strings.ToValidUTF8(text, "-"))
	if name = strings.TrimLeft(plain.Line(name), ".-"); name == "" {
		name = "home"
	}
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if _, taken := townRoles[Role(name)]; taken {
		name += "-repo" // a repository called mayor is not the mayor
	}
	return Identity{Name: name}
}

// Prefixes maps rigs to the prefixes of their session names.
type Prefixes map[string]string

// SessionName returns the name of the agent's tmux session. It fails if the name means another
// agent (a polecat called "witness"), if tmux would change it, or if the rig's prefix is unknown.
func (i Identity) SessionName(p Prefixes) (string, error) {
	if i.Role == "" {
		return "", fmt.Errorf("'%s' has no session name outside a town", i.Name)
	}
	name := hq + "-" + string(i.Role)
	if i.Rig != "" {
		prefix := p[i.Rig]
		if prefix == "" {
			return "", fmt.Errorf("the town knows no prefix for the rig '%s'", i.Rig)
		}
		switch i.Role {
		case Crew:
			name = prefix + "-crew-" + i.Name
		case Polecat:
			name = prefix + "-" + i.Name
		default:
			name = prefix + "-" + string(i.Role)
		}
	}
	if strings.ContainsAny(name, ".:") {
		return "", fmt.Errorf("'%s' cannot be a session name: tmux replaces '.' and ':'", name)
	}
	switch back, err := FromSessionName(name, p); {
	case err != nil:
		return "", fmt.Errorf("'%s' has no session name: %w", i.Address(), err)
	case back != i:
		return "", fmt.Errorf("'%s' is ambiguous: the session name '%s' means %s", i.Address(), name, back.Address())
	}
	return name, nil
}

// FromSessionName parses a session name. The longest matching prefix wins. Without one it fails.
func FromSessionName(name string, p Prefixes) (Identity, error) {
	if role, ok := strings.CutPrefix(name, hq+"-"); ok {
		if _, known := townRoles[Role(role)]; known {
			return Identity{Role: Role(role)}, nil
		}
	}
	rig, prefix := "", ""
	for r, x := range p {
		if strings.HasPrefix(name, x+"-") && (len(x) > len(prefix) || len(x) == len(prefix) && r < rig) {
			rig, prefix = r, x
		}
	}
	if rig == "" {
		return Identity{}, fmt.Errorf("no rig has the prefix of the session '%s'", name)
	}
	rest := strings.TrimPrefix(name, prefix+"-")
	id := Identity{Role: Polecat, Rig: rig, Name: rest}
	switch crew, ok := strings.CutPrefix(rest, "crew-"); {
	case rest == "witness", rest == "refinery":
		id = Identity{Role: Role(rest), Rig: rig}
	case ok:
		id = Identity{Role: Crew, Rig: rig, Name: crew}
	}
	// A name that is not valid in an address (empty, "../x") belongs to no agent.
	if back, err := Parse(id.Address()); err != nil || back != id {
		return Identity{}, fmt.Errorf("the session name '%s' does not name an agent", name)
	}
	return id, nil
}

const maxName = 100

// checkName returns an error if s must not become a path element. Outside a town, letters of all
// alphabets are allowed.
func checkName(s string, outsideTown bool) error {
	switch {
	case s == "":
		return fmt.Errorf("an empty name")
	case len(s) > maxName:
		return fmt.Errorf("a name of %d bytes", len(s))
	case s[0] == '.' || s[0] == '-':
		return fmt.Errorf("a name that begins with '%c'", s[0])
	}
	for _, r := range s {
		if !isNameRune(r) || r >= utf8.RuneSelf && !outsideTown {
			return fmt.Errorf("%q in a name", r)
		}
	}
	if !plain.IsLine(s) {
		return errors.New("invisible characters in a name")
	}
	return nil
}

func isNameRune(r rune) bool {
	switch {
	case r >= utf8.RuneSelf:
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r == '-' || r == '_' || r == '.'
}

// HasOwnWork reports whether agents of this role have work of their own that a crash can
// interrupt. The others watch and direct.
func (r Role) HasOwnWork() bool { return r == "" || r == Crew || r == Polecat }
