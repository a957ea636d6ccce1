package mailcmd

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/internal/golden"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/peer"
	"gt/lib/state/session"
)

func TestJSON(t *testing.T) {
	w := golden.New(t, Program)
	w.JSON("send", "send", "self", "-s", "a note", "-m", "for later", "--json")
	w.JSON("hook", "hook", "--new", "-s", "the work", "-m", "to do", "--json")
	w.JSON("inbox", "inbox", "--json")
	var note struct{ ID string }
	testenv.NoError(t, json.Unmarshal([]byte(w.Prepare("hook", "--new", "-s", "more", "--json")), &note))
	w.JSON("read", "read", "--mark", note.ID, "--json")
	w.JSON("unhook", "unhook", note.ID, "--json")
	w.JSON("done", "done", note.ID, "--json")
	w.Write("home/.config/gt/town.toml", "[[agent]]\nname = \"worker\"\nprovider = \"claude\"\n")
	w.Prepare("work", "give", "worker", "-s", "port it")
	w.JSON("work-list", "work", "list", "--json")

	hosts := peer.NewHosts(place.StateOf(w.Getenv))
	testenv.NoError(t, errors.Join(hosts.SetOwn(peer.Host{Name: "laptop"}), hosts.Put(peer.Host{Name: "box"})))
	w.JSON("send-host", "send", "max@box", "-s", "Tests are red", "-m", "since 4f2c1", "--json")
	w.JSON("outbox", "outbox", "--json")

	here := home.Find(w.Getenv, w.Path("work"), "")
	if _, err := (session.Store{Home: here}).Start(time.Now(), nil, session.StartParams{ID: golden.Session, Agent: "claude"}); err != nil {
		t.Fatal(err)
	}
	w.Prepare("rule", "add", "never push to main")
	w.JSON("rule-list", "rule", "list", "--json")
}
