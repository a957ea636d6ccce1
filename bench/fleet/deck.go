package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// prepareDeck makes the same agents known to agent-deck, which takes over the file of its
// earlier versions when it is run first.
func (w *world) prepareDeck(f *fleet) error {
	if f.decked {
		return nil
	}
	f.decked = true
	type one struct {
		ID      string    `json:"id"`
		Title   string    `json:"title"`
		Path    string    `json:"project_path"`
		Group   string    `json:"group_path"`
		Command string    `json:"command"`
		Tool    string    `json:"tool"`
		Status  string    `json:"status"`
		Created time.Time `json:"created_at"`
		Tmux    string    `json:"tmux_session"`
	}
	var all struct {
		Instances []one     `json:"instances"`
		Updated   time.Time `json:"updated_at"`
	}
	all.Updated = time.Now()
	for i := range f.size {
		name := fmt.Sprintf("service-%d", i)
		all.Instances = append(all.Instances, one{
			ID: fmt.Sprintf("id-%d", i), Title: name, Path: filepath.Join(f.home, "src", name), Group: "work",
			Command: "claude", Tool: "claude", Status: "idle", Created: all.Updated, Tmux: "gt-" + name,
		})
	}
	dir := filepath.Join(f.home, ".local", "share", "agent-deck", "profiles", "default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "sessions.json"), all); err != nil {
		return err
	}
	_, err := w.exec(f, w.deck, "list")
	return err
}
